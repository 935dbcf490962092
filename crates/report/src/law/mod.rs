//! What decides the cost of sharing: bytes that are republished, or operations that order them?
//!
//! From the rows of the workload `sharing`. For all conditions of a pod: the rank correlation of
//! the slow-down with either. For conditions that differ in nothing but the two: the law
//! `time = base + a bytes + b operations`, fitted to a part and tested on the rest, and with it the
//! break-even: how many bytes cost as much as one operation.
//!
//! A rank correlation depends on how far each cause was varied; the break-even does not. So both
//! stand beside the ranges of the sweep.

mod fit;
mod rank;

use record::{Coherence, Device, Label, Results, Substrate};
use serde::Serialize;

use crate::condition::{Condition, Place};
pub use fit::Line;
use fit::Point;
pub use rank::{Correlation, spearman};

pub(crate) const WORKLOAD: &str = "sharing";
pub(crate) const METRIC: &str = "time_ns";
const BYTES: &str = "republished_bytes";
const OPERATIONS: &str = "sync_ops";

/// Fields and values of a condition.
type Fields = Vec<(String, String)>;

/// Fields that do not tell groups apart.
const CAUSES: [&str; 2] = [BYTES, OPERATIONS];

/// What the rows of one place say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Law {
    /// Which kind of evidence.
    pub label: Label,
    /// On which pod.
    pub pod: String,
    /// What executed it.
    pub substrate: Substrate,
    /// Who keeps hosts coherent there.
    pub coherence: Coherence,
    /// What backs the region.
    pub device: Device,
    /// The pod, and what tells it from other places of the same results.
    #[serde(skip)]
    pub(crate) place: String,
    /// Conditions.
    pub conditions: usize,
    /// The least and the most bytes that a host republished in a round.
    pub bytes: [f64; 2],
    /// The fewest and the most operations of a round.
    pub operations: [f64; 2],
    /// Of the slow-down with bytes republished.
    pub with_bytes: Option<Correlation>,
    /// Of the slow-down with the count of operations.
    pub with_operations: Option<Correlation>,
    /// The law of each set of conditions that are alike but for the two causes.
    pub groups: Vec<Group>,
}

/// Conditions that are alike but for the two causes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What they have in common and others do not.
    pub name: String,
    /// Conditions that were fitted.
    pub fitted: usize,
    /// Conditions with a level of bytes or of operations that no fitted one had.
    pub tested: usize,
    /// Of the slow-down with bytes republished, in this group alone.
    pub with_bytes: Option<Correlation>,
    /// Of the slow-down with the count of operations, in this group alone.
    pub with_operations: Option<Correlation>,
    /// The law; none where the conditions do not determine one.
    pub line: Option<Line>,
    /// Bytes that cost as much as one operation.
    pub break_even_bytes: Option<f64>,
    /// Relative error on the tested conditions: its median and its worst.
    pub held_out_error: Option<[f64; 2]>,
    /// Share of the group's conditions in which bytes cost more than operations, by the law.
    pub bytes_dominate: Option<f64>,
    #[serde(skip)]
    points: Vec<Point>,
}

