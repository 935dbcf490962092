//! Plans: TOML files that say what to run.
//!
//! ```toml
//! name = "example"
//! hosts = 4
//!
//! [[trial]]
//! workload = "visibility"
//! params = { publish = "*", observe = ["clflush", "clflushopt"], lines = [1, 8] }
//! ```
//!
//! A list is swept, lists multiply; `"*"` stands for every value that the substrate supports; of
//! another parameter that takes one of some words, for each word that goes with the other parameters.
//! `on = ["sim", "native"]` runs a plan on both substrates; a trial that has an `on` of its own is
//! meant for those alone, and left out where the command asks for another. `pod` names the
//! simulated pod of a plan or of one trial, `lanes` of a trial its own number of lanes a host: on
//! real hosts, trials of one number share their processes, the smallest number first. `hosts` of a
//! trial is for simulated pods alone: real hosts are as many as the command names.
//!
//! `start = "window"` lets lanes loose on each repetition at a time that host 0 names, instead of
//! whenever each leaves a barrier (`"barrier"`, the default).

use std::path::{Path, PathBuf};

use record::{StartBy, Substrate};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::spec::Limits;

/// A plan as read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of its results.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// Hosts, unless the command says otherwise; none for what the pod has.
    pub hosts: Option<u32>,
    /// Lanes a host.
    pub lanes: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Limits of its trials, unless a trial says otherwise.
    pub limits: Limits,
    /// Where trials run, unless a trial or the command says otherwise.
    pub on: Vec<Substrate>,
    /// Simulated: the pod, unless a trial or the command says otherwise.
    pub pod: Option<String>,
    /// What is run, in order.
    pub trials: Vec<PlannedTrial>,
    /// The text, kept with the results.
    pub text: String,
}

/// One `[[trial]]`.
#[derive(Clone, Debug)]
pub struct PlannedTrial {
    /// Which workload.
    pub workload: String,
    /// Its parameters; lists are swept.
    pub params: Map<String, Value>,
    /// Its limits.
    pub limits: Limits,
    /// The substrates that it is meant for; those of the plan, or of the command, if none.
    pub on: Option<Vec<Substrate>>,
    /// Simulated: its pod, unless the command says otherwise; the plan's if none.
    pub pod: Option<String>,
    /// Simulated: hosts, unless the command says otherwise; the plan's if none.
    pub hosts: Option<u32>,
    /// Lanes a host, unless the command says otherwise; the plan's if none.
    pub lanes: Option<u32>,
}

/// A plan that cannot be used.
#[derive(Debug, Error)]
pub enum PlanError {
    /// It cannot be read.
    #[error("cannot read the plan {path}: {source}; `dsmark list` names the plans that ship")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not TOML, or a value has the wrong type.
    #[error("{origin}: {message}")]
    Malformed {
        /// Which plan.
        origin: String,
        /// Where and why.
        message: String,
    },
    /// A key that does not exist.
    #[error(
        "{origin}: unknown key `{key}` in {table}{}; known: {known}",
        fabric::suggestion(.near.as_deref())
    )]
    UnknownKey {
        /// Which plan.
        origin: String,
        /// As written.
        key: String,
        /// Where.
        table: String,
        /// The nearest that exists.
        near: Option<String>,
        /// All that exist.
        known: String,
    },
    /// A number out of range.
    #[error("{origin}: {key} = {value}: {remedy}")]
    Range {
        /// Which plan, or the command line.
        origin: String,
        /// Which number.
        key: &'static str,
        /// As written.
        value: String,
        /// What is possible.
        remedy: String,
    },
}

const LIMIT_KEYS: [&str; 7] = [
    "warmup",
    "min_reps",
    "max_reps",
    "max_seconds",
    "target",
    "deadline_seconds",
    "start",
];
const PLAN_KEYS: [&str; 8] = [
    "name", "about", "hosts", "lanes", "seed", "on", "pod", "trial",
];
const TRIAL_KEYS: [&str; 6] = ["workload", "params", "on", "pod", "hosts", "lanes"];

#[derive(Deserialize)]
struct PlanTable {
    name: String,
    #[serde(default)]
    about: String,
    hosts: Option<u32>,
    #[serde(default = "one")]
    lanes: u32,
    #[serde(default = "seed")]
    seed: u64,
    #[serde(default = "simulated")]
    on: Vec<Substrate>,
    pod: Option<String>,
    #[serde(default)]
    trial: Vec<TrialTable>,
    #[serde(flatten)]
    limits: LimitTable,
}

#[derive(Deserialize)]
struct TrialTable {
    workload: String,
    #[serde(default)]
    params: Map<String, Value>,
    on: Option<Vec<Substrate>>,
    pod: Option<String>,
    hosts: Option<u32>,
    lanes: Option<u32>,
    #[serde(flatten)]
    limits: LimitTable,
}

