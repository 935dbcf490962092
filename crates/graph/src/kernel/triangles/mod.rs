//! Triangle counting.
//!
//! *Kernel.* Vertices are ordered by degree, the highest first (`order`). A triangle has a first,
//! a middle and a last vertex; for each middle one its predecessors are marked, and for each of its
//! successors those predecessors looked up that come before it (`count`). So each triangle is
//! found once, and a pair of neighbours costs the shorter part of one row.
//!
//! *Sharing.* Hosts write the ordered rows together, each its own; then nobody writes anything that
//! another reads, but for the count. By default they do so once, before the first run, and the rows
//! are frozen as the graph is; with `ordering = "each-run"` in every run. What is counted by whom:
//! `static`, by turns; `dynamic`, a batch at a time from a counter of the pool (`deal`).
//!
//! *Maintenance.* 2 barriers, to add up what was found and to end. `dynamic` besides: an operation
//! on a software atomic for each batch. With ordering besides: a publish for each chunk of ordered
//! rows, an observe of all that others wrote, 1 barrier.
//!
//! *Metrics.* `time_ns`; with `ordering = "each-run"` that of ordering is in it, as in GAPBS.
//! `edges_per_s`: the graph's edges by it.
//!
//! *Verified.* By the forward algorithm on the graph in the verifier's own memory.

mod count;
mod deal;
mod order;

use fabric::{Arena, Gone, HostAtomics, Pod, Slice};
use serde::{Deserialize, Serialize};
use serde_json::json;
use workload::{Mismatch, Outcome, Unready, Verified, Worker, Workload};

use super::crew::{Crew, CrewLayout, SUMS};
use super::verify;
use crate::region::{FrozenCsr, RegionGraph};
use crate::source::GraphSource;
use count::{Counting, chunks_dealt};
use deal::DealLayout;
use order::Ordered;

/// Who counts which vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Lanes of all hosts in turn.
    #[default]
    Static,
    /// Whoever has time: batches from a counter of the pool.
    Dynamic,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Static, Self::Dynamic];
}

/// When rows are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ordering {
    /// Once, before the first run: the rows are frozen, as the graph is.
    #[default]
    Once,
    /// In each run, which takes that much longer, and republishes the rows.
    EachRun,
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Who counts which vertices.
    pub variant: Variant,
    /// When rows are ordered.
    pub ordering: Ordering,
    /// Which graph.
    pub graph: GraphSource,
    /// Must be false: triangles are those of an undirected graph.
    pub directed: bool,
    /// Whether a single host follows the pod's discipline, though nobody else reads what it writes.
    pub disciplined: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            ordering: Ordering::default(),
            graph: GraphSource::Kronecker { scale: 10 },
            directed: false,
            disciplined: false,
        }
    }
}

/// Where a count's words lie.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) crew: CrewLayout,
    pub(super) ordered: Ordered,
    /// Who counts what, where it is dealt out.
    pub(super) deal: Option<DealLayout>,
    /// The answer: of lane 0 of host 0.
    total: Slice<u64>,
}

impl Rows {
    pub(crate) fn lay_out(
        arena: &mut Arena,
        pod: Pod,
        vertices: usize,
        arcs: usize,
        variant: Variant,
    ) -> Self {
        // The lanes of one host have a counter of their own.
        let dealt = variant == Variant::Dynamic && pod.hosts > 1;
        Self {
            crew: CrewLayout::lay_out(arena, "triangles.crew", pod),
            ordered: Ordered::lay_out(arena, pod, vertices, arcs),
            deal: dealt.then(|| DealLayout::lay_out(arena, pod, chunks_dealt(vertices))),
            total: arena.per_host("triangles.total", 1, 1)[0],
        }
    }

    /// Nothing is dealt out yet: by every lane, before any begins.
    pub(crate) fn reset<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<(), Gone> {
        match &self.deal {
            Some(deal) if worker.seat().leads_host() => deal.reset(worker.port(), worker.seat()),
            _ => Ok(()),
        }
    }

    pub(crate) fn total<P: HostAtomics>(&self, port: &P) -> u64 {
        port.load(self.total.start())
    }
}

/// Orders the rows, on every lane of the pod; afterwards every lane may read all of them.
pub(crate) fn order<P: HostAtomics>(
    crew: Crew<'_, P>,
    rows: &Rows,
    graph: FrozenCsr,
) -> Result<(), Gone> {
    Counting::new(crew, rows, graph).order()
}

/// Counts, on every lane of the pod.
pub(crate) fn count<P: HostAtomics>(
    crew: Crew<'_, P>,
    rows: &Rows,
    graph: FrozenCsr,
    variant: Variant,
    ordering: Ordering,
) -> Result<Outcome, Gone> {
    let mut counting = Counting::new(crew, rows, graph);
    if ordering == Ordering::EachRun {
        counting.order()?;
    }
    let found = match variant {
        Variant::Static => counting.count_in_turn()?,
        Variant::Dynamic => counting.count_dealt()?,
    };
    let mut sums = [0; SUMS];
    sums[0] = found;
    let [found, ..] = counting.crew.sum(sums)?;
    if counting.crew.leads_pod() {
        let port = counting.crew.port();
        port.aside(|port| port.store(rows.total.start(), found));
    }
    counting.crew.end(graph.arcs / 2)
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    graph: RegionGraph,
    rows: Rows,
}

/// The workload.
#[derive(Debug)]
pub struct Triangles;

impl Workload for Triangles {
    const NAME: &'static str = "triangles";
    const ABOUT: &'static str = "triangle counting over a graph in the pool";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let graph = RegionGraph::lay_out(arena, "triangles.graph", pod, &params.graph, false);
        let (vertices, arcs) = (graph.room_for_vertices(), graph.room_for_arcs());
        Layout {
            rows: Rows::lay_out(arena, pod, vertices, arcs, params.variant),
            graph,
        }
    }

    fn keeps_discipline(params: &Params) -> bool {
        params.disciplined
    }

    fn check(_: Pod, params: &Params) -> Result<(), String> {
        if params.directed {
            return Err(
                "directed = true: triangles are those of an undirected graph; use \
                        directed = false, which takes every edge both ways"
                    .into(),
            );
        }
        params.graph.check(false).map(drop)
    }

    fn prepare<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<(), Unready> {
        layout.graph.prepare(worker)?;
        if params.ordering == Ordering::Once {
            let crew = Crew::begin(worker, &layout.rows.crew)?;
            order(crew, &layout.rows, layout.graph.frozen())?;
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        layout.rows.reset(worker)?;
        let (crew, graph) = (
            Crew::begin(worker, &layout.rows.crew)?,
            layout.graph.frozen(),
        );
        count(crew, &layout.rows, graph, params.variant, params.ordering)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        _: &Params,
        _: u32,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_pod() {
            return Ok(Verified::Nothing);
        }
        let port = worker.port();
        let found = layout.rows.total(port);
        let csr = layout.graph.csr(worker)?;
        // A lost host ends the next wait; here the answer is still wanted.
        let alive = || port.check_in().unwrap_or_default();
        let expected = verify::triangles(csr.outgoing(), alive);
        if found != expected {
            return Err(Mismatch {
                what: "triangles".into(),
                expected: expected.to_string(),
                found: found.to_string(),
            });
        }
        Ok(Verified::Answer(json!({"triangles": found})))
    }
}
