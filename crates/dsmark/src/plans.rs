//! Plans that ship inside the binary, and plans made from a command line.

use std::path::Path;

use harness::Limits;
use harness::plan::{Plan, PlanError, PlannedTrial};
use record::Substrate;
use serde_json::{Map, Value};

use crate::cli::{On, Where};
use crate::failure::Failure;
use crate::job::collects;

/// Name and text of every plan that ships.
pub(crate) const SHIPPED: [(&str, &str); 10] = [
    ("default", include_str!("../../../plans/default.toml")),
    ("claims", include_str!("../../../plans/claims.toml")),
    ("sync", include_str!("../../../plans/sync.toml")),
    (
        "sync-native",
        include_str!("../../../plans/sync-native.toml"),
    ),
    ("sharing", include_str!("../../../plans/sharing.toml")),
    ("graph", include_str!("../../../plans/graph.toml")),
    ("hosts", include_str!("../../../plans/hosts.toml")),
    ("table", include_str!("../../../plans/table.toml")),
    (
        "table-large",
        include_str!("../../../plans/table-large.toml"),
    ),
    ("load", include_str!("../../../plans/load.toml")),
];

/// Reads a plan by name or path. A name of one that ships stands for it, unless there is a plan of
/// that very path: a directory of results is often called like its plan.
pub(crate) fn read(name: &str) -> Result<Plan, PlanError> {
    let there = Plan::read(Path::new(name));
    let shipped = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    match (there, shipped) {
        (Err(_), Some((_, text))) => Plan::parse(text, name),
        (there, _) => there,
    }
}

/// A plan of one trial.
pub(crate) fn of_one(workload: &str, set: &[String]) -> Result<Plan, Failure> {
    let params = parse_set(set)?;
    let limits = Limits::default();
    let table = serde_json::json!({ "workload": workload, "params": params });
    Ok(Plan {
        name: workload.to_owned(),
        about: String::new(),
        hosts: None,
        lanes: 1,
        seed: 1,
        limits,
        on: vec![Substrate::Sim],
        pod: None,
        trials: vec![PlannedTrial {
            pod: None,
            hosts: None,
            lanes: None,
            on: None,
            workload: workload.to_owned(),
            params,
            limits,
        }],
        text: format!("# made from a command line\n# {table}\n"),
    })
}

/// Puts the command line over the plan.
pub(crate) fn apply(plan: &mut Plan, place: &Where) -> Result<(), PlanError> {
    if let Some(hosts) = place.hosts {
        plan.hosts = Some(hosts);
        for trial in &mut plan.trials {
            trial.hosts = None;
        }
    }
    if let Some(on) = place.on {
        let on = match on {
            On::Sim => Substrate::Sim,
            On::Native => Substrate::Native,
        };
        let planned = plan.trials.len();
        let left_out = plan.run_on(on)?;
        if left_out > 0 && !place.quiet && collects(place, plan.hosts) {
            eprintln!("{left_out} of {planned} trials are meant for another substrate: left out");
        }
    }
    if let Some(lanes) = place.lanes {
        plan.lanes = lanes;
        for trial in &mut plan.trials {
            trial.lanes = None;
        }
    }
    plan.seed = place.seed.unwrap_or(plan.seed);
    if let Some(seconds) = place.deadline {
        for trial in &mut plan.trials {
            trial.limits.deadline_seconds = seconds;
        }
    }
    if place.smoke {
        for trial in &mut plan.trials {
            trial.limits = few(trial.limits);
        }
    }
    plan.check("the command line")
}

/// As few repetitions as show that a trial works; never more than the plan has.
fn few(limits: Limits) -> Limits {
    Limits {
        warmup: limits.warmup.min(1),
        min_reps: 1,
        max_reps: limits.max_reps.min(2),
        ..limits
    }
}

/// `key=value` pairs; values are JSON where they parse as JSON, otherwise words; commas make lists.
pub(crate) fn parse_set(set: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut params = Map::new();
    for pair in set {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Failure::usage(format!(
                "--set {pair}: write it as KEY=VALUE"
            )));
        };
        let mut values: Vec<Value> = text.split(',').map(word).collect();
        let value = if values.len() == 1 {
            values.remove(0)
        } else {
            Value::Array(values)
        };
        if params.insert(key.to_owned(), value).is_some() {
            return Err(Failure::usage(format!(
                "--set {key} is given twice; sweep as {key}=A,B"
            )));
        }
    }
    Ok(params)
}

fn word(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_ships_parses() {
        for (name, text) in SHIPPED {
            assert_eq!(
                Plan::parse(text, name)
                    .map(|plan| plan.name)
                    .ok()
                    .as_deref(),
                Some(name)
            );
        }
    }

    #[test]
    fn a_smoke_run_repeats_nothing_more_than_its_plan() {
        for (name, text) in SHIPPED {
            let plan = Plan::parse(text, name).expect("it ships");
            for trial in plan.trials {
                let few = few(trial.limits);
                assert!(few.warmup <= trial.limits.warmup, "{name}");
                assert!(few.max_reps <= trial.limits.max_reps, "{name}");
                assert!(few.warmup <= 1 && few.min_reps <= few.max_reps && few.max_reps <= 2);
            }
        }
    }

    #[test]
    fn values_are_numbers_words_or_lists() {
        let set = ["lines=1,8", "publish=clwb", "rounds=5"].map(String::from);
        let params = parse_set(&set).ok().map(Value::Object);
        assert_eq!(
            params,
            Some(json!({"lines": [1, 8], "publish": "clwb", "rounds": 5}))
        );
    }
}