#[derive(Deserialize)]
struct LimitTable {
    warmup: Option<u32>,
    min_reps: Option<u32>,
    max_reps: Option<u32>,
    max_seconds: Option<f64>,
    target: Option<f64>,
    deadline_seconds: Option<f64>,
    start: Option<StartBy>,
}

fn one() -> u32 {
    1
}

fn seed() -> u64 {
    1
}

fn simulated() -> Vec<Substrate> {
    vec![Substrate::Sim]
}

impl LimitTable {
    fn over(&self, base: Limits) -> Limits {
        Limits {
            warmup: self.warmup.unwrap_or(base.warmup),
            min_reps: self.min_reps.unwrap_or(base.min_reps),
            max_reps: self.max_reps.unwrap_or(base.max_reps),
            max_seconds: self.max_seconds.unwrap_or(base.max_seconds),
            target: self.target.unwrap_or(base.target),
            deadline_seconds: self.deadline_seconds.unwrap_or(base.deadline_seconds),
            start: self.start.unwrap_or(base.start),
        }
    }
}

impl Plan {
    /// Reads a plan file.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = read_text(path).map_err(|source| PlanError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a plan's text; `origin` names it in errors.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, PlanError> {
        let malformed = |message: String| {
            let message = message.trim().to_owned();
            PlanError::Malformed {
                origin: origin.to_owned(),
                message,
            }
        };
        let table: toml::Table = text
            .parse()
            .map_err(|e: toml::de::Error| malformed(e.to_string()))?;
        check_keys(&table, origin)?;
        // From the text, not the table, so that an error shows the line.
        let read: PlanTable = toml::from_str(text).map_err(|e| malformed(e.to_string()))?;
        let limits = read.limits.over(Limits::default());
        let trials = read.trial.iter().map(|trial| PlannedTrial {
            workload: trial.workload.clone(),
            params: trial.params.clone(),
            limits: trial.limits.over(limits),
            on: trial.on.clone(),
            pod: trial.pod.clone(),
            hosts: trial.hosts,
            lanes: trial.lanes,
        });
        let plan = Self {
            trials: trials.collect(),
            name: read.name,
            about: read.about,
            hosts: read.hosts,
            lanes: read.lanes,
            seed: read.seed,
            on: read.on,
            pod: read.pod,
            limits,
            text: text.to_owned(),
        };
        plan.check(origin)?;
        Ok(plan)
    }

    /// Its trials on a substrate.
    pub fn trials_on(&self, on: Substrate) -> impl Iterator<Item = &PlannedTrial> {
        let meant =
            move |trial: &&PlannedTrial| trial.on.as_ref().unwrap_or(&self.on).contains(&on);
        self.trials.iter().filter(meant)
    }

    /// Runs it on one substrate, whatever it says itself, but for the trials that are meant for
    /// another: they are left out. Returns how many.
    ///
    /// # Errors
    /// [`PlanError::Range`] if no trial is left.
    pub fn run_on(&mut self, on: Substrate) -> Result<usize, PlanError> {
        let planned = self.trials.len();
        let meant = |trial: &PlannedTrial| trial.on.as_ref().is_none_or(|own| own.contains(&on));
        self.trials.retain(meant);
        if self.trials.is_empty() {
            return Err(PlanError::Range {
                origin: self.name.clone(),
                key: "on",
                value: format!("[\"{on}\"]"),
                remedy: "every trial is meant for another substrate by its own `on`".into(),
            });
        }
        for trial in &mut self.trials {
            trial.on = None;
        }
        self.on = vec![on];
        Ok(planned - self.trials.len())
    }

    /// The numbers of lanes that its trials on a substrate have, ascending.
    pub fn lanes_on(&self, on: Substrate) -> Vec<u32> {
        let trials = self.trials_on(on);
        let mut lanes: Vec<u32> = trials.map(|trial| self.lanes_of(trial)).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }

    /// The same plan with the trials of this number of lanes alone.
    #[must_use]
    pub fn with_lanes(&self, lanes: u32) -> Self {
        let mut plan = self.clone();
        plan.trials.retain(|trial| self.lanes_of(trial) == lanes);
        plan
    }

    fn lanes_of(&self, trial: &PlannedTrial) -> u32 {
        trial.lanes.unwrap_or(self.lanes)
    }

    /// Refuses numbers that cannot be meant.
    ///
    /// # Errors
    /// [`PlanError::Range`].
    pub fn check(&self, origin: &str) -> Result<(), PlanError> {
        let range = |key, value: String, remedy: &str| {
            let (origin, remedy) = (origin.to_owned(), remedy.to_owned());
            Err(PlanError::Range {
                origin,
                key,
                value,
                remedy,
            })
        };
        let hosts = self.trials.iter().map(|trial| trial.hosts);
        if let Some(hosts) = hosts
            .chain([self.hosts])
            .flatten()
            .find(|&hosts| hosts == 0 || hosts > fabric::MAX_HOSTS)
        {
            let remedy = format!("use 1 to {} hosts", fabric::MAX_HOSTS);
            return range("hosts", hosts.to_string(), &remedy);
        }
        let lanes = self.trials.iter().filter_map(|trial| trial.lanes);
        if let Some(lanes) = lanes
            .chain([self.lanes])
            .find(|lanes| !(1..=fabric::MAX_LANES).contains(lanes))
        {
            let remedy = format!(
                "use 1 to {} lanes a host, each a hardware thread of it",
                fabric::MAX_LANES
            );
            return range("lanes", lanes.to_string(), &remedy);
        }
        if self.trials.is_empty() {
            return range("trial", "none".into(), "add a [[trial]] with a workload");
        }
        if !names_a_directory(&self.name) {
            let remedy = "use up to 64 letters, digits, '.', '_' or '-', a letter or digit first: \
                          it names a directory";
            return range("name", format!("{:?}", self.name), remedy);
        }
        for limits in self.trials.iter().map(|trial| trial.limits) {
            if limits.max_reps == 0 || limits.min_reps > limits.max_reps {
                let value = format!("{} (min_reps {})", limits.max_reps, limits.min_reps);
                return range("max_reps", value, "use at least 1, and at least min_reps");
            }
            let positive = |x: f64| x.is_finite() && x > 0.0;
            if !positive(limits.max_seconds) {
                return range(
                    "max_seconds",
                    limits.max_seconds.to_string(),
                    "use more than 0",
                );
            }
            if !positive(limits.deadline_seconds) {
                return range(
                    "deadline_seconds",
                    limits.deadline_seconds.to_string(),
                    "use more than 0",
                );
            }
            if !(limits.target.is_finite() && limits.target >= 0.0) {
                return range(
                    "target",
                    limits.target.to_string(),
                    "use 0 or more, as 0.02 for 2 %",
                );
            }
        }
        Ok(())
    }
}

