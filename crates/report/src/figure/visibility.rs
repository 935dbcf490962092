//! How long until an update is seen: every way to publish beside every way to observe, then the
//! same against the number of lines.

use record::Results;

use super::chart::Chart;
use super::curve::{curves, extent, names};
use super::dots::KEY;
use super::finding::title;
use super::matrix::Matrix;
use super::page::{BODY, GAP, Page, SMALL};
use super::palette::{INK, MUTED, Style, style};
use super::ruler::Ruler;
use super::scene::Scene;
use crate::condition::{Condition, capital};
use crate::phrase;
use crate::quantity::Scale;

pub(crate) const WORKLOAD: &str = "visibility";

/// The metrics, each with a marker of its own.
pub(crate) const METRICS: [(&str, &str); 2] = [
    ("half_round_trip_ns", "half round trip"),
    ("one_way_ns", "one way"),
];

/// Fields that have a place in the figure of their own.
const KNOWN: [&str; 4] = ["publish", "observe", "lines", "label"];

/// The figure; none where there are no rows.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = order(Condition::of_workload(results, WORKLOAD));
    conditions.first()?;
    let mut page = Page::new(&title(&conditions), WORKLOAD, results, &conditions);
    let legend: Vec<(&str, Style)> = METRICS
        .iter()
        .enumerate()
        .filter(|(_, (metric, _))| !absent_everywhere(&conditions, metric))
        .map(|(index, (_, name))| (*name, style(index)))
        .collect();
    if !legend.is_empty() {
        page.legend(&legend);
        page.paragraph(SMALL, MUTED, KEY);
    }
    let mut label = None;
    for section in conditions.chunk_by(|left, right| section(left) == section(right)) {
        if label.replace(section[0].label) != Some(section[0].label) {
            page.section(section[0].label);
        }
        let others = section[0].distinguishing(&conditions, &KNOWN);
        if !others.is_empty() {
            page.y += GAP;
            page.paragraph(BODY, INK, &capital(&others.join(", ")));
        }
        let fewest = section
            .chunk_by(|left, right| lines(left) == lines(right))
            .next();
        page.matrix(&Matrix::of(fewest.unwrap_or(section)));
        by_lines(&mut page, section);
        page.notes(notes(section).into_iter());
    }
    Some(page.finish(results))
}

/// What stands in a part of the figure of its own.
fn section(condition: &Condition<'_>) -> (record::Label, Vec<(String, String)>) {
    (condition.label, condition.fields_except(&KNOWN))
}

pub(super) fn lines(condition: &Condition<'_>) -> u64 {
    condition.number("lines").map_or(0, |lines| lines as u64)
}

/// By label, by whatever else varies, by lines, then the fastest first; what has no value last.
pub(crate) fn order(mut conditions: Vec<Condition<'_>>) -> Vec<Condition<'_>> {
    let median = |condition: &Condition<'_>| {
        let row = condition.middle(METRICS[0].0);
        row.and_then(|row| row.p50).unwrap_or(f64::INFINITY)
    };
    conditions.sort_by(|left, right| {
        (section(left), lines(left))
            .cmp(&(section(right), lines(right)))
            .then(median(left).total_cmp(&median(right)))
    });
    conditions
}

/// `clflushopt + clflushopt, 1 line`, and whatever else tells it from the others.
pub(crate) fn name(condition: &Condition<'_>, all: &[Condition<'_>]) -> String {
    let bare = |one: &Condition<'_>| {
        let lines = one.param("lines").unwrap_or_else(|| "?".to_owned());
        let plural = if lines == "1" { "" } else { "s" };
        let words = [pair(one), format!("{lines} line{plural}")].into_iter();
        phrase::joined(words.chain(one.distinguishing(all, &KNOWN)))
    };
    let name = bare(condition);
    if all.iter().filter(|one| bare(one) == name).count() > 1 {
        return format!("{name}, {}", condition.effort());
    }
    name
}

/// `clwb + clflushopt`.
fn pair(condition: &Condition<'_>) -> String {
    let param = |name| condition.param(name).unwrap_or_else(|| format!("{name}?"));
    format!("{} + {}", param("publish"), param("observe"))
}

fn absent_everywhere(conditions: &[Condition<'_>], metric: &str) -> bool {
    conditions.iter().all(|one| one.middle(metric).is_none())
}

/// Why something is absent: once where it is absent in a whole section for one reason.
fn notes(section: &[Condition<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (metric, series) in METRICS {
        let everywhere = absent_everywhere(section, metric);
        for condition in section {
            if let Some(reason) = condition.absence(metric) {
                notes.push(if everywhere {
                    format!("{} {reason}", capital(series))
                } else {
                    format!("{}: {series} {reason}", name(condition, section))
                });
            }
        }
    }
    notes
}

/// Half round trips against lines, of what was measured with several.
fn by_lines(page: &mut Page, section: &[Condition<'_>]) {
    let metric = METRICS[0].0;
    let mut curves = curves(section, metric, |one| one.number("lines"), pair);
    curves.retain(|curve| curve.points.windows(2).any(|pair| pair[0].0 < pair[1].0));
    if curves.is_empty() {
        return;
    }
    let names = names(curves.iter());
    let mut lines: Vec<_> = curves.iter().map(|curve| curve.line(&names)).collect();
    for (line, curve) in lines.iter_mut().zip(&curves) {
        if let Some((_, row)) = curve.points.last() {
            line.name = format!("{}: {}", curve.name, phrase::median(row));
        }
    }
    let (counts, values) = extent(&lines);
    let scale = Scale::fit("ns", values.iter().copied());
    let y = Ruler::fit(scale, &values);
    page.chart(&Chart {
        heading: format!(
            "Half round trip against lines ({}{})",
            scale.unit,
            y.remark()
        ),
        x: &Ruler::doubling(&counts, |count| count.to_string()),
        x_name: "lines published and observed at once",
        y: &y,
        lines,
        guides: &[],
    });
}
