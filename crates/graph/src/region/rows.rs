//! Rows in the region, written by all hosts, each those of its own vertices.
//!
//! A host knows where its rows start once every host has said how many arcs it has. Offsets are
//! divided at whole lines. Targets are not: a line that holds arcs of several hosts is written by
//! the one that has its first, to which the others say their own first arcs beforehand.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, LINE_BYTES, Slice, Word};
use workload::{Unready, Worker};

use super::FrozenRows;
use crate::csr::Adjacency;
use crate::load::Share;
use crate::source::Shape;

/// Bytes that are posted at a time: few enough that a lane beats in between on any device.
const POST_BYTES: usize = 1 << 14;

/// Targets of a line.
const PER_LINE: usize = LINE_BYTES as usize / u32::BYTES;

/// Words with which a host says how many arcs it has and which are the first: all that can lie in a
/// line that another host begins, two a word.
const SAID: usize = 1 + PER_LINE / 2;

/// Where rows will lie: room for a shape.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) offsets: Slice<u64>,
    pub(super) targets: Slice<u32>,
    /// By host.
    said: Vec<Slice<u64>>,
}

/// What a host has said.
struct Said {
    arcs: usize,
    first: Vec<u32>,
}

impl Rows {
    pub(super) fn lay_out(arena: &mut Arena, name: &str, shape: Shape, hosts: u32) -> Self {
        let offsets = shape.vertices as usize + 1;
        Self {
            offsets: arena.slice(format!("{name}.offsets"), offsets),
            targets: arena.slice(format!("{name}.targets"), shape.arcs as usize),
            said: arena.per_host(&format!("{name}.said"), hosts, SAID),
        }
    }

    /// Writes the rows of this host, of which `from` has at least those, and freezes all.
    /// Collective over the pod.
    ///
    /// # Errors
    /// The reason why a wait ended; or, of arcs that are more than there is room for, `too_many`.
    pub(super) fn fill<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        from: &Adjacency,
        too_many: impl Fn(u64) -> Unready,
    ) -> Result<FrozenRows, Unready> {
        let (host, hosts) = (worker.seat().host, worker.pod().hosts);
        let vertices = Share { host, hosts }.rows(from.vertices());
        let first = from.offsets()[vertices.start];
        let own = &from.targets()[first as usize..from.offsets()[vertices.end] as usize];
        if worker.seat().leads_host() {
            self.say(worker, own);
        }
        worker.barrier()?;
        let said = self.listen(worker, hosts);
        let all: usize = said.iter().map(|said| said.arcs).sum();
        if all > self.targets.len() {
            return Err(too_many(all as u64));
        }
        let start: usize = said[..host as usize].iter().map(|said| said.arcs).sum();
        self.write_offsets(worker, from, &vertices, (start as u64).wrapping_sub(first))?;
        self.write_targets(worker, start, own, &said[host as usize + 1..])?;
        let targets = self.targets.range(0, all);
        // What is mine has been posted, before the barrier of the freeze: nothing is left over.
        Ok(FrozenRows {
            offsets: worker.freeze(self.offsets, self.offsets.range(0, 0))?,
            targets: worker.freeze(targets, targets.range(0, 0))?,
        })
    }

    fn say<P: HostAtomics>(&self, worker: &Worker<'_, P>, own: &[u32]) {
        let mut words = vec![own.len() as u64];
        let pairs = own[..own.len().min(PER_LINE)].chunks(2);
        words.extend(pairs.map(|pair| {
            let second = pair.get(1).map_or(0, |&second| u64::from(second) << 32);
            second | u64::from(pair[0])
        }));
        let to = self.said[worker.seat().host as usize].start();
        // Serves every host's `listen`, after the barrier.
        worker.port().write_posted(to, &words);
    }

    fn listen<P: HostAtomics>(&self, worker: &Worker<'_, P>, hosts: u32) -> Vec<Said> {
        let port = worker.port();
        let of = |host: u32| {
            let place = self.said[host as usize];
            // Serves the read below: the last trial's may be in the cache.
            port.observe(place.lines());
            let mut words = [0u64; SAID];
            port.read_into(place.start(), &mut words);
            let arcs = words[0] as usize;
            let halves = words[1..].iter().flat_map(|&word| [word, word >> 32]);
            let first = halves.take(arcs).map(|half| half as u32).collect();
            Said { arcs, first }
        };
        (0..hosts).map(of).collect()
    }

    /// The offsets of this host's rows, `shift` added; where the last row ends belongs to who has
    /// it.
    fn write_offsets<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        from: &Adjacency,
        vertices: &Range<usize>,
        shift: u64,
    ) -> Result<(), Gone> {
        let last = vertices.end == from.vertices() && !vertices.is_empty();
        let none = from.vertices() == 0 && worker.seat().host == 0;
        let end = vertices.end + usize::from(last || none);
        let shifted = |range: Range<usize>| {
            let offsets = from.offsets()[range].iter();
            offsets.map(|&offset| offset.wrapping_add(shift)).collect()
        };
        write_share(worker, self.offsets, vertices.start..end, shifted)
    }

    /// The lines that begin with one of this host's arcs, `own`, from word `start` on; those that
    /// end them are from the hosts behind.
    fn write_targets<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        start: usize,
        own: &[u32],
        behind: &[Said],
    ) -> Result<(), Gone> {
        let end = start + own.len();
        let first = start.next_multiple_of(PER_LINE);
        if first >= end {
            return Ok(());
        }
        let rest = end.next_multiple_of(PER_LINE) - end;
        let theirs: Vec<u32> = behind
            .iter()
            .flat_map(|said| said.first.iter().copied())
            .take(rest)
            .collect();
        write_share(worker, self.targets, first..end + theirs.len(), |range| {
            let mine = &own[(range.start.min(end) - start)..range.end.min(end) - start];
            let theirs = &theirs[range.start.max(end) - end..range.end.max(end) - end];
            [mine, theirs].concat()
        })
    }
}

/// Writes this lane's share of what its host writes of an array: whole lines, from the first on.
fn write_share<P: HostAtomics, T: Word>(
    worker: &Worker<'_, P>,
    to: Slice<T>,
    all: Range<usize>,
    words: impl Fn(Range<usize>) -> Vec<T>,
) -> Result<(), Gone> {
    let (lane, lanes) = (worker.seat().lane as usize, worker.pod().lanes as usize);
    let share = all.len().div_ceil(lanes);
    let share = share.next_multiple_of(LINE_BYTES as usize / T::BYTES);
    let bound = |lane: usize| (all.start + lane * share).min(all.end);
    let (mut at, end) = (bound(lane), bound(lane + 1));
    while at < end {
        let next = (at + POST_BYTES / T::BYTES).min(end);
        // Serves every host's loads after the freeze; the store fence puts it before the stores of
        // the freeze's barrier.
        worker
            .port()
            .write_posted(to.range(at, next).start(), &words(at..next));
        worker.port().check_in()?;
        at = next;
    }
    Ok(())
}
