//! What a tiering policy does over time, where the threads' time goes, and what its sampler makes
//! of the truth: from the history that stands beside the time of each policy.

use record::{Results, Row};
use serde_json::Value;

use super::chart::{Chart, Estimate, Line};
use super::finding::overlap;
use super::page::{BODY, GAP, MARGIN, Page, SMALL, WIDTH};
use super::palette::{INK, MUTED, Style, part, style};
use super::ruler::Ruler;
use super::scene::Scene;
use crate::condition::Condition;
use crate::phrase;
use crate::quantity::Scale;
use crate::text;

pub(crate) const WORKLOAD: &str = "tier";
pub(crate) const SKEW: &str = "tier-skew";
pub(crate) const TIME: &str = "time_ns";

/// Policies that one figure tells apart.
const MOST: usize = 8;

/// Panels over time: the column of a moment, its name, its unit and factor.
const PANELS: [(usize, &str, &str, f64); 5] = [
    (1, "Share of misses that the fast tier serves", "%", 100.0),
    (2, "Resident", "GB", 1e-9),
    (3, "Moved since the start", "GB", 1e-9),
    (4, "Hot threshold", "bin", 1.0),
    (5, "Warm threshold", "bin", 1.0),
];

/// Where time goes: a name, and the kinds of the record that it sums.
const PARTS: [(&str, &[&str]); 7] = [
    ("compute and cache hits", &["compute", "cache-hit"]),
    ("fast misses", &["fast-miss"]),
    ("capacity misses", &["capacity-miss", "stream"]),
    ("walks", &["walk"]),
    ("queueing", &["queue"]),
    (
        "faults, moves, sampler",
        &["fault", "hint-fault", "blocked", "shootdown", "sampler"],
    ),
    ("waiting at barriers", &["barrier"]),
];

/// A policy: its name, and the history of its first trial.
struct Told<'a> {
    name: String,
    history: &'a Value,
}

fn told<'a>(conditions: &[Condition<'a>]) -> Vec<Told<'a>> {
    let told = conditions.iter().filter_map(|condition| {
        let row = condition.middle(TIME)?;
        let history = row.answer.as_ref()?;
        let others = condition.distinguishing(conditions, &["policy"]);
        let mut name = condition.param("policy")?;
        if !others.is_empty() {
            name = format!("{name}, {}", others.join(", "));
        }
        Some(Told { name, history })
    });
    told.collect()
}

