//! `residual`: only lines that have changed enough are republished.
//!
//! *Kernel.* As `pull`, but what a vertex gives is kept back by its owner while a line's 16
//! vertices together have changed, since the line was last published, by less than their share of
//! an eighth of the last step's change. (Holding back what has nearly converged: Kamvar, Haveliwala
//! and Golub, "Adaptive methods for the computation of PageRank", 2004.)
//!
//! *Sharing.* One array of contributions; each host says in a bitmap which lines it has changed.
//!
//! *Maintenance a step.* A publish of a lane's changed lines and of their bits; an observe of the
//! other hosts' bits and of the lines that they name; 2 barriers, since lines are changed where
//! others read them.

use fabric::{Arena, Gone, HostAtomics, Line, Pod, Slice};

use super::step::{Rank, gather};
use crate::kernel::bits;
use crate::kernel::crew::Phase;
use crate::kernel::split::lines_of;

/// Vertices of a line of contributions.
const PER_LINE: usize = 16;

/// Vertices of a word of changed lines.
const PER_WORD: usize = 64 * PER_LINE;

/// What is held back, and who says what is not.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// What vertices would give now: read and written by their host alone.
    pending: Slice<f32>,
    /// A bit a line, by host.
    changed: Vec<Slice<u64>>,
}

impl Changes {
    /// The part of a step's change that may be held back: small beside what the step itself leaves
    /// undone, which is about `damping` of it.
    pub(super) const SHARE: f64 = 0.125;

    pub(super) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize) -> Self {
        let words = vertices.div_ceil(PER_WORD);
        Self {
            pending: arena.per_host("rank.pending", 1, vertices)[0],
            changed: arena.per_host("rank.changed", pod.hosts, words),
        }
    }
}

impl<P: HostAtomics> Rank<'_, P> {
    fn changes(&self) -> &Changes {
        self.layout
            .changes
            .as_ref()
            .expect("this variant laid them out")
    }

    pub(super) fn run_residual(&mut self) -> Result<(), Gone> {
        let gives = self.layout.contributions[0];
        self.start();
        let own = self.crew.share(&self.mine, 64);
        self.publish(gives, &own);
        self.crew.pod_meets()?;
        self.observe(gives);
        loop {
            self.crew.lanes_meet()?;
            let change = self.residual_step()?;
            // Behind this barrier nobody reads contributions of this step any more.
            if !self.end_step(change)? {
                return Ok(());
            }
            self.put_forward();
            self.crew.pod_meets()?;
            self.observe_changed();
        }
    }

    fn residual_step(&mut self) -> Result<f64, Gone> {
        let (gives, pending) = (self.layout.contributions[0], self.changes().pending);
        let (mine, grain, mut change) = (self.mine.clone(), self.grain(&self.mine), 0.0);
        while let Some(chunk) = self.crew.next(&mine, grain)? {
            for vertex in chunk {
                let sum = gather(self.port, gives, &self.targets, self.row(vertex));
                let (score, moved) = self.update(vertex, sum);
                change += f64::from(moved);
                self.port
                    .store(pending.at(vertex), self.contribution(vertex, score));
            }
            self.crew.took(Phase::Compute);
        }
        Ok(change)
    }

    /// Publishes this lane's lines that have changed enough, and which they are. Lanes divide a
    /// host's vertices by words of the bitmap, counted from the array's start.
    fn put_forward(&mut self) {
        let changed = self.changes().changed[self.crew.host()];
        let each = self.change() * Changes::SHARE / self.graph.vertices as f64;
        let words = self.mine.start / PER_WORD..self.mine.end.div_ceil(PER_WORD);
        let mut lines = Vec::new();
        let share = self.crew.share(&words, 8);
        for word in share.clone() {
            let mut bits = 0u64;
            for bit in 0..64 {
                let first = (word * PER_WORD + bit * PER_LINE).max(self.mine.start);
                let end = (word * PER_WORD + (bit + 1) * PER_LINE).min(self.mine.end);
                if first < end && self.put_line(first..end, each) {
                    bits |= 1 << bit;
                    lines.push(self.layout.contributions[0].at(first).line());
                }
            }
            self.port.store(changed.at(word), bits);
        }
        lines.extend(lines_of(changed, &share));
        self.crew.took(Phase::Compute);
        // Serves the other hosts' loads of the next step, after its barrier.
        self.port.publish_each(&lines);
        self.crew.took(Phase::Publish);
    }

    /// Puts what a line's vertices give in its place, if it has changed by `each` for each of them.
    fn put_line(&self, vertices: std::ops::Range<usize>, each: f64) -> bool {
        let (gives, pending) = (self.layout.contributions[0], self.changes().pending);
        let (mut moved, mut any) = (0.0, false);
        for vertex in vertices.clone() {
            let before = self.port.load_overlapped(gives.at(vertex));
            let now = self.port.load_overlapped(pending.at(vertex));
            moved += f64::from((now - before).abs()) * self.out_degree(vertex) as f64;
            any |= now.to_bits() != before.to_bits();
        }
        if !any || moved < each * vertices.len() as f64 {
            return false;
        }
        for vertex in vertices {
            let now = self.port.load_overlapped(pending.at(vertex));
            self.port.store(gives.at(vertex), now);
        }
        true
    }

    /// Makes loads of the lines that other hosts have changed fresh, each lane a share of them.
    fn observe_changed(&mut self) {
        let gives = self.layout.contributions[0];
        let mut lines: Vec<Line> = Vec::new();
        for host in (0..self.crew.pod().hosts as usize).filter(|&h| h != self.crew.host()) {
            let theirs = self.split.of(host);
            let words = theirs.start / PER_WORD..theirs.end.div_ceil(PER_WORD);
            let share = self.crew.share(&words, 1);
            if share.is_empty() {
                continue;
            }
            let changed = self.changes().changed[host];
            // Serves the loads below: the bits of the last step are in the cache.
            self.port.observe(lines_of(changed, &share));
            for word in share {
                let bits = self.port.load_overlapped(changed.at(word));
                bits::each_bit(word, bits, |line| {
                    let first = (line * PER_LINE).max(theirs.start);
                    lines.push(gives.at(first).line());
                });
            }
        }
        if !lines.is_empty() {
            // Serves this host's loads of the next step.
            self.port.observe_each(&lines);
        }
        self.crew.took(Phase::Observe);
    }
}
