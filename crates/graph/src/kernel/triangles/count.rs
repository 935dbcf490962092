//! Counting over ordered rows.

use std::ops::Range;

use fabric::{Gone, HostAtomics, Private, Slice};

use super::Rows;
use super::deal::Deal;
use super::order::{HEAD, Places};
use crate::kernel::crew::{Crew, Phase};
use crate::region::FrozenCsr;

/// Places that a lane takes at a time: few, since the rows of neighbours in the order are about as
/// long, and those at its front the longest.
const CHUNK: usize = 4;

/// Successors whose rows are fetched together. Rows lie anywhere, and where a look-up ends is not
/// foreseen: one after the other, each would wait for its row. A core has some ten misses in
/// flight; more of them only fill its first cache with lines that wait.
const BATCH: usize = 32;

/// Places of a chunk that is taken from a counter, at most: lanes pass the counter's line from one
/// to the other.
const DEALT: usize = 16;

/// Parts of the order that chunks are taken from in turn where they are dealt out, so that batches
/// of as many chunks are about as much work: the work of a place falls along the order.
const STRIPES: usize = 64;

/// Places of a chunk that is dealt out of so many.
fn grain(vertices: usize) -> usize {
    (vertices / STRIPES).clamp(1, DEALT)
}

/// Chunks that are dealt out: some of the last stripe are empty.
pub(super) fn chunks_dealt(vertices: usize) -> usize {
    let chunks = vertices.div_ceil(grain(vertices));
    chunks.next_multiple_of(STRIPES.min(chunks).max(1))
}

/// The places of a chunk that is dealt out.
fn places_dealt(chunk: usize, vertices: usize) -> Range<usize> {
    let (chunks, grain) = (chunks_dealt(vertices), grain(vertices));
    let stripes = STRIPES.min(chunks);
    let first = (chunk % stripes * (chunks / stripes) + chunk / stripes) * grain;
    first.min(vertices)..(first + grain).min(vertices)
}

/// One lane's view of a count.
pub(super) struct Counting<'a, P: HostAtomics + 'a> {
    pub(super) crew: Crew<'a, P>,
    pub(super) port: &'a P,
    pub(super) graph: FrozenCsr,
    pub(super) offsets: P::View<'a, u64>,
    pub(super) targets: P::View<'a, u32>,
    pub(super) own: Places,
    pub(super) rows: Slice<u32>,
    layout: &'a Rows,
    marks: P::Private<'a, u64>,
}

impl<'a, P: HostAtomics> Counting<'a, P> {
    pub(super) fn new(crew: Crew<'a, P>, layout: &'a Rows, graph: FrozenCsr) -> Self {
        let port = crew.port();
        Self {
            port,
            graph,
            offsets: port.view(graph.outgoing.offsets),
            targets: port.view(graph.outgoing.targets),
            own: layout.ordered.of(crew.host()),
            rows: layout.ordered.rows,
            layout,
            marks: port.private(graph.vertices.div_ceil(64), 0u64),
            crew,
        }
    }

    /// Chunks by turns: this lane every so many of them.
    pub(super) fn count_in_turn(&mut self) -> Result<u64, Gone> {
        let (pod, me) = (self.crew.pod(), self.crew.member() as usize);
        let (all, mut found) = (self.graph.vertices, 0);
        let stride = (pod.hosts * pod.lanes) as usize * CHUNK;
        for start in (me * CHUNK..all).step_by(stride) {
            self.port.check_in()?;
            found += self.count_places(start..(start + CHUNK).min(all));
        }
        self.crew.took(Phase::Compute);
        Ok(found)
    }

    /// Chunks of batches, while there are any; in a pod of one host, from the host's own counter.
    pub(super) fn count_dealt(&mut self) -> Result<u64, Gone> {
        let (vertices, mut found) = (self.graph.vertices, 0);
        if let Some(layout) = &self.layout.deal {
            let mut deal = Deal::new(layout, self.crew.pod(), self.crew.member());
            while let Some(chunk) = deal.next(&mut self.crew)? {
                self.port.check_in()?;
                found += self.count_places(places_dealt(chunk, vertices));
            }
        } else {
            while let Some(places) = self.crew.next(&(0..vertices), DEALT)? {
                found += self.count_places(places);
            }
        }
        self.crew.took(Phase::Compute);
        Ok(found)
    }

    /// Triangles whose middle vertex is one of `places`.
    fn count_places(&mut self, places: Range<usize>) -> u64 {
        let mut found = 0;
        for place in places {
            found += self.count_middle(self.start(place));
        }
        found
    }

    /// Triangles whose middle vertex has the row at `start`.
    #[inline(always)]
    fn count_middle(&mut self, start: usize) -> u64 {
        let (port, rows) = (self.port, self.rows);
        let word = |at: usize| port.load_overlapped(rows.at(at)) as usize;
        let (lower, higher) = (word(start), word(start + 1));
        if lower == 0 || higher == 0 {
            return 0;
        }
        let (first, behind) = (start + HEAD, start + HEAD + lower);
        for at in first..behind {
            let place = word(at);
            let marked = self.marks.get(place / 64) | 1 << (place % 64);
            self.marks.set(place / 64, marked);
        }
        let (last, mut found) = (word(behind - 1), 0);
        let mut open = [0; BATCH];
        for batch in (behind..behind + higher).step_by(BATCH) {
            let mut count = 0;
            for at in batch..(batch + BATCH).min(behind + higher) {
                let row = self.start(word(at)) + HEAD;
                open[count] = row;
                count += usize::from(word(row) <= last);
            }
            for &row in &open[..count] {
                found += self.count_marked(row, last);
            }
        }
        for at in first..behind {
            self.marks.set(word(at) / 64, 0);
        }
        found
    }

    /// How many of the sorted words from `at` on, up to `last`, are marked. A successor's row has a
    /// word behind `last`: the middle vertex itself.
    #[inline(always)]
    fn count_marked(&self, mut at: usize, last: usize) -> u64 {
        let mut found = 0;
        loop {
            let place = self.port.load_overlapped(self.rows.at(at)) as usize;
            if place > last {
                return found;
            }
            found += self.marks.get(place / 64) >> (place % 64) & 1;
            at += 1;
        }
    }
}
