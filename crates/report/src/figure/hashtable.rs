//! How a hash table scales over hosts, and why: what each operation publishes and observes.

use record::{Results, Row};

use super::chart::{Chart, Estimate, Line};
use super::curve::extent;
use super::page::{Page, SMALL};
use super::palette::{MUTED, style};
use super::ruler::Ruler;
use super::scene::Scene;
use crate::condition::{Condition, capital, places};
use crate::phrase;
use crate::quantity::Scale;

const WORKLOAD: &str = "hashtable";
const METRIC: &str = "throughput_per_s";
/// Lines that a panel tells apart.
const MOST: usize = 6;

/// The figure; none where there are no rows, or of one count of hosts only.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    let hosts = |one: &Condition<'_>| one.rows[0].hosts;
    let first = hosts(conditions.first()?);
    if conditions.iter().all(|one| hosts(one) == first) {
        return None;
    }
    let title = "How a hash table scales over hosts, and what each operation costs the pool";
    let mut page = Page::new(title, WORKLOAD, results, &conditions);
    page.paragraph(
        SMALL,
        MUTED,
        "Marker: median of the repetitions. One host alone needs nothing published. Below each: \
         lines that an operation publishes and observes, from the census. They grow with hosts \
         where a lock looks at a line of every host, and where who waits looks again.",
    );
    let (mut label, all) = (None, places(&conditions));
    for here in conditions.chunk_by(|left, right| left.place() == right.place()) {
        if label.replace(here[0].label) != Some(here[0].label) {
            page.section(here[0].label);
        }
        page.place(here[0].place(), &all);
        for group in here.iter().map(|one| group(one)).fold(Vec::new(), once) {
            let of: Vec<_> = here
                .iter()
                .filter(|one| self::group(one) == group)
                .collect();
            panel(
                &mut page,
                &of,
                &group,
                "operations of all hosts",
                "1/s",
                |row| row.p50,
            );
            panel(
                &mut page,
                &of,
                &group,
                "lines an operation",
                "",
                lines_moved,
            );
        }
    }
    Some(page.finish(results))
}

fn once<T: PartialEq>(mut seen: Vec<T>, next: T) -> Vec<T> {
    if !seen.contains(&next) {
        seen.push(next);
    }
    seen
}

/// What a panel has in common: the mix, and how often which entry.
fn group(one: &Condition<'_>) -> String {
    let param = |name| one.param(name).unwrap_or_default();
    format!("mix {}, {}", param("mix"), param("distribution"))
}

/// What tells the lines of a panel apart; one host is the same however it would share.
fn name(one: &Condition<'_>) -> String {
    let param = |name| one.param(name).unwrap_or_default();
    let bytes = match one.number("value_bytes") {
        Some(8.0) => String::new(),
        _ => format!(", {} B", param("value_bytes")),
    };
    format!("{}, {}{bytes}", param("sharing"), param("placement"))
}

/// The same, with the lanes of a host where they vary: points of two are not one line.
fn named(one: &Condition<'_>, all: &[&Condition<'_>]) -> String {
    let lanes = one.rows[0].lanes;
    if all.iter().all(|other| other.rows[0].lanes == lanes) {
        return name(one);
    }
    let lanes = phrase::counted(lanes.into(), "lane");
    phrase::joined([name(one), lanes])
}

fn lines_moved(row: &Row) -> Option<f64> {
    let census = row.census.as_ref()?;
    Some(census.lines_published + census.lines_observed)
}

/// Lines have no unit.
fn heading(group: &str, what: &str, unit: &str, remark: &str) -> String {
    let scale = format!("{unit}{remark}");
    match scale.trim_start_matches(", ") {
        "" => format!("{group}: {what}"),
        scale => format!("{group}: {what} ({scale})"),
    }
}

fn panel(
    page: &mut Page,
    conditions: &[&Condition<'_>],
    group: &str,
    what: &str,
    unit: &'static str,
    value: impl Fn(&Row) -> Option<f64>,
) {
    let names = conditions
        .iter()
        .map(|one| named(one, conditions))
        .fold(Vec::new(), once);
    let mut lines = Vec::new();
    for (index, name) in names.into_iter().take(MOST).enumerate() {
        let of = conditions
            .iter()
            .filter(|one| named(one, conditions) == name);
        let mut points: Vec<(f64, f64)> = of
            .filter_map(|one| {
                let row = one.middle(METRIC)?;
                Some((f64::from(row.hosts), value(row)?))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let exact = |(x, y)| (Estimate::exact(x), Estimate::exact(y));
        lines.push(Line {
            name,
            style: style(index),
            points: points.into_iter().map(exact).collect(),
        });
    }
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return;
    }
    let (hosts, values) = extent(&lines);
    let scale = Scale::fit(unit, values.iter().copied());
    let y = Ruler::fit(scale, &values);
    page.chart(&Chart {
        heading: capital(&heading(group, what, scale.unit, y.remark())),
        x: &Ruler::doubling(&hosts, |hosts| format!("{hosts:.0}")),
        x_name: "hosts",
        y: &y,
        lines,
        guides: &[],
    });
}
