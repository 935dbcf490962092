//! A graph in the region: laid out by all, built by all, then frozen.
//!
//! *Sharing.* Each host makes the rows of its own vertices and writes them; the lanes of a host
//! divide them by whole lines. No line has two writing hosts, and nobody ever writes it again.
//!
//! *Maintenance.* A post of each host's numbers, a barrier, an observe of them; a post for each
//! 16 KiB of a lane's share; then the collective freeze of each array: a barrier, an observe by
//! each host, and a barrier where hosts have several lanes.

mod rows;

use std::sync::{Arc, OnceLock};

use fabric::{Arena, Frozen, HostAtomics, Pod};
use workload::{Mismatch, Unready, Worker};

use crate::csr::Csr;
use crate::load::{Share, loaded_by_lane};
use crate::source::{GraphSource, Shape};
use rows::Rows;

/// Rows in the region that nobody writes any more.
#[derive(Clone, Copy, Debug)]
pub struct FrozenRows {
    /// `[V + 1]`: row `v` is `targets[offsets[v]..offsets[v + 1]]`.
    pub offsets: Frozen<u64>,
    /// `[E]`, sorted within each row.
    pub targets: Frozen<u32>,
}

/// A graph in the region that nobody writes any more.
#[derive(Clone, Copy, Debug)]
pub struct FrozenCsr {
    /// Vertices.
    pub vertices: usize,
    /// Stored arcs of one direction.
    pub arcs: u64,
    /// Whether [`incoming`](Self::incoming) differs from [`outgoing`](Self::outgoing).
    pub directed: bool,
    /// Edges that leave, by source.
    pub outgoing: FrozenRows,
    /// Edges that arrive, by target.
    pub incoming: FrozenRows,
}

/// A graph that a workload lays out, prepares and reads.
#[derive(Debug)]
pub struct RegionGraph {
    source: GraphSource,
    directed: bool,
    outgoing: Rows,
    incoming: Option<Rows>,
    frozen: OnceLock<FrozenCsr>,
    /// Once somebody verifies.
    csr: OnceLock<Arc<Csr>>,
}

impl RegionGraph {
    /// Lays it out as `name`. A graph that this host cannot have gets no room: then its layout's
    /// hash differs from the other hosts', and [`prepare`](Self::prepare) says why.
    pub fn lay_out(
        arena: &mut Arena,
        name: &str,
        pod: Pod,
        source: &GraphSource,
        directed: bool,
    ) -> Self {
        let nothing = Shape {
            vertices: 0,
            arcs: 0,
            directed,
        };
        let shape = source.shape(directed).unwrap_or(nothing);
        let incoming = format!("{name}.incoming");
        Self {
            source: source.clone(),
            directed,
            outgoing: Rows::lay_out(arena, name, shape, pod.hosts),
            incoming: directed.then(|| Rows::lay_out(arena, &incoming, shape, pod.hosts)),
            csr: OnceLock::new(),
            frozen: OnceLock::new(),
        }
    }

    /// Vertices that there is room for: as many as the graph has.
    pub(crate) fn room_for_vertices(&self) -> usize {
        self.outgoing.offsets.len().saturating_sub(1)
    }

    /// Arcs of one direction that there is room for: at least as many as the graph has.
    pub(crate) fn room_for_arcs(&self) -> usize {
        self.outgoing.targets.len()
    }

    /// Both of them.
    pub(crate) fn room(&self) -> (usize, usize) {
        (self.room_for_vertices(), self.room_for_arcs())
    }

    /// Makes this host's rows, writes this lane's share of them, and freezes all. Collective over
    /// the pod: a workload's `prepare` calls it on every lane.
    ///
    /// # Errors
    /// The reason why a wait ended, or why this host cannot have the graph.
    pub fn prepare<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<(), Unready> {
        let (host, hosts) = (worker.seat().host, worker.pod().hosts);
        let share = Some(Share { host, hosts });
        let csr = loaded_by_lane(worker, &self.source, self.directed, share)?;
        if csr.vertices() != self.room_for_vertices() {
            return Err(self.changed(csr.vertices(), csr.arcs()));
        }
        let changed = |arcs| self.changed(csr.vertices(), arcs);
        let outgoing = self.outgoing.fill(worker, csr.outgoing(), changed)?;
        let incoming = match &self.incoming {
            Some(rows) => rows.fill(worker, csr.incoming(), changed)?,
            None => outgoing,
        };
        // Every lane that shares this layout comes to the same value.
        let _ = self.frozen.set(FrozenCsr {
            vertices: csr.vertices(),
            arcs: outgoing.targets.slice().len() as u64,
            directed: self.directed,
            outgoing,
            incoming,
        });
        Ok(())
    }

    fn changed(&self, vertices: usize, arcs: u64) -> Unready {
        Unready::Lacking(format!(
            "{}: {vertices} vertices and {arcs} arcs, and room for {} and {}; the file changed: \
             run again",
            self.source,
            self.room_for_vertices(),
            self.room_for_arcs()
        ))
    }

    /// The graph in the region.
    ///
    /// # Panics
    /// Before [`prepare`](Self::prepare).
    pub fn frozen(&self) -> FrozenCsr {
        *self.frozen.get().expect("`prepare` comes first")
    }

    /// The same graph in this process's own memory, all of it, for a verifier: loaded apart from
    /// what stands in the region.
    ///
    /// # Errors
    /// That it cannot be had.
    pub fn csr<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<Arc<Csr>, Mismatch> {
        if let Some(csr) = self.csr.get() {
            return Ok(csr.clone());
        }
        let csr = loaded_by_lane(worker, &self.source, self.directed, None);
        let csr = csr.map_err(|error| Mismatch {
            what: format!("{}, to verify against", self.source),
            expected: "a graph".into(),
            found: error.to_string(),
        })?;
        Ok(self.csr.get_or_init(|| csr).clone())
    }
}
