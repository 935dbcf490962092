//! One setup: all ways on one axis, with the line that none of them can pass.

use record::Row;

use super::{Ask, PLACES, Setup, Subject, of_setup, place, said};
use crate::condition::{Condition, capital};
use crate::figure::axis::Axis;
use crate::figure::dots::{BAND, Mark, fit, value_text};
use crate::figure::page::{BODY, GAP, MARGIN, Page, SMALL, WIDTH};
use crate::figure::palette::{INK, MARKER, style};
use crate::figure::scene::pitch;
use crate::phrase;
use crate::quantity::Scale;
use crate::text;

/// The most panels of a pod; charts show the other setups.
const MOST: usize = 3;

/// The widest that a way's name may be before it is broken into lines.
const NAMES: i32 = 170;

/// The widest that its value may be.
const VALUES: i32 = 250;

/// A way with a value.
pub(crate) struct Entry<'a> {
    pub(crate) name: String,
    pub(crate) row: &'a Row,
    condition: Condition<'a>,
    /// Index into [`PLACES`].
    pub(crate) place: usize,
}

/// One setup.
pub(crate) struct Panel<'a> {
    pub(crate) ask: Ask,
    /// `4 contenders, critical section 1000 ns`.
    pub(crate) setup: String,
    /// Between hosts first, the fastest first.
    pub(crate) entries: Vec<Entry<'a>>,
    /// The least that a way between hosts can take, in the rows' unit.
    pub(crate) bound: Option<f64>,
}

