//! From a workload's name to its code, one registry a substrate.
//!
//! The registry is where generics end: each entry holds functions that were made for one workload
//! on one substrate, so that inside a trial every access is monomorphic, and a trial costs one
//! indirect call.

use fabric::{Arena, Coherence, Discipline, Pod, PublishBy, Substrate, Watch};
use serde_json::{Map, Value};
use thiserror::Error;
use workload::{ParamError, Workload, read_params, words_of};

use crate::plan::{PlannedTrial, cells};
use crate::spec::TrialSpec;
use crate::trial::{LaneReport, Stage, run_trial};

/// A trial that cannot be run.
#[derive(Debug, Error)]
pub enum SpecError {
    /// No such workload.
    #[error(
        "there is no workload `{name}`{}; there are: {known}",
        fabric::suggestion(.near.as_deref())
    )]
    UnknownWorkload {
        /// As written.
        name: String,
        /// The nearest that exists.
        near: Option<String>,
        /// All that exist.
        known: String,
    },
    /// A parameter it does not have, or a bad value.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A sweep over nothing.
    #[error("{workload}: {key} = []: name at least one value, or leave {key} out")]
    NoValues {
        /// Which workload.
        workload: String,
        /// Which parameter.
        key: String,
    },
    /// A combination that the workload refuses.
    #[error("{workload}: {why}")]
    Refused {
        /// Which workload.
        workload: &'static str,
        /// Operand and remedy.
        why: String,
    },
}

type ParamMap = Map<String, Value>;

/// One workload on one substrate.
pub struct Entry<S, W> {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Its parameters with their defaults.
    pub defaults: fn() -> ParamMap,
    words: fn(&str) -> Option<Vec<Value>>,
    complete: fn(Pod, &ParamMap) -> Result<ParamMap, SpecError>,
    discipline: fn(&ParamMap) -> Option<Discipline>,
    keeps_discipline: fn(&ParamMap) -> bool,
    lay_out: fn(&mut Arena, Pod, &ParamMap),
    run: fn(&S, &Stage<'_, W>) -> Vec<LaneReport>,
}

/// The workloads of one substrate `S`, watched by `W`.
pub struct Registry<S, W> {
    entries: Vec<Entry<S, W>>,
}

impl<S, W> Default for Registry<S, W> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
        }
    }
}

impl<S: Substrate, W: Watch> Registry<S, W> {
    /// Adds a workload.
    #[must_use]
    pub fn with<L: Workload>(mut self) -> Self {
        self.entries.push(Entry {
            name: L::NAME,
            about: L::ABOUT,
            defaults: || to_map(&L::Params::default()),
            words: words_of::<L::Params>,
            complete: complete::<L>,
            discipline: |params| L::discipline(&typed::<L>(params)),
            keeps_discipline: |params| L::keeps_discipline(&typed::<L>(params)),
            lay_out: |arena, pod, params| drop(L::layout(arena, pod, &typed::<L>(params))),
            run: |substrate, stage| {
                run_trial::<L, S, W>(substrate, stage, &typed::<L>(&stage.spec.params))
            },
        });
        self
    }

    /// Every workload, in the order in which they were added.
    pub fn entries(&self) -> &[Entry<S, W>] {
        &self.entries
    }

