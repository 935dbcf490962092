//! `residual`: only lines that have changed enough are republished.
//!
//! *Kernel.* As `pull`, but a line of contributions stays as it was published last while what its
//! 16 vertices give has changed since by less than their share of what may be held back: a small
//! part of a step's change ([`share`]). (Holding back what has nearly converged: Kamvar,
//! Haveliwala and Golub, "Adaptive methods for the computation of PageRank", 2004.) All hosts read
//! the same, the owner included, so that the answer is the same on any number of hosts and lanes.
//!
//! *Sharing.* As `pull`: two arrays that steps use in turn, so that a line stays only where both
//! hold the same, and is republished once more after its last change. (Held against the array that
//! is written, of two steps ago, lines of a bipartite graph, where scores swing, freeze in two
//! states in turn.) Beside each a byte for each 64 vertices, by owner, says which of its four lines
//! have changed.
//!
//! *Maintenance a step.* A publish for each chunk, of the lines that have changed; one for a lane's
//! share of the bytes; an observe of the other hosts' bytes and of the lines that they name; 1
//! barrier.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Line, Pod, Slice};

use super::rows::Rows;
use super::step::{Rank, gather};
use crate::kernel::bits;
use crate::kernel::crew::Phase;
use crate::kernel::split::lines_of;

/// Vertices of a line of contributions.
const PER_LINE: usize = 16;

/// Vertices of a byte of changed lines: what hosts' vertices are a multiple of.
const PER_BYTE: usize = 64;

/// Who says what is not held back, by the array that it is about.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// A bit a line, by host.
    changed: [Vec<Slice<u8>>; 2],
}

/// The part of a step's change that may be held back.
///
/// A step changes at most `d` (the damping) times what the last one did and what was held back from
/// either: `D(k) <= d (D(k-1) + h(k-1) + h(k-2))`. With `h(k) <= (1 - d) / 4 D(k-1)` that shrinks
/// on every graph: see [`rate`].
fn share(damping: f64) -> f64 {
    (1.0 - damping) / 4.0
}

/// By what changes shrink in a step at least: `r = (1 + d) / 2`, for then `r^3 >= d (r^2 + s r +
/// s)` by the above, `s` being the share: it comes to `r <= 1`.
pub(super) fn rate(damping: f64) -> f64 {
    1.0_f64.midpoint(damping)
}

impl Changes {
    pub(super) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize) -> Self {
        let bytes = vertices.div_ceil(PER_BYTE);
        let each = |arena: &mut Arena, name: &str| arena.per_host(name, pod.hosts, bytes);
        Self {
            changed: [
                each(arena, "rank.changed.even"),
                each(arena, "rank.changed.odd"),
            ],
        }
    }
}

