//! `direction-optimizing`: bitmaps of the frontier are all that hosts tell each other.
//!
//! *Source.* Beamer, Asanovic and Patterson, "Direction-optimizing breadth-first search", SC 2012;
//! the conditions are those of GAPBS' `bfs.cc` (alpha 15, beta 18).
//!
//! *Kernel.* While the frontier is small, from its vertices to what they reach, as in `shared`;
//! while it is large, from each vertex that is not reached yet to a neighbour in the frontier,
//! where the first is enough. Either way a host looks for parents of its own vertices only.
//!
//! *Sharing.* Each host publishes a bit for each of its vertices and copies everyone's bits into a
//! frontier of its own. Nobody reads the tree before the end, when it is published once.
//!
//! *Maintenance a level.* A publish of a lane's words, an observe of the other hosts' words, the
//! sum of two numbers; 1 barrier. Bitmaps of two levels lie apart, so that none is overwritten while
//! another host reads it.

use std::ops::Range;

use fabric::{Gone, HostAtomics, Slice, View};

use super::search::{CHUNK_WORDS, Search};
use crate::kernel::bits;
use crate::kernel::crew::{Phase, SUMS};
use crate::kernel::split::{lines_of, words_of};

/// Bottom-up once the frontier has more edges than this share of those that are left (GAPBS).
const ALPHA: u64 = 15;

/// Top-down again once the frontier has fewer vertices than this share of all (GAPBS).
const BETA: u64 = 18;

/// What a level found, all hosts together.
#[derive(Clone, Copy)]
struct Found {
    vertices: u64,
    /// Their edges; known after top-down levels only.
    edges: u64,
}

impl<P: HostAtomics> Search<'_, P> {
    pub(super) fn run_direction_optimizing(&mut self, source: usize) -> Result<(), Gone> {
        self.start(source)?;
        let (mut level, mut unexplored) = (0, self.graph.arcs);
        let mut found = Found {
            vertices: 1,
            edges: self.outgoing.of(source).len() as u64,
        };
        while found.vertices > 0 {
            if found.edges > unexplored / ALPHA {
                let most = self.graph.vertices as u64 / BETA;
                loop {
                    let before = found.vertices;
                    found = self.bottom_up(level)?;
                    level += 1;
                    if found.vertices < before && found.vertices <= most {
                        break;
                    }
                }
                found.edges = 1;
            } else {
                unexplored = unexplored.saturating_sub(found.edges);
                found = self.top_down(level)?;
                level += 1;
            }
        }
        self.publish_tree();
        Ok(())
    }

    fn top_down(&mut self, level: usize) -> Result<Found, Gone> {
        let mut found = Found {
            vertices: 0,
            edges: 0,
        };
        let all = self.words();
        self.each_of_front(&all, |from| {
            self.each_new(from, |to| {
                self.adopt(to, from);
                if bits::claim(self.port, self.layout.claimed, to) {
                    found.vertices += 1;
                    found.edges += self.outgoing.of(to).len() as u64;
                }
            });
        })?;
        self.crew.took(Phase::Compute);
        // All lanes of this host have claimed.
        self.crew.lanes_meet()?;
        let theirs = self.published(level, self.crew.host());
        for word in words_of(&self.crew.share(&self.mine, 64)) {
            let new = bits::take(self.port, self.layout.claimed, word);
            self.port.store(theirs.at(word), new);
            if new != 0 {
                let seen = self.port.load_overlapped(self.seen.at(word));
                self.port.store(self.seen.at(word), seen | new);
            }
        }
        self.crew.took(Phase::Compute);
        self.exchange(level, found)
    }

    fn bottom_up(&mut self, level: usize) -> Result<Found, Gone> {
        let mut vertices = 0;
        let own = words_of(&self.mine);
        while let Some(chunk) = self.crew.next(&own, CHUNK_WORDS)? {
            for word in chunk {
                vertices += self.bottom_up_word(level, word);
            }
        }
        self.crew.took(Phase::Compute);
        // The lanes divide the bitmap anew to publish it.
        self.crew.lanes_meet()?;
        self.exchange(level, Found { vertices, edges: 0 })
    }

    /// Looks for parents of 64 vertices; how many were found.
    #[inline(always)]
    fn bottom_up_word(&self, level: usize, word: usize) -> u64 {
        let port = self.port;
        let seen = port.load_overlapped(self.seen.at(word));
        let (mut new, mut done) = (0u64, 0u64);
        bits::each_bit(word, !seen & bits::within(word, &self.mine), |vertex| {
            let row = self.incoming.of(vertex);
            // Nobody ever reaches a vertex without edges: it is not looked at again.
            done |= u64::from(row.is_empty()) << (vertex % 64);
            for at in row {
                let from = self.incoming.targets.get(at) as usize;
                if bits::has(port, self.front, from) {
                    self.adopt(vertex, from);
                    new |= 1 << (vertex % 64);
                    break;
                }
            }
        });
        port.store(self.published(level, self.crew.host()).at(word), new);
        port.store(self.seen.at(word), seen | new | done);
        u64::from(new.count_ones())
    }

    /// What a host publishes at a level.
    #[inline(always)]
    fn published(&self, level: usize, host: usize) -> Slice<u64> {
        self.layout.found[level % 2][host]
    }

    /// Tells the others what this host found, and makes what all found the frontier.
    fn exchange(&mut self, level: usize, found: Found) -> Result<Found, Gone> {
        let (port, host) = (self.port, self.crew.host());
        let own = words_of(&self.crew.share(&self.mine, 64));
        // Serves the other hosts' copies after the barrier.
        port.publish(lines_of(self.published(level, host), &own));
        self.crew.took(Phase::Publish);
        let mut sums = [0; SUMS];
        (sums[0], sums[1]) = (found.vertices, found.edges);
        let [vertices, edges, ..] = self.crew.sum(sums)?;
        let share = self.crew.share(&self.words(), 8);
        for owner in 0..self.crew.pod().hosts as usize {
            let words = common(&words_of(&self.split.of(owner)), &share);
            if words.is_empty() {
                continue;
            }
            let from = self.published(level, owner);
            if owner != host {
                // Serves the copy: the bits of two levels ago may be here.
                port.observe(lines_of(from, &words));
            }
            bits::copy(port, from, self.front, words);
        }
        self.crew.took(Phase::Observe);
        // The frontier is whole before any lane of this host reads it.
        self.crew.lanes_meet()?;
        Ok(Found { vertices, edges })
    }
}

fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}
