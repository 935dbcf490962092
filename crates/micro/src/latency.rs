//! How long one access takes, by the size of what is accessed.
//!
//! *Kernel.* `load`: a chase, each load's address being the value of the one before, over a random
//! cycle through all lines of a working set; one load in flight. `flush-reload`: the same lines,
//! each flushed, fenced and loaded: an observe. `store`: a store to each line and a full fence,
//! less the fence alone. A store retires before it is done, so no chain of stores shows its
//! latency; the fence waits until the line is owned and written, which is what is left.
//!
//! *Source.* Chase: `lat_mem_rd` of lmbench (USENIX 1996). Order within groups of pages, which
//! hides TLB misses: google/multichase.
//!
//! *Sharing.* None: each lane alone by default. In the region, `load` and `flush-reload` read one
//! frozen cycle that lane 0 of host 0 wrote; for `store`, each lane in its turn takes the region
//! over (observe) and leaves it (publish). In DRAM each lane has its own.
//!
//! *Maintenance an operation.* `flush-reload`: one flush, one full fence. `store`: one full fence.
//!
//! *Metrics.* `load_latency_ns`, `store_latency_ns`, `flush_reload_ns`: one sample a block of
//! `hops` operations, its mean; a block outlasts the timer by far.
//!
//! *Verified.* A walk through all lines comes back to its start; every block ends on the line that
//! the order says; every reloaded link, and every line stored to, holds what it must.

use fabric::{Arena, Fence, Flush, Gone, HostAtomics, ObserveBy, Pages, Pod, Slice};
use serde::{Deserialize, Serialize};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::area::{Area, InDram, InRegion, LINE_WORDS, LINES_PER_SIGN, Place, drop_words};
use crate::area::{check_pages, is_shared, link, offset_of};
use crate::order::{Order, visiting};
use crate::reference::{cost_ns, reference_ns};
use crate::tally::Tally;
use crate::turns::{HostsActive, Noise, Turns, check_turns, turn_of};

/// Huge pages are used where an area starts on one.
const AREA_ALIGN: u64 = 2 << 20;
const LINE: u64 = fabric::LINE_BYTES;

/// Which access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// A load that depends on the load before.
    #[default]
    Load,
    /// A store, done.
    Store,
    /// A flush, a full fence, a load.
    FlushReload,
}

impl Op {
    fn metric(self) -> &'static str {
        match self {
            Self::Load => "load_latency_ns",
            Self::Store => "store_latency_ns",
            Self::FlushReload => "flush_reload_ns",
        }
    }
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Bytes that are visited, whole lines.
    pub working_set_bytes: u64,
    /// Which access.
    pub op: Op,
    /// Which memory.
    pub place: Place,
    /// Pages of DRAM; those of the region are its mapping's.
    pub pages: Pages,
    /// In which order.
    pub order: Order,
    /// How `flush-reload` flushes.
    pub observe: ObserveBy,
    /// Operations a sample.
    pub hops: u32,
    /// Samples a repetition, for each lane.
    pub blocks: u32,
    /// Lanes of each host that measure.
    pub active_lanes: u32,
    /// Whether hosts measure one after the other or at once.
    pub hosts_active: HostsActive,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            working_set_bytes: 1 << 20,
            op: Op::Load,
            place: Place::Region,
            pages: Pages::Any,
            order: Order::Random,
            observe: ObserveBy::ClFlushOpt,
            hops: 4096,
            blocks: 50,
            active_lanes: 1,
            hosts_active: HostsActive::Each,
        }
    }
}

impl Params {
    fn lines(&self) -> usize {
        (self.working_set_bytes / LINE) as usize
    }

