//! What the times of a ratio are made of: the phases that their trials were told apart by.

use record::{Results, Row};
use report::claims::{Evaluation, Over};
use serde_json::{Map, Value, json};

/// Metrics of a run's phases: means over its lanes.
const PHASES: [&str; 4] = ["compute_ns", "publish_ns", "observe_ns", "barrier_ns"];

/// The phases of one of a ratio's times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phases {
    hosts: u32,
    /// In the order of [`PHASES`].
    ns: [f64; 4],
}

/// The phases of each time of a ratio; none where its rows are no times, or were not told apart.
pub(super) fn of(evaluation: &Evaluation<'_>, results: &Results) -> Vec<Phases> {
    if evaluation.claim.over != Over::Ratio {
        return Vec::new();
    }
    let phases = evaluation.rows.iter().map(|row| beside(row, results));
    phases.collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn beside(time: &Row, results: &Results) -> Option<Phases> {
    let of = |metric: &str| {
        let same = |row: &&Row| {
            (row.trial, row.host, row.lane) == (time.trial, time.host, time.lane)
                && row.metric == metric
                && row.params == time.params
        };
        results.rows.iter().find(same)?.p50
    };
    let [compute, publish, observe, barrier] = PHASES.map(of);
    Some(Phases {
        hosts: time.hosts,
        ns: [compute?, publish?, observe?, barrier?],
    })
}

/// One sentence; empty if there is nothing to say.
pub(super) fn text(phases: &[Phases]) -> String {
    let said = phases.iter().map(|one| {
        let hosts = match one.hosts {
            1 => "1 host".to_owned(),
            hosts => format!("{hosts} hosts"),
        };
        let all: f64 = one.ns.iter().sum();
        let share = |(name, ns): (&&str, &f64)| {
            let name = name.trim_end_matches("_ns");
            format!("{name} {:.0} %", 100.0 * ns / all)
        };
        let shares: Vec<String> = PHASES.iter().zip(&one.ns).map(share).collect();
        format!("{hosts}: {}", shares.join(", "))
    });
    let said: Vec<String> = said.collect();
    let alone = match phases {
        [first, second] => format!(
            "; by compute alone {:.2}",
            first.ns[0] / second.ns[0].max(f64::MIN_POSITIVE)
        ),
        _ => String::new(),
    };
    said.join("; ") + &alone
}

/// One object a time.
pub(super) fn json(phases: &[Phases]) -> Value {
    let object = |one: &Phases| {
        let phases = PHASES.iter().zip(one.ns);
        let mut object: Map<String, Value> = phases
            .map(|(name, ns)| ((*name).to_owned(), json!(ns)))
            .collect();
        object.insert("hosts".to_owned(), json!(one.hosts));
        Value::Object(object)
    };
    phases.iter().map(object).collect()
}
