//! Where the words of a PageRank lie, what it is asked, and whether its answer is right.

use fabric::{Arena, Gone, HostAtomics, Pod, Slice};
use serde_json::json;
use workload::{Mismatch, Unready, Verified, Worker};

use super::ordered::OrderLayout;
use super::push::Partials;
use super::residual::{Changes, rate};
use super::step::Rank;
use crate::csr::Csr;
use crate::kernel::crew::{Crew, CrewLayout};
use crate::kernel::verify;
use crate::region::RegionGraph;
use crate::source::GraphSource;

/// What all variants are asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) iterations: u32,
    pub(crate) tolerance: f64,
    pub(crate) damping: f64,
}

impl Ask {
    /// Refuses numbers that make no PageRank.
    pub(super) fn check(self) -> Result<(), String> {
        if self.iterations == 0 {
            return Err("iterations = 0: use 1 or more".into());
        }
        if !(0.0..1.0).contains(&self.damping) {
            return Err(format!("damping = {}: use 0 to below 1", self.damping));
        }
        if !(0.0..f64::INFINITY).contains(&self.tolerance) {
            return Err(format!("tolerance = {}: use 0 or more", self.tolerance));
        }
        Ok(())
    }
}

/// What a variant needs besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Contributions, twice.
    Two,
    /// Contributions once.
    One,
    /// A sum for each vertex of other hosts.
    Partials,
    /// Contributions, twice, and which lines of them have changed.
    Changes,
    /// Contributions, twice, and the rows in another order.
    Order,
}

/// Where the words of a PageRank lie.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    pub(crate) crew: CrewLayout,
    /// `[V]`: each line is written by the host that owns its vertices.
    pub(crate) scores: Slice<f32>,
    /// What a vertex gives each out-neighbour, likewise; steps may use two in turn.
    pub(super) contributions: [Slice<f32>; 2],
    pub(super) partials: Option<Partials>,
    pub(super) changes: Option<Changes>,
    pub(super) order: Option<OrderLayout>,
    /// Steps done, what the last one changed, and what was held back from it: of lane 0 of host 0.
    pub(super) done: Slice<u64>,
}

impl Arrays {
    pub(crate) fn lay_out(
        arena: &mut Arena,
        pod: Pod,
        (vertices, arcs): (usize, usize),
        needs: Needs,
    ) -> Self {
        let array = |arena: &mut Arena, name: &str, len| arena.per_host(name, 1, len)[0];
        let second = match needs {
            Needs::Two | Needs::Changes | Needs::Order => vertices,
            Needs::One | Needs::Partials => 0,
        };
        Self {
            crew: CrewLayout::lay_out(arena, "rank.crew", pod),
            scores: array(arena, "rank.scores", vertices),
            contributions: [
                array(arena, "rank.contributions.even", vertices),
                array(arena, "rank.contributions.odd", second),
            ],
            partials: (needs == Needs::Partials).then(|| Partials::lay_out(arena, pod, vertices)),
            changes: (needs == Needs::Changes).then(|| Changes::lay_out(arena, pod, vertices)),
            order: (needs == Needs::Order)
                .then(|| OrderLayout::lay_out(arena, pod, vertices, arcs)),
            done: arena.per_host("rank.done", 1, 3)[0],
        }
    }

    /// The answer, by lane 0 of host 0.
    fn verify<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        graph: &RegionGraph,
        ask: Ask,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_pod() {
            return Ok(Verified::Nothing);
        }
        let port = worker.port();
        let steps = port.load(self.done.at(0));
        let [change, held] = [1, 2].map(|at| f64::from_bits(port.load(self.done.at(at))));
        let ended = change + held < ask.tolerance || steps == u64::from(ask.iterations);
        if !ended {
            return Err(Mismatch {
                what: format!("change of step {steps}, the last"),
                expected: format!("below {:e}, or {} steps", ask.tolerance, ask.iterations),
                found: format!("{:e}", change + held),
            });
        }
        let scores = verify::read(port, self.scores);
        let csr = graph.csr(worker)?;
        let residual = verify::residual(&csr, &scores, ask.damping);
        let most = self.most(&csr, &scores, ask, steps, change + held);
        // So that a residual that is no number is refused as well.
        let within = residual <= most;
        if !within {
            return Err(Mismatch {
                what: format!("what a step in double precision changes after {steps}"),
                expected: format!("at most {most:e}"),
                found: format!("{residual:e}"),
            });
        }
        let (top, sum) = verify::top(&scores, 5);
        let answer = json!({"top": top, "sum": sum, "iterations": steps});
        Ok(Verified::Answer(answer))
    }

    /// What a step in double precision may change after so many, of which the last said that it
    /// changed so much, with what was held back from it.
    ///
    /// A step moves the scores by at most `damping` times what the last one did, since columns sum
    /// up to at most 1. That bounds it by what the last one said; and, since no kernel shall set
    /// its own bound, by the change that the first step makes, shrunk in each. The rest is single
    /// precision: a sum of so many terms, in whatever order, is off by at most as many roundings of
    /// itself (Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2), and it does
    /// happen, since a hub's terms may be all equal; a few more make a score of it.
    fn most(&self, csr: &Csr, scores: &[f32], ask: Ask, steps: u64, said: f64) -> f64 {
        let uniform = vec![1.0 / csr.vertices() as f32; csr.vertices()];
        let first = verify::residual(csr, &uniform, ask.damping);
        let shrinks = match &self.changes {
            Some(_) => rate(ask.damping),
            None => ask.damping,
        };
        let shrunk = first * shrinks.powi(i32::try_from(steps).unwrap_or(i32::MAX));
        let half = f64::from(f32::EPSILON) / 2.0;
        let off = |(row, &score): (&[u32], &f32)| (row.len() + 8) as f64 * half * f64::from(score);
        let rounding: f64 = csr.incoming().rows().zip(scores).map(off).sum();
        (ask.damping * said).min(shrunk) + rounding
    }
}

/// Where the words of either workload lie.
#[derive(Debug)]
pub struct Layout {
    graph: RegionGraph,
    arrays: Arrays,
}

impl Layout {
    pub(super) fn new(
        arena: &mut Arena,
        pod: Pod,
        (source, directed): (&GraphSource, bool),
        needs: Needs,
    ) -> Self {
        let graph = RegionGraph::lay_out(arena, "rank.graph", pod, source, directed);
        Self {
            arrays: Arrays::lay_out(arena, pod, graph.room(), needs),
            graph,
        }
    }

    pub(super) fn prepare<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<(), Unready> {
        self.graph.prepare(worker)
    }

    /// Lines all lanes up and starts the clock. Collective over the pod.
    pub(super) fn begin<'a, P: HostAtomics>(
        &'a self,
        worker: &'a Worker<'a, P>,
        ask: Ask,
    ) -> Result<Rank<'a, P>, Gone> {
        let crew = Crew::begin(worker, &self.arrays.crew)?;
        Ok(Rank::new(
            crew,
            &self.arrays,
            self.graph.frozen(),
            None,
            ask,
        ))
    }

    pub(super) fn verify<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        ask: Ask,
    ) -> Result<Verified, Mismatch> {
        self.arrays.verify(worker, &self.graph, ask)
    }
}
