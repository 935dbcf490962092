//! What the variants share: a row's sum, the end of a step.

use std::ops::Range;

use fabric::{Gone, HostAtomics, Port, Slice, View};
use workload::Outcome;

use super::arrays::{Arrays, Ask};
use super::rows::{Given, Rows};
use crate::kernel::bits;
use crate::kernel::crew::{Crew, Phase, SUMS};
use crate::kernel::split::{Split, first_of, lines_of};
use crate::region::FrozenCsr;

/// How a step's change travels: as a multiple of 2^-60, so that a sum over lanes and hosts does not
/// hang on its order. A change is 2 at most, so the sum fits.
const UNIT: f64 = (1u64 << 60) as f64;

/// Chunks of a host's vertices that each of its lanes takes, about: enough to even out rows.
const CHUNKS_A_LANE: usize = 16;

/// The least and the most vertices of a chunk: 4 KiB and 64 KiB of scores, lines of which are
/// published at once.
const CHUNK: (usize, usize) = (64, 16_384);

/// One lane's view of a PageRank.
pub(crate) struct Rank<'a, P: HostAtomics + 'a> {
    pub(super) crew: Crew<'a, P>,
    pub(super) port: &'a P,
    pub(super) layout: &'a Arrays,
    pub(super) graph: FrozenCsr,
    pub(super) split: Split,
    pub(super) mine: Range<usize>,
    pub(super) rows: Given<'a, P>,
    /// Those of the step: of vertices, or of places where rows are ordered.
    pub(super) scores: Slice<f32>,
    pub(super) ask: Ask,
    base: f32,
    damping: f32,
    steps: u32,
    change: f64,
    change_before: f64,
    /// What a step may hold back from the next: this one, and the one before.
    held: [f64; 2],
}

impl<'a, P: HostAtomics> Rank<'a, P> {
    pub(crate) fn new(
        crew: Crew<'a, P>,
        layout: &'a Arrays,
        graph: FrozenCsr,
        split: Option<Split>,
        ask: Ask,
    ) -> Self {
        let (port, host) = (crew.port(), crew.host());
        let rows = Given::new(port, graph);
        let split = split.unwrap_or_else(|| Split::by_work(&rows.offsets, crew.pod().hosts));
        Self {
            port,
            layout,
            graph,
            mine: split.of(host),
            split,
            rows,
            scores: layout.scores,
            ask,
            base: ((1.0 - ask.damping) / graph.vertices as f64) as f32,
            damping: ask.damping as f32,
            steps: 0,
            change: 0.0,
            change_before: 0.0,
            held: [0.0; 2],
            crew,
        }
    }

    /// Vertices of a chunk of this host's.
    pub(super) fn grain(&self, of: &Range<usize>) -> usize {
        let lanes = self.crew.pod().lanes as usize;
        (of.len() / (lanes * CHUNKS_A_LANE))
            .next_multiple_of(CHUNK.0)
            .clamp(CHUNK.0, CHUNK.1)
    }

    /// The part of a row whose sources lie in `sources`: rows are sorted.
    #[inline(always)]
    pub(super) fn part(&self, row: Range<usize>, sources: &Range<usize>) -> Range<usize> {
        if sources.start == 0 && sources.end == self.graph.vertices {
            return row;
        }
        let from = |row: Range<usize>, first: usize| {
            first_of(row, |at| self.rows.targets.get(at) as usize >= first)
        };
        let start = from(row.clone(), sources.start);
        start..from(start..row.end, sources.end)
    }

    /// The new score of a vertex that gets `sum`; stores it, and returns what it changes.
    #[inline(always)]
    pub(super) fn update(&self, vertex: usize, sum: f32) -> (f32, f32) {
        let at = self.scores.at(vertex);
        let before = self.port.load_overlapped(at);
        let score = self.base + self.damping * sum;
        self.port.store(at, score);
        (score, (score - before).abs())
    }

