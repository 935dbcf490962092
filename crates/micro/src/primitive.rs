//! What one cache instruction costs, by the state of its line.
//!
//! *Kernel.* A batch of lines is put into one state, untimed: `dirty` (stored to), `clean` (flushed
//! and loaded) or `absent` (flushed). Then the operation is done on each, in random order: each
//! followed by a full fence (`single`: what an algorithm waits for), or all of them and one fence
//! (`pipelined`: what a long publish costs a line). Fences and the timer have no line; the state
//! does not matter to them. `reload` is a load. A batch ends with a full fence in either mode: a
//! timestamp waits for no flush.
//!
//! *Sharing.* None: each lane has lines of its own and measures alone by default.
//!
//! *Metric.* `cost_ns`: one sample a batch, the mean an operation, less the same loop with the
//! fences and without the operation. A negative rest, or a reference loop that does not grow with
//! its length, makes the metric absent, with the reason.
//!
//! *Verified.* No flush changes a value: at the end every line holds, at the device, what was last
//! stored to it.

use fabric::Slice;
use fabric::{Arena, Fence, Flush, Gone, HostAtomics, Line, Pod, Port, Ptr, PublishBy};
use serde::{Deserialize, Serialize};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::area::LINE_WORDS;
use crate::order::{Order, visiting};
use crate::reference::{cost_ns, reference_ns};
use crate::tally::Tally;
use crate::turns::{HostsActive, Noise, Turns, check_turns};

const METRIC: &str = "cost_ns";

/// From one line to the next. No stream prefetcher sees neighbours, no two lines share a 128-byte
/// pair, and, the step being odd, they spread over all sets of a cache. Side by side, a prefetch
/// that one line's store set off brought others back that were meant to be absent.
const STEP_LINES: u64 = 3;

/// Which operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the instructions' names
pub enum Op {
    #[default]
    ClFlush,
    ClFlushOpt,
    Clwb,
    MovNti,
    MovDir64b,
    SFence,
    LFence,
    MFence,
    Rdtscp,
    Reload,
}

impl Op {
    /// The way to publish that needs the same instruction, where not every CPU has it.
    fn needs(self) -> Option<PublishBy> {
        match self {
            Self::ClFlush => Some(PublishBy::ClFlush),
            Self::ClFlushOpt => Some(PublishBy::ClFlushOpt),
            Self::Clwb => Some(PublishBy::Clwb),
            Self::MovDir64b => Some(PublishBy::Line64),
            _ => None,
        }
    }

    fn stores(self) -> bool {
        matches!(self, Self::MovNti | Self::MovDir64b)
    }
}

/// What the operation finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineState {
    /// In this lane's cache, changed.
    #[default]
    Dirty,
    /// In this lane's cache, as at the device.
    Clean,
    /// In no cache of this host.
    Absent,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each operation, by a full fence.
    #[default]
    Single,
    /// The batch.
    Pipelined,
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Which operation.
    pub op: Op,
    /// The state in which it finds its line.
    pub line_state: LineState,
    /// What is waited for.
    pub mode: Mode,
    /// Lines of a batch. They fit the first-level cache together, so that none is evicted before
    /// its turn.
    pub lines: u32,
    /// Batches a repetition, each one sample.
    pub batches: u32,
    /// Lanes of each host that measure.
    pub active_lanes: u32,
    /// Whether hosts measure one after the other or at once.
    pub hosts_active: HostsActive,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            op: Op::ClFlush,
            line_state: LineState::Dirty,
            mode: Mode::Single,
            lines: 256,
            batches: 50,
            active_lanes: 1,
            hosts_active: HostsActive::Each,
        }
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    /// Each host's lines, lane by lane.
    lines: Vec<Slice<u64>>,
    tally: Tally,
    noise: Noise,
}

/// The workload.
#[derive(Debug)]
pub struct Primitive;

impl Workload for Primitive {
    const NAME: &'static str = "primitive";
    const ABOUT: &'static str = "what one flush, fence, or store around the caches costs";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let words = words_a_lane(params) * pod.lanes as usize;
        Layout {
            lines: arena.per_host("primitive.lines", pod.hosts, words),
            tally: Tally::lay_out(arena, "primitive.tally", pod),
            noise: Noise::lay_out(arena, pod, params.hosts_active),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if params.lines < 2 || params.batches == 0 {
            return Err("lines and batches: use at least 2 lines a batch, and 1 batch".into());
        }
        check_turns(pod, params.active_lanes, params.hosts_active)
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let seat = worker.seat();
        let words = words_a_lane(params);
        let own = layout.lines[seat.host as usize];
        let own = own.range(seat.lane as usize * words, (seat.lane as usize + 1) * words);
        let order = visiting(Order::Random, params.lines as usize, worker.seed());
        let first = own.start().line().0;
        let lines = order
            .iter()
            .map(|&line| Line(first + u64::from(line) * STEP_LINES))
            .collect();
        let batch = Batch {
            port: worker.port(),
            params,
            lines,
        };
        let stamp = (u64::from(worker.repetition()) << 32) + 1;
        let turn = |peer| {
            let series = batch.measure(stamp);
            layout
                .tally
                .note(worker.port(), seat, batch.holds(batch.last_stored(stamp)));
            Ok(series.beside(peer))
        };
        let turns = Turns {
            active_lanes: params.active_lanes,
            hosts: params.hosts_active,
            noise: &layout.noise,
        };
        let series = turns.lane_by_lane(worker, turn)?;
        let operations = u64::from(params.lines) * u64::from(params.batches);
        Ok(Outcome {
            operations: operations * series.len() as u64,
            series,
        })
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let active = params.active_lanes;
        let answers = u64::from(repetitions) * params.hosts_active.turns(worker.pod());
        layout.tally.demand(worker, active, "primitive", answers)
    }
}

