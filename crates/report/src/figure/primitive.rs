//! What one instruction costs, by the state of its line: fenced one by one, and pipelined.

use record::{Results, Row};

use super::axis::Axis;
use super::dots::{BAND, KEY, Mark, fit, value_text};
use super::page::{BODY, GAP, MARGIN, Page, SMALL, WIDTH};
use super::palette::{INK, MARKER, MUTED, Style, style};
use super::scene::{Scene, pitch};
use crate::condition::{Condition, capital, of_first_place, places};
use crate::phrase;
use crate::text;

pub(crate) const WORKLOAD: &str = "primitive";
pub(crate) const METRIC: &str = "cost_ns";

/// Ways to issue an instruction, as the record and as the figure call them.
const MODES: [(&str, &str); 2] = [
    ("single", "one by one, each with its fence"),
    ("pipelined", "pipelined, one fence at the end"),
];

/// In the order of the question: what makes a line visible, what orders, what tells time.
const OPS: [&str; 10] = [
    "clflush",
    "clflushopt",
    "clwb",
    "movnti",
    "movdir64b",
    "sfence",
    "lfence",
    "mfence",
    "rdtscp",
    "reload",
];
/// Those that work on no line.
const NO_LINE: [&str; 4] = ["sfence", "lfence", "mfence", "rdtscp"];
const STATES: [&str; 4] = ["dirty", "clean", "absent", "none"];

/// The widest that a row's name may be before it is broken into lines.
const NAMES: i32 = 170;

/// Where a value would stand; its reason stands below.
const ABSENT: &str = "absent";

/// An instruction and a line's state: one row of the figure.
pub(crate) struct Entry<'a> {
    pub(crate) name: String,
    modes: Vec<(usize, Condition<'a>)>,
}

/// The figure; none where there are no rows.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    conditions.first()?;
    let mut page = Page::new(&title(&conditions), WORKLOAD, results, &conditions);
    let legend: Vec<(&str, Style)> = MODES
        .iter()
        .enumerate()
        .filter(|(index, _)| conditions.iter().any(|one| mode(one) == *index))
        .map(|(index, (_, name))| (*name, style(index)))
        .collect();
    page.legend(&legend);
    page.paragraph(SMALL, MUTED, KEY);
    for section in conditions.chunk_by(|left, right| left.label == right.label) {
        page.section(section[0].label);
        page.instructions(&entries(section));
        page.notes(section.iter().filter_map(|one| {
            let reason = one.absence(METRIC)?;
            Some(format!("{}: {reason}", name(one, section)))
        }));
    }
    Some(page.finish(results))
}

fn mode(condition: &Condition<'_>) -> usize {
    let mode = condition.param("mode");
    let known = MODES
        .iter()
        .position(|(word, _)| Some(*word) == mode.as_deref());
    known.unwrap_or(0)
}

/// `clflushopt, dirty line`, and whatever else tells it from the others.
fn name(condition: &Condition<'_>, all: &[Condition<'_>]) -> String {
    let op = condition
        .param("op")
        .unwrap_or_else(|| "an instruction".to_owned());
    let state = match condition.param("line_state").as_deref() {
        _ if NO_LINE.contains(&op.as_str()) => String::new(),
        None | Some("none") => String::new(),
        Some(state) => format!("{state} line"),
    };
    let known = ["op", "line_state", "mode", "label"];
    phrase::joined(
        [op, state]
            .into_iter()
            .chain(condition.distinguishing(all, &known)),
    )
}

/// Instructions by line state, in the order of [`OPS`].
pub(crate) fn entries<'a>(section: &[Condition<'a>]) -> Vec<Entry<'a>> {
    let mut sorted: Vec<&Condition<'a>> = section.iter().collect();
    let rank = |all: &[&str], value: Option<String>| {
        let known = all.iter().position(|word| Some(*word) == value.as_deref());
        known.unwrap_or(all.len())
    };
    sorted.sort_by_key(|one| {
        let op = rank(&OPS, one.param("op"));
        (op, rank(&STATES, one.param("line_state")), mode(one))
    });
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for condition in sorted {
        let name = name(condition, section);
        let one = (mode(condition), condition.clone());
        match entries.iter_mut().find(|entry| entry.name == name) {
            Some(entry) => entry.modes.push(one),
            None => entries.push(Entry {
                name,
                modes: vec![one],
            }),
        }
    }
    entries
}

