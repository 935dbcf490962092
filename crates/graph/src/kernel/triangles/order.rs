//! Rows in the order of degrees.
//!
//! A vertex's place is its identifier here: 0 is the vertex of the highest degree. A row starts with
//! two words that say how many predecessors (neighbours of lower place) and how many successors it
//! has; then come the predecessors, sorted, and the successors, in any order. So hubs have few
//! predecessors, whatever their degree.
//!
//! *Sharing.* Each host works the places out for itself: about 3 V words in a part of the pool that
//! no other host touches. Of the rows there is one copy; each host writes consecutive ones, from a
//! line that it shares with no other.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Pod, Private, Slice, View};

use super::count::Counting;
use crate::kernel::crew::Phase;
use crate::kernel::split::{first_of, lines_of};

/// Words that a row starts with.
pub(super) const HEAD: usize = 2;

/// A host's rows start at a multiple of this: two lines, for the adjacent-line prefetcher.
const GRAIN: usize = 32;

/// Arcs of a chunk of rows that a lane takes, about; its lines are published at once.
const CHUNK_ARCS: usize = 4096;

/// Cycles that sorting takes for each word and doubling of a row, charged in a simulator. An
/// assumption: a comparison and a move, one in two of them mispredicted at some 10 cycles.
const SORT_CYCLES: u32 = 6;

/// Where ordered rows lie.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    /// `[V]` by vertex, a host's own.
    places: Vec<Slice<u32>>,
    /// `[V]` by place, likewise.
    vertices: Vec<Slice<u32>>,
    /// `[V]` by place, likewise: where in `rows` it starts.
    starts: Vec<Slice<u64>>,
    /// First place of each host's rows, and the end, likewise.
    bounds: Vec<Slice<u64>>,
    /// The rows, for all.
    pub(super) rows: Slice<u32>,
}

impl Ordered {
    pub(crate) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize, arcs: usize) -> Self {
        let hosts = pod.hosts;
        let room = arcs + HEAD * vertices + hosts as usize * GRAIN;
        Self {
            places: arena.per_host("triangles.places", hosts, vertices),
            vertices: arena.per_host("triangles.vertices", hosts, vertices),
            starts: arena.per_host("triangles.starts", hosts, vertices),
            bounds: arena.per_host("triangles.bounds", hosts, hosts as usize + 1),
            rows: arena.per_host("triangles.rows", 1, room)[0],
        }
    }

    /// What `host` has worked out for itself.
    pub(super) fn of(&self, host: usize) -> Places {
        Places {
            by_vertex: self.places[host],
            vertices: self.vertices[host],
            starts: self.starts[host],
            bounds: self.bounds[host],
        }
    }
}

/// One host's copy of the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    by_vertex: Slice<u32>,
    vertices: Slice<u32>,
    pub(super) starts: Slice<u64>,
    bounds: Slice<u64>,
}

