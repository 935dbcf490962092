//! A graph in the region: laid out by all, copied in by all, then frozen.
//!
//! *Sharing.* Each array is divided among all lanes of the pod by whole lines, hosts in order, so
//! that no line has two writers. Each lane copies its share from its process's [`Csr`] and posts
//! it; nobody ever writes it again.
//!
//! *Maintenance.* A post for each 16 KiB of a share; then the collective freeze of each array: a
//! barrier, an observe by each host, and a barrier where hosts have several lanes.

use std::sync::{Arc, OnceLock};

use fabric::{Arena, Frozen, Gone, HostAtomics, LINE_BYTES, Slice, Word};
use workload::{Unready, Worker};

use crate::csr::{Adjacency, Csr};
use crate::load::loaded_by_lane;
use crate::source::{GraphSource, Shape};

/// Bytes that are posted at a time: few enough that a lane beats in between on any device.
const POST_BYTES: usize = 1 << 14;

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

/// Where rows will lie: room for a shape.
#[derive(Clone, Copy, Debug)]
struct Rows {
    offsets: Slice<u64>,
    targets: Slice<u32>,
}

impl Rows {
    fn lay_out(arena: &mut Arena, name: &str, shape: Shape) -> Self {
        let offsets = shape.vertices as usize + 1;
        Self {
            offsets: arena.slice(format!("{name}.offsets"), offsets),
            targets: arena.slice(format!("{name}.targets"), shape.arcs as usize),
        }
    }

    /// Collective over the pod.
    fn fill<P: HostAtomics>(
        self,
        worker: &Worker<'_, P>,
        from: &Adjacency,
    ) -> Result<FrozenRows, Gone> {
        let offsets = self.offsets.range(0, from.offsets().len());
        let targets = self.targets.range(0, from.targets().len());
        copy_share(worker, offsets, from.offsets())?;
        copy_share(worker, targets, from.targets())?;
        // What is mine has been posted, before the barrier of the freeze: nothing is left over.
        Ok(FrozenRows {
            offsets: worker.freeze(offsets, offsets.range(0, 0))?,
            targets: worker.freeze(targets, targets.range(0, 0))?,
        })
    }
}

/// Writes this lane's share of an array.
fn copy_share<P: HostAtomics, T: Word>(
    worker: &Worker<'_, P>,
    to: Slice<T>,
    from: &[T],
) -> Result<(), Gone> {
    let (pod, seat) = (worker.pod(), worker.seat());
    let lanes = (pod.hosts * pod.lanes) as usize;
    let lane = (seat.host * pod.lanes + seat.lane) as usize;
    let line = LINE_BYTES as usize / T::BYTES;
    let share = from.len().div_ceil(lanes).next_multiple_of(line);
    let bound = |lane: usize| (lane * share).min(from.len());
    let (mut at, end) = (bound(lane), bound(lane + 1));
    while at < end {
        let next = (at + POST_BYTES / T::BYTES).min(end);
        // Serves every host's loads after the freeze; the store fence puts it before the stores of
        // the freeze's barrier.
        worker
            .port()
            .write_posted(to.range(at, next).start(), &from[at..next]);
        worker.port().check_in()?;
        at = next;
    }
    Ok(())
}

/// A graph that a workload lays out, prepares and reads.
#[derive(Debug)]
pub struct RegionGraph {
    source: GraphSource,
    directed: bool,
    outgoing: Rows,
    incoming: Option<Rows>,
    csr: OnceLock<Arc<Csr>>,
    frozen: OnceLock<FrozenCsr>,
}

impl RegionGraph {
    /// Lays it out as `name`. A graph that this host cannot have gets no room: then its layout's
    /// hash differs from the other hosts', and [`prepare`](Self::prepare) says why.
    pub fn lay_out(arena: &mut Arena, name: &str, source: &GraphSource, directed: bool) -> Self {
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
            outgoing: Rows::lay_out(arena, name, shape),
            incoming: directed.then(|| Rows::lay_out(arena, &incoming, shape)),
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

    /// Loads the graph on this host, copies this lane's share of it into the region, and freezes
    /// it. Collective over the pod: a workload's `prepare` calls it on every lane.
    ///
    /// # Errors
    /// The reason why a wait ended, or why this host cannot have the graph.
    pub fn prepare<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<(), Unready> {
        let csr = loaded_by_lane(worker, &self.source, self.directed)?;
        let room = self.outgoing.offsets.len().saturating_sub(1);
        if csr.vertices() != room || csr.arcs() > self.outgoing.targets.len() as u64 {
            return Err(Unready::Lacking(format!(
                "{}: {} vertices and {} arcs, and room for {room} and {}; the file changed: run \
                 again",
                self.source,
                csr.vertices(),
                csr.arcs(),
                self.outgoing.targets.len()
            )));
        }
        let outgoing = self.outgoing.fill(worker, csr.outgoing())?;
        let incoming = match self.incoming {
            Some(rows) => rows.fill(worker, csr.incoming())?,
            None => outgoing,
        };
        let frozen = FrozenCsr {
            vertices: csr.vertices(),
            arcs: csr.arcs(),
            directed: self.directed,
            outgoing,
            incoming,
        };
        // Every lane that shares this layout comes to the same value.
        let _ = (self.csr.set(csr), self.frozen.set(frozen));
        Ok(())
    }

    /// The graph in the region.
    ///
    /// # Panics
    /// Before [`prepare`](Self::prepare).
    pub fn frozen(&self) -> FrozenCsr {
        *self.frozen.get().expect("`prepare` comes first")
    }

    /// The same graph in this process's own memory, for a verifier.
    ///
    /// # Panics
    /// Before [`prepare`](Self::prepare).
    pub fn csr(&self) -> &Csr {
        self.csr.get().expect("`prepare` comes first")
    }
}
