//! The workload `spmv`.

use fabric::{Arena, Gone, HostAtomics, Pod};
use serde::{Deserialize, Serialize};
use workload::{Mismatch, Outcome, Unready, Verified, Worker, Workload};

use super::arrays::{Ask, Layout, Needs};
use super::step::Rank;
use crate::source::GraphSource;

/// In which order the matrix is gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Row after row.
    #[default]
    Rows,
    /// All rows, a tile of columns at a time.
    Tiled,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rows, Self::Tiled];

    pub(crate) fn needs(self) -> Needs {
        match self {
            Self::Rows => Needs::One,
            Self::Tiled => Needs::Two,
        }
    }
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// In which order.
    pub variant: Variant,
    /// Columns of a tile, a multiple of 64; 65,536 take 256 KiB of the vector.
    pub tile_columns: u32,
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
            tile_columns: 65_536,
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
pub struct Spmv;

/// Computes scores, on every lane of the pod; `tile` columns at a time, or by rows.
pub(crate) fn compute<P: HostAtomics>(
    mut rank: Rank<'_, P>,
    tile: Option<usize>,
) -> Result<Outcome, Gone> {
    match tile {
        None => rank.run_rows()?,
        Some(columns) => rank.run_tiled(columns)?,
    }
    rank.end()
}

impl Workload for Spmv {
    const NAME: &'static str = "spmv";
    const ABOUT: &'static str =
        "PageRank as products of matrix and vector, over a graph in the pool";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let graph = (&params.graph, params.directed);
        Layout::new(arena, pod, graph, params.variant.needs())
    }

    fn keeps_discipline(params: &Params) -> bool {
        params.disciplined
    }

    fn check(_: Pod, params: &Params) -> Result<(), String> {
        let columns = params.tile_columns;
        if columns == 0 || !columns.is_multiple_of(64) {
            return Err(format!(
                "tile_columns = {columns}: use a multiple of 64, so that tiles are whole lines"
            ));
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
        let tile = match params.variant {
            Variant::Rows => None,
            Variant::Tiled => Some(params.tile_columns as usize),
        };
        compute(layout.begin(worker, params.ask())?, tile)
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
