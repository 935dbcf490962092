//! Rows grouped by what they measured.
//!
//! A condition is everything that the plan varied; the rows of one condition and metric are its
//! pairs of hosts and its repeated trials.

use record::{Coherence, Device, Label, Results, Row, Substrate};
use serde_json::Value;

use crate::frame;

/// Fields that tell rows of one condition apart, rather than conditions.
const WITHIN: [&str; 5] = ["host", "peer", "lane", "metric", "unit"];

/// Parameters that set how long is measured, not what: rows that differ in them alone are told
/// apart, but need no name of their own.
const EFFORT: [&str; 5] = ["rounds", "hops", "blocks", "windows", "batch"];

/// Where rows were measured. Rows of two places are never held against each other, and share
/// neither a law nor a correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place<'a> {
    /// What kind of evidence they are.
    pub(crate) label: Label,
    /// On which pod.
    pub(crate) pod: &'a str,
    pub(crate) substrate: Substrate,
    pub(crate) coherence: Coherence,
    pub(crate) device: Device,
}

impl<'a> Place<'a> {
    pub(crate) fn of(row: &'a Row) -> Self {
        Self {
            label: row.label,
            pod: &row.pod,
            substrate: row.substrate,
            coherence: row.coherence,
            device: row.device,
        }
    }

    /// ` (pod NAME)` where there are several places, and nothing where there is one.
    pub(crate) fn told(&self, all: &[Self]) -> String {
        match all {
            [_] => String::new(),
            _ => format!(" (pod {})", self.name(all)),
        }
    }

    /// The pod, and of the rest what tells it from other places of that pod and label.
    pub(crate) fn name(&self, all: &[Self]) -> String {
        let mut name = self.pod.to_owned();
        let mut tell = |varies: fn(&Self, &Self) -> bool, word: &str| {
            let alike = |other: &&Self| (other.label, other.pod) == (self.label, self.pod);
            if all.iter().filter(alike).any(|other| varies(self, other)) {
                name.push_str(", ");
                name.push_str(word);
            }
        };
        tell(|a, b| a.substrate != b.substrate, self.substrate.as_str());
        tell(|a, b| a.device != b.device, self.device.as_str());
        let coherence = format!("{} coherence", self.coherence);
        tell(|a, b| a.coherence != b.coherence, &coherence);
        name
    }
}

/// The rows of one condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition<'a> {
    /// What kind of evidence its rows are.
    pub(crate) label: Label,
    /// Fields and values, those of [`WITHIN`] left out.
    fields: Vec<(String, String)>,
    /// In the record's order.
    pub(crate) rows: Vec<&'a Row>,
}

impl<'a> Condition<'a> {
    /// Groups rows, in the order in which conditions first appear.
    pub(crate) fn group(rows: impl Iterator<Item = &'a Row>) -> Vec<Self> {
        let rows: Vec<&Row> = rows.collect();
        let keys: Vec<Vec<(String, String)>> = rows.iter().map(|row| key(row)).collect();
        frame::groups(&keys)
            .into_iter()
            .map(|group| Self {
                label: rows[group[0]].label,
                fields: keys[group[0]].clone(),
                rows: group.iter().map(|index| rows[*index]).collect(),
            })
            .collect()
    }

    /// How long was measured, as `name value`: what tells it from a condition of the same name.
    pub(crate) fn effort(&self) -> String {
        let params = self.rows[0].params.iter();
        let effort = params.filter(|(name, _)| EFFORT.contains(&name.as_str()));
        let said = effort.map(|(name, value)| format!("{name} {}", plain(value)));
        said.collect::<Vec<_>>().join(", ")
    }

    /// The conditions of a workload, by label, then by the rest of their place.
    pub(crate) fn of_workload(results: &'a Results, workload: &str) -> Vec<Self> {
        let rows = results.rows.iter();
        let mut conditions = Self::group(rows.filter(|row| row.workload == workload));
        conditions.sort_by_key(Self::place);
        conditions
    }