impl<P: HostAtomics> Counting<'_, P> {
    /// Orders the vertices and writes the rows. Afterwards every lane may read all of them.
    pub(super) fn order(&mut self) -> Result<(), Gone> {
        if self.crew.leads_host() {
            self.sort_by_degree();
            self.lay_rows_out();
            self.crew.took(Phase::Compute);
        }
        self.crew.lanes_meet()?;
        self.write_rows()?;
        self.crew.pod_meets()?;
        self.observe_rows();
        self.crew.lanes_meet()
    }

    fn degree(&self, vertex: usize) -> usize {
        (self.offsets.get(vertex + 1) - self.offsets.get(vertex)) as usize
    }

    /// A counting sort, the highest degree first, equal ones by identifier.
    fn sort_by_degree(&mut self) {
        let (port, vertices) = (self.port, self.graph.vertices);
        let mut highest = 0;
        for vertex in 0..vertices {
            highest = self.degree(vertex).max(highest);
        }
        let mut next = port.private(highest + 2, 0u32);
        for vertex in 0..vertices {
            let bucket = highest - self.degree(vertex) + 1;
            next.set(bucket, next.get(bucket) + 1);
        }
        for bucket in 1..highest + 2 {
            next.set(bucket, next.get(bucket) + next.get(bucket - 1));
        }
        for vertex in 0..vertices {
            let bucket = highest - self.degree(vertex);
            let place = next.get(bucket);
            next.set(bucket, place + 1);
            port.store(self.own.by_vertex.at(vertex), place);
            port.store(self.own.vertices.at(place as usize), vertex as u32);
        }
    }

    /// Where each row starts; hosts get about as many arcs each.
    fn lay_rows_out(&mut self) {
        let (port, own, hosts) = (self.port, self.own, self.crew.pod().hosts as usize);
        let words = self.graph.arcs as usize + HEAD * self.graph.vertices;
        let (mut at, mut done, mut host) = (0usize, 0, 0);
        port.store(own.bounds.at(0), 0u64);
        for place in 0..self.graph.vertices {
            if done >= words * (host + 1) / hosts && host + 1 < hosts {
                host += 1;
                at = at.next_multiple_of(GRAIN);
                port.store(own.bounds.at(host), place as u64);
            }
            port.store(own.starts.at(place), at as u64);
            let vertex = port.load_overlapped(own.vertices.at(place));
            let len = HEAD + self.degree(vertex as usize);
            at += len;
            done += len;
        }
        for host in host + 1..=hosts {
            port.store(own.bounds.at(host), self.graph.vertices as u64);
        }
    }

    /// The places of which a host writes the rows.
    fn written_by(&self, host: usize) -> Range<usize> {
        let bound = |host| self.port.load(self.own.bounds.at(host)) as usize;
        bound(host)..bound(host + 1)
    }

    /// Where the row of `place` starts.
    #[inline(always)]
    pub(super) fn start(&self, place: usize) -> usize {
        self.port.load_overlapped(self.own.starts.at(place)) as usize
    }

    /// The words of rows `places`, which are one host's.
    fn words(&self, places: &Range<usize>) -> Range<usize> {
        if places.is_empty() {
            return 0..0;
        }
        let last = places.end - 1;
        let vertex = self.port.load_overlapped(self.own.vertices.at(last)) as usize;
        self.start(places.start)..self.start(last) + HEAD + self.degree(vertex)
    }

    /// Writes this host's rows, and publishes them by chunks.
    fn write_rows(&mut self) -> Result<(), Gone> {
        let mine = self.written_by(self.crew.host());
        let words = self.words(&mine);
        let chunks = 0..words.len().div_ceil(CHUNK_ARCS);
        let mut row = Vec::new();
        let first = |counting: &Self, chunk: usize| {
            let wanted = words.start + chunk * CHUNK_ARCS;
            first_of(mine.clone(), |place| counting.start(place) >= wanted)
        };
        while let Some(chunk) = self.crew.next(&chunks, 1)? {
            let places = first(self, chunk.start)..first(self, chunk.end);
            for place in places.clone() {
                self.write_row(place, &mut row);
            }
            self.crew.took(Phase::Compute);
            let written = self.words(&places);
            if !written.is_empty() {
                // Serves the other hosts' loads after the barrier.
                self.port.publish(lines_of(self.rows, &written));
            }
            self.crew.took(Phase::Publish);
        }
        Ok(())
    }

    fn write_row(&self, place: usize, row: &mut Vec<u32>) {
        let port = self.port;
        let vertex = port.load_overlapped(self.own.vertices.at(place)) as usize;
        let (from, to) = (self.offsets.get(vertex), self.offsets.get(vertex + 1));
        row.clear();
        row.resize(HEAD, 0);
        let mut lower = HEAD;
        for at in from as usize..to as usize {
            let neighbour = self.targets.get(at) as usize;
            let there = port.load_overlapped(self.own.by_vertex.at(neighbour));
            row.push(there);
            if (there as usize) < place {
                let last = row.len() - 1;
                row.swap(lower, last);
                lower += 1;
            }
        }
        (row[0], row[1]) = ((lower - HEAD) as u32, (row.len() - lower) as u32);
        row[HEAD..lower].sort_unstable();
        let doublings = u32::BITS - row[0].leading_zeros();
        port.work(row[0] * doublings * SORT_CYCLES);
        port.write_from(self.rows.at(self.start(place)), row);
    }

    /// Makes loads of what other hosts wrote fresh, each lane a share.
    fn observe_rows(&mut self) {
        for host in (0..self.crew.pod().hosts as usize).filter(|&h| h != self.crew.host()) {
            let words = self.words(&self.written_by(host));
            let share = self.crew.share(&words, GRAIN);
            if !share.is_empty() {
                // Serves this host's loads: rows of the last repetition may be in its cache.
                self.port.observe(lines_of(self.rows, &share));
            }
        }
        self.crew.took(Phase::Observe);
    }
}