/// What the times allow to say. Policies compete on one workload at one ratio, all that were run,
/// also those that the figure leaves out; a winner needs an interval that overlaps with no other's.
fn time_title(conditions: &[Condition<'_>]) -> Option<String> {
    let setting = |one: &Condition<'_>| one.distinguishing(conditions, &["policy"]);
    let timed: Vec<(&Condition<'_>, &Row, f64)> = conditions
        .iter()
        .filter_map(|one| {
            let row = one.middle(TIME)?;
            Some((one, row, row.p50?))
        })
        .collect();
    let &(best, row, _) = timed.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let mut settings: Vec<Vec<String>> = timed.iter().map(|(one, ..)| setting(one)).collect();
    settings.sort_unstable();
    settings.dedup();
    let all = timed.len();
    if settings.len() > 1 {
        let many = settings.len();
        return Some(format!(
            "Times of {all} runs in {many} settings, which differ in more than the policy"
        ));
    }
    let tied = timed.iter().filter(|(_, other, _)| overlap(row, other));
    let tied = tied.count();
    let (name, time) = (best.param("policy")?, phrase::median(row));
    Some(match (all, tied) {
        (1, _) => format!("{name} takes {time}"),
        (_, 1) => format!("{name} is the fastest of {all}: {time}"),
        _ => format!("No policy is the fastest: {tied} of {all} tie, the least median is {time}"),
    })
}

/// Says how many of all policies the figure shows, where it leaves some out.
fn left_out(page: &mut Page, all: usize) {
    if all > MOST {
        let shown = format!("{MOST} of {all} shown, the first that were run.");
        page.paragraph(SMALL, MUTED, &shown);
    }
}

/// Over time, and where it goes.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    let mut told = told(&conditions);
    let all = told.len();
    told.truncate(MOST);
    let title = time_title(&conditions).filter(|_| all > 0)?;
    let mut page = Page::new(&title, WORKLOAD, results, &conditions);
    let key = "Histories are of the first seed, in seconds at full scale.";
    page.paragraph(SMALL, MUTED, key);
    left_out(&mut page, all);
    parts(&mut page, &told);
    for (column, heading, unit, factor) in PANELS {
        panel(&mut page, &told, column, heading, unit, factor);
    }
    histogram(&mut page, &told);
    Some(page.finish(results))
}

/// One bar a policy: seconds of each kind of work.
fn parts(page: &mut Page, told: &[Told<'_>]) {
    page.y += GAP;
    page.paragraph(BODY, INK, "Where the threads' time goes (s)");
    let legend: Vec<(&str, Style)> = PARTS
        .iter()
        .enumerate()
        .map(|(index, (name, _))| (*name, part(index)))
        .collect();
    page.legend(&legend);
    let seconds = |one: &Told<'_>, kinds: &[&str]| -> f64 {
        let spent = &one.history["spent_s"];
        kinds.iter().filter_map(|kind| spent[*kind].as_f64()).sum()
    };
    let whole = |one: &Told<'_>| -> f64 { PARTS.iter().map(|(_, k)| seconds(one, k)).sum() };
    let longest = told.iter().map(whole).fold(0.0, f64::max);
    if longest <= 0.0 {
        return;
    }
    let room = f64::from(WIDTH - 2 * MARGIN);
    for one in told {
        let beside = background(one);
        let text = format!("{}: {:.0} s{beside}", one.name, whole(one));
        page.paragraph(SMALL, INK, &text);
        let mut from = f64::from(MARGIN);
        for (index, (_, kinds)) in PARTS.iter().enumerate() {
            let to = from + seconds(one, kinds) / longest * room;
            let y = page.y + GAP;
            if to > from {
                let ends = ((from as i32, y), (to as i32, y));
                page.scene.line(ends.0, ends.1, part(index).color, 12);
            }
            from = to;
        }
        page.y += 2 * GAP + GAP / 2;
    }
}

/// What daemons did beside the threads whose time is shown; empty where the record does not say.
fn background(one: &Told<'_>) -> String {
    let Some(daemons) = one.history["background_s"].as_object() else {
        return String::new();
    };
    let busy = daemons.iter().filter_map(|(name, seconds)| {
        let seconds = seconds.as_f64().filter(|seconds| *seconds >= 0.5)?;
        Some(format!("{name} {seconds:.0} s"))
    });
    let busy = busy.collect::<Vec<_>>().join(", ");
    if busy.is_empty() {
        return busy;
    }
    format!("; on cores of their own: {busy}")
}

/// Values of a column of the moments against time.
fn points(history: &Value, list: &str, column: usize, factor: f64) -> Vec<(Estimate, Estimate)> {
    let moments = history[list].as_array().into_iter().flatten();
    let point = |moment: &Value| {
        let (x, y) = (moment[0].as_f64()?, moment[column].as_f64()?);
        Some((Estimate::exact(x), Estimate::exact(y * factor)))
    };
    moments.filter_map(point).collect()
}

/// Seconds from 0 on.
fn seconds(values: &[f64]) -> Ruler {
    Ruler::linear(Scale::fit("s", std::iter::empty()), values)
}

/// Draws lines over what an axis of a name is for.
fn chart(
    page: &mut Page,
    lines: Vec<Line>,
    heading: &str,
    unit: &str,
    (x_name, x_axis): (&str, fn(&[f64]) -> Ruler),
) {
    let values = |pick: fn(&(Estimate, Estimate)) -> f64| -> Vec<f64> {
        let points = lines.iter().flat_map(|line| &line.points);
        points.map(pick).collect()
    };
    let (xs, ys) = (
        values(|point| point.0.median),
        values(|point| point.1.median),
    );
    if xs.len() < 2 {
        return;
    }
    let x = x_axis(&xs);
    let y = match unit {
        "%" => Ruler::share(),
        // Half a bin is none.
        "bin" => Ruler::counting(&ys),
        _ => Ruler::linear(Scale::fit(unit, std::iter::empty()), &ys),
    };
    page.chart(&Chart {
        heading: format!("{heading} ({unit})"),
        x: &x,
        x_name,
        y: &y,
        lines,
        guides: &[],
    });
}

fn panel(
    page: &mut Page,
    told: &[Told<'_>],
    column: usize,
    heading: &str,
    unit: &str,
    factor: f64,
) {
    let lines: Vec<Line> = told
        .iter()
        .enumerate()
        .map(|(index, one)| Line {
            name: one.name.clone(),
            style: style(index),
            points: thin(points(one.history, "moments", column, factor)),
        })
        .filter(|line| line.points.iter().any(|(_, y)| y.median > 0.0))
        .collect();
    let x = (
        "time of the measured phase, s",
        seconds as fn(&[f64]) -> Ruler,
    );
    chart(page, lines, heading, unit, x);
}

/// At most 40 points of a line: more markers than that hide each other.
fn thin(points: Vec<(Estimate, Estimate)>) -> Vec<(Estimate, Estimate)> {
    let every = points.len().div_ceil(40).max(1);
    points.into_iter().step_by(every).collect()
}

/// The last histogram of each policy that keeps one.
fn histogram(page: &mut Page, told: &[Told<'_>]) {
    let lines: Vec<Line> = told
        .iter()
        .enumerate()
        .filter_map(|(index, one)| {
            let last = one.history["histograms"].as_array()?.last()?.as_array()?;
            let points: Vec<(Estimate, Estimate)> = last
                .iter()
                .enumerate()
                .filter_map(|(bin, pages)| {
                    Some((
                        Estimate::exact(bin as f64),
                        Estimate::exact(pages.as_f64()?),
                    ))
                })
                .collect();
            let any = points.iter().any(|(_, pages)| pages.median > 0.0);
            any.then(|| Line {
                name: one.name.clone(),
                style: style(index),
                points,
            })
        })
        .collect();
    chart(
        page,
        lines,
        "Base pages by how hot they were found, at the end",
        "pages of the model",
        (
            "bin b: counts from 2^b - 1 on; a sample counts 1 for a huge page, 512 for a base page",
            Ruler::counting,
        ),
    );
}

/// The sampler's estimates against the truth, at each cooling.
pub(super) fn draw_truth(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    let mut told: Vec<Told<'_>> = told(&conditions)
        .into_iter()
        .filter(|one| {
            one.history["truths"]
                .as_array()
                .is_some_and(|all| all.len() > 1)
        })
        .collect();
    let all = told.len();
    told.truncate(MOST);
    let first = told.first()?;
    let last = first.history["truths"].as_array()?.last()?;
    let percent = |column: usize| 100.0 * last[column].as_f64().unwrap_or(0.0);
    let title = format!(
        "{} estimates that base pages would serve {:.0} % of misses fast; in truth {:.0} %",
        first.name,
        percent(1),
        percent(2)
    );
    let mut page = Page::new(&title, WORKLOAD, results, &conditions);
    let key = "eHR: the share of misses that the fast tier would serve with base pages only. rHR: \
               the share that it serves. The truth counts every miss, halved as the counts are.";
    page.paragraph(SMALL, MUTED, key);
    left_out(&mut page, all);
    for one in &told {
        let names = ["eHR, estimated", "eHR, true", "rHR, sampled", "rHR, true"];
        let lines = names.iter().enumerate().map(|(index, name)| Line {
            name: (*name).to_owned(),
            style: style(index),
            points: thin(points(one.history, "truths", index + 1, 100.0)),
        });
        chart(
            &mut page,
            lines.collect(),
            &one.name,
            "%",
            ("time since the start, s", seconds),
        );
    }
    Some(page.finish(results))
}

/// The bucket of skewness that sampling gives to pages that are used evenly, and to such that are
/// not.
pub(super) fn draw_skew(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, SKEW);
    let title = skew_title(&conditions)?;
    let mut page = Page::new(&title, SKEW, results, &conditions);
    let key = "Markers: medians. Bars: their 95 % intervals. The applications of 65 GB that Memtis \
               was measured with have about 0.12 samples a page and cooling, those of 12 GB 0.65. \
               Bucket 0: a page so hot that it is exempt, and never split for its skewness.";
    page.paragraph(SMALL, MUTED, key);
    for (metric, heading) in [
        ("touched_subpages", "Subpages with a sample"),
        (
            "skew_bucket",
            "Bucket of skewness; pages from the highest down are split",
        ),
    ] {
        let lines = skew_lines(&conditions, metric);
        let xs: Vec<f64> = lines
            .iter()
            .flat_map(|l| &l.points)
            .map(|p| p.0.median)
            .collect();
        let ys: Vec<f64> = lines
            .iter()
            .flat_map(|line| &line.points)
            .flat_map(|point| point.1.values())
            .collect();
        let plain = Scale::fit("", std::iter::empty());
        page.chart(&Chart {
            heading: heading.to_owned(),
            x: &Ruler::fit(plain, &xs),
            x_name: "samples a base page and cooling",
            y: &Ruler::linear(plain, &ys),
            lines,
            guides: &[],
        });
    }
    Some(page.finish(results))
}

/// Samples a base page and cooling of applications of 65 GB: what the title is about.
const USUAL_DENSITY: f64 = 0.12;

/// What sampling makes of the page that is used most evenly, at the density nearest to the usual.
pub(crate) fn skew_title(conditions: &[Condition<'_>]) -> Option<String> {
    let density = |one: &Condition<'_>| one.number("samples_per_page").unwrap_or(f64::MAX);
    let active = |one: &Condition<'_>| one.number("active_subpages").unwrap_or(0.0);
    let evenest = conditions.iter().map(active).fold(0.0, f64::max);
    let off = |one: &Condition<'_>| (density(one) - USUAL_DENSITY).abs();
    let even = conditions.iter().filter(|one| active(one) >= evenest);
    let usual = even.min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let touched = usual.middle("touched_subpages")?.p50?;
    Some(format!(
        "At {} samples a page, {touched:.0} of {evenest:.0} subpages that are used alike have one",
        density(usual)
    ))
}

fn skew_lines(conditions: &[Condition<'_>], metric: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for condition in conditions {
        let (Some(active), Some(density), Some(row)) = (
            condition.number("active_subpages"),
            condition.number("samples_per_page"),
            condition.middle(metric),
        ) else {
            continue;
        };
        let Some(estimate) = Estimate::of(row) else {
            continue;
        };
        let name = text::unbroken(&format!("{active} of 512 active"));
        let point = (Estimate::exact(density), estimate);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name,
                style: style(lines.len()),
                points: vec![point],
            }),
        }
    }
    lines
}