impl<'a> Entry<'a> {
    /// What it costs in each mode that was measured.
    pub(crate) fn costs(&self) -> impl Iterator<Item = (&'static str, &'a Row)> {
        let modes = self.modes.iter();
        modes.filter_map(|(index, one)| Some((MODES[*index].1, one.middle(METRIC)?)))
    }

    fn marks(&self) -> impl Iterator<Item = Mark<'a>> {
        let modes = self.modes.iter();
        modes.filter_map(|(index, one)| Mark::of(one, METRIC, style(*index)))
    }
}

impl Page {
    fn instructions(&mut self, entries: &[Entry<'_>]) {
        let marks: Vec<Mark<'_>> = entries.iter().flat_map(Entry::marks).collect();
        let names = entries
            .iter()
            .flat_map(|entry| text::wrap(&entry.name, BODY, NAMES));
        let names = names
            .map(|line| text::width(&line, BODY))
            .max()
            .unwrap_or(0);
        let left = MARGIN + names + GAP + MARKER;
        let draft = fit(&marks, left, 1);
        let values = marks
            .iter()
            .map(|mark| text::width(&value_text(mark.row, &draft), BODY));
        let absent = text::width(ABSENT, BODY);
        let values = values.max().unwrap_or(0).clamp(absent, WIDTH / 3);
        let axis = fit(&marks, left, WIDTH - MARGIN - values - 3 * GAP - left);
        for entry in entries {
            self.y += GAP;
            self.instruction(entry, &axis, values);
        }
        if !marks.is_empty() {
            self.y += GAP;
            self.y += self.scale(self.y, &axis);
        }
    }

    fn instruction(&mut self, entry: &Entry<'_>, axis: &Axis<'_>, values: i32) {
        let top = (MARGIN, self.y);
        let names = self.scene.paragraph(top, BODY, INK, NAMES, &entry.name);
        let x = WIDTH - MARGIN - values;
        let mut y = self.y;
        for (index, condition) in &entry.modes {
            let Some(mark) = Mark::of(condition, METRIC, style(*index)) else {
                let at = (x, y);
                y += self.scene.paragraph(at, BODY, MUTED, values, ABSENT);
                continue;
            };
            self.strip(y, &mark, axis);
            let middle = y + (BAND - pitch(BODY)) / 2;
            y += BAND.max(self.value((x, middle), values, &mark, axis));
        }
        self.y = y.max(self.y + names);
    }
}

/// What is asked first: what it takes to push a dirty line out.
fn title(conditions: &[Condition<'_>]) -> String {
    let here = of_first_place(conditions);
    let at = here[0].place().told(&places(conditions));
    let measured: Vec<_> = here
        .iter()
        .filter_map(|one| Some((one, one.middle(METRIC)?)))
        .collect();
    let with = |index: usize, op: &str| {
        let is = |one: &Condition<'_>| {
            mode(one) == index
                && one.param("op").as_deref() == Some(op)
                && one.param("line_state").as_deref() == Some("dirty")
        };
        measured
            .iter()
            .find(|(one, _)| is(one))
            .map(|(_, row)| *row)
    };
    for op in ["clflushopt", "clwb", "clflush"] {
        match (with(0, op), with(1, op)) {
            (Some(single), Some(pipelined)) => {
                return format!(
                    "{op} of a dirty line costs {} with its fence, {} pipelined{at}",
                    phrase::median(single),
                    phrase::median(pipelined)
                );
            }
            (Some(row), None) | (None, Some(row)) => {
                return format!("{op} of a dirty line costs {}{at}", phrase::median(row));
            }
            (None, None) => {}
        }
    }
    let dearest = measured.iter().max_by(|left, right| {
        left.1
            .p50
            .unwrap_or(0.0)
            .total_cmp(&right.1.p50.unwrap_or(0.0))
    });
    match dearest {
        Some((one, row)) => capital(&format!(
            "{} costs most: {}{at}",
            name(one, &here),
            phrase::median(row)
        )),
        None => "No instruction was measured".to_owned(),
    }
}