/// The largest plan that can be meant.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a plan, not whatever a path may lead to.
fn read_text(path: &Path) -> std::io::Result<String> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return Err(std::io::Error::other(format!(
            "not a file of at most {MAX_BYTES} bytes"
        )));
    }
    std::fs::read_to_string(path)
}

fn names_a_directory(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let first = name.chars().next();
    name.len() <= 64 && name.chars().all(plain) && first.is_some_and(|c| c.is_ascii_alphanumeric())
}

fn check_keys(table: &toml::Table, origin: &str) -> Result<(), PlanError> {
    let top: Vec<_> = PLAN_KEYS.iter().chain(&LIMIT_KEYS).copied().collect();
    check_table(table, &top, "the plan", origin)?;
    let inner: Vec<_> = TRIAL_KEYS.iter().chain(&LIMIT_KEYS).copied().collect();
    let trials = table.get("trial").and_then(toml::Value::as_array);
    for (index, trial) in trials.into_iter().flatten().enumerate() {
        if let Some(trial) = trial.as_table() {
            check_table(
                trial,
                &inner,
                &format!("[[trial]] number {}", index + 1),
                origin,
            )?;
        }
    }
    Ok(())
}

fn check_table(
    table: &toml::Table,
    known: &[&str],
    name: &str,
    origin: &str,
) -> Result<(), PlanError> {
    for key in table.keys() {
        if !known.contains(&key.as_str()) {
            return Err(PlanError::UnknownKey {
                origin: origin.to_owned(),
                key: key.clone(),
                table: name.to_owned(),
                near: fabric::nearest(key, known.iter().copied()),
                known: known.join(", "),
            });
        }
    }
    Ok(())
}

