//! Which host owns which vertices.

use std::ops::Range;

use fabric::{Lines, Slice, View, Word};

/// Vertices are divided by multiples of this, so that no line of an array with a word of 4 bytes a
/// vertex has two owners (4 lines), and no word of a bitmap (64 bits).
pub(crate) const GRAIN: usize = 64;

/// Consecutive vertices for each host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    ranges: Vec<Range<usize>>,
}

impl Split {
    /// By arcs and vertices, so that every host has about as much to do. Every host comes to the
    /// same, from the frozen offsets.
    pub(crate) fn by_work(offsets: &impl View<u64>, hosts: u32) -> Self {
        let vertices = offsets.len() - 1;
        let work = |vertex: usize| offsets.get(vertex) + vertex as u64;
        let (all, hosts) = (work(vertices), u64::from(hosts));
        let bound = |host: u64| {
            let wanted = (u128::from(all) * u128::from(host) / u128::from(hosts)) as u64;
            let first = first_of(0..vertices, |vertex| work(vertex) >= wanted);
            if host == hosts {
                vertices
            } else {
                ((first + GRAIN / 2) / GRAIN * GRAIN).min(vertices)
            }
        };
        let ranges = (0..hosts)
            .map(|host| bound(host)..bound(host + 1))
            .collect();
        Self { ranges }
    }

    /// These ranges, from multiples of [`GRAIN`]; nobody owns what lies between them.
    pub(crate) fn of_ranges(ranges: Vec<Range<usize>>) -> Self {
        Self { ranges }
    }

    /// What a host owns.
    pub(crate) fn of(&self, host: usize) -> Range<usize> {
        self.ranges[host].clone()
    }

    /// Who owns a vertex.
    pub(crate) fn owner(&self, vertex: usize) -> usize {
        self.ranges.partition_point(|range| range.end <= vertex)
    }

    /// What other hosts own, what is adjacent in one piece.
    pub(crate) fn others(&self, host: usize) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for (owner, range) in self.ranges.iter().enumerate() {
            if owner == host || range.is_empty() {
                continue;
            }
            match pieces.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => pieces.push(range.clone()),
            }
        }
        pieces
    }
}

/// Words `range` of a bitmap that `vertices` take up.
pub(crate) fn words_of(vertices: &Range<usize>) -> Range<usize> {
    // The last host's vertices may end within a word, where an empty range may start.
    let start = vertices.start.div_ceil(GRAIN);
    start..vertices.end.div_ceil(GRAIN).max(start)
}

/// The lines that words `range` of an array lie in.
pub(crate) fn lines_of<T: Word>(array: Slice<T>, range: &Range<usize>) -> Lines {
    array.range(range.start, range.end).lines()
}

/// The first of `range` for which `holds`, which does not hold before it and holds behind it; its
/// end if none.
pub(crate) fn first_of(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
