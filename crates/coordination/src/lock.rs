//! What mutual exclusion costs.
//!
//! *Kernel.* Each contender, `rounds` times: acquire, observe the protected lines, add one to each,
//! stay inside for a while, post the lines, release.
//!
//! *Sharing.* The protected lines are written by whoever holds the lock. The lock's own lines are
//! its algorithm's (crate `sync`).
//!
//! *Maintenance an operation.* That of the lock; with protected lines 1 observe and 1 publish of
//! all of them. What a server does is left out of the census: it does it all the time. Its lane is
//! not among the contenders.
//!
//! *Metrics.* `acquire_ns`, `release_ns`: by each contender's own clock. `handover_ns`: from the
//! start of a release to the end of the next acquire, where its lane was waiting; by two clocks, so
//! only where they are comparable. `throughput_per_s`: holds of all contenders by the longest span.
//! `jain_fairness`: of the holds while all contended. Between hosts also what no lock of registers
//! can beat: `acquire_bound_ns`, one write and one read in series; `handover_bound_ns`, one trip.
//!
//! *Verified.* Every protected line counts all holds, whole in each hold and exact in the end. On
//! clocks that are comparable no two holds overlap, whatever the lines say.

use fabric::{Across, Arena, Gone, HostAtomics, Pod, Seat, Slice, Ticks};
use serde::{Deserialize, Serialize};
use sync::lock::{Algorithm, AnyLock, LockVisitor, Member, NotAcquired, Options};
use sync::{Arrival, Patience};
use workload::{Gather, Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::cast::{Cast, Done, Spread};
use crate::crew;
use crate::holds::{self, HOLD_WORDS, Hold};
use crate::stay::stay;
use crate::verdict::{Verdict, demand_each};
use crate::yardstick::Yardstick;

const WORDS_PER_LINE: usize = 8;

/// The most protected lines.
pub const MAX_PROTECTED: u32 = 64;

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Which lock.
    pub algorithm: Algorithm,
    /// Lanes that contend.
    pub contenders: u32,
    /// Where they sit.
    pub spread: Spread,
    /// How long a holder stays inside besides what the protected lines cost, in nanoseconds.
    pub critical_section_ns: u32,
    /// Lines that each holder reads and republishes, 0 to [`MAX_PROTECTED`].
    pub protected_lines: u32,
    /// Whether a fence means arrival on this pod; posted pods need `confirm`.
    pub arrival: Arrival,
    /// Fischer's delay, in nanoseconds.
    pub delay_ns: u32,
    /// Holds of each contender in a repetition.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        let options = Options::of(Pod::new(1, 1));
        Self {
            algorithm: Algorithm::BakeryFastPath,
            contenders: 1,
            spread: Spread::Hosts,
            critical_section_ns: 0,
            protected_lines: 0,
            arrival: options.arrival,
            delay_ns: options.delay_ns as u32,
            rounds: 200,
        }
    }
}

