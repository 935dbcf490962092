//! The workload `pagerank`.

use fabric::{Arena, Gone, HostAtomics, Pod};
use serde::{Deserialize, Serialize};
use workload::{Mismatch, Outcome, Unready, Verified, Worker, Workload};

use super::arrays::{Ask, Layout, Needs};
use super::step::Rank;
use crate::source::GraphSource;

/// What hosts tell each other in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// What every vertex gives.
    #[default]
    Pull,
    /// What a host's vertices give to each vertex, added up.
    Push,
    /// What vertices give, where it has changed.
    Residual,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pull, Self::Push, Self::Residual];

    pub(crate) fn needs(self, ordering: Ordering) -> Needs {
        match (self, ordering) {
            (Self::Pull, Ordering::AsGiven) => Needs::Two,
            (Self::Pull, Ordering::EachRun) => Needs::Order,
            (Self::Push, _) => Needs::Partials,
            (Self::Residual, _) => Needs::Changes,
        }
    }
}

/// In which order vertices are gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ordering {
    /// As they are numbered.
    #[default]
    AsGiven,
    /// Of `pull`: by degree, the highest first. Each run orders them, in its time.
    EachRun,
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// What hosts tell each other.
    pub variant: Variant,
    /// In which order vertices are gone through.
    pub ordering: Ordering,
    /// Which graph.
    pub graph: GraphSource,
    /// Steps at most.
    pub iterations: u32,
    /// A step that changes the scores by less, in sum, is the last.
    pub tolerance: f64,
    /// The share of a score that follows edges.
    pub damping: f64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether a single host follows the pod's discipline, though nobody else reads what it writes.
    pub disciplined: bool,
}

impl Default for Params {
    /// GAPBS' numbers.
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            ordering: Ordering::default(),
            graph: GraphSource::Kronecker { scale: 10 },
            iterations: 20,
            tolerance: 1e-4,
            damping: 0.85,
            directed: false,
            disciplined: false,
        }
    }
}

impl Params {
    fn ask(&self) -> Ask {
        Ask {
            iterations: self.iterations,
            tolerance: self.tolerance,
            damping: self.damping,
        }
    }
}

/// The workload.
#[derive(Debug)]
pub struct PageRank;

/// Computes scores, on every lane of the pod.
pub(crate) fn compute<P: HostAtomics>(
    mut rank: Rank<'_, P>,
    variant: Variant,
    ordering: Ordering,
) -> Result<Outcome, Gone> {
    match (variant, ordering) {
        (Variant::Pull, Ordering::AsGiven) => rank.run_pull()?,
        (Variant::Pull, Ordering::EachRun) => rank.run_ordered()?,
        (Variant::Push, _) => rank.run_push()?,
        (Variant::Residual, _) => rank.run_residual()?,
    }
    rank.end()
}

impl Workload for PageRank {
    const NAME: &'static str = "pagerank";
    const ABOUT: &'static str = "PageRank over a graph in the pool";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let graph = (&params.graph, params.directed);
        Layout::new(arena, pod, graph, params.variant.needs(params.ordering))
    }

    fn keeps_discipline(params: &Params) -> bool {
        params.disciplined
    }

    fn check(_: Pod, params: &Params) -> Result<(), String> {
        if params.ordering == Ordering::EachRun && params.variant != Variant::Pull {
            return Err(
                "ordering = each-run: only variant = pull goes through ordered rows; use that, or \
                 ordering = as-given"
                    .into(),
            );
        }
        params.ask().check()?;
        params.graph.check(params.directed).map(drop)
    }

    fn prepare<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        _: &Params,
    ) -> Result<(), Unready> {
        layout.prepare(worker)
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let rank = layout.begin(worker, params.ask())?;
        compute(rank, params.variant, params.ordering)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        _: u32,
    ) -> Result<Verified, Mismatch> {
        layout.verify(worker, params.ask())
    }
}