    fn words(&self) -> usize {
        self.lines() * LINE_WORDS
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    /// The working set in the region; nothing if it is DRAM's.
    area: Slice<u64>,
    tally: Tally,
    noise: Noise,
}

/// The workload.
#[derive(Debug)]
pub struct Latency;

impl Workload for Latency {
    const NAME: &'static str = "latency";
    const ABOUT: &'static str = "how long a dependent load, a store, or a flush and reload takes";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let words = if params.place == Place::Region {
            params.words()
        } else {
            0
        };
        Layout {
            area: arena.aligned("latency.area", words, AREA_ALIGN.min(align_of(words))),
            tally: Tally::lay_out(arena, "latency.tally", pod),
            noise: Noise::lay_out(arena, pod, params.hosts_active),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        check_turns(pod, params.active_lanes, params.hosts_active)?;
        check_pages(params.place, params.pages)?;
        let bytes = params.working_set_bytes;
        if bytes < LINE || !bytes.is_multiple_of(LINE) || bytes / LINE > u64::from(u32::MAX) {
            return Err(format!(
                "working_set_bytes = {bytes}: use a multiple of {LINE}, up to 2^32 - 1 lines"
            ));
        }
        if params.hops < 2 || params.blocks == 0 {
            return Err("hops and blocks: use at least 2 hops a block, and 1 block".into());
        }
        if params.observe == ObserveBy::None {
            return Err(
                "observe = none: flush-reload needs a flush; use clflush or clflushopt".into(),
            );
        }
        let everyone = params.hosts_active.together();
        if params.op == Op::Store && everyone && is_shared(params.place, pod, params.active_lanes) {
            return Err(
                "op = store in the region is one lane's at a time: use hosts_active = each, \
                        or place = dram"
                    .into(),
            );
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let active = worker.seat().lane < params.active_lanes;
        let order = if active {
            visiting(params.order, params.lines(), worker.seed())
        } else {
            Vec::new()
        };
        let port = worker.port();
        let mut words = InRegion {
            port,
            words: layout.area,
        };
        if params.place == Place::Region && params.op != Op::Store {
            let writes = worker.seat().leads_pod();
            if writes {
                link(port, &mut words, &order)?;
            }
            let mine = layout
                .area
                .range(0, if writes { layout.area.len() } else { 0 });
            // Aside: the cycle is the experiment's. Serves every host's chase.
            port.aside(|_| worker.freeze(layout.area, mine))?;
        }
        let bench = Bench {
            worker,
            params,
            order: &order,
            tally: &layout.tally,
        };
        let turn = |peer| {
            let series = match (params.place, params.op) {
                (Place::Region, Op::Store) => bench.stores_in_turn(&mut words),
                (Place::Region, _) => bench.measure(&mut words),
                (Place::Dram, _) => bench.in_dram(),
            };
            series.map(|series| series.beside(peer))
        };
        let turns = Turns {
            active_lanes: params.active_lanes,
            hosts: params.hosts_active,
            noise: &layout.noise,
        };
        let series = turns.lane_by_lane(worker, turn)?;
        let operations = u64::from(params.hops) * u64::from(params.blocks);
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
        layout
            .tally
            .demand(worker, active, params.op.metric(), answers)
    }
}

/// The largest power of two that an area of `words` words fills, at least a line.
fn align_of(words: usize) -> u64 {
    (words as u64 * 8)
        .checked_ilog2()
        .map_or(LINE, |log| LINE.max(1 << log))
}

/// Samples, or why there are none; and whether all that was read was right.
type Measured = (Result<Vec<f64>, String>, bool);

/// One lane's turn.
struct Bench<'a, P> {
    worker: &'a Worker<'a, P>,
    params: &'a Params,
    order: &'a [u32],
    tally: &'a Tally,
}

