//! From edges in any order to rows: partition by source, then sort each part in cache.
//!
//! A scatter straight into the final array misses the cache at every arc, and safe Rust cannot do
//! it on several threads. So the arcs of each piece of the input are partitioned while they are in
//! a core's cache; a part's arcs, from all pieces, then fit there again, where they are counted,
//! scattered and sorted. (A radix partition before a build, as in hash joins: Manegold, Boncz,
//! Kersten, "Optimizing main-memory join on modern hardware", TKDE 2002.)
//!
//! A vertex belongs to the part of its low bits: then a piece can be partitioned before it is known
//! how many vertices there are, and vertices of large degree that lie side by side spread.

use std::iter;
use std::ops::Range;

use crate::csr::{Adjacency, Csr, Edge};
use crate::error::GraphError;
use crate::parallel;
use crate::progress::{Phase, Progress};

/// Edges that are partitioned at a time, where the input has no pieces of its own: they, and their
/// arcs, lie in a core's cache.
pub(crate) const PIECE_EDGES: usize = 1 << 16;

/// Arcs that a part should have: 512 KiB of them.
const PART_ARCS: u64 = 1 << 16;

/// The most parts: each is a stream of writes, and a core keeps about this many lines in the first
/// two levels of its cache.
const MAX_PARTS: u64 = 1 << 11;

/// Vertices whose rows are put into the final array at a time.
const RANGE_VERTICES: usize = 1 << 14;

/// Which arcs an edge becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orientation {
    /// From its source.
    Out,
    /// From its target, backwards.
    In,
    /// Both.
    Both,
}

impl Orientation {
    /// Calls `f` with source and target of each arc; self loops are none.
    #[inline(always)]
    fn arcs(self, edges: &[Edge], mut f: impl FnMut(u32, u32)) {
        for &(from, to) in edges {
            if from == to {
                continue;
            }
            if self != Self::In {
                f(from, to);
            }
            if self != Self::Out {
                f(to, from);
            }
        }
    }
}

/// Makes graphs of pieces, which threads partition independently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builder {
    directed: bool,
    /// Binary logarithm of the number of parts.
    bits: u32,
    kept: Kept,
}

/// The vertices whose rows are wanted.
#[derive(Clone, Copy, Debug)]
struct Kept {
    first: u32,
    count: u32,
}

impl Kept {
    const ALL: Self = Self {
        first: 0,
        count: u32::MAX,
    };

    #[inline(always)]
    fn holds(self, vertex: u32) -> bool {
        vertex.wrapping_sub(self.first) < self.count
    }
}

/// Some of a graph's edges, partitioned.
pub(crate) struct Piece {
    outgoing: Partition,
    incoming: Option<Partition>,
}

impl Builder {
    /// For about so many edges: a guess that decides how fast it is, and nothing else.
    pub(crate) fn expecting(edges: u64, directed: bool) -> Self {
        let arcs = if directed { edges } else { 2 * edges };
        let parts = (arcs / PART_ARCS).clamp(1, MAX_PARTS);
        Self {
            directed,
            bits: parts.next_power_of_two().trailing_zeros(),
            kept: Kept::ALL,
        }
    }

    /// Makes these rows only; the others are empty.
    pub(crate) fn only(self, rows: &Range<usize>) -> Self {
        let kept = Kept {
            first: rows.start as u32,
            count: rows.len() as u32,
        };
        Self { kept, ..self }
    }

    /// Partitions some edges.
    pub(crate) fn piece(self, edges: &[Edge]) -> Piece {
        let partition = |orientation| Partition::of(edges, orientation, self.bits, self.kept);
        if self.directed {
            Piece {
                outgoing: partition(Orientation::Out),
                incoming: Some(partition(Orientation::In)),
            }
        } else {
            Piece {
                outgoing: partition(Orientation::Both),
                incoming: None,
            }
        }
    }

    /// Partitions a list of edges on several threads.
    pub(crate) fn pieces(
        self,
        edges: &[Edge],
        threads: usize,
        progress: &Progress,
    ) -> Result<Vec<Piece>, GraphError> {
        parallel::each(threads, edges.chunks(PIECE_EDGES), |edges| {
            progress.check()?;
            Ok(self.piece(edges))
        })
    }

    /// The graph of all pieces; the caller knows that it has that many vertices.
    ///
    /// # Errors
    /// Somebody stopped it.
    pub(crate) fn finish(
        self,
        vertices: usize,
        pieces: Vec<Piece>,
        threads: usize,
        progress: &Progress,
    ) -> Result<Csr, GraphError> {
        let (mut outgoing, mut incoming) = (Vec::with_capacity(pieces.len()), Vec::new());
        for piece in pieces {
            outgoing.push(piece.outgoing);
            incoming.extend(piece.incoming);
        }
        let arcs = |of: &[Partition]| of.iter().map(|part| part.arcs.len() as u64).sum::<u64>();
        progress.start(Phase::Sort, arcs(&outgoing) + arcs(&incoming));
        let rows = |from| rows(vertices, from, self.bits, threads, progress);
        let outgoing = rows(outgoing)?;
        if self.directed {
            Ok(Csr::of_both(outgoing, rows(incoming)?))
        } else {
            Ok(Csr::undirected(outgoing))
        }
    }
}