impl Params {
    fn cast(&self, pod: Pod) -> Cast {
        Cast {
            pod,
            contenders: self.contenders,
            spread: self.spread,
            served: self.algorithm.is_served(),
        }
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    lock: AnyLock,
    protected: Slice<u64>,
    done: Done,
    spans: Gather,
    holds: Gather,
    verdict: Verdict,
    torn: Verdict,
    yardstick: Yardstick,
}

/// The workload.
#[derive(Debug)]
pub struct Lock;

impl Workload for Lock {
    const NAME: &'static str = "lock";
    const ABOUT: &'static str = "what it costs to acquire, hand over and release a lock";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let cast = params.cast(pod);
        let options = Options {
            arrival: params.arrival,
            delay_ns: f64::from(params.delay_ns),
            ..Options::of(params.algorithm.pod(pod, cast.contending_hosts()))
        };
        let protected = params.protected_lines as usize * WORDS_PER_LINE;
        let holds = params.rounds as usize * HOLD_WORDS;
        Layout {
            lock: AnyLock::lay_out(params.algorithm, arena, "lock", &options),
            protected: arena.per_host("lock.protected", 1, protected)[0],
            done: Done::lay_out(arena, "lock.done", &cast),
            spans: Gather::lay_out(arena, "lock.span", params.contenders, 1),
            holds: Gather::lay_out(arena, "lock.hold", params.contenders, holds),
            verdict: Verdict::lay_out(arena, "lock.overlaps"),
            torn: Verdict::lay_out(arena, "lock.torn"),
            yardstick: Yardstick::lay_out(arena, "lock.yardstick"),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if params.rounds == 0 {
            return Err("rounds = 0: use 1 or more".into());
        }
        if params.protected_lines > MAX_PROTECTED {
            let lines = params.protected_lines;
            return Err(format!(
                "protected_lines = {lines}: use 0 to {MAX_PROTECTED}"
            ));
        }
        params.cast(pod).check()
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let cast = params.cast(worker.pod());
        let port = worker.port();
        let refused = cast.refuses_hardware(port);
        if let Some(why) = refused.filter(|_| params.algorithm.is_hardware()) {
            return Ok(absent(worker.seat(), &why));
        }
        let bounds = layout.yardstick.measure(worker)?;
        let mut outcome = Outcome::default();
        let acquire = bounds.of_acquire("acquire_bound_ns");
        let handover = bounds.of_trips("handover_bound_ns", 1);
        outcome.series.extend(acquire.into_iter().chain(handover));
        layout.lock.visit(Lane {
            worker,
            layout,
            params,
            cast,
            outcome: &mut outcome,
        })?;
        worker.line_up()?;
        if worker.seat().leads_pod() {
            digest(port, layout, params, &mut outcome);
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let (port, seat) = (worker.port(), worker.seat());
        let refused = params.cast(worker.pod()).refuses_hardware(port).is_some();
        if !seat.leads_host() || refused && params.algorithm.is_hardware() {
            return Ok(Verified::Nothing);
        }
        layout.torn.demand(port, 0, "protected lines torn")?;
        if seat.leads_pod() {
            layout
                .verdict
                .demand(port, repetitions, "holds that overlap")?;
        }
        let holds = u64::from(repetitions) * u64::from(params.contenders * params.rounds);
        demand_each(port, layout.protected, holds, "holds")?;
        Ok(Verified::Right)
    }
}

const METRICS: [(&str, &str); 5] = [
    ("acquire_ns", "ns"),
    ("handover_ns", "ns"),
    ("release_ns", "ns"),
    ("throughput_per_s", "1/s"),
    ("jain_fairness", "1"),
];

/// Nothing can be measured, and why.
fn absent(seat: Seat, why: &str) -> Outcome {
    let all = METRICS
        .iter()
        .map(|&(metric, unit)| Series::absent(metric, unit, why));
    Outcome {
        series: if seat.leads_pod() {
            all.collect()
        } else {
            Vec::new()
        },
        operations: 0,
    }
}

/// One lane in one repetition, for a lock of known type.
struct Lane<'a, 'w, P> {
    worker: &'a Worker<'w, P>,
    layout: &'a Layout,
    params: &'a Params,
    cast: Cast,
    outcome: &'a mut Outcome,
}

impl<P: HostAtomics> LockVisitor for Lane<'_, '_, P> {
    type Out = Result<(), Gone>;

    fn visit<L: sync::lock::Lock>(mut self, lock: &L) -> Result<(), Gone> {
        let (worker, done, cast) = (self.worker, &self.layout.done, self.cast);
        crew::play(worker, done, &cast, lock, |number| {
            let mut me = Member::new(cast.lane(worker.seat()));
            self.contend(lock, &mut me, number)
        })
    }
}

impl<P: HostAtomics> Lane<'_, '_, P> {
    fn contend<L: sync::lock::Lock>(
        &mut self,
        lock: &L,
        me: &mut Member,
        number: u32,
    ) -> Result<(), Gone> {
        let (port, rounds) = (self.worker.port(), self.params.rounds as usize);
        let mut times = Vec::with_capacity(rounds);
        let start = port.now();
        for _ in 0..rounds {
            let began = port.now();
            let tried = lock.acquire(port, me, Patience::Endless);
            tried.map_err(NotAcquired::gone)?;
            let acquired = port.now();
            self.inside()?;
            let releasing = port.now();
            lock.release(port, me)?;
            times.push([began, acquired, releasing, port.now()]);
        }
        let span = port.now().0 - start.0;
        self.bring(number, span, &times);
        Ok(())
    }