impl<P: HostAtomics> Bench<'_, P> {
    fn port(&self) -> &P {
        self.worker.port()
    }

    fn in_dram(&self) -> Result<Series, Gone> {
        match self
            .port()
            .private_on(self.params.pages, self.params.words(), 0u64)
        {
            Ok(memory) => {
                let mut words = InDram(memory);
                link(self.port(), &mut words, self.order)?;
                self.measure(&mut words)
            }
            Err(why) => {
                // Nothing was measured, so nothing is wrong: the row says why.
                self.tally.note(self.port(), self.worker.seat(), true);
                Ok(Series::absent(self.params.op.metric(), "ns", why))
            }
        }
    }

    fn stores_in_turn(&self, words: &mut InRegion<'_, P>) -> Result<Series, Gone> {
        let lines = words.words.lines();
        // Serves the stores: a stale line would carry old words back over the last turn's.
        self.port().aside(|port| port.observe(lines));
        let series = self.measure(words)?;
        // Serves the next turn's stores, likewise.
        self.port().aside(|port| port.publish(lines));
        Ok(series)
    }

    fn measure<A: Area>(&self, words: &mut A) -> Result<Series, Gone> {
        let (samples, right) = match self.params.op {
            Op::Load => self.loads(words),
            Op::FlushReload => self.reloads(words),
            Op::Store => self.stores(words),
        }?;
        self.tally.note(self.port(), self.worker.seat(), right);
        Ok(match samples {
            Ok(samples) => Series::of(self.params.op.metric(), "ns", samples),
            Err(why) => Series::absent(self.params.op.metric(), "ns", why),
        })
    }

    /// Times one block for each sample; `block` gets the number of the first operation.
    fn blocks(&self, mut block: impl FnMut(u64) -> f64) -> Result<Vec<f64>, Gone> {
        let hops = u64::from(self.params.hops);
        let mut samples = Vec::with_capacity(self.params.blocks as usize);
        for number in 0..u64::from(self.params.blocks) {
            self.port().check_in()?;
            samples.push(block(number * hops));
        }
        Ok(samples)
    }

    /// The line of operation `number`.
    fn line(&self, number: u64) -> u32 {
        self.order[(number % self.order.len() as u64) as usize]
    }

    /// Goes through all lines once, showing signs of life, and returns where it ends.
    fn walk<A: Area>(&self, words: &A, start: u64) -> Result<u64, Gone> {
        let mut at = start;
        for part in self.order.chunks(LINES_PER_SIGN) {
            at = words.chase(at, part.len() as u64);
            self.port().check_in()?;
        }
        Ok(at)
    }

    #[inline(never)]
    fn loads<A: Area>(&self, words: &A) -> Result<Measured, Gone> {
        let (port, hops) = (self.port(), u64::from(self.params.hops));
        let clock = port.clock();
        let start = offset_of(self.order[0]);
        // Warms caches and TLB, and proves that the links make one cycle of this length or a part.
        let mut at = self.walk(words, start)?;
        let mut right = at == start;
        let samples = self.blocks(|first| {
            let before = port.now();
            at = words.chase(at, hops);
            let ns = clock.span_ns(before, port.now());
            right &= at == offset_of(self.line(first + hops));
            ns / hops as f64
        })?;
        Ok((Ok(samples), right))
    }

    #[inline(never)]
    fn reloads<A: Area>(&self, words: &A) -> Result<Measured, Gone> {
        let port = self.port();
        let (clock, how) = (port.clock(), how(self.params.observe));
        let mut right = true;
        // Lines that this host linked may be dirty still: writing them back is no part of a reload.
        port.aside(|port| {
            drop_words(words, 0..self.params.words());
            port.fence(Fence::Full);
        });
        let samples = self.blocks(|first| {
            let mut index = (first % self.order.len() as u64) as usize;
            let mut line = self.order[index];
            let before = port.now();
            for _ in 0..self.params.hops {
                let word = line as usize * LINE_WORDS;
                // Serves the load below.
                words.flush(word, how);
                port.fence(Fence::Full);
                let link = words.load(word);
                index = if index + 1 == self.order.len() {
                    0
                } else {
                    index + 1
                };
                line = self.order[index];
                right &= link == offset_of(line);
            }
            clock.span_ns(before, port.now()) / f64::from(self.params.hops)
        })?;
        Ok((Ok(samples), right))
    }

    #[inline(never)]
    fn stores<A: Area>(&self, words: &mut A) -> Result<Measured, Gone> {
        let hops = u64::from(self.params.hops);
        let turn = turn_of(self.worker.seat(), self.params.active_lanes);
        // Not 0, and another one in every turn.
        let stamp = (u64::from(self.worker.repetition()) << 32) + turn + 1;
        let empty = reference_ns(hops, |turns| {
            self.fenced(0, turns, |line| _ = std::hint::black_box(line))
        });
        let whole = self.blocks(|first| {
            self.fenced(first, hops, |line| {
                words.store(line as usize * LINE_WORDS, stamp);
            })
        })?;
        let visited = self.order.len().min(whole.len() * hops as usize);
        let stored = |line: &u32| words.load(*line as usize * LINE_WORDS) == stamp;
        let right = self.order[..visited].iter().all(stored);
        let samples = empty.and_then(|empty| {
            whole
                .into_iter()
                .map(|ns| cost_ns(ns, empty, hops))
                .collect()
        });
        Ok((samples, right))
    }

    /// Times `count` lines from operation `first`, a full fence after each.
    #[inline(always)]
    fn fenced(&self, first: u64, count: u64, mut f: impl FnMut(u32)) -> f64 {
        let port = self.port();
        let mut index = (first % self.order.len() as u64) as usize;
        let before = port.now();
        for _ in 0..count {
            f(self.order[index]);
            // Waits for the store: it is what is timed.
            port.fence(Fence::Full);
            index = if index + 1 == self.order.len() {
                0
            } else {
                index + 1
            };
        }
        port.clock().span_ns(before, port.now())
    }
}

fn how(observe: ObserveBy) -> Flush {
    match observe {
        ObserveBy::ClFlush => Flush::ClFlush,
        ObserveBy::ClFlushOpt | ObserveBy::None => Flush::ClFlushOpt,
    }
}
