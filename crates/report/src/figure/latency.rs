//! What an access costs, against how much memory it moves in: one panel an operation.

use record::{Label, Results};
use serde_json::Value;

use super::chart::Chart;
use super::curve::{Curve, curves, extent, names};
use super::page::{Page, SMALL};
use super::palette::MUTED;
use super::ruler::{Ruler, bytes};
use super::scene::Scene;
use crate::condition::{Condition, capital, of_first_place, places};
use crate::phrase;
use crate::quantity::Scale;

pub(crate) const WORKLOAD: &str = "latency";

/// Metrics, what a panel calls them, and what a sentence does.
pub(crate) const METRICS: [(&str, &str, &str); 3] = [
    (
        "load_latency_ns",
        "Load, each waiting for the one before",
        "a load",
    ),
    ("store_latency_ns", "Store", "a store"),
    (
        "flush_reload_ns",
        "Flush, fence, and load again",
        "flush and reload",
    ),
];

/// The figure; none where there are no rows.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    conditions.first()?;
    let mut page = Page::new(&title(&conditions), WORKLOAD, results, &conditions);
    let key = "Marker: median. Bar: its 95 % interval. Behind each name: the value at the largest \
               working set.";
    page.paragraph(SMALL, MUTED, key);
    for section in conditions.chunk_by(|left, right| left.label == right.label) {
        page.section(section[0].label);
        let guides = match section[0].label {
            Label::Simulated => Vec::new(),
            _ => caches(results),
        };
        panels(&mut page, section, &guides);
        page.notes(METRICS.iter().flat_map(|(metric, name, _)| {
            let absent = section.iter().filter_map(|one| one.absence(metric));
            absent.map(move |reason| format!("{name}: {reason}"))
        }));
    }
    Some(page.finish(results))
}

fn panels(page: &mut Page, section: &[Condition<'_>], guides: &[(f64, String)]) {
    let all: Vec<Vec<Curve<'_>>> = METRICS
        .iter()
        .map(|(metric, ..)| by_working_set(section, metric))
        .collect();
    let names = names(all.iter().flatten());
    let sizes = all.iter().flatten().flat_map(|curve| &curve.points);
    let sizes: Vec<f64> = sizes.map(|(size, _)| *size).collect();
    let x = Ruler::doubling(&sizes, bytes);
    for (curves, (_, heading, _)) in all.iter().zip(METRICS) {
        let mut lines: Vec<_> = curves.iter().map(|curve| curve.line(&names)).collect();
        if lines.is_empty() {
            continue;
        }
        let (_, values) = extent(&lines);
        let scale = Scale::fit("ns", values.iter().copied());
        let y = Ruler::fit(scale, &values);
        for (line, curve) in lines.iter_mut().zip(curves) {
            if let Some((_, row)) = curve.points.last() {
                line.name = format!("{}: {}", curve.name, phrase::median(row));
            }
        }
        page.chart(&Chart {
            heading: format!("{heading} ({}{})", scale.unit, y.remark()),
            x: &x,
            x_name: "working set",
            y: &y,
            lines,
            guides,
        });
    }
}

/// The curves of a metric over the working set: one for each place and size of pages.
pub(crate) fn by_working_set<'a>(conditions: &[Condition<'a>], metric: &str) -> Vec<Curve<'a>> {
    let measured: Vec<Condition<'a>> = conditions
        .iter()
        .filter(|one| one.middle(metric).is_some())
        .cloned()
        .collect();
    let known = ["working_set_bytes", "op", "place", "pages", "label"];
    let name = |one: &Condition<'a>| {
        let words = [phrase::place(one), phrase::pages(one)].into_iter();
        let name = phrase::joined(words.chain(one.distinguishing(&measured, &known)));
        if name.is_empty() {
            "all".to_owned()
        } else {
            name
        }
    };
    let size = |one: &Condition<'a>| one.number("working_set_bytes");
    curves(&measured, metric, size, name)
}

fn title(conditions: &[Condition<'_>]) -> String {
    let here = of_first_place(conditions);
    let at = here[0].place().told(&places(conditions));
    let found = METRICS.iter().find_map(|(metric, _, name)| {
        let curve = by_working_set(&here, metric).into_iter().next()?;
        Some((curve, *name))
    });
    let Some((curve, name)) = found else {
        return "No latency was measured".to_owned();
    };
    let (least, near) = curve.points[0];
    let (greatest, far) = curve.points[curve.points.len() - 1];
    let near = format!("{} within {}", phrase::median(near), bytes(least));
    let costs = format!("{} costs {near}", capital(name));
    if curve.points.len() == 1 {
        return format!("{costs} ({}){at}", curve.name);
    }
    let far = phrase::median(far);
    let greatest = bytes(greatest);
    format!("{costs}, {far} within {greatest} ({}){at}", curve.name)
}

/// The data caches of the first host, where its file knows them, by size.
fn caches(results: &Results) -> Vec<(f64, String)> {
    let host = results.hosts.values().next();
    let caches = host.and_then(|host| host["caches"].as_array());
    let mut guides: Vec<(f64, String)> = caches
        .into_iter()
        .flatten()
        .filter(|cache| cache["kind"] != "instruction")
        .filter_map(guide)
        .collect();
    guides.sort_by(|left, right| left.0.total_cmp(&right.0));
    guides.dedup();
    guides
}

fn guide(cache: &Value) -> Option<(f64, String)> {
    let (level, size) = (cache["level"].as_u64()?, cache["size_bytes"].as_f64()?);
    let data = if cache["kind"] == "data" { "d" } else { "" };
    Some((size, format!("L{level}{data} {}", bytes(size))))
}
