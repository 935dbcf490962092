//! The sentence over the figure of `visibility`: what the medians and their intervals allow to say.

use record::Row;

use super::visibility::name;
use crate::condition::{Condition, capital, labels, places};
use crate::quantity::Scale;
use crate::text;

/// The metric that every pod can measure: it takes one clock.
const METRIC: &str = "half_round_trip_ns";

/// The finding, as a sentence. Where labels are mixed it says whose it is.
pub(crate) fn title(conditions: &[Condition<'_>]) -> String {
    let at = conditions[0].place().told(&places(conditions));
    let finding = format!("{}{at}", finding(conditions));
    match labels(conditions).as_slice() {
        [label, _, ..] => capital(&format!("{label}: {finding}")),
        _ => capital(&finding),
    }
}

/// Only conditions of the first place and the fewest lines compete: a longer message, another pod
/// and another kind of evidence are other questions. A winner needs an interval of its own.
fn finding(conditions: &[Condition<'_>]) -> String {
    let first = &conditions[0];
    let competes = |one: &&Condition<'_>| {
        one.place() == first.place() && one.param("lines") == first.param("lines")
    };
    let here: Vec<Condition<'_>> = conditions.iter().filter(competes).cloned().collect();
    let measured: Vec<(&Row, f64, String)> = here
        .iter()
        .filter_map(|one| {
            let row = one.middle(METRIC)?;
            Some((row, row.p50?, name(one, &here)))
        })
        .collect();
    let Some((best, median, best_name)) = measured.first() else {
        let reason = first.absence(METRIC);
        let reason = reason.unwrap_or_else(|| "it was not asked for".to_owned());
        return format!("no half round trip was measured; {reason}");
    };
    let tied = measured.iter().filter(|(row, ..)| overlap(row, best));
    let tied: Vec<f64> = tied.map(|(_, median, _)| *median).collect();
    let slowest = tied.iter().copied().fold(*median, f64::max);
    let scale = Scale::fit(&best.unit, [slowest].into_iter());
    let figure = text::unbroken(&scale.show(*median));
    match (measured.len(), tied.len()) {
        (1, _) => format!("a half round trip takes {figure}: {best_name}"),
        (_, 1) => format!("fastest publish + observe: {best_name}, {figure} a half round trip"),
        (all, tied) if slowest <= *median => format!(
            "no publish + observe is the fastest: {tied} of {all} take {figure} a half round trip"
        ),
        (all, tied) => format!(
            "no publish + observe is the fastest: {tied} of {all} tie at {} to {} a half round \
             trip",
            scale.digits(*median),
            text::unbroken(&scale.show(slowest))
        ),
    }
}

/// Whether two medians cannot be told apart. A row without an interval cannot be told from any.
pub(super) fn overlap(left: &Row, right: &Row) -> bool {
    match (left.ci95, right.ci95) {
        (Some(left), Some(right)) => left[0] <= right[1] && right[0] <= left[1],
        _ => true,
    }
}