/// Words that hold one lane's lines.
fn words_a_lane(params: &Params) -> usize {
    params.lines as usize * STEP_LINES as usize * LINE_WORDS
}

/// One lane's lines, in the order in which they are used.
struct Batch<'a, P> {
    port: &'a P,
    params: &'a Params,
    lines: Vec<Line>,
}

impl<P: Port> Batch<'_, P> {
    fn measure(&self, stamp: u64) -> Series {
        if let Some(by) = self.params.op.needs()
            && !self.port.can(by)
        {
            self.store_all(stamp);
            return Series::absent(METRIC, "ns", format!("this CPU lacks {by}"));
        }
        let n = u64::from(self.params.lines);
        let empty = reference_ns(n, |turns| {
            self.time(turns as usize, |line| _ = std::hint::black_box(line))
        });
        let whole: Vec<f64> = (0..u64::from(self.params.batches))
            .map(|number| self.batch(stamp + number))
            .collect();
        let each = |empty| whole.iter().map(|&ns| cost_ns(ns, empty, n)).collect();
        match empty.and_then(each) {
            Ok(samples) => Series::of(METRIC, "ns", samples),
            Err(why) => Series::absent(METRIC, "ns", why),
        }
    }

    /// Puts the lines into the state and times the operation on each. One match a batch, so that
    /// every loop holds its operation alone.
    fn batch(&self, stamp: u64) -> f64 {
        let port = self.port;
        self.prepare(stamp);
        match self.params.op {
            Op::ClFlush => self.time_all(|line| port.flush(line, Flush::ClFlush)),
            Op::ClFlushOpt => self.time_all(|line| port.flush(line, Flush::ClFlushOpt)),
            Op::Clwb => self.time_all(|line| port.writeback(line)),
            Op::MovNti => self.time_all(|line| port.store_nt(word(line), stamp)),
            Op::MovDir64b => self.time_all(|line| port.store_line(line, &[stamp; LINE_WORDS])),
            Op::SFence => self.time_all(|_| port.fence(Fence::Store)),
            Op::LFence => self.time_all(|_| port.fence(Fence::Load)),
            Op::MFence => self.time_all(|_| port.fence(Fence::Full)),
            Op::Rdtscp => self.time_all(|_| _ = std::hint::black_box(port.now())),
            Op::Reload => {
                self.time_all(|line| _ = std::hint::black_box(port.load::<u64>(word(line))))
            }
        }
    }

    fn time_all(&self, f: impl Fn(Line)) -> f64 {
        self.time(self.lines.len(), f)
    }

    /// Nanoseconds for `f` on the first `count` lines. The modes have loops of their own: a branch
    /// inside would be measured.
    #[inline(always)]
    fn time(&self, count: usize, f: impl Fn(Line)) -> f64 {
        let port = self.port;
        let lines = &self.lines[..count];
        let before = port.now();
        match self.params.mode {
            Mode::Single => {
                for &line in lines {
                    f(line);
                    // Waits for the operation: it is what is timed.
                    port.fence(Fence::Full);
                    port.work(1);
                }
            }
            Mode::Pipelined => {
                for &line in lines {
                    f(line);
                    port.work(1);
                }
            }
        }
        // Waits for all of them: the timestamp below would not.
        port.fence(Fence::Full);
        port.clock().span_ns(before, port.now())
    }

    fn prepare(&self, stamp: u64) {
        match self.params.line_state {
            LineState::Dirty => self.store_all(stamp),
            LineState::Clean => {
                self.drop_all();
                for &line in &self.lines {
                    std::hint::black_box(self.port.load::<u64>(word(line)));
                }
            }
            LineState::Absent => self.drop_all(),
        }
        // Nothing of the preparation is left when the clock starts.
        self.port.fence(Fence::Full);
    }

    fn store_all(&self, stamp: u64) {
        for &line in &self.lines {
            self.port.store(word(line), stamp);
        }
    }

    fn drop_all(&self) {
        for &line in &self.lines {
            // Serves the state: what follows finds the line absent. CLFLUSH, which every CPU has.
            self.port.flush(line, Flush::ClFlush);
        }
        self.port.fence(Fence::Full);
    }

    /// What the lines must hold after a repetition that began with `stamp`.
    fn last_stored(&self, stamp: u64) -> u64 {
        let lacks = self.params.op.needs().is_some_and(|by| !self.port.can(by));
        let stored = self.params.op.stores() || self.params.line_state == LineState::Dirty;
        if lacks {
            stamp
        } else if stored {
            stamp + u64::from(self.params.batches) - 1
        } else {
            0
        }
    }

    /// Whether each line holds `value` at the device.
    fn holds(&self, value: u64) -> bool {
        self.drop_all();
        self.lines
            .iter()
            .all(|&line| self.port.load::<u64>(word(line)) == value)
    }
}

/// A line's first word.
fn word(line: Line) -> Ptr<u64> {
    line.start()
}
