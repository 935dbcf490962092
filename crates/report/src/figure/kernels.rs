//! How graph kernels scale over hosts, and what goes with it: speed-ups against hosts, against
//! bytes republished an edge, and with as many lanes in all.

use record::Results;

use super::chart::{Chart, Estimate, Line};
use super::curve::extent;
use super::page::{Page, SMALL};
use super::palette::{MUTED, style};
use super::ruler::Ruler;
use super::scene::Scene;
use crate::condition::Condition;
use crate::law;
use crate::quantity::Scale;
use crate::scaling::{self, KERNELS, Scaling, Speedup};

/// The figure; none where no kernel was run on one host and on several.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let scalings = scaling::scalings(results);
    let first = scalings.first()?;
    let of = |kernel: &&&str| results.rows.iter().any(|row| row.workload == **kernel);
    let kernel = KERNELS.iter().find(of)?;
    let conditions = KERNELS
        .iter()
        .flat_map(|kernel| Condition::of_workload(results, kernel));
    let conditions: Vec<Condition<'_>> = conditions.collect();
    let mut page = Page::new(&title(first), kernel, results, &conditions);
    page.paragraph(
        SMALL,
        MUTED,
        "Speed-up: the time of one host without maintenance by that of several, of the same \
         variant. Bytes: published by all hosts, for each edge gone along.",
    );
    for scaling in &scalings {
        page.section(scaling.label);
        for kernel in KERNELS {
            over_hosts(&mut page, scaling, kernel);
        }
        against_bytes(&mut page, scaling);
        with_same_lanes(&mut page, scaling);
    }
    Some(page.finish(results))
}

fn title(scaling: &Scaling) -> String {
    if scaling.with_bytes.is_none() && scaling.with_barriers.is_none() {
        return "How graph kernels scale over hosts".to_owned();
    }
    format!(
        "The speed-up of graph kernels has a rank correlation of {} with the bytes that they \
         republish, of {} with their barriers",
        law::said(scaling.with_bytes),
        law::said(scaling.with_barriers)
    )
}

/// One line a name, its points by hosts, styled by place.
fn lines<'a>(
    speedups: &(impl Iterator<Item = &'a Speedup> + Clone),
    name: impl Fn(&Speedup) -> String,
    x: impl Fn(&Speedup) -> f64,
) -> Vec<Line> {
    let mut names: Vec<String> = Vec::new();
    for one in speedups.clone() {
        let name = name(one);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let line = |(index, known): (usize, String)| {
        let here = speedups.clone().filter(|one| name(one) == known);
        let mut here: Vec<&Speedup> = here.collect();
        here.sort_by_key(|one| one.hosts);
        let point = |one: &&Speedup| (Estimate::exact(x(one)), Estimate::exact(one.speedup));
        Line {
            points: here.iter().map(point).collect(),
            name: known,
            style: style(index),
        }
    };
    names.into_iter().enumerate().map(line).collect()
}

fn over_hosts(page: &mut Page, scaling: &Scaling, kernel: &str) {
    let here = scaling.speedups.iter().filter(|one| one.workload == kernel);
    let lines = lines(&here, |one| one.variant.clone(), |one| f64::from(one.hosts));
    panel(
        page,
        format!("{kernel}, {}: speed-up", scaling.place),
        lines,
    );
}

fn with_same_lanes(page: &mut Page, scaling: &Scaling) {
    let name = |one: &Speedup| {
        let all = one.hosts * one.lanes;
        format!("{} {}, {all} lanes in all", one.workload, one.variant)
    };
    let lines = lines(&scaling.same_lanes.iter(), name, |one| f64::from(one.hosts));
    let heading = format!("{}: speed-up with as many lanes in all", scaling.place);
    panel(page, heading, lines);
}

/// Lines over hosts, each from one host against itself on.
fn panel(page: &mut Page, heading: String, mut lines: Vec<Line>) {
    if lines.is_empty() {
        return;
    }
    for line in &mut lines {
        let alone = (Estimate::exact(1.0), Estimate::exact(1.0));
        line.points.insert(0, alone);
    }
    let (hosts, values) = extent(&lines);
    page.chart(&Chart {
        heading,
        x: &Ruler::doubling(&hosts, |hosts| format!("{hosts:.0}")),
        x_name: "hosts",
        y: &Ruler::linear(Scale::fit("1", values.iter().copied()), &values),
        lines,
        guides: &[],
    });
}

/// Each variant's way from two hosts on.
fn against_bytes(page: &mut Page, scaling: &Scaling) {
    let name = |one: &Speedup| format!("{} {}", one.workload, one.variant);
    let lines = lines(&scaling.speedups.iter(), name, |one| one.bytes_an_edge);
    if lines.is_empty() {
        return;
    }
    let (bytes, values) = extent(&lines);
    let x = Ruler::fit(Scale::fit("1", bytes.iter().copied()), &bytes);
    page.chart(&Chart {
        heading: format!(
            "{}: speed-up against bytes republished, a line from two hosts on",
            scaling.place
        ),
        x_name: &format!("bytes an edge{}", x.remark()),
        x: &x,
        y: &Ruler::linear(Scale::fit("1", values.iter().copied()), &values),
        lines,
        guides: &[],
    });
}
