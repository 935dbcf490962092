//! What a workload is.

use fabric::{Arena, Gone, HostAtomics, Pod};
use serde_json::Value;
use thiserror::Error;

use crate::params::Params;
use crate::worker::Worker;

/// Something that is measured.
pub trait Workload {
    /// Its name in plans, records and figures.
    const NAME: &'static str;
    /// One sentence for `dsmark list`.
    const ABOUT: &'static str;
    /// Its knobs; each may be a list in a plan.
    type Params: Params;
    /// Where its words lie.
    type Layout: Sync;

    /// Lays its words out. Pure: every host makes the same calls, so gets the same offsets.
    fn layout(arena: &mut Arena, pod: Pod, params: &Self::Params) -> Self::Layout;

    /// What its discipline is, where a parameter chooses it; otherwise the plan's.
    fn discipline(params: &Self::Params) -> Option<fabric::Discipline> {
        let _ = params;
        None
    }

    /// Whether a pod of one host follows the discipline, though nothing needs it: to tell what
    /// maintenance costs by itself. By default it does not.
    fn keeps_discipline(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// Refuses what cannot run: wrong pod, impossible sizes.
    ///
    /// # Errors
    /// One sentence with the operand and the remedy.
    fn check(pod: Pod, params: &Self::Params) -> Result<(), String> {
        let _ = (pod, params);
        Ok(())
    }

    /// Brings into the region what every repetition reads: once a trial, on every lane, after the
    /// region is zero and before the warm-up, outside clock and census. Provided: nothing.
    ///
    /// What it learns it leaves in the layout, in a `OnceLock`: a simulator shares one layout among
    /// all hosts.
    ///
    /// # Errors
    /// The reason why a wait ended, or what could not be had.
    fn prepare<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Self::Layout,
        params: &Self::Params,
    ) -> Result<(), Unready> {
        let _ = (worker, layout, params);
        Ok(())
    }

    /// One repetition of one lane.
    ///
    /// # Errors
    /// The reason why a wait ended.
    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Self::Layout,
        params: &Self::Params,
    ) -> Result<Outcome, Gone>;

    /// Checks, by another algorithm, what `repetitions` repetitions left in the region; outside the
    /// clock, on every lane, in every trial.
    ///
    /// # Errors
    /// What is wrong, and where.
    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Self::Layout,
        params: &Self::Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch>;
}

/// Why a trial cannot start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unready {
    /// A wait ended.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// This host lacks what the trial needs: operand and remedy.
    #[error("{0}")]
    Lacking(String),
}

/// What a verifier found, short of a mismatch.
#[derive(Clone, Debug, PartialEq)]
pub enum Verified {
    /// This lane, or this workload, has nothing to verify.
    Nothing,
    /// All is as it must be.
    Right,
    /// All is as it must be, and this is the answer.
    Answer(Value),
}

/// A wrong answer: a value, never a panic.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct Mismatch {
    /// Which word or property.
    pub what: String,
    /// By the verifier.
    pub expected: String,
    /// In the region.
    pub found: String,
}

/// What one lane brings back from one repetition.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Samples, by metric.
    pub series: Vec<Series>,
    /// Operations that this lane did, in the workload's own unit: the census is given per
    /// operation.
    pub operations: u64,
}

/// Samples of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric's name in records, unit last.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The other host, where a sample belongs to a pair.
    pub peer: Option<u32>,
    /// One value an operation.
    pub samples: Vec<f64>,
    /// Why there are none, where there are none.
    pub absent: Option<String>,
}

impl Series {
    /// Samples of `metric`.
    pub fn of(metric: &'static str, unit: &'static str, samples: Vec<f64>) -> Self {
        Self {
            metric,
            unit,
            peer: None,
            samples,
            absent: None,
        }
    }

    /// A metric that cannot be measured here, and why: absent, never 0.
    pub fn absent(metric: &'static str, unit: &'static str, why: impl Into<String>) -> Self {
        Self {
            metric,
            unit,
            peer: None,
            samples: Vec::new(),
            absent: Some(why.into()),
        }
    }

    /// The same, belonging to a pair.
    #[must_use]
    pub fn with_peer(self, peer: u32) -> Self {
        self.beside(Some(peer))
    }

    /// The same, measured while the host `peer` did too, if there was one.
    #[must_use]
    pub fn beside(mut self, peer: Option<u32>) -> Self {
        self.peer = peer;
        self
    }
}
