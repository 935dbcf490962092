//! How many bytes a second lanes move, and what a load costs meanwhile.
//!
//! *Kernel.* All active lanes of a host sweep over areas of their own at once: `read`, `write`,
//! `nt-write` (around the caches), `copy` (`a = b`), `triad` (`a = b + 3c`, STREAM's). `loaded`:
//! lane 0 chases a random cycle while the others read, each pausing `gap_ns` after each chunk, so
//! that a sweep of the gap gives latency against bandwidth.
//!
//! *Source.* STREAM (`stream.c`). Bytes are those that the source names: a line that is fetched
//! only to be overwritten is not counted.
//!
//! *Sharing.* None. In the region, hosts that take turns use the same areas: each takes them over
//! (observe) and leaves them (publish), outside the clock.
//!
//! *Maintenance.* None but a full fence at the end of a window: stores must be done. `flushed`
//! drops lines outside the clock, but for those that readers of `loaded` leave behind.
//!
//! *Metrics.* `bandwidth_gb_per_s`: 10^9 bytes a second of a host, one sample a window: all lanes'
//! bytes by the time from the first lane's start to the last one's end. `loaded_latency_ns`: the
//! mean hop of a block; the bandwidth beside it is what the other lanes reached.
//!
//! *Verified.* In closed form: words are their own index, so sums of reads, of copies and of
//! written words are known, and element i of the triad is 7 i.

mod loaded;
mod window;

use fabric::{Arena, Fence, Gone, HostAtomics, Pages, Pod, Port, Slice, Stream};
use serde::{Deserialize, Serialize};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::area::{
    Area, InDram, InRegion, LINE_WORDS, LINES_PER_SIGN, Place, check_pages, drop_words,
};
use crate::tally::Tally;
use crate::turns::{HostsActive, Noise, Turns, check_turns};
use window::{Window, WindowLayout};

const BANDWIDTH: &str = "bandwidth_gb_per_s";
const LOADED: &str = "loaded_latency_ns";
const PAGE_BYTES: u64 = 4096;

/// Arrays are multiples of this many words: whole turns of an unrolled loop, whole lines.
const ARRAY_STEP_WORDS: usize = 16;

/// What is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // as for `Stream`
pub enum Op {
    #[default]
    Read,
    Write,
    NtWrite,
    Copy,
    Triad,
    /// Lane 0 chases, the others read.
    Loaded,
}

impl Op {
    fn stream(self) -> Stream {
        match self {
            Self::Read | Self::Loaded => Stream::Read,
            Self::Write => Stream::Write,
            Self::NtWrite => Stream::NtWrite,
            Self::Copy => Stream::Copy,
            Self::Triad => Stream::Triad,
        }
    }
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// What is moved.
    pub op: Op,
    /// Bytes of each lane's area, all its arrays together.
    pub bytes: u64,
    /// Which memory.
    pub place: Place,
    /// Pages of DRAM; those of the region are its mapping's.
    pub pages: Pages,
    /// Windows a repetition, each one sample.
    pub windows: u32,
    /// Lanes of each host that take part.
    pub active_lanes: u32,
    /// Whether hosts measure one after the other or at once.
    pub hosts_active: HostsActive,
    /// Whether the area is dropped from the caches before each window, outside the clock, and what
    /// readers of `loaded` have read behind them: memory's figures from an area that a cache holds.
    pub flushed: bool,
    /// `loaded`: nanoseconds that a reading lane pauses after each 32 KiB.
    pub gap_ns: u32,
    /// `loaded`: hops a sample.
    pub hops: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            op: Op::Read,
            bytes: 4 << 20,
            place: Place::Region,
            pages: Pages::Any,
            windows: 10,
            active_lanes: 1,
            hosts_active: HostsActive::Each,
            flushed: false,
            gap_ns: 0,
            hops: 1024,
        }
    }
}

impl Params {
    /// Words of one array.
    fn array_words(&self) -> usize {
        let each = self.bytes as usize / 8 / self.op.stream().arrays();
        each / ARRAY_STEP_WORDS * ARRAY_STEP_WORDS
    }