    /// The first scores of this host's vertices and what they give, each lane a share, which it
    /// publishes.
    pub(super) fn start(&mut self, rows: &impl Rows) {
        let score = (1.0 / self.graph.vertices as f64) as f32;
        let own = self.crew.share(&self.mine, 64);
        bits::fill(self.port, self.scores, own.clone(), score);
        let array = self.layout.contributions[0];
        for vertex in own.clone() {
            let gives = rows.contribution(vertex, score);
            self.port.store(array.at(vertex), gives);
        }
        self.crew.took(Phase::Compute);
    }

    /// Publishes a range of an array that this lane wrote.
    pub(super) fn publish(&mut self, array: Slice<f32>, range: &Range<usize>) {
        // Serves the other hosts' loads of the next step, after its barrier.
        self.port.publish(lines_of(array, range));
        self.crew.took(Phase::Publish);
    }

    /// Makes loads of what other hosts own of an array fresh, each lane a share; the lanes of this
    /// host have to meet before any of them loads.
    pub(super) fn observe(&mut self, array: Slice<f32>) {
        for others in self.split.others(self.crew.host()) {
            let share = self.crew.share(&others, 64);
            // Serves this host's loads of the step: those of an earlier one are in its cache.
            self.port.observe(lines_of(array, &share));
        }
        self.crew.took(Phase::Observe);
    }

    /// Ends a step, of which this lane's part changed the scores by `change`; whether another
    /// follows. Collective, with one barrier.
    pub(super) fn end_step(&mut self, change: f64) -> Result<bool, Gone> {
        let mut sums = [0; SUMS];
        sums[0] = (change * UNIT) as u64;
        let [change, ..] = self.crew.sum(sums)?;
        (self.change_before, self.change) = (self.change, change as f64 / UNIT);
        self.steps += 1;
        // What was held back from this step is as good as a change that is still to come.
        let left = self.change + self.held[1];
        Ok(self.steps < self.ask.iterations && left >= self.ask.tolerance)
    }

    /// What this step will change, if it shrinks the change as the last one did; 0 while there
    /// were no two steps to tell.
    pub(super) fn expected_change(&self) -> f64 {
        if self.change_before > 0.0 {
            self.change * (self.change / self.change_before).min(1.0)
        } else {
            0.0
        }
    }

    /// Says what this step may hold back from the next one.
    pub(super) fn holds_back(&mut self, held: f64) {
        self.held = [held, self.held[0]];
    }

    /// Publishes the answer and ends the repetition.
    pub(super) fn end(mut self) -> Result<Outcome, Gone> {
        let own = self.crew.share(&self.mine, 64);
        // Serves whoever reads the answer after the last barrier.
        self.port.publish(lines_of(self.layout.scores, &own));
        self.crew.took(Phase::Publish);
        if self.crew.leads_pod() {
            self.port.aside(|port| {
                let done = self.layout.done;
                port.store(done.at(0), u64::from(self.steps));
                port.store(done.at(1), self.change.to_bits());
                port.store(done.at(2), self.held[1].to_bits());
            });
        }
        self.crew.end(self.graph.arcs * u64::from(self.steps))
    }
}

/// Sums words of `array` whose indices are `targets[part]`. Four sums, so that no addition waits
/// for the one before (a core adds two numbers in the time of one, each taking three or four
/// cycles).
#[inline(always)]
pub(super) fn gather<P: Port>(
    port: &P,
    array: Slice<f32>,
    targets: &impl View<u32>,
    part: Range<usize>,
) -> f32 {
    let word = |at: usize| port.load_overlapped(array.at(targets.get(at) as usize));
    let mut sums = [0f32; 4];
    let mut at = part.start;
    while at + 4 <= part.end {
        sums[0] += word(at);
        sums[1] += word(at + 1);
        sums[2] += word(at + 2);
        sums[3] += word(at + 3);
        at += 4;
    }
    while at < part.end {
        sums[0] += word(at);
        at += 1;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
