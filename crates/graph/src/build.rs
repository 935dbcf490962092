//! From edges in any order to rows: partition by source, then sort each part in cache.
//!
//! A scatter straight into the final array misses the cache at every arc, and safe Rust cannot do
//! it on several threads. So arcs are first partitioned by ranges of their source, each piece of
//! the input on its own; a range's arcs then fit a core's cache, where they are counted, scattered
//! and sorted. (A radix partition before a build, as in hash joins: Manegold, Boncz, Kersten,
//! "Optimizing main-memory join on modern hardware", TKDE 2002.)

use crate::csr::{Adjacency, Edge};
use crate::error::GraphError;
use crate::parallel;
use crate::progress::{Phase, Progress};

/// Edges that are partitioned at a time: 2 MiB of them, and their arcs, lie in a core's cache.
const PIECE_EDGES: usize = 1 << 18;

/// Arcs that a part should have: 512 KiB of them.
const PART_ARCS: u64 = 1 << 16;

/// The most parts: each is a stream of writes, of which a core can keep about this many lines in its
/// cache of the first two levels.
const MAX_PARTS: u64 = 1 << 11;

/// Which arcs an edge becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orientation {
    /// From its source.
    Out,
    /// From its target, backwards.
    In,
    /// Both.
    Both,
}

impl Orientation {
    fn arcs_of_edge(self) -> u64 {
        if self == Self::Both { 2 } else { 1 }
    }

    /// Calls `f` with source and target of each arc; self loops are none.
    #[inline]
    fn arcs(self, edges: &[Edge], mut f: impl FnMut(u32, u32)) {
        for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
            if self != Self::In {
                f(from, to);
            }
            if self != Self::Out {
                f(to, from);
            }
        }
    }
}

/// Makes the rows of `vertices` vertices from lists of edges.
///
/// # Errors
/// Somebody stopped it.
pub(crate) fn rows(
    vertices: usize,
    lists: &[impl AsRef<[Edge]> + Sync],
    orientation: Orientation,
    threads: usize,
    progress: &Progress,
) -> Result<Adjacency, GraphError> {
    let edges: usize = lists.iter().map(|list| list.as_ref().len()).sum();
    let arcs = edges as u64 * orientation.arcs_of_edge();
    progress.start(Phase::Sort, 2 * arcs);
    let parts = Parts::of(vertices, arcs);
    let pieces = lists
        .iter()
        .flat_map(|list| list.as_ref().chunks(PIECE_EDGES));
    let pieces: Vec<_> = pieces.collect();
    let pieces = parallel::each(threads, pieces, |piece| {
        let piece = Piece::of(piece, orientation, parts);
        progress.advance(piece.arcs.len() as u64)?;
        Ok(piece)
    })?;
    let sorted = parallel::each(threads, 0..parts.count, |part| {
        let sorted = Sorted::of(&pieces, part, parts.range(part, vertices));
        progress.advance(sorted.taken)?;
        Ok(sorted)
    })?;
    drop(pieces);
    join(vertices, &sorted, threads)
}

/// How vertices are divided into ranges of `2^shift`.
#[derive(Clone, Copy)]
struct Parts {
    count: usize,
    shift: u32,
}

impl Parts {
    fn of(vertices: usize, arcs: u64) -> Self {
        let wanted = (arcs / PART_ARCS).clamp(1, MAX_PARTS) as usize;
        let shift = vertices
            .div_ceil(wanted)
            .max(1)
            .next_power_of_two()
            .trailing_zeros();
        Self {
            count: vertices.div_ceil(1 << shift),
            shift,
        }
    }

    fn range(self, part: usize, vertices: usize) -> std::ops::Range<usize> {
        part << self.shift..((part + 1) << self.shift).min(vertices)
    }
}

/// The arcs of a piece of the input, part after part.
struct Piece {
    arcs: Vec<(u32, u32)>,
    /// `[parts + 1]`.
    starts: Vec<usize>,
}

impl Piece {
    fn of(edges: &[Edge], orientation: Orientation, parts: Parts) -> Self {
        let mut starts = vec![0; parts.count + 1];
        orientation.arcs(edges, |from, _| {
            starts[(from >> parts.shift) as usize + 1] += 1;
        });
        for part in 0..parts.count {
            starts[part + 1] += starts[part];
        }
        let mut arcs = vec![(0, 0); starts[parts.count]];
        let mut next = starts.clone();
        orientation.arcs(edges, |from, to| {
            let place = &mut next[(from >> parts.shift) as usize];
            arcs[*place] = (from, to);
            *place += 1;
        });
        Self { arcs, starts }
    }

    fn part(&self, part: usize) -> &[(u32, u32)] {
        &self.arcs[self.starts[part]..self.starts[part + 1]]
    }
}

/// The rows of a part.
struct Sorted {
    /// Of each vertex of the part.
    degrees: Vec<u32>,
    targets: Vec<u32>,
    /// Arcs that it was made from, doubled ones included.
    taken: u64,
}

impl Sorted {
    fn of(pieces: &[Piece], part: usize, range: std::ops::Range<usize>) -> Self {
        let mut ends = vec![0usize; range.len()];
        for piece in pieces {
            for &(from, _) in piece.part(part) {
                ends[from as usize - range.start] += 1;
            }
        }
        let mut taken = 0;
        for end in &mut ends {
            (*end, taken) = (taken, taken + *end);
        }
        let mut targets = vec![0; taken];
        for piece in pieces {
            for &(from, to) in piece.part(part) {
                let end = &mut ends[from as usize - range.start];
                targets[*end] = to;
                *end += 1;
            }
        }
        let degrees = sort_rows(&ends, &mut targets);
        Self {
            degrees,
            targets,
            taken: taken as u64,
        }
    }
}

/// Sorts each row, drops what is doubled, and closes the gaps; the degrees that are left.
fn sort_rows(ends: &[usize], targets: &mut Vec<u32>) -> Vec<u32> {
    let (mut start, mut kept) = (0, 0);
    let mut degrees = Vec::with_capacity(ends.len());
    for &end in ends {
        targets[start..end].sort_unstable();
        let before = kept;
        for index in start..end {
            if kept == before || targets[kept - 1] != targets[index] {
                targets[kept] = targets[index];
                kept += 1;
            }
        }
        degrees.push((kept - before) as u32);
        start = end;
    }
    targets.truncate(kept);
    degrees
}

/// Puts the parts' rows behind each other.
fn join(vertices: usize, sorted: &[Sorted], threads: usize) -> Result<Adjacency, GraphError> {
    let mut offsets = Vec::with_capacity(vertices + 1);
    let mut end = 0;
    offsets.push(0);
    for degree in sorted.iter().flat_map(|part| &part.degrees) {
        end += u64::from(*degree);
        offsets.push(end);
    }
    let mut targets = vec![0u32; end as usize];
    let mut rest = targets.as_mut_slice();
    let mut places = Vec::with_capacity(sorted.len());
    for part in sorted {
        let (place, behind) = rest.split_at_mut(part.targets.len());
        places.push((place, &part.targets));
        rest = behind;
    }
    parallel::each(threads, places, |(place, from)| {
        place.copy_from_slice(from);
        Ok::<_, GraphError>(())
    })?;
    Ok(Adjacency::from_parts(offsets, targets))
}
