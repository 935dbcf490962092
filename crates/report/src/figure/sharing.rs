//! What decides the cost of sharing: time against bytes, a line for each count of operations, and
//! the law that was fitted to a part against what it foretells of the rest.

use record::Results;

use super::chart::{Chart, Estimate, Line};
use super::curve::{curves, extent, names};
use super::page::{Page, SMALL};
use super::palette::{MUTED, style};
use super::ruler::{Ruler, bytes};
use super::scene::Scene;
use crate::condition::{Condition, capital, places};
use crate::law::{self, Law, METRIC, WORKLOAD};
use crate::phrase;
use crate::quantity::Scale;

/// Groups that have a panel of their own.
const MOST: usize = 4;

/// The figure; none where there are no rows.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    conditions.first()?;
    let laws = law::laws(results);
    let title = laws
        .first()
        .map_or_else(|| "No sharing was measured".to_owned(), title);
    let mut page = Page::new(&title, WORKLOAD, results, &conditions);
    page.paragraph(
        SMALL,
        MUTED,
        "Marker: median of a round. Bar: its 95 % interval. The law is fitted to every other level \
         of bytes and of operations, and tested on all conditions that have a level in between.",
    );
    let all = places(&conditions);
    for law in &laws {
        page.section(law.label);
        for sentence in law.sentences() {
            page.paragraph(SMALL, MUTED, &sentence);
        }
        let here: Vec<Condition<'_>> = conditions
            .iter()
            .filter(|one| law.is_of(one.place()))
            .cloned()
            .collect();
        page.place(here[0].place(), &all);
        by_bytes(&mut page, &here);
        held_out(&mut page, law);
    }
    Some(page.finish(results))
}

/// Which of the two the slow-down follows more, if it can be told.
fn title(law: &Law) -> String {
    let (bytes, operations) = (law.with_bytes, law.with_operations);
    let said = format!(
        "rank correlation {} with bytes, {} with operations",
        law::said(bytes),
        law::said(operations)
    );
    let apart = |low: Option<law::Correlation>, high: Option<law::Correlation>| {
        let (low, high) = (low.and_then(|c| c.interval), high.and_then(|c| c.interval));
        low.zip(high).is_some_and(|(low, high)| low[1] < high[0])
    };
    if apart(operations, bytes) {
        format!("The slow-down follows bytes republished more than operations: {said}")
    } else if apart(bytes, operations) {
        format!("The slow-down follows operations more than bytes republished: {said}")
    } else {
        format!("Neither bytes nor operations decide the slow-down alone: {said}")
    }
}

/// One panel for each of the first groups.
fn by_bytes(page: &mut Page, conditions: &[Condition<'_>]) {
    let group = |one: &Condition<'_>| law::words(one, conditions);
    let mut groups: Vec<String> = Vec::new();
    for condition in conditions {
        let name = group(condition);
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    for name in groups.iter().take(MOST) {
        let here = conditions.iter().filter(|one| group(one) == *name);
        let here: Vec<Condition<'_>> = here.cloned().collect();
        let operations = |one: &Condition<'_>| {
            phrase::counted(one.number("sync_ops").unwrap_or(0.0) as u64, "operation")
        };
        let found = curves(
            &here,
            METRIC,
            |one| one.number("republished_bytes"),
            operations,
        );
        let names = names(found.iter());
        let lines: Vec<Line> = found
            .iter()
            .take(8)
            .map(|curve| curve.line(&names))
            .collect();
        let (sizes, values) = extent(&lines);
        let scale = Scale::fit("ns", values.iter().copied());
        let y = Ruler::fit(scale, &values);
        if lines.iter().all(|line| line.points.len() < 2) {
            continue;
        }
        let of = if name.is_empty() {
            String::new()
        } else {
            format!("{name}: ")
        };
        page.chart(&Chart {
            heading: capital(&format!("{of}a round ({}{})", scale.unit, y.remark())),
            x: &Ruler::doubling(&sizes, bytes),
            x_name: "bytes that each host republishes in a round",
            y: &y,
            lines,
            guides: &[],
        });
    }
    let more = groups.len().saturating_sub(MOST);
    if more > 0 {
        let said = format!("{more} more sets of conditions are in the table.");
        page.paragraph(SMALL, MUTED, &said);
    }
}

/// What the law foretold against what was measured, of conditions that it was not fitted to.
fn held_out(page: &mut Page, law: &Law) {
    let mut lines: Vec<Line> = Vec::new();
    for (index, group) in law.groups.iter().take(MOST).enumerate() {
        let mut points = group.held_out();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let point = |(measured, foretold)| (Estimate::exact(measured), Estimate::exact(foretold));
        lines.push(Line {
            name: if group.name.is_empty() {
                "law".to_owned()
            } else {
                group.name.clone()
            },
            style: style(index),
            points: points.into_iter().map(point).collect(),
        });
    }
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return;
    }
    let (xs, ys) = extent(&lines);
    let all: Vec<f64> = xs.iter().chain(&ys).copied().collect();
    let ends = [
        all.iter().copied().fold(f64::MAX, f64::min),
        all.iter().copied().fold(0.0, f64::max),
    ];
    let exact = ends.map(|end| (Estimate::exact(end), Estimate::exact(end)));
    lines.push(Line {
        name: "measured = foretold".to_owned(),
        style: style(4),
        points: exact.to_vec(),
    });
    let scale = Scale::fit("ns", all.iter().copied());
    let ruler = Ruler::fit(scale, &all);
    page.chart(&Chart {
        heading: format!(
            "Foretold by the law, held-out conditions ({}{})",
            scale.unit,
            ruler.remark()
        ),
        x: &ruler,
        x_name: &format!("measured, {}", scale.unit),
        y: &ruler,
        lines,
        guides: &[],
    });
}
