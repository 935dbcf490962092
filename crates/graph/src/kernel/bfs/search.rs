//! What the searches share: the tree, bitmaps, a step from a frontier to what it reaches.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, Slice, View};

use super::Variant;
use super::partitioned::Mail;
use crate::kernel::bits;
use crate::kernel::crew::{Crew, CrewLayout, Phase};
use crate::kernel::split::{Split, first_of, lines_of, words_of};
use crate::region::{FrozenCsr, FrozenRows};

/// No parent: not reached. Identifiers are below 2^31.
pub(crate) const NONE: u32 = u32::MAX;

/// Words of a bitmap that a lane takes at a time: GAPBS' 1,024 vertices.
pub(super) const CHUNK_WORDS: usize = 16;

/// Where a search's words lie.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) crew: CrewLayout,
    /// The tree, `[V]`: each vertex's line is written by the host that owns it.
    pub(super) parents: Slice<u32>,
    /// The frontier, a copy for each host, which its own lanes alone read and write.
    pub(super) fronts: Vec<Slice<u64>>,
    /// What each host need not look at again, likewise.
    pub(super) seen: Vec<Slice<u64>>,
    /// What each host found, for the others to read: two, that levels use in turn.
    pub(super) found: [Vec<Slice<u64>>; 2],
    /// What lanes of a host claim in a level.
    pub(super) claimed: HostSlice<u64>,
    pub(super) mail: Option<Mail>,
}

impl Tree {
    pub(crate) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize, variant: Variant) -> Self {
        let words = vertices.div_ceil(64);
        let bits = |arena: &mut Arena, name: &str| arena.per_host(name, pod.hosts, words);
        let published = match variant {
            Variant::DirectionOptimizing => words,
            Variant::Shared | Variant::Partitioned => 0,
        };
        let found = |arena: &mut Arena, name: &str| arena.per_host(name, pod.hosts, published);
        Self {
            crew: CrewLayout::lay_out(arena, "bfs.crew", pod),
            parents: arena.per_host("bfs.parents", 1, vertices)[0],
            fronts: bits(arena, "bfs.front"),
            seen: bits(arena, "bfs.seen"),
            found: [
                found(arena, "bfs.found.even"),
                found(arena, "bfs.found.odd"),
            ],
            claimed: arena.host_shared("bfs.claimed", words),
            mail: (variant == Variant::Partitioned).then(|| Mail::lay_out(arena, pod, vertices)),
        }
    }

    /// The tree.
    pub(crate) fn parents(&self) -> Slice<u32> {
        self.parents
    }
}

/// Rows of one direction.
#[derive(Clone, Copy)]
pub(super) struct Rows<O, T> {
    pub(super) offsets: O,
    pub(super) targets: T,
}

impl<O: View<u64>, T: View<u32>> Rows<O, T> {
    #[inline(always)]
    pub(super) fn of(&self, vertex: usize) -> Range<usize> {
        self.offsets.get(vertex) as usize..self.offsets.get(vertex + 1) as usize
    }
}

/// One lane's view of a search.
pub(super) struct Search<'a, P: HostAtomics + 'a> {
    pub(super) crew: Crew<'a, P>,
    pub(super) port: &'a P,
    pub(super) layout: &'a Tree,
    pub(super) graph: FrozenCsr,
    pub(super) split: Split,
    pub(super) outgoing: Rows<P::View<'a, u64>, P::View<'a, u32>>,
    pub(super) incoming: Rows<P::View<'a, u64>, P::View<'a, u32>>,
    /// The vertices of this host.
    pub(super) mine: Range<usize>,
    pub(super) front: Slice<u64>,
    pub(super) seen: Slice<u64>,
}

impl<'a, P: HostAtomics> Search<'a, P> {
    pub(super) fn new(
        crew: Crew<'a, P>,
        layout: &'a Tree,
        graph: FrozenCsr,
        split: Option<Split>,
    ) -> Self {
        let (port, host) = (crew.port(), crew.host());
        let rows = |rows: FrozenRows| Rows {
            offsets: port.view(rows.offsets),
            targets: port.view(rows.targets),
        };
        let (outgoing, incoming) = (rows(graph.outgoing), rows(graph.incoming));
        let split = split.unwrap_or_else(|| Split::by_work(&outgoing.offsets, crew.pod().hosts));
        Self {
            port,
            layout,
            graph,
            outgoing,
            incoming,
            mine: split.of(host),
            split,
            front: layout.fronts[host],
            seen: layout.seen[host],
            crew,
        }
    }

    /// All words of a bitmap.
    pub(super) fn words(&self) -> Range<usize> {
        0..self.graph.vertices.div_ceil(64)
    }

    /// Nothing is reached but the source. Ends with the lanes of the host meeting.
    pub(super) fn start(&mut self, source: usize) -> Result<(), Gone> {
        let (port, all) = (self.port, self.words());
        let own = self.crew.share(&self.mine, 64);
        bits::fill(port, self.layout.parents, own.clone(), NONE);
        for bitmap in [self.front, self.seen] {
            bits::fill(port, bitmap, self.crew.share(&all, 8), 0);
        }
        for word in words_of(&own) {
            bits::take(port, self.layout.claimed, word);
        }
        self.crew.took(Phase::Compute);
        self.crew.lanes_meet()?;
        if self.crew.leads_host() {
            let (word, bit) = (source / 64, 1 << (source % 64));
            port.store(self.front.at(word), bit);
            port.store(self.seen.at(word), bit);
            if self.mine.contains(&source) {
                port.store(self.layout.parents.at(source), source as u32);
            }
        }
        self.crew.lanes_meet()
    }

    /// Calls `visit` with each vertex of the frontier among `words`, shared out among the lanes of
    /// this host.
    pub(super) fn each_of_front(
        &self,
        words: &Range<usize>,
        mut visit: impl FnMut(usize),
    ) -> Result<(), Gone> {
        while let Some(chunk) = self.crew.next(words, CHUNK_WORDS)? {
            for word in chunk {
                let bits = self.port.load_overlapped(self.front.at(word));
                bits::each_bit(word, bits, &mut visit);
            }
        }
        Ok(())
    }

    /// Calls `visit` with each vertex of this host that an edge from `from` leads to and that has no
    /// parent: rows are sorted, so those are consecutive.
    #[inline(always)]
    pub(super) fn each_new(&self, from: usize, mut visit: impl FnMut(usize)) {
        let row = self.outgoing.of(from);
        let first = if self.mine.start == 0 {
            row.start
        } else {
            first_of(row.clone(), |at| {
                self.outgoing.targets.get(at) as usize >= self.mine.start
            })
        };
        for at in first..row.end {
            let to = self.outgoing.targets.get(at) as usize;
            if to >= self.mine.end {
                break;
            }
            if self.port.load_overlapped(self.layout.parents.at(to)) == NONE {
                visit(to);
            }
        }
    }

    /// Gives a vertex of this host a parent. Two lanes may do so at once: either parent is right, and
    /// a word is never torn.
    #[inline(always)]
    pub(super) fn adopt(&self, vertex: usize, parent: usize) {
        self.port
            .store(self.layout.parents.at(vertex), parent as u32);
    }

    /// Makes this host's part of the tree readable for all, each lane a share.
    pub(super) fn publish_tree(&mut self) {
        let own = self.crew.share(&self.mine, 64);
        // Serves whoever reads the answer after the last barrier.
        self.port.publish(lines_of(self.layout.parents, &own));
        self.crew.took(Phase::Publish);
    }
}