/// The law of each place, by label; empty where nothing was shared.
pub fn laws(results: &Results) -> Vec<Law> {
    let mut conditions = Condition::of_workload(results, WORKLOAD);
    conditions.retain(|one| point(one).is_some());
    let sections: Vec<&[Condition<'_>]> = conditions
        .chunk_by(|left, right| left.place() == right.place())
        .collect();
    let places: Vec<Place<'_>> = sections.iter().map(|section| section[0].place()).collect();
    let law = |(section, place): (&&[Condition<'_>], &Place<'_>)| {
        Law::of(section, *place, place.name(&places))
    };
    sections.iter().zip(&places).map(law).collect()
}

fn point(condition: &Condition<'_>) -> Option<Point> {
    Some(Point {
        bytes: condition.number(BYTES)?,
        operations: condition.number(OPERATIONS)?,
        ns: condition.middle(METRIC)?.p50.filter(|ns| *ns > 0.0)?,
    })
}

impl Law {
    fn of(section: &[Condition<'_>], at: Place<'_>, place: String) -> Self {
        let mut groups: Vec<(Fields, String, Vec<Point>)> = Vec::new();
        for condition in section {
            let fields = condition.fields_except(&CAUSES);
            let point = point(condition).expect("conditions without a time were left out");
            if let Some((.., points)) = groups.iter_mut().find(|(known, ..)| *known == fields) {
                points.push(point);
            } else {
                let name = words(condition, section);
                groups.push((fields, name, vec![point]));
            }
        }
        let slow: Vec<(Point, f64)> = groups
            .iter()
            .flat_map(|(.., points)| slowed(points))
            .collect();
        let ends = |of: fn(&Point) -> f64| {
            let values = || slow.iter().map(|(point, _)| of(point));
            [
                values().fold(f64::MAX, f64::min),
                values().fold(0.0, f64::max),
            ]
        };
        Self {
            label: at.label,
            pod: at.pod.to_owned(),
            substrate: at.substrate,
            coherence: at.coherence,
            device: at.device,
            place,
            conditions: slow.len(),
            bytes: ends(|point| point.bytes),
            operations: ends(|point| point.operations),
            with_bytes: with(&slow, |point| point.bytes),
            with_operations: with(&slow, |point| point.operations),
            groups: groups
                .into_iter()
                .map(|(_, name, points)| Group::of(name, points))
                .collect(),
        }
    }
}

/// What tells a group from the others: `placement blocked, footprint bytes 4096`.
pub(crate) fn words(condition: &Condition<'_>, section: &[Condition<'_>]) -> String {
    let fields = condition.distinguishing(section, &CAUSES);
    fields.join(", ").replace('_', " ")
}

/// Slow-downs against the group's quickest condition; none of a group of one, which is neither slow
/// nor quick.
fn slowed(points: &[Point]) -> Vec<(Point, f64)> {
    if points.len() < 2 {
        return Vec::new();
    }
    let quickest = points.iter().map(|point| point.ns).fold(f64::MAX, f64::min);
    points
        .iter()
        .map(|point| (*point, point.ns / quickest))
        .collect()
}

fn with(slow: &[(Point, f64)], of: fn(&Point) -> f64) -> Option<Correlation> {
    let pairs: Vec<_> = slow
        .iter()
        .map(|(point, slow)| (of(point), *slow))
        .collect();
    Correlation::of(&pairs)
}

impl Group {
    fn of(name: String, points: Vec<Point>) -> Self {
        let (fitted, tested) = fit::split(&points);
        let line = Line::through(&fitted);
        let error = |line: &Line| {
            let off = |point: &Point| (line.predict(point) / point.ns - 1.0).abs();
            let mut off: Vec<f64> = tested.iter().map(off).collect();
            off.sort_by(f64::total_cmp);
            Some([*off.get(off.len() / 2)?, *off.last()?])
        };
        let dominate = |line: &Line| {
            let more = |point: &&Point| {
                line.ns_per_byte * point.bytes > line.ns_per_operation * point.operations
            };
            points.iter().filter(more).count() as f64 / points.len() as f64
        };
        Self {
            name,
            fitted: fitted.len(),
            tested: tested.len(),
            with_bytes: with(&slowed(&points), |point| point.bytes),
            with_operations: with(&slowed(&points), |point| point.operations),
            break_even_bytes: line.and_then(|line| line.break_even_bytes()),
            held_out_error: line.as_ref().and_then(error),
            bytes_dominate: line.as_ref().map(dominate),
            line,
            points,
        }
    }

    /// Measured and foretold nanoseconds of the conditions that were not fitted.
    pub(crate) fn held_out(&self) -> Vec<(f64, f64)> {
        let Some(line) = self.line else {
            return Vec::new();
        };
        let (_, tested) = fit::split(&self.points);
        tested
            .iter()
            .map(|point| (point.ns, line.predict(point)))
            .collect()
    }
}

impl Law {
    /// Whether it is the law of this place.
    pub(crate) fn is_of(&self, place: Place<'_>) -> bool {
        (self.label, self.pod.as_str()) == (place.label, place.pod)
            && (self.substrate, self.coherence) == (place.substrate, place.coherence)
            && self.device == place.device
    }

    /// What it says, in sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![format!(
            "{}, {} conditions, {} to {} bytes republished by a host in a round and {} to {} \
             operations: the slow-down has a rank correlation of {} with the bytes and of {} with \
             the operations.",
            self.place,
            self.conditions,
            self.bytes[0],
            self.bytes[1],
            self.operations[0],
            self.operations[1],
            said(self.with_bytes),
            said(self.with_operations),
        )];
        sentences.extend(self.groups.iter().filter_map(Group::sentence));
        sentences
    }
}

impl Group {
    fn sentence(&self) -> Option<String> {
        let line = self.line?;
        let mut said = vec![format!(
            "a round takes {:.1} us + {:.2} ns a byte + {:.2} us an operation",
            line.base_ns / 1e3,
            line.ns_per_byte,
            line.ns_per_operation / 1e3
        )];
        if let Some(bytes) = self.break_even_bytes {
            said.push(format!("one operation costs as much as {bytes:.0} bytes"));
        }
        if let Some([median, worst]) = self.held_out_error {
            said.push(format!(
                "fitted to {} conditions, it is {:.1} % off on the {} others at the median, \
                 {:.1} % at worst",
                self.fitted,
                100.0 * median,
                self.tested,
                100.0 * worst
            ));
        }
        let said = said.join("; ");
        let name = if self.name.is_empty() {
            "All"
        } else {
            &self.name
        };
        Some(format!("{}: {said}.", crate::condition::capital(name)))
    }
}

/// `0.81 [0.69, 0.89]`.
pub(crate) fn said(correlation: Option<Correlation>) -> String {
    match correlation {
        None => "nothing that can be told".to_owned(),
        Some(Correlation {
            rho,
            interval: Some([low, high]),
            ..
        }) => crate::text::unbroken(&format!("{rho:.2} [{low:.2}, {high:.2}]")),
        Some(Correlation { rho, .. }) => format!("{rho:.2}"),
    }
}

/// The laws for machines, one object.
pub(crate) fn json(laws: &[Law]) -> String {
    let object = serde_json::json!({ "laws": laws });
    format!("{object}\n")
}
