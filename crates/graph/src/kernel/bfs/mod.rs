//! Breadth-first search.
//!
//! *Kernel.* From a source along edges, level by level; each vertex gets a parent in the level
//! before its own. Which of several is left open, as in Graph500 and GAPBS.
//!
//! *Sharing and maintenance.* By variant: `shared`, `partitioned`, `direction`. Vertices are
//! divided among hosts by edges; whatever the variant, a host gives parents to its own alone.
//!
//! *Metrics.* `time_ns` of a search; `edges_per_s`: the graph's edges by it. Phases, see
//! `crew`.
//!
//! *Verified.* By the rules of Graph500 on the graph in the verifier's own memory, and by the level
//! of each vertex from a serial search.

mod direction;
mod partitioned;
mod search;
mod shared;

use std::sync::OnceLock;

use fabric::{Arena, Gone, HostAtomics, Pod, View};
use serde::{Deserialize, Serialize};
use serde_json::json;
use workload::{Mismatch, Outcome, Unready, Verified, Worker, Workload};

use super::crew::Crew;
use super::split::Split;
use super::verify;
use crate::region::{FrozenCsr, RegionGraph};
use crate::source::GraphSource;
use search::Search;

pub(crate) use search::{NONE, Tree};

/// How hosts tell each other what they reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// By the tree itself, republished at each level.
    #[default]
    Shared,
    /// By messages to the owner of a vertex.
    Partitioned,
    /// By bitmaps, top-down or bottom-up.
    DirectionOptimizing,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Shared, Self::Partitioned, Self::DirectionOptimizing];
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// How hosts tell each other.
    pub variant: Variant,
    /// Which graph.
    pub graph: GraphSource,
    /// Where to start; by default at the vertex with the most edges, the first of them.
    pub source: Option<u32>,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether a single host follows the pod's discipline, though nobody else reads what it writes.
    pub disciplined: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            graph: GraphSource::Kronecker { scale: 10 },
            source: None,
            directed: false,
            disciplined: false,
        }
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    graph: RegionGraph,
    tree: Tree,
    /// Where a search starts that was not told.
    busiest: OnceLock<u32>,
}

/// The workload.
#[derive(Debug)]
pub struct Bfs;

/// Searches from `source`, on every lane of the pod. Vertices are divided by work, or as told.
pub(crate) fn search<P: HostAtomics>(
    crew: Crew<'_, P>,
    tree: &Tree,
    graph: FrozenCsr,
    split: Option<Split>,
    variant: Variant,
    source: u32,
) -> Result<Outcome, Gone> {
    let mut search = Search::new(crew, tree, graph, split);
    match variant {
        Variant::Shared => search.run_shared(source as usize)?,
        Variant::Partitioned => search.run_partitioned(source as usize)?,
        Variant::DirectionOptimizing => search.run_direction_optimizing(source as usize)?,
    }
    let edges = if graph.directed {
        graph.arcs
    } else {
        graph.arcs / 2
    };
    search.crew.end(edges)
}

impl Layout {
    fn source(&self, params: &Params) -> u32 {
        let busiest = || *self.busiest.get().expect("`prepare` comes first");
        params.source.unwrap_or_else(busiest)
    }
}

/// The vertex with the most edges, the first of them.
fn busiest(offsets: &impl View<u64>) -> u32 {
    let (mut best, mut most) = (0, 0);
    for vertex in 0..offsets.len() - 1 {
        let degree = offsets.get(vertex + 1) - offsets.get(vertex);
        if degree > most {
            (best, most) = (vertex as u32, degree);
        }
    }
    best
}

impl Workload for Bfs {
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str = "breadth-first search over a graph in the pool";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let graph = RegionGraph::lay_out(arena, "bfs.graph", pod, &params.graph, params.directed);
        Layout {
            tree: Tree::lay_out(arena, pod, graph.room_for_vertices(), params.variant),
            graph,
            busiest: OnceLock::new(),
        }
    }

    fn keeps_discipline(params: &Params) -> bool {
        params.disciplined
    }

    fn check(_: Pod, params: &Params) -> Result<(), String> {
        let shape = params.graph.check(params.directed)?;
        match params.source {
            Some(source) if u64::from(source) >= shape.vertices => Err(format!(
                "source = {source}: {} has {} vertices, from 0; use one below {1}",
                params.graph, shape.vertices
            )),
            _ => Ok(()),
        }
    }

    fn prepare<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<(), Unready> {
        layout.graph.prepare(worker)?;
        let frozen = layout.graph.frozen();
        if params.source.is_none() && worker.seat().leads_host() {
            let offsets = worker.port().view(frozen.outgoing.offsets);
            // Hosts that share this layout come to the same.
            let _ = layout.busiest.set(busiest(&offsets));
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let (source, graph) = (layout.source(params), layout.graph.frozen());
        let crew = Crew::begin(worker, &layout.tree.crew)?;
        search(crew, &layout.tree, graph, None, params.variant, source)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        _: u32,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_pod() {
            return Ok(Verified::Nothing);
        }
        let (csr, source) = (layout.graph.csr(worker)?, layout.source(params));
        let parents = verify::read(worker.port(), layout.tree.parents);
        let levels = verify::tree(&csr, source, &parents)?;
        Ok(Verified::Answer(
            json!({"levels": levels, "source": source}),
        ))
    }
}
