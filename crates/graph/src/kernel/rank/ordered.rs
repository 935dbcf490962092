//! `pull` with `ordering = "each-run"`: first every run orders the vertices by what they give.
//!
//! *Kernel.* Most arcs leave few vertices. Their contributions lie side by side at the front, so
//! that a row finds most of what it adds up in the nearest caches, and rows of about one length
//! follow each other, so that their ends are foreseen. Vertices of about one degree make a group,
//! in which they keep their order (as in Faldu, Diamond and Grot, "A Closer Look at Lightweight
//! Graph Reordering", IISWC 2019): rows are read in order, and written to a stream for each group.
//! A vertex's place is its number from then on. Only the answer is by vertex again.
//!
//! *Sharing.* Vertices that belong to one lane's share of one host's are ordered among themselves:
//! what a host owns stays the same lines. Each host works out everyone's places for itself, and
//! writes its own rows, which nobody else reads.
//!
//! *Maintenance.* None but that of `pull`.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Pod, Port, Slice, View};

use super::rows::Rows;
use super::step::Rank;
use crate::kernel::crew::Phase;

/// Words between the rows of two hosts: two lines, for the adjacent-line prefetcher.
const APART: usize = 32;

/// The same between their rows' starts.
const STARTS_APART: usize = 16;

/// Vertices of a chunk whose rows a lane writes.
const CHUNK: usize = 1024;

/// Degrees below this are groups of their own; most vertices of skewed graphs have such.
const EXACT: u32 = 16;

/// Groups for each doubling of the degree from there on.
const GROUPS_A_DOUBLING: u32 = 4;

const GROUPS: usize = (EXACT + GROUPS_A_DOUBLING * (u32::BITS - EXACT.ilog2())) as usize;

/// The group of a vertex that gives to so many: the highest degrees first.
fn group(degree: u32) -> usize {
    let from_below = if degree < EXACT {
        degree
    } else {
        let doublings = degree.ilog2();
        let part = (degree - (1 << doublings)) / ((1 << doublings) / GROUPS_A_DOUBLING);
        EXACT + (doublings - EXACT.ilog2()) * GROUPS_A_DOUBLING + part
    };
    GROUPS - 1 - from_below as usize
}

/// Where ordered rows lie.
#[derive(Clone, Debug)]
pub(super) struct OrderLayout {
    /// `[V]` by vertex, a host's own.
    places: Vec<Slice<u32>>,
    /// `[V]` by place, as all that follows: which vertex it is.
    vertices: Slice<u32>,
    /// To how many it gives.
    degrees: Slice<u32>,
    /// Where in `rows` its row starts, and where a host's last one ends.
    starts: Slice<u64>,
    rows: Slice<u32>,
    scores: Slice<f32>,
}

impl OrderLayout {
    pub(super) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize, arcs: usize) -> Self {
        let hosts = pod.hosts as usize;
        Self {
            places: arena.per_host("rank.places", pod.hosts, vertices),
            vertices: arena.per_host("rank.vertices", 1, vertices)[0],
            degrees: arena.per_host("rank.degrees", 1, vertices)[0],
            starts: arena.per_host("rank.starts", 1, vertices + hosts * STARTS_APART)[0],
            rows: arena.per_host("rank.rows", 1, arcs + hosts * APART)[0],
            scores: arena.per_host("rank.placed", 1, vertices)[0],
        }
    }
}

/// A host's own rows, by place.
struct Placed<'a, P> {
    words: Words<'a, P>,
    degrees: Slice<u32>,
    starts: Slice<u64>,
    /// From a place to its start.
    shift: usize,
}

/// Words that this host alone writes, as a view.
struct Words<'a, P> {
    port: &'a P,
    all: Slice<u32>,
}

impl<P: Port> View<u32> for Words<'_, P> {
    fn len(&self) -> usize {
        self.all.len()
    }

    #[inline(always)]
    fn get(&self, index: usize) -> u32 {
        self.port.load_overlapped(self.all.at(index))
    }
}

impl<P: Port> Placed<'_, P> {
    #[inline(always)]
    fn start(&self, place: usize) -> usize {
        let at = self.starts.at(place + self.shift);
        self.words.port.load_overlapped(at) as usize
    }
}

impl<P: Port> Rows for Placed<'_, P> {
    #[inline(always)]
    fn row(&self, place: usize) -> Range<usize> {
        self.start(place)..self.start(place + 1)
    }

    #[inline(always)]
    fn sources(&self) -> &impl View<u32> {
        &self.words
    }

    #[inline(always)]
    fn degree(&self, place: usize) -> u64 {
        let degree = self.words.port.load_overlapped(self.degrees.at(place));
        u64::from(degree)
    }
}