    fn entry(&self, name: &str) -> Result<&Entry<S, W>, SpecError> {
        self.entries
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| {
                let names = || self.entries.iter().map(|entry| entry.name);
                SpecError::UnknownWorkload {
                    name: name.to_owned(),
                    near: fabric::nearest(name, names()),
                    known: names().collect::<Vec<_>>().join(", "),
                }
            })
    }

    /// Expands a planned trial into one spec for each cell of its sweep, numbered from `first`.
    ///
    /// # Errors
    /// An unknown workload or parameter, or a combination that the workload refuses.
    pub fn expand(
        &self,
        planned: &PlannedTrial,
        pod: Pod,
        coherence: Coherence,
        seed: u64,
        first: u32,
        supported: impl Fn(&str) -> Option<Vec<Value>>,
    ) -> Result<Vec<TrialSpec>, SpecError> {
        let entry = self.entry(&planned.workload)?;
        let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        if let Some((key, _)) = planned.params.iter().find(|(_, value)| empty(value)) {
            let (workload, key) = (planned.workload.clone(), key.clone());
            return Err(SpecError::NoValues { workload, key });
        }
        let values = |key: &str| {
            let words = || Some(of_this_cpu((entry.words)(key)?, &supported));
            supported(key).or_else(words)
        };
        let cells = cells(&planned.params, values);
        let mut whole: Vec<_> = cells
            .iter()
            .map(|cell| (entry.complete)(pod, cell))
            .collect();
        // What a star stands for goes with the other parameters; what was written is meant.
        let has_star = planned.params.values().any(|value| value == "*");
        if has_star && whole.iter().any(Result::is_ok) {
            whole.retain(|cell| !matches!(cell, Err(SpecError::Refused { .. })));
        }
        let specs = whole.into_iter().zip(first..).map(|(params, index)| {
            let params = params?;
            // One host, or hardware coherence: there is nothing to publish.
            let single = pod.hosts == 1 && !(entry.keeps_discipline)(&params);
            let alone = single || coherence == Coherence::Hardware;
            let chosen = (entry.discipline)(&params).unwrap_or(Discipline::DEFAULT);
            let discipline = if alone { Discipline::NONE } else { chosen };
            let (workload, limits) = (planned.workload.clone(), planned.limits);
            Ok(TrialSpec {
                index,
                workload,
                params,
                pod,
                discipline,
                seed,
                limits,
            })
        });
        specs.collect()
    }

    /// Lays out what a trial needs after what `arena` holds already.
    ///
    /// # Panics
    /// If the spec did not come from [`expand`](Self::expand).
    pub fn lay_out(&self, arena: &mut Arena, spec: &TrialSpec) {
        let entry = self
            .entry(&spec.workload)
            .expect("the spec was expanded here");
        (entry.lay_out)(arena, spec.pod, &spec.params);
    }

    /// Runs a trial on the lanes that this process holds.
    ///
    /// # Panics
    /// If the spec did not come from [`expand`](Self::expand).
    pub fn run(&self, substrate: &S, stage: &Stage<'_, W>) -> Vec<LaneReport> {
        let entry = self
            .entry(&stage.spec.workload)
            .expect("the spec was expanded here");
        (entry.run)(substrate, stage)
    }
}

/// Words but for instructions that the CPU lacks.
fn of_this_cpu(
    mut words: Vec<Value>,
    supported: impl Fn(&str) -> Option<Vec<Value>>,
) -> Vec<Value> {
    let methods = supported("publish").unwrap_or_default();
    let instructions = PublishBy::ALL.iter().map(|by| by.name());
    let lacks = |word: &Value| {
        let is_one = |name: &str| name != "none" && word == name;
        instructions.clone().any(is_one) && !methods.is_empty() && !methods.contains(word)
    };
    words.retain(|word| !lacks(word));
    words
}

fn complete<L: Workload>(pod: Pod, given: &ParamMap) -> Result<ParamMap, SpecError> {
    let params: L::Params = read_params(L::NAME, given)?;
    L::check(pod, &params).map_err(|why| SpecError::Refused {
        workload: L::NAME,
        why,
    })?;
    Ok(to_map(&params))
}

fn typed<L: Workload>(params: &ParamMap) -> L::Params {
    read_params(L::NAME, params).expect("completed parameters are typed")
}

fn to_map<T: serde::Serialize>(params: &T) -> ParamMap {
    match serde_json::to_value(params) {
        Ok(Value::Object(map)) => map,
        _ => unreachable!("parameters are a struct of plain values"),
    }
}