/// Rows of edges as they are listed, each from its source alone.
///
/// # Errors
/// Somebody stopped it.
pub(crate) fn listed_rows(
    vertices: usize,
    edges: &[Edge],
    threads: usize,
    progress: &Progress,
) -> Result<Adjacency, GraphError> {
    let bits = Builder::expecting(edges.len() as u64, true).bits;
    let partitions = parallel::each(threads, edges.chunks(PIECE_EDGES), |edges| {
        progress.check()?;
        Ok(Partition::of(edges, Orientation::Out, bits, Kept::ALL))
    })?;
    progress.start(Phase::Sort, edges.len() as u64);
    rows(vertices, partitions, bits, threads, progress)
}

/// Arcs, part after part.
struct Partition {
    arcs: Vec<(u32, u32)>,
    /// `[parts + 1]`.
    starts: Vec<u32>,
}

impl Partition {
    fn of(edges: &[Edge], orientation: Orientation, bits: u32, kept: Kept) -> Self {
        let parts = 1usize << bits;
        let mask = parts - 1;
        let mut starts = vec![0; parts + 1];
        orientation.arcs(edges, |from, _| {
            starts[(from as usize & mask) + 1] += u32::from(kept.holds(from));
        });
        for part in 0..parts {
            starts[part + 1] += starts[part];
        }
        let mut arcs = vec![(0, 0); starts[parts] as usize];
        let mut next = starts.clone();
        orientation.arcs(edges, |from, to| {
            if !kept.holds(from) {
                return;
            }
            let place = &mut next[from as usize & mask];
            arcs[*place as usize] = (from, to);
            *place += 1;
        });
        Self { arcs, starts }
    }

    fn part(&self, part: usize) -> &[(u32, u32)] {
        &self.arcs[self.starts[part] as usize..self.starts[part + 1] as usize]
    }
}

/// Sorts every part, then puts the rows behind each other.
fn rows(
    vertices: usize,
    partitions: Vec<Partition>,
    bits: u32,
    threads: usize,
    progress: &Progress,
) -> Result<Adjacency, GraphError> {
    let parts = 0..1usize << bits;
    let sorted = parallel::each(threads, parts, |part| {
        let of_part: Vec<_> = partitions.iter().map(|from| from.part(part)).collect();
        let taken = of_part.iter().map(|arcs| arcs.len() as u64).sum();
        // Those of its vertices whose number is part + (local << bits).
        let locals = (vertices + (1 << bits) - 1 - part) >> bits;
        let sorted = Sorted::of(&of_part, locals, bits);
        progress.advance(taken)?;
        Ok(sorted)
    })?;
    drop(partitions);
    join(vertices, &sorted, bits, threads, progress)
}

/// The rows of a part.
struct Sorted {
    /// `[vertices of the part + 1]`: where each row starts.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Sorted {
    fn of(pieces: &[&[(u32, u32)]], locals: usize, bits: u32) -> Self {
        let mut ends = vec![0usize; locals];
        for &(from, _) in pieces.iter().copied().flatten() {
            ends[(from >> bits) as usize] += 1;
        }
        let mut taken = 0;
        for end in &mut ends {
            (*end, taken) = (taken, taken + *end);
        }
        let mut targets = vec![0; taken];
        for &(from, to) in pieces.iter().copied().flatten() {
            let end = &mut ends[(from >> bits) as usize];
            targets[*end] = to;
            *end += 1;
        }
        let starts = sort_rows(&ends, &mut targets);
        Self { starts, targets }
    }

    fn row(&self, local: usize) -> &[u32] {
        &self.targets[self.starts[local]..self.starts[local + 1]]
    }
}

/// Sorts each row, drops what is doubled, and closes the gaps; where the rows start then.
fn sort_rows(ends: &[usize], targets: &mut Vec<u32>) -> Vec<usize> {
    let (mut start, mut kept) = (0, 0);
    let mut starts = Vec::with_capacity(ends.len() + 1);
    for &end in ends {
        starts.push(kept);
        targets[start..end].sort_unstable();
        let before = kept;
        for index in start..end {
            if kept == before || targets[kept - 1] != targets[index] {
                targets[kept] = targets[index];
                kept += 1;
            }
        }
        start = end;
    }
    starts.push(kept);
    targets.truncate(kept);
    starts
}

/// Puts the parts' rows into the order of their vertices.
fn join(
    vertices: usize,
    sorted: &[Sorted],
    bits: u32,
    threads: usize,
    progress: &Progress,
) -> Result<Adjacency, GraphError> {
    let row = |vertex: usize| sorted[vertex & ((1 << bits) - 1)].row(vertex >> bits);
    let ends = (0..vertices).scan(0, |end, vertex| {
        *end += row(vertex).len() as u64;
        Some(*end)
    });
    let mut offsets = Vec::with_capacity(vertices + 1);
    offsets.extend(iter::once(0).chain(ends));
    let mut targets = vec![0u32; offsets[vertices] as usize];
    let mut rest = targets.as_mut_slice();
    let mut places = Vec::new();
    for first in (0..vertices).step_by(RANGE_VERTICES) {
        let range = first..(first + RANGE_VERTICES).min(vertices);
        let length = offsets[range.end] - offsets[range.start];
        let (place, behind) = rest.split_at_mut(length as usize);
        places.push((place, range));
        rest = behind;
    }
    parallel::each(threads, places, |(mut place, range)| {
        progress.check()?;
        for row in range.map(row) {
            let (here, behind) = place.split_at_mut(row.len());
            here.copy_from_slice(row);
            place = behind;
        }
        Ok(())
    })?;
    Ok(Adjacency::from_parts(offsets, targets))
}
