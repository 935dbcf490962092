//! How much memory moves: bandwidth against lanes, and a load's latency while others move it.

use record::Results;

use super::chart::{Chart, Estimate, Line};
use super::curve::{Curve, curves, extent, names};
use super::page::{Page, SMALL};
use super::palette::{MUTED, style};
use super::ruler::Ruler;
use super::scene::Scene;
use crate::condition::{Condition, capital, of_first_place, places};
use crate::phrase;
use crate::quantity::Scale;

pub(crate) const WORKLOAD: &str = "bandwidth";
pub(crate) const METRIC: &str = "bandwidth_gb_per_s";
pub(crate) const LOADED: &str = "loaded_latency_ns";

/// Parameters that set how hard other lanes load the memory.
const PRESSURE: [&str; 3] = ["gap_ns", "gap", "background"];

/// Conditions in which nothing but the bandwidth was measured.
pub(crate) fn unloaded<'a>(conditions: &[Condition<'a>]) -> Vec<Condition<'a>> {
    let loaded = |one: &&Condition<'a>| !one.rows.iter().any(|row| row.metric == LOADED);
    conditions.iter().filter(loaded).cloned().collect()
}

/// Bandwidth against lanes; none where it was not asked for.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = unloaded(&Condition::of_workload(results, WORKLOAD));
    conditions.first()?;
    let mut page = Page::new(&title(&conditions), WORKLOAD, results, &conditions);
    let key =
        "Marker: median. Bar: its 95 % interval. Behind each name: the value with most lanes.";
    page.paragraph(SMALL, MUTED, key);
    for section in conditions.chunk_by(|left, right| left.label == right.label) {
        page.section(section[0].label);
        panels(&mut page, section);
        page.notes(section.iter().filter_map(|one| {
            let reason = one.absence(METRIC)?;
            Some(format!("{}: {reason}", operation(one)))
        }));
    }
    Some(page.finish(results))
}

/// One panel a place, all on one scale: the region is read beside DRAM.
fn panels(page: &mut Page, section: &[Condition<'_>]) {
    let mut places: Vec<String> = Vec::new();
    for condition in section {
        let place = phrase::the_place(condition);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let all: Vec<Vec<Curve<'_>>> = places
        .iter()
        .map(|place| {
            let here = section.iter();
            let here = here.filter(|one| phrase::the_place(one) == *place);
            by_lanes(&here.cloned().collect::<Vec<_>>())
        })
        .collect();
    let names = names(all.iter().flatten());
    let drawn: Vec<Vec<Line>> = all
        .iter()
        .map(|curves| curves.iter().map(|curve| curve.line(&names)).collect())
        .collect();
    let (lanes, values) = extent(&drawn.concat());
    if values.is_empty() {
        return;
    }
    let scale = Scale::fit("GB/s", values.iter().copied());
    // From 0 and linear: a bandwidth that doubles with the lanes is a straight line then.
    let (x, y) = (Ruler::counting(&lanes), Ruler::linear(scale, &values));
    for ((place, mut lines), curves) in places.iter().zip(drawn).zip(&all) {
        for (line, curve) in lines.iter_mut().zip(curves) {
            if let Some((_, row)) = curve.points.last() {
                line.name = format!("{}: {}", curve.name, phrase::median(row));
            }
        }
        if lines.is_empty() {
            continue;
        }
        page.chart(&Chart {
            heading: format!("{} (GB/s)", capital(place.trim_start_matches("the "))),
            x: &x,
            x_name: "lanes",
            y: &y,
            lines,
            guides: &[],
        });
    }
}

/// The curves over lanes: one an operation.
pub(crate) fn by_lanes<'a>(conditions: &[Condition<'a>]) -> Vec<Curve<'a>> {
    let known = ["op", "place", "active_lanes", "lanes", "label"];
    let name = |one: &Condition<'a>| {
        let words = std::iter::once(operation(one));
        phrase::joined(words.chain(one.distinguishing(conditions, &known)))
    };
    curves(conditions, METRIC, |one| Some(phrase::lanes(one)), name)
}

/// The operation's name.
pub(crate) fn operation(condition: &Condition<'_>) -> String {
    condition
        .param("op")
        .unwrap_or_else(|| "bandwidth".to_owned())
}

