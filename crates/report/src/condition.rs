//! Rows grouped by what they measured.
//!
//! A condition is everything that the plan varied; the rows of one condition and metric are its
//! pairs of hosts and its repeated trials.

use std::collections::BTreeMap;

use record::{Label, Row};
use serde_json::Value;

/// Fields that tell rows of one condition apart, rather than conditions.
const WITHIN: [&str; 4] = ["host", "peer", "metric", "unit"];

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
        let mut index_of: BTreeMap<Vec<(String, String)>, usize> = BTreeMap::new();
        let mut conditions: Vec<Self> = Vec::new();
        for row in rows {
            let mut fields = row.comparability_key();
            fields.retain(|(field, _)| !WITHIN.contains(&field.as_str()));
            let index = *index_of.entry(fields.clone()).or_insert(conditions.len());
            if index == conditions.len() {
                conditions.push(Self {
                    label: row.label,
                    fields,
                    rows: Vec::new(),
                });
            }
            conditions[index].rows.push(row);
        }
        conditions
    }

    /// A parameter for people: a word without quotes.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.rows[0].params.get(name).map(plain)
    }

    /// The row that stands for a metric: of several pairs or trials, the one in the middle by
    /// median. It is a row of the record, with its own interval, not a mixture of hosts.
    pub(crate) fn middle(&self, metric: &str) -> Option<&'a Row> {
        let mut measured: Vec<&Row> = self.measured(metric).collect();
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
            .map(|(field, value)| (field.strip_prefix("params.").unwrap_or(field), value))
            .filter(|(name, _)| !except.contains(name))
            .map(|(name, value)| format!("{name} {}", value.trim_matches('"')))
            .collect()
    }
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