    fn words(&self) -> usize {
        self.array_words() * self.op.stream().arrays()
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    /// Areas in the region: each active lane's, host by host if all hosts measure at once.
    areas: Vec<Slice<u64>>,
    window: WindowLayout,
    tally: Tally,
    noise: Noise,
}

impl Layout {
    fn area(&self, worker: &Worker<'_, impl HostAtomics>, params: &Params) -> Slice<u64> {
        let seat = worker.seat();
        let lane = seat.lane as usize;
        let host = if params.hosts_active.together() {
            seat.host as usize
        } else {
            0
        };
        self.areas[host * params.active_lanes as usize + lane]
    }
}

/// The workload.
#[derive(Debug)]
pub struct Bandwidth;

impl Workload for Bandwidth {
    const NAME: &'static str = "bandwidth";
    const ABOUT: &'static str =
        "how many bytes a second lanes move, and what a load costs meanwhile";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let hosts = match params.place {
            Place::Dram => 0,
            Place::Region if params.hosts_active.together() => pod.hosts,
            Place::Region => 1,
        };
        let area = |index| {
            arena.aligned(
                format!("bandwidth.area[{index}]"),
                params.words(),
                PAGE_BYTES,
            )
        };
        Layout {
            areas: (0..hosts * params.active_lanes).map(area).collect(),
            window: WindowLayout::lay_out(arena, pod),
            tally: Tally::lay_out(arena, "bandwidth.tally", pod),
            noise: Noise::lay_out(arena, pod, params.hosts_active),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        check_turns(pod, params.active_lanes, params.hosts_active)?;
        check_pages(params.place, params.pages)?;
        if params.array_words() == 0 {
            return Err(format!(
                "bytes = {}: use at least {}",
                params.bytes,
                ARRAY_STEP_WORDS * 8 * params.op.stream().arrays()
            ));
        }
        if params.bytes / fabric::LINE_BYTES > u64::from(u32::MAX) {
            return Err(format!(
                "bytes = {}: use less than 2^38 a lane",
                params.bytes
            ));
        }
        if params.windows == 0 || params.hops == 0 {
            return Err("windows and hops: use 1 or more".into());
        }
        if params.op == Op::Loaded && params.active_lanes < 2 {
            return Err(
                "op = loaded needs a lane that chases and one that reads: use \
                        active_lanes = 2 or more"
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
        let lane = Lane {
            worker,
            layout,
            params,
        };
        let turn = |peer| {
            let series = lane.turn()?.into_iter();
            Ok(series.map(|series| series.beside(peer)).collect::<Vec<_>>())
        };
        let turns = Turns {
            active_lanes: params.active_lanes,
            hosts: params.hosts_active,
            noise: &layout.noise,
        };
        let series = turns.host_by_host(worker, turn)?;
        Ok(Outcome {
            // In words moved: what the census is given per.
            operations: lane.window_bytes() / 8 * series.len() as u64,
            series: series.into_iter().flatten().collect(),
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
        layout.tally.demand(worker, active, "bandwidth", answers)
    }
}

/// One active lane.
struct Lane<'a, P> {
    worker: &'a Worker<'a, P>,
    layout: &'a Layout,
    params: &'a Params,
}

impl<P: HostAtomics> Lane<'_, P> {
    fn window_bytes(&self) -> u64 {
        self.params.words() as u64 * 8
    }

    fn turn(&self) -> Result<Vec<Series>, Gone> {
        let port = self.worker.port();
        if self.params.place == Place::Region {
            let words = self.layout.area(self.worker, self.params);
            // Serves this lane's accesses: the last turn's host may have left newer words.
            port.aside(|port| port.observe(words.lines()));
            let series = self.measure(&mut InRegion { port, words }, None)?;
            // Serves the next turn's host, likewise.
            port.aside(|port| port.publish(words.lines()));
            return Ok(series);
        }
        match port.private_on(self.params.pages, self.params.words(), 0u64) {
            Ok(memory) => self.measure(&mut InDram(memory), None),
            Err(why) => {
                // Goes through the windows all the same: the other lanes wait in them.
                let memory = port.private(self.params.words(), 0u64);
                self.measure(&mut InDram(memory), Some(why))
            }
        }
    }

    /// Measures, unless some lane of the host has a reason not to.
    fn measure<A: Area>(&self, area: &mut A, refused: Option<String>) -> Result<Vec<Series>, Gone> {
        let window = Window::new(self.worker, &self.layout.window, self.params.active_lanes);
        let refused_lanes = window.count_refusals(refused.is_some())?;
        let (series, right) = match self.params.op {
            Op::Loaded => self.loaded(area, &window)?,
            _ => self.sweeps(area, &window)?,
        };
        self.layout
            .tally
            .note(self.worker.port(), self.worker.seat(), right);
        if refused_lanes == 0 {
            return Ok(series);
        }
        let why = refused.unwrap_or_else(|| "another lane of this host lacks its DRAM".into());
        let absent = |series: Series| Series::absent(series.metric, series.unit, why.clone());
        Ok(series.into_iter().map(absent).collect())
    }

    /// Makes a window's accesses go to memory, if asked for.
    fn drop_area<A: Area>(&self, area: &A) {
        if self.params.flushed {
            self.worker.port().aside(|port| {
                drop_words(area, 0..self.params.words());
                // Serves the window's accesses: the flushes must be done.
                port.fence(Fence::Full);
            });
        }
    }

    fn sweeps<A: Area>(
        &self,
        area: &mut A,
        window: &Window<'_, P>,
    ) -> Result<(Vec<Series>, bool), Gone> {
        let (stream, words) = (self.params.op.stream(), 0..self.params.words());
        let len = self.params.array_words();
        fill(self.worker.port(), area, stream, len)?;
        let expected = sum_of_indices(0, len);
        let (mut right, mut samples) = (true, Vec::new());
        // The first window warms caches and TLB, and brings the lanes into step.
        for number in 0..=u64::from(self.params.windows) {
            self.worker.port().check_in()?;
            self.drop_area(area);
            let gb_per_s = window.measure(self.params.hosts_active, || {
                let sum = area.stream(stream, words.clone(), number);
                right &= stream != Stream::Read || sum == expected;
                self.window_bytes()
            })?;
            if number > 0 {
                samples.extend(gb_per_s);
            }
        }
        right &= holds(area, stream, len, u64::from(self.params.windows));
        let series = Series::of(BANDWIDTH, "GB/s", samples);
        // Lane 0 speaks for its host.
        let series = if self.worker.seat().leads_host() {
            vec![series]
        } else {
            Vec::new()
        };
        Ok((series, right))
    }
}

/// Writes what the sweeps read, and something else where they write.
fn fill<A: Area>(port: &impl Port, area: &mut A, stream: Stream, len: usize) -> Result<(), Gone> {
    for index in 0..len {
        if index % (LINES_PER_SIGN * LINE_WORDS) == 0 {
            port.check_in()?;
        }
        let number = index as u64;
        match stream {
            Stream::Read => area.store(index, number),
            Stream::Write | Stream::NtWrite => area.store(index, u64::MAX),
            Stream::Copy => {
                area.store(index, u64::MAX);
                area.store(len + index, number);
            }
            Stream::Triad => {
                area.store(index, u64::MAX);
                area.store(len + index, (index as f64).to_bits());
                area.store(2 * len + index, (2.0 * index as f64).to_bits());
            }
        }
    }
    Ok(())
}

/// Whether the sweeps left what they must; `last` is what the last one wrote.
fn holds<A: Area>(area: &mut A, stream: Stream, len: usize, last: u64) -> bool {
    match stream {
        Stream::Read => true,
        Stream::Write | Stream::NtWrite => (0..len).all(|index| area.load(index) == last),
        Stream::Copy => area.stream(Stream::Read, 0..len, 0) == sum_of_indices(0, len),
        // i + 3 * 2 i, exact: indices are far below 2^50.
        Stream::Triad => (0..len).all(|index| area.load(index) == (7.0 * index as f64).to_bits()),
    }
}

/// The sum of the numbers from `from` to `to` - 1, wrapping.
fn sum_of_indices(from: usize, to: usize) -> u64 {
    let below = |n: usize| (n as u128 * (n as u128).saturating_sub(1) / 2) as u64;
    below(to).wrapping_sub(below(from))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_closed_form_is_the_sum(from in 0usize..5000, count in 0usize..5000) {
            let sum = (from..from + count).fold(0u64, |sum, n| sum.wrapping_add(n as u64));
            prop_assert_eq!(sum_of_indices(from, from + count), sum);
        }
    }

    #[test]
    fn arrays_are_whole_turns_and_never_more_than_asked_for() {
        for op in [Op::Read, Op::Copy, Op::Triad] {
            let params = Params {
                op,
                bytes: 10_000,
                ..Params::default()
            };
            assert!(params.array_words().is_multiple_of(ARRAY_STEP_WORDS));
            assert!(params.words() * 8 <= 10_000 && params.words() * 8 > 9_000);
        }
    }
}
