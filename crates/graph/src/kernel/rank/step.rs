//! What the variants share: arrays, a row's sum, the end of a step.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Pod, Port, Slice, View};
use serde_json::json;
use workload::{Mismatch, Outcome, Verified, Worker};

use super::push::Partials;
use super::residual::Changes;
use crate::kernel::bits;
use crate::kernel::crew::{Crew, CrewLayout, Phase, SUMS};
use crate::kernel::split::{Split, first_of, lines_of};
use crate::kernel::verify;
use crate::region::{FrozenCsr, RegionGraph};

/// How a step's change travels: as a multiple of 2^-60, so that a sum over lanes and hosts does not
/// hang on its order. A change is 2 at most, so the sum fits.
const UNIT: f64 = (1u64 << 60) as f64;

/// Chunks of a host's vertices that each of its lanes takes, about: enough to even out rows.
const CHUNKS_A_LANE: usize = 16;

/// The least and the most vertices of a chunk: 4 KiB and 64 KiB of scores, lines of which are
/// published at once.
const CHUNK: (usize, usize) = (64, 16_384);

/// What all variants are asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) iterations: u32,
    pub(crate) tolerance: f64,
    pub(crate) damping: f64,
}

/// What a variant needs besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Contributions, twice.
    Two,
    /// Contributions once.
    One,
    /// A sum for each vertex of other hosts.
    Partials,
    /// What is not published yet.
    Changes,
}

/// Where the words of a PageRank lie.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    pub(crate) crew: CrewLayout,
    /// `[V]`: each line is written by the host that owns its vertices.
    pub(crate) scores: Slice<f32>,
    /// What a vertex gives each out-neighbour, likewise; steps may use two in turn.
    pub(super) contributions: [Slice<f32>; 2],
    pub(super) partials: Option<Partials>,
    pub(super) changes: Option<Changes>,
    /// Steps done, what the last one changed, and the one before: of lane 0 of host 0.
    done: Slice<u64>,
}

impl Arrays {
    pub(crate) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize, needs: Needs) -> Self {
        let array = |arena: &mut Arena, name: &str, len| arena.per_host(name, 1, len)[0];
        let second = if needs == Needs::Two { vertices } else { 0 };
        Self {
            crew: CrewLayout::lay_out(arena, "rank.crew", pod),
            scores: array(arena, "rank.scores", vertices),
            contributions: [
                array(arena, "rank.contributions.even", vertices),
                array(arena, "rank.contributions.odd", second),
            ],
            partials: (needs == Needs::Partials).then(|| Partials::lay_out(arena, pod, vertices)),
            changes: (needs == Needs::Changes).then(|| Changes::lay_out(arena, pod, vertices)),
            done: arena.per_host("rank.done", 1, 3)[0],
        }
    }

    /// The answer, by lane 0 of host 0.
    pub(crate) fn verify<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        graph: &RegionGraph,
        ask: Ask,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_pod() {
            return Ok(Verified::Nothing);
        }
        let port = worker.port();
        let steps = port.load(self.done.at(0));
        let [change, before] = [1, 2].map(|at| f64::from_bits(port.load(self.done.at(at))));
        let scores = verify::read(port, self.scores);
        let residual = verify::residual(graph.csr(), &scores, ask.damping);
        // A step moves the scores by at most `damping` times what the last one did, since columns
        // sum up to at most 1; where lines were held back, by that of what was, besides. The rest is
        // single precision: errors of additions to a sum, which grow with the root of their number.
        let terms = graph
            .csr()
            .incoming()
            .rows()
            .map(<[u32]>::len)
            .max()
            .unwrap_or(0);
        let rounding = f64::from(f32::EPSILON) * (4.0 + (terms as f64 / 4.0).sqrt());
        let held = match self.changes {
            Some(_) => Changes::SHARE * before,
            None => 0.0,
        };
        let most = ask.damping * (change + held) + rounding;
        // So that a residual that is no number is refused as well.
        let within = residual <= most;
        if !within {
            return Err(Mismatch {
                what: format!("what a step in double precision changes after {steps}"),
                expected: format!("at most {most:e}"),
                found: format!("{residual:e}"),
            });
        }
        let ended = change < ask.tolerance || steps == u64::from(ask.iterations);
        if !ended {
            return Err(Mismatch {
                what: format!("change of step {steps}, the last"),
                expected: format!("below {:e}, or {} steps", ask.tolerance, ask.iterations),
                found: format!("{change:e}"),
            });
        }
        let (top, sum) = verify::top(&scores, 5);
        let answer = json!({"top": top, "sum": sum, "iterations": steps});
        Ok(Verified::Answer(answer))
    }
}

