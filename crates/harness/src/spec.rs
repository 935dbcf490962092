//! One trial: a workload with one value for each parameter.

use fabric::{Discipline, Pod};
use record::StartBy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// When repetitions start, and when a trial has measured enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Repetitions that are thrown away first.
    pub warmup: u32,
    /// Repetitions at least.
    pub min_reps: u32,
    /// Repetitions at most.
    pub max_reps: u32,
    /// Seconds of repetitions at most; at least `min_reps` are done all the same.
    pub max_seconds: f64,
    /// Half width of the median's 95 % interval, relative to the median, that is good enough.
    pub target: f64,
    /// Seconds after which a trial that is still waiting is given up.
    pub deadline_seconds: f64,
    /// What lets lanes loose on a repetition.
    #[serde(default)]
    pub start: StartBy,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            warmup: 1,
            min_reps: 3,
            max_reps: 50,
            max_seconds: 1.0,
            target: 0.02,
            deadline_seconds: 60.0,
            start: StartBy::Barrier,
        }
    }
}

/// One trial, as every host sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Its number in the run.
    pub index: u32,
    /// What is measured.
    pub workload: String,
    /// Every parameter, defaults included, in the workload's order.
    pub params: Map<String, Value>,
    /// Hosts and lanes.
    pub pod: Pod,
    /// How lines travel.
    pub discipline: Discipline,
    /// Seed of everything random.
    pub seed: u64,
    /// When it has measured enough.
    pub limits: Limits,
}

impl TrialSpec {
    /// Its name for progress lines and errors.
    pub fn title(&self) -> String {
        let params: Vec<_> = self
            .params
            .iter()
            .map(|(k, v)| format!("{k}={}", plain(v)))
            .collect();
        format!("{} {}", self.workload, params.join(" "))
    }
}

/// A value without JSON's quotes.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