impl<P: HostAtomics> Rank<'_, P> {
    pub(super) fn run_ordered(&mut self) -> Result<(), Gone> {
        let order = self.layout.order.as_ref();
        let order = order.expect("this ordering laid them out");
        let places = order.places[self.crew.host()];
        let placed = Placed {
            words: Words {
                port: self.port,
                all: order.rows,
            },
            degrees: order.degrees,
            starts: order.starts,
            shift: self.crew.host() * STARTS_APART,
        };
        self.sort(order, places);
        self.crew.took(Phase::Compute);
        self.crew.lanes_meet()?;
        self.write_rows(order.rows, places, &placed)?;
        self.crew.lanes_meet()?;
        self.scores = order.scores;
        self.pull(&placed)?;
        self.answer(places);
        Ok(())
    }

    /// Places, each lane its share of every host's vertices, and of this host's what rows need.
    fn sort(&self, order: &OrderLayout, places: Slice<u32>) {
        for host in 0..self.crew.pod().hosts as usize {
            let share = self.crew.share(&self.split.of(host), 64);
            let own = host == self.crew.host();
            self.sort_range(share, |vertex, place| {
                self.port.store(places.at(vertex), place as u32);
                if own {
                    self.port.store(order.vertices.at(place), vertex as u32);
                    let degree = self.rows.degree(vertex) as u32;
                    self.port.store(order.degrees.at(place), degree);
                }
            });
        }
        let (host, share) = (self.crew.host(), self.crew.share(&self.mine, 64));
        // As far into `rows` as into the graph's: the rows of a share are the same arcs.
        let mut at = self.rows.offsets.get(share.start) + (host * APART) as u64;
        let starts = |place| order.starts.at(place + host * STARTS_APART);
        for place in share.clone() {
            self.port.store(starts(place), at);
            let vertex = self.port.load_overlapped(order.vertices.at(place));
            at += self.rows.row(vertex as usize).len() as u64;
        }
        if share.end == self.mine.end {
            self.port.store(starts(share.end), at);
        }
    }

    /// Sorts a range by groups, in each by number.
    fn sort_range(&self, range: Range<usize>, mut placed: impl FnMut(usize, usize)) {
        let mut next = [range.start; GROUPS + 1];
        for vertex in range.clone() {
            next[group(self.rows.degree(vertex) as u32) + 1] += 1;
        }
        for group in 1..=GROUPS {
            next[group] += next[group - 1] - range.start;
        }
        for vertex in range {
            let place = &mut next[group(self.rows.degree(vertex) as u32)];
            placed(vertex, *place);
            *place += 1;
        }
    }

    /// The rows of this host's vertices, in places.
    fn write_rows(
        &mut self,
        rows: Slice<u32>,
        places: Slice<u32>,
        placed: &Placed<'_, P>,
    ) -> Result<(), Gone> {
        let mine = self.mine.clone();
        while let Some(chunk) = self.crew.next(&mine, CHUNK)? {
            for vertex in chunk {
                let place = self.port.load_overlapped(places.at(vertex)) as usize;
                for (to, from) in (placed.start(place)..).zip(self.rows.row(vertex)) {
                    let source = self.rows.targets.get(from) as usize;
                    let there = self.port.load_overlapped(places.at(source));
                    self.port.store(rows.at(to), there);
                }
            }
        }
        self.crew.took(Phase::Compute);
        Ok(())
    }

    /// The scores of this lane's vertices, which `end` publishes, from those of their places.
    fn answer(&mut self, places: Slice<u32>) {
        for vertex in self.crew.share(&self.mine, 64) {
            let place = self.port.load_overlapped(places.at(vertex)) as usize;
            let score = self.port.load_overlapped(self.scores.at(place));
            self.port.store(self.layout.scores.at(vertex), score);
        }
        self.crew.took(Phase::Compute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_down_by_degree() {
        assert_eq!((group(0), group(u32::MAX)), (GROUPS - 1, 0));
        let degrees: Vec<u32> = (0..100_000).collect();
        assert!(degrees.is_sorted_by(|&a, &b| group(a) >= group(b)));
        let first = (0..=EXACT).map(group);
        assert!(first.eq((0..=16).map(|degree| GROUPS - 1 - degree)));
        // Four groups from 1024 to 2047.
        assert_eq!(group(1024), group(1279));
        assert_eq!(group(1024), group(1280) + 1);
        assert_eq!(group(1024), group(2048) + 4);
    }
}