impl<'a> Panel<'a> {
    /// Those of the setups with most ways, the first of them where there is one way only.
    pub(super) fn of_setups(subject: &Subject, section: &[Condition<'a>]) -> Vec<Self> {
        let mut setups: Vec<(Vec<String>, Vec<Condition<'a>>)> = Vec::new();
        for condition in section {
            let values = subject.setup.iter();
            let values: Vec<String> = values
                .map(|name| of_setup(subject, condition, name))
                .collect();
            match setups.iter_mut().find(|(known, _)| *known == values) {
                Some((_, alike)) => alike.push(condition.clone()),
                None => setups.push((values, vec![condition.clone()])),
            }
        }
        let panels = setups.iter();
        let panels = panels.map(|(values, alike)| Self::of(subject, values, alike));
        let mut panels: Vec<Self> = panels.filter(|one| !one.entries.is_empty()).collect();
        panels.sort_by_key(|panel| std::cmp::Reverse(panel.entries.len()));
        let several = panels.iter().filter(|one| one.entries.len() > 1).count();
        panels.truncate(several.clamp(1, MOST));
        panels
    }

    fn of(subject: &Subject, values: &[String], alike: &[Condition<'a>]) -> Self {
        let ask = (subject.ask)(&alike[0]);
        let entry = |one: &Condition<'a>| {
            Some(Entry {
                name: subject.name(one, alike),
                row: one.middle(ask.metric)?,
                condition: one.clone(),
                place: place(subject, one),
            })
        };
        let mut entries: Vec<Entry<'a>> = alike.iter().filter_map(entry).collect();
        let median = |entry: &Entry<'_>| entry.row.p50.unwrap_or(f64::MAX);
        entries.sort_by(|a, b| (a.place.cmp(&b.place)).then(median(a).total_cmp(&median(b))));
        let rows = alike.iter().flat_map(|one| &one.rows);
        let bounds = rows.filter(|row| row.metric == ask.bound);
        let bound = bounds.filter_map(|row| row.min).min_by(f64::total_cmp);
        let names = subject.setup.iter().copied();
        let values: Setup = names.zip(values.iter().cloned()).collect();
        tell_apart(&mut entries);
        Self {
            ask,
            setup: said(subject, &values),
            entries,
            bound,
        }
    }

    /// How many times its bound a way takes; none inside a host, where the bound is not one.
    pub(crate) fn times(&self, entry: &Entry<'_>) -> Option<f64> {
        let bound = self
            .bound
            .filter(|bound| entry.place == 0 && *bound > 0.0)?;
        Some(entry.row.p50? / bound)
    }

    /// Who is the fastest between hosts, if it can be told; otherwise who is.
    pub(crate) fn finding(&self) -> String {
        let what = self.ask.what;
        let between: Vec<&Entry<'_>> = self.entries.iter().filter(|one| one.place == 0).collect();
        let Some(best) = between.first() else {
            let best = &self.entries[0];
            let (name, value) = (&best.name, phrase::median(best.row));
            return format!("Fastest {what} {}: {name}, {value}", PLACES[1]);
        };
        let tied = between.iter().filter(|one| ties(one.row, best.row)).count();
        let times = self.times(best);
        let times = times.map_or(String::new(), |times| {
            format!(", {times:.2} times the bound")
        });
        let value = phrase::median(best.row);
        if between.len() > 1 && tied > 1 {
            return format!("No {what} between hosts is the fastest: {tied} tie at {value}{times}");
        }
        format!(
            "Fastest {what} between hosts: {}, {value}{times}",
            best.name
        )
    }

    fn mark(&self, entry: &Entry<'a>) -> Option<Mark<'a>> {
        Mark::of(&entry.condition, self.ask.metric, style(entry.place))
    }

    fn heading(&self) -> String {
        let heading = if self.setup.is_empty() {
            self.ask.what.to_owned()
        } else {
            format!("{}, {}", self.ask.what, self.setup)
        };
        capital(&heading)
    }

    /// `2.40 us [2.40, 2.40], 1.41 x`.
    fn said(&self, entry: &Entry<'_>, axis: &Axis<'_>) -> String {
        let value = value_text(entry.row, axis);
        match self.times(entry) {
            Some(times) => format!("{value}, {}", text::unbroken(&format!("{times:.2} x"))),
            None => value,
        }
    }
}

/// Ways of one name differ in their hosts' lanes.
fn tell_apart(entries: &mut [Entry<'_>]) {
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    for entry in entries {
        if names.iter().filter(|name| **name == entry.name).count() > 1 {
            let lanes = phrase::counted(entry.row.lanes.into(), "lane");
            entry.name = format!("{}, {lanes} a host", entry.name);
        }
    }
}

fn ties(left: &Row, right: &Row) -> bool {
    match (left.ci95, right.ci95) {
        (Some(left), Some(right)) => left[0] <= right[1] && right[0] <= left[1],
        _ => true,
    }
}

impl Page {
    pub(super) fn panel(&mut self, panel: &Panel<'_>) {
        self.y += GAP;
        self.paragraph(BODY, INK, &panel.heading());
        let marks = panel.entries.iter();
        let marks: Vec<Mark<'_>> = marks.filter_map(|entry| panel.mark(entry)).collect();
        let names = panel
            .entries
            .iter()
            .flat_map(|one| text::wrap(&one.name, BODY, NAMES));
        let names = names
            .map(|line| text::width(&line, BODY))
            .max()
            .unwrap_or(0);
        let left = MARGIN + names + GAP + MARKER;
        let draft = fit(&marks, left, 1);
        let values = panel
            .entries
            .iter()
            .map(|one| text::width(&panel.said(one, &draft), BODY));
        let values = values.max().unwrap_or(0).min(VALUES);
        let axis = fit(&marks, left, WIDTH - MARGIN - values - 3 * GAP - left);
        let line = panel.bound.map(|bound| (bound, axis.place(bound)));
        let line = line.filter(|(_, (_, beyond))| !beyond);
        if let Some((bound, (x, _))) = line {
            let scale = Scale::fit("ns", [bound].into_iter());
            let bound = text::unbroken(&scale.show(bound));
            let said = format!("bound: {}, {bound}", panel.ask.because);
            let width = text::width(&said, SMALL);
            let at = (x - width / 2).clamp(MARGIN, WIDTH - MARGIN - width);
            self.y += GAP / 2;
            self.scene.text((at, self.y), SMALL, INK, &said);
            self.y += pitch(SMALL);
        }
        let top = self.y;
        for entry in &panel.entries {
            self.y += GAP / 2;
            self.way(panel, entry, &axis, values);
        }
        if let Some((_, (x, _))) = line {
            self.scene.line((x, top), (x, self.y), INK, 1);
        }
        self.y += GAP / 2;
        self.y += self.scale(self.y, &axis);
    }

    fn way(&mut self, panel: &Panel<'_>, entry: &Entry<'_>, axis: &Axis<'_>, values: i32) {
        let Some(mark) = panel.mark(entry) else {
            return;
        };
        let names = self
            .scene
            .paragraph((MARGIN, self.y), BODY, INK, NAMES, &entry.name);
        self.strip(self.y, &mark, axis);
        let at = (WIDTH - MARGIN - values, self.y + (BAND - pitch(BODY)) / 2);
        let said = panel.said(entry, axis);
        let value = self
            .scene
            .paragraph(at, BODY, style(entry.place).color, values, &said);
        self.y += BAND.max(names).max(value);
    }
}