impl<P: HostAtomics> Rank<'_, P> {
    pub(super) fn run_residual(&mut self) -> Result<(), Gone> {
        let rows = self.rows;
        self.start(&rows);
        let own = self.crew.share(&self.mine, 64);
        self.publish(self.layout.contributions[0], &own);
        self.crew.pod_meets()?;
        self.observe(self.layout.contributions[0]);
        let mut step = 0;
        loop {
            self.crew.lanes_meet()?;
            let change = self.residual_step(step)?;
            if !self.end_step(change)? {
                return Ok(());
            }
            step += 1;
            self.observe_changed(step);
        }
    }

    fn changed(&self, step: usize, host: usize) -> Slice<u8> {
        let changes = self.layout.changes.as_ref();
        changes.expect("this variant laid them out").changed[step % 2][host]
    }

    fn residual_step(&mut self, step: usize) -> Result<f64, Gone> {
        // The second array holds the last run's: all of it is new.
        let hold = (step > 0).then(|| self.expected_change() * share(self.ask.damping));
        self.holds_back(hold.unwrap_or(0.0));
        let each = hold.map(|all| all / self.graph.vertices as f64);
        let (mine, grain, mut change) = (self.mine.clone(), self.grain(&self.mine), 0.0);
        let mut lines = Vec::new();
        while let Some(chunk) = self.crew.next(&mine, grain)? {
            for first in chunk.clone().step_by(PER_BYTE) {
                let part = first..(first + PER_BYTE).min(chunk.end);
                change += self.residual_lines(step, part, each, &mut lines);
            }
            self.crew.took(Phase::Compute);
            // Serves the other hosts' loads of the next step, after its barrier.
            self.port.publish_each(&lines);
            lines.clear();
            self.crew.took(Phase::Publish);
        }
        // The bytes of a line are several lanes': each has written its own.
        self.crew.lanes_meet()?;
        let bytes = bytes_of(&self.crew.share(&self.mine, PER_BYTE));
        let changed = self.changed(step + 1, self.crew.host());
        // Likewise.
        self.port.publish(lines_of(changed, &bytes));
        self.crew.took(Phase::Publish);
        Ok(change)
    }

    /// The scores of up to 64 vertices, and which of their lines are put forward; the change.
    fn residual_lines(
        &self,
        step: usize,
        vertices: Range<usize>,
        each: Option<f64>,
        lines: &mut Vec<Line>,
    ) -> f64 {
        let (from, to) = (
            self.layout.contributions[step % 2],
            self.layout.contributions[(step + 1) % 2],
        );
        let (mut change, mut bits) = (0.0, 0u8);
        for (bit, first) in vertices.clone().step_by(PER_LINE).enumerate() {
            let mut now = [0f32; PER_LINE];
            let line = first..(first + PER_LINE).min(vertices.end);
            for vertex in line.clone() {
                let sum = gather(self.port, from, &self.rows.targets, self.rows.row(vertex));
                let (score, moved) = self.update(vertex, sum);
                change += f64::from(moved);
                now[vertex - first] = self.rows.contribution(vertex, score);
            }
            let now = &now[..line.len()];
            if !each.is_some_and(|each| self.may_stay([from, to], &line, now, each)) {
                self.port.write_from(to.at(first), now);
                lines.push(to.at(first).line());
                bits |= 1 << bit;
            }
        }
        let byte = vertices.start / PER_BYTE;
        self.port
            .store(self.changed(step + 1, self.crew.host()).at(byte), bits);
        change
    }

    /// Whether both arrays hold the same of a line, and what its vertices give has changed from
    /// that by `each` for each of them at most.
    fn may_stay(
        &self,
        [from, to]: [Slice<f32>; 2],
        line: &Range<usize>,
        now: &[f32],
        each: f64,
    ) -> bool {
        let mut moved = 0.0;
        for (vertex, &now) in line.clone().zip(now) {
            let read: f32 = self.port.load_overlapped(from.at(vertex));
            let written: f32 = self.port.load_overlapped(to.at(vertex));
            if read.to_bits() != written.to_bits() {
                return false;
            }
            moved += f64::from((now - read).abs()) * self.rows.degree(vertex) as f64;
        }
        moved <= each * line.len() as f64
    }

    /// Makes loads of the lines that other hosts have changed fresh, each lane a share of them.
    fn observe_changed(&mut self, step: usize) {
        let gives = self.layout.contributions[step % 2];
        let mut lines: Vec<Line> = Vec::new();
        for host in (0..self.crew.pod().hosts as usize).filter(|&h| h != self.crew.host()) {
            let bytes = bytes_of(&self.crew.share(&self.split.of(host), PER_BYTE));
            if bytes.is_empty() {
                continue;
            }
            let changed = self.changed(step, host);
            // Serves the loads below: the bytes of two steps ago are in the cache.
            self.port.observe(lines_of(changed, &bytes));
            for byte in bytes {
                let bits = u64::from(self.port.load_overlapped(changed.at(byte)));
                bits::each_bit(0, bits, |bit| {
                    lines.push(gives.at(byte * PER_BYTE + bit * PER_LINE).line());
                });
            }
        }
        if !lines.is_empty() {
            // Serves this host's loads of the step.
            self.port.observe_each(&lines);
        }
        self.crew.took(Phase::Observe);
    }
}

/// The bytes that speak of `vertices`, which start at one.
fn bytes_of(vertices: &Range<usize>) -> Range<usize> {
    vertices.start.div_ceil(PER_BYTE)..vertices.end.div_ceil(PER_BYTE)
}