/// One cell for each combination of swept values, in the order of the keys, the last fastest.
/// `supported` gives what `"*"` stands for.
pub fn cells(
    params: &Map<String, Value>,
    supported: impl Fn(&str) -> Option<Vec<Value>>,
) -> Vec<Map<String, Value>> {
    let mut cells = vec![Map::new()];
    for (key, value) in params {
        let values = match value {
            Value::Array(values) => values.clone(),
            Value::String(all) if all == "*" => {
                supported(key).unwrap_or_else(|| vec![value.clone()])
            }
            single => vec![single.clone()],
        };
        cells = cells
            .iter()
            .flat_map(|cell| {
                values.iter().map(move |value| {
                    let mut cell = cell.clone();
                    cell.insert(key.clone(), value.clone());
                    cell
                })
            })
            .collect();
    }
    cells
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TRIAL: &str = "[[trial]]\nworkload = \"visibility\"\n";

    fn parse(text: &str) -> Result<Plan, PlanError> {
        Plan::parse(text, "test.toml")
    }

    fn refusal(text: &str) -> String {
        parse(text).expect_err("a bad plan").to_string()
    }

    #[test]
    fn limits_are_inherited_and_overridden() {
        let plan = parse(&format!("name = \"a\"\nmax_reps = 7\n{TRIAL}warmup = 3\n")).unwrap();
        assert_eq!(plan.trials[0].limits.max_reps, 7);
        assert_eq!(plan.trials[0].limits.warmup, 3);
        assert_eq!(plan.limits.warmup, Limits::default().warmup);
    }

    #[test]
    fn a_trial_with_an_on_of_its_own_is_left_out_elsewhere() {
        let mine = "[[trial]]\nworkload = \"latency\"\non = [\"native\"]\n";
        let plan = parse(&format!(
            "name = \"a\"\non = [\"sim\", \"native\"]\n{TRIAL}{mine}"
        ));
        let plan = plan.unwrap();
        assert_eq!(plan.trials_on(Substrate::Sim).count(), 1);
        assert_eq!(plan.trials_on(Substrate::Native).count(), 2);
        for (on, left, out) in [(Substrate::Sim, 1, 1), (Substrate::Native, 2, 0)] {
            let mut plan = plan.clone();
            assert_eq!(plan.run_on(on).unwrap(), out);
            assert_eq!(plan.trials_on(on).count(), left);
        }
    }

    #[test]
    fn a_plan_that_has_nothing_for_a_substrate_is_refused_there() {
        let mut plan = parse(&format!("name = \"a\"\n{TRIAL}on = [\"native\"]\n")).unwrap();
        let refusal = plan.run_on(Substrate::Sim).expect_err("nothing to run");
        assert!(refusal.to_string().contains("meant for another substrate"));
    }

    #[test]
    fn trials_are_told_apart_by_their_lanes() {
        let text = format!("name = \"a\"\nlanes = 3\n{TRIAL}{TRIAL}lanes = 2\n{TRIAL}");
        let plan = parse(&text).unwrap();
        assert_eq!(plan.lanes_on(Substrate::Native), Vec::<u32>::new());
        assert_eq!(plan.lanes_on(Substrate::Sim), [2, 3]);
        assert_eq!(plan.with_lanes(2).trials.len(), 1);
        assert_eq!(plan.with_lanes(3).trials.len(), 2);
    }

    #[test]
    fn a_typo_names_the_nearest_key() {
        let text = format!("name = \"a\"\nhots = 2\n{TRIAL}");
        assert!(refusal(&text).contains("did you mean `hosts`?"));
        let text = format!("name = \"a\"\n{TRIAL}parms = {{}}\n");
        assert!(refusal(&text).contains("did you mean `params`?"));
    }

    #[test]
    fn impossible_numbers_name_key_and_remedy() {
        assert!(
            refusal(&format!("name = \"a\"\nhosts = 0\n{TRIAL}")).contains("use 1 to 64 hosts")
        );
        for lanes in [0, 40_000] {
            let text = format!("name = \"a\"\n{TRIAL}lanes = {lanes}\n");
            let said = refusal(&text);
            assert!(
                said.contains(&format!("lanes = {lanes}: use 1 to 4096")),
                "{said}"
            );
        }
        assert!(refusal(&format!("name = \"a\"\nhosts = -1\n{TRIAL}")).contains("hosts"));
        assert!(
            refusal(&format!("name = \"a\"\nmax_seconds = nan\n{TRIAL}")).contains("max_seconds")
        );
        assert!(refusal("name = \"a\"\n").contains("[[trial]]"));
        for name in ["../a", "", "..", "-x", " ", "a\\nb"] {
            let text = format!("name = \"{name}\"\n{TRIAL}");
            assert!(refusal(&text).contains("names a directory"), "{name}");
        }
    }

    #[test]
    fn lists_multiply_and_a_star_asks() {
        let params = json!({"publish": "*", "lines": [1, 8], "rounds": 5});
        let supported = |key: &str| (key == "publish").then(|| vec![json!("a"), json!("b")]);
        let cells = cells(params.as_object().unwrap(), supported);
        assert_eq!(cells.len(), 4);
        assert_eq!(
            cells[1],
            *json!({"publish": "a", "lines": 8, "rounds": 5})
                .as_object()
                .unwrap()
        );
    }
}