/// One lane's view of a PageRank.
pub(super) struct Rank<'a, P: HostAtomics + 'a> {
    pub(super) crew: Crew<'a, P>,
    pub(super) port: &'a P,
    pub(super) layout: &'a Arrays,
    pub(super) graph: FrozenCsr,
    pub(super) split: Split,
    pub(super) mine: Range<usize>,
    out_offsets: P::View<'a, u64>,
    pub(super) offsets: P::View<'a, u64>,
    pub(super) targets: P::View<'a, u32>,
    pub(super) ask: Ask,
    base: f32,
    damping: f32,
    steps: u32,
    change: f64,
    change_before: f64,
}

impl<'a, P: HostAtomics> Rank<'a, P> {
    pub(super) fn new(
        crew: Crew<'a, P>,
        layout: &'a Arrays,
        graph: FrozenCsr,
        split: Option<Split>,
        ask: Ask,
    ) -> Self {
        let (port, host) = (crew.port(), crew.host());
        let offsets = port.view(graph.incoming.offsets);
        let split = split.unwrap_or_else(|| Split::by_work(&offsets, crew.pod().hosts));
        Self {
            port,
            layout,
            graph,
            mine: split.of(host),
            split,
            out_offsets: port.view(graph.outgoing.offsets),
            offsets,
            targets: port.view(graph.incoming.targets),
            ask,
            base: ((1.0 - ask.damping) / graph.vertices as f64) as f32,
            damping: ask.damping as f32,
            steps: 0,
            change: 0.0,
            change_before: 0.0,
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

    #[inline(always)]
    pub(super) fn row(&self, vertex: usize) -> Range<usize> {
        self.offsets.get(vertex) as usize..self.offsets.get(vertex + 1) as usize
    }

    /// The part of a row whose sources lie in `sources`: rows are sorted.
    #[inline(always)]
    pub(super) fn part(&self, row: Range<usize>, sources: &Range<usize>) -> Range<usize> {
        if sources.start == 0 && sources.end == self.graph.vertices {
            return row;
        }
        let from = |row: Range<usize>, first: usize| {
            first_of(row, |at| self.targets.get(at) as usize >= first)
        };
        let start = from(row.clone(), sources.start);
        start..from(start..row.end, sources.end)
    }

    #[inline(always)]
    pub(super) fn out_degree(&self, vertex: usize) -> u64 {
        self.out_offsets.get(vertex + 1) - self.out_offsets.get(vertex)
    }

    /// What a vertex with this score gives each out-neighbour; nobody asks one that has none.
    #[inline(always)]
    pub(super) fn contribution(&self, vertex: usize, score: f32) -> f32 {
        let degree = self.out_degree(vertex);
        if degree == 0 {
            0.0
        } else {
            score / degree as f32
        }
    }

    /// The new score of a vertex that gets `sum`; stores it, and returns what it changes.
    #[inline(always)]
    pub(super) fn update(&self, vertex: usize, sum: f32) -> (f32, f32) {
        let at = self.layout.scores.at(vertex);
        let before = self.port.load_overlapped(at);
        let score = self.base + self.damping * sum;
        self.port.store(at, score);
        (score, (score - before).abs())
    }

    /// The first scores of this host's vertices and what they give, each lane a share, which it
    /// publishes.
    pub(super) fn start(&mut self) {
        let score = (1.0 / self.graph.vertices as f64) as f32;
        let own = self.crew.share(&self.mine, 64);
        bits::fill(self.port, self.layout.scores, own.clone(), score);
        let array = self.layout.contributions[0];
        for vertex in own.clone() {
            let gives = self.contribution(vertex, score);
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
        Ok(self.steps < self.ask.iterations && self.change >= self.ask.tolerance)
    }

    /// The change of the last step.
    pub(super) fn change(&self) -> f64 {
        self.change
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
                port.store(done.at(2), self.change_before.to_bits());
            });
        }
        self.crew.end(self.graph.arcs * u64::from(self.steps))
    }
}

/// Sums words of `array` whose indices are `targets[part]`. Four sums, so that no addition waits for
/// the one before (a core adds two numbers in the time of one, each taking three or four cycles).
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