fn title(conditions: &[Condition<'_>]) -> String {
    match greatest(&of_first_place(conditions)) {
        Some((condition, said)) => format!(
            "At most {said}: {} of {} by {}{}",
            operation(condition),
            phrase::the_place(condition),
            phrase::counted(phrase::lanes(condition) as u64, "lane"),
            condition.place().told(&places(conditions))
        ),
        None => "No bandwidth was measured".to_owned(),
    }
}

/// The condition with the greatest bandwidth, of the region where it was measured.
fn greatest<'a, 'b>(conditions: &'b [Condition<'a>]) -> Option<(&'b Condition<'a>, String)> {
    let measured = conditions
        .iter()
        .filter_map(|one| Some((one, one.middle(METRIC)?)));
    let (condition, row) = measured.max_by(|left, right| {
        let in_region = |one: &Condition<'_>| phrase::the_place(one) == "the region";
        let key = |one: &(&Condition<'_>, &record::Row)| (in_region(one.0), one.1.p50);
        key(left)
            .partial_cmp(&key(right))
            .unwrap_or(std::cmp::Ordering::Equal)
    })?;
    Some((condition, phrase::median(row)))
}

/// A load's latency under load: a name, and bandwidth and latency of each degree of load.
pub(crate) type Loaded<'a> = (String, Vec<(&'a record::Row, &'a record::Row)>);

/// Latency under load by place, each from the least bandwidth to the greatest.
pub(crate) fn loaded<'a>(conditions: &[Condition<'a>]) -> Vec<Loaded<'a>> {
    let measured: Vec<Condition<'a>> = conditions
        .iter()
        .filter(|one| one.middle(LOADED).is_some() && one.middle(METRIC).is_some())
        .cloned()
        .collect();
    let mut known = vec!["op", "place", "label"];
    known.extend(PRESSURE);
    let mut all: Vec<Loaded<'a>> = Vec::new();
    for one in &measured {
        let (Some(latency), Some(bandwidth)) = (one.middle(LOADED), one.middle(METRIC)) else {
            continue;
        };
        let words = [operation(one), phrase::place(one)].into_iter();
        let words = words.filter(|word| word != "loaded");
        let name = phrase::joined(words.chain(one.distinguishing(&measured, &known)));
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((bandwidth, latency)),
            None => all.push((name, vec![(bandwidth, latency)])),
        }
    }
    for (_, points) in &mut all {
        points.sort_by(|left, right| {
            left.0
                .p50
                .unwrap_or(0.0)
                .total_cmp(&right.0.p50.unwrap_or(0.0))
        });
    }
    all
}

/// Latency against bandwidth; none where no latency was measured under load.
pub(super) fn draw_loaded(results: &Results) -> Option<Scene> {
    let mut conditions = Condition::of_workload(results, WORKLOAD);
    conditions.retain(|one| one.rows.iter().any(|row| row.metric == LOADED));
    let first = conditions.first()?;
    let of_first = conditions.iter().filter(|one| one.label == first.label);
    let title = loaded_title(&loaded(&of_first.cloned().collect::<Vec<_>>()));
    let mut page = Page::new(&title, WORKLOAD, results, &conditions);
    let key = "Marker: medians. Bars: their 95 % intervals. A line goes from the least load to the \
               greatest; behind its name: the latency under the greatest.";
    page.paragraph(SMALL, MUTED, key);
    for section in conditions.chunk_by(|left, right| left.label == right.label) {
        page.section(section[0].label);
        loaded_panel(&mut page, &loaded(section));
        let absent = |metric| section.iter().filter_map(move |one| one.absence(metric));
        page.notes(absent(LOADED).chain(absent(METRIC)));
    }
    Some(page.finish(results))
}

fn loaded_panel(page: &mut Page, all: &[Loaded<'_>]) {
    let line = |(index, (name, points)): (usize, &Loaded<'_>)| {
        let greatest = points
            .last()
            .map_or(String::new(), |(_, row)| phrase::median(row));
        let points = points.iter();
        Line {
            name: format!("{name}: {greatest}"),
            style: style(index),
            points: points
                .filter_map(|(x, y)| Some((Estimate::of(x)?, Estimate::of(y)?)))
                .collect(),
        }
    };
    let lines: Vec<Line> = all.iter().enumerate().map(line).collect();
    let (bandwidths, latencies) = extent(&lines);
    if latencies.is_empty() {
        return;
    }
    let rate = Scale::fit("GB/s", bandwidths.iter().copied());
    let time = Scale::fit("ns", latencies.iter().copied());
    let y = Ruler::fit(time, &latencies);
    page.chart(&Chart {
        heading: format!("Load latency ({}{})", time.unit, y.remark()),
        x: &Ruler::linear(rate, &bandwidths),
        x_name: "bandwidth of the other lanes, GB/s",
        y: &y,
        lines,
        guides: &[],
    });
}

fn loaded_title(all: &[Loaded<'_>]) -> String {
    let Some((name, points)) = all.first() else {
        return "No latency was measured under load".to_owned();
    };
    let (Some(least), Some(most)) = (points.first(), points.last()) else {
        return "No latency was measured under load".to_owned();
    };
    let at = |point: &(&record::Row, &record::Row)| {
        let (bandwidth, latency) = (phrase::median(point.0), phrase::median(point.1));
        format!("{latency} while other lanes move {bandwidth}")
    };
    let first = format!("A load costs {}", at(least));
    if points.len() == 1 {
        return format!("{first} ({name})");
    }
    format!("{first}, {} ({name})", at(most))
}