    /// Where its rows were measured.
    pub(crate) fn place(&self) -> Place<'a> {
        Place::of(self.rows[0])
    }

    /// A parameter for people: a word without quotes.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.rows[0].params.get(name).map(plain)
    }

    /// A parameter that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let value = self.rows[0].params.get(name)?;
        value
            .as_f64()
            .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
    }

    /// The row that stands for a metric: the pod's where there is one, and of several pairs or
    /// trials the one in the middle by median. It is a row of the record, with its own interval.
    pub(crate) fn middle(&self, metric: &str) -> Option<&'a Row> {
        let mut measured: Vec<&Row> = self.measured(metric).collect();
        if measured.iter().any(|row| row.host.is_none()) {
            measured.retain(|row| row.host.is_none());
        }
        measured
            .sort_by(|left, right| left.p50.unwrap_or(0.0).total_cmp(&right.p50.unwrap_or(0.0)));
        let middle = measured.len().checked_sub(1)? / 2;
        Some(measured[middle])
    }

    /// The rows of a metric that hold a result: a wrong answer's time is none.
    pub(crate) fn measured(&self, metric: &str) -> impl Iterator<Item = &'a Row> {
        let of_metric = self.rows.iter().filter(move |row| row.metric == metric);
        of_metric.copied().filter(|row| absence(row).is_none())
    }

    /// Why a metric has no value here, where it was asked for and has none.
    pub(crate) fn absence(&self, metric: &str) -> Option<String> {
        if self.measured(metric).next().is_some() {
            return None;
        }
        self.rows
            .iter()
            .find(|row| row.metric == metric)
            .and_then(|row| absence(row))
    }

    /// Its fields and values but for some, parameters named without their prefix.
    pub(crate) fn fields_except(&self, except: &[&str]) -> Vec<(String, String)> {
        let fields = self.fields.iter();
        let named = fields.map(|(field, value)| (bare(field).to_owned(), value.clone()));
        named
            .filter(|(name, _)| {
                !except.contains(&name.as_str()) && !EFFORT.contains(&name.as_str())
            })
            .collect()
    }

    /// The fields, parameters without their prefix, in which this condition differs from another
    /// of `all`, as `name value`.
    pub(crate) fn distinguishing(&self, all: &[Self], except: &[&str]) -> Vec<String> {
        let varies = |field: &str, value: &str| {
            all.iter().any(|other| {
                let found = other.fields.iter().find(|(name, _)| name == field);
                found.is_none_or(|(_, found)| found != value)
            })
        };
        self.fields
            .iter()
            .filter(|(field, value)| varies(field, value))
            .map(|(field, value)| (bare(field), value))
            .filter(|(name, _)| !except.contains(name) && !EFFORT.contains(name))
            .map(|(name, value)| format!("{name} {}", value.trim_matches('"')))
            .collect()
    }
}

fn bare(field: &str) -> &str {
    field.strip_prefix("params.").unwrap_or(field)
}

fn key(row: &Row) -> Vec<(String, String)> {
    let mut fields = row.comparability_key();
    fields.retain(|(field, _)| !WITHIN.contains(&field.as_str()));
    fields
}

/// Why a row has no result; none where it has one.
pub(crate) fn absence(row: &Row) -> Option<String> {
    if let Some(error) = &row.error {
        return Some(format!("failed: {error}"));
    }
    if row.verified == Some(false) {
        return Some("wrong: its answer was not verified".to_owned());
    }
    match (row.p50, &row.reason) {
        (Some(_), _) => None,
        (None, Some(reason)) => Some(format!("absent: {reason}")),
        (None, None) => Some("absent: the record gives no reason".to_owned()),
    }
}

/// A JSON value for people.
pub(crate) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Those of the first condition's place: what a title is about.
pub(crate) fn of_first_place<'a>(conditions: &[Condition<'a>]) -> Vec<Condition<'a>> {
    let first = conditions.first().map(Condition::place);
    let here = conditions.iter().filter(|one| Some(one.place()) == first);
    here.cloned().collect()
}

/// The places of some conditions, in order, each once.
pub(crate) fn places<'a>(conditions: &[Condition<'a>]) -> Vec<Place<'a>> {
    let mut places: Vec<Place<'_>> = conditions.iter().map(Condition::place).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The labels of some conditions, in order, each once.
pub(crate) fn labels(conditions: &[Condition<'_>]) -> Vec<&'static str> {
    let mut labels: Vec<Label> = conditions.iter().map(|one| one.label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.into_iter().map(Label::as_str).collect()
}

/// A sentence's first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

/// What a label means.
pub(crate) fn meaning(label: Label) -> &'static str {
    match label {
        Label::Real => "measured on memory that hosts share without hardware coherence",
        Label::Simulated => "computed by the timed model",
        Label::StandIn => "measured on memory of one machine that its hardware keeps coherent",
        Label::StandInEmulated => {
            "measured on memory of one machine that its hardware keeps coherent, \
             with a pool's latencies imitated"
        }
    }
}