    /// What the lock protects.
    fn inside(&self) -> Result<(), Gone> {
        let (port, lines) = (self.worker.port(), self.layout.protected);
        let mut words = [0u64; MAX_PROTECTED as usize * WORDS_PER_LINE];
        let words = &mut words[..lines.len()];
        if !words.is_empty() {
            // Serves the read below: the last holder may have been another host.
            port.observe(lines.lines());
            port.read_into(lines.start(), words);
        }
        stay(port, self.params.critical_section_ns.into())?;
        if let Some(&count) = words.first() {
            if words.iter().any(|&word| word != count) {
                port.aside(|port| self.layout.torn.note(port, 1));
            }
            words.fill(count + 1);
            port.write_from(lines.start(), words);
            // Serves the next holder's read: it is before the release.
            port.post(lines.lines());
        }
        Ok(())
    }

    fn bring(&mut self, number: u32, span: u64, times: &[[Ticks; 4]]) {
        let port = self.worker.port();
        let clock = port.clock();
        let spans = |from: usize, to: usize| -> Vec<f64> {
            times
                .iter()
                .map(|time| clock.span_ns(time[from], time[to]))
                .collect()
        };
        let series = &mut self.outcome.series;
        series.push(Series::of("acquire_ns", "ns", spans(0, 1)));
        series.push(Series::of("release_ns", "ns", spans(2, 3)));
        self.outcome.operations = times.len() as u64;
        let hold = |time: &[Ticks; 4]| Hold {
            contender: number as usize,
            began: time[0].0,
            acquired: time[1].0,
            releasing: time[2].0,
        };
        let words: Vec<u64> = times
            .iter()
            .flat_map(|time| hold(time).to_words())
            .collect();
        self.layout.spans.put(port, number, &[span]);
        self.layout.holds.put(port, number, &words);
    }
}

/// What only all lanes together know.
fn digest<P: HostAtomics>(port: &P, layout: &Layout, params: &Params, outcome: &mut Outcome) {
    let clock = port.clock();
    let longest = layout.spans.get(port, 1).iter().map(|span| span[0]).max();
    let seconds = clock.span_ns(Ticks(0), Ticks(longest.unwrap_or(0))) / 1e9;
    let holds = f64::from(params.contenders * params.rounds);
    outcome
        .series
        .push(Series::of("throughput_per_s", "1/s", vec![holds / seconds]));
    let error_ns = match clock.across_hosts {
        Across::Comparable { error_ns } => error_ns,
        Across::Incomparable(why) => {
            let series = &mut outcome.series;
            series.push(Series::absent("handover_ns", "ns", why));
            series.push(Series::absent("jain_fairness", "1", why));
            return port.aside(|port| layout.verdict.note(port, 0));
        }
    };
    let words = layout.holds.get(port, params.rounds as usize * HOLD_WORDS);
    let each = words.iter().enumerate().flat_map(|(contender, words)| {
        let holds = words.chunks_exact(HOLD_WORDS);
        holds.map(move |words| Hold::from_words(contender, words))
    });
    let ordered = holds::in_order(each.collect());
    let error_ticks = (error_ns * clock.ticks_per_ns).ceil() as u64;
    let overlaps = holds::overlaps(&ordered, error_ticks);
    port.aside(|port| layout.verdict.note(port, overlaps));
    outcome.series.push(handover_series(port, &ordered));
    if let Some(index) = holds::jain_fairness(&ordered, params.contenders as usize) {
        outcome
            .series
            .push(Series::of("jain_fairness", "1", vec![index]));
    }
}

fn handover_series<P: HostAtomics>(port: &P, ordered: &[Hold]) -> Series {
    let per_ns = port.clock().ticks_per_ns;
    let handovers = holds::handovers(ordered);
    if handovers.is_empty() {
        return Series::absent(
            "handover_ns",
            "ns",
            "nobody waited while another held the lock",
        );
    }
    // Two clocks that agree within an error may make a short hand-over negative: it took no time
    // that they can tell.
    let ns = |&ticks: &i64| (ticks as f64 / per_ns).max(0.0);
    Series::of("handover_ns", "ns", handovers.iter().map(ns).collect())
}
