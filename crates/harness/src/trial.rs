//! The trial protocol, on every lane: clear, prepare, warm up, repeat until good enough, count,
//! verify.
//!
//! It is written against a port, as workloads are, so a simulated trial takes the same steps as a
//! native one. Lanes agree through the control lines that follow the region's header.

use fabric::{
    Arena, Census, Count, Gone, HostAtomics, Pod, Program, Ptr, Seat, Setting, Slice, Substrate,
    Tapped, Ticks, Watch, wait_until,
};
use record::{StartBy, Stop, Summary};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sync::clocks::ClockLines;
use sync::{Barrier, BarrierLayout, Header};
use workload::{Outcome, Series, Unready, Verified, Worker, Workload};

use crate::frame::{Blame, Failure};
use crate::spec::TrialSpec;
use crate::timekeeper::{Started, Timekeeper, own_ns};
use crate::wire::Wire;

/// What starts every region: the header, then what the trial protocol itself needs.
#[derive(Clone, Debug)]
pub struct Control {
    /// The region's header.
    pub header: Header,
    barrier: BarrierLayout,
    /// Host 0 says here whether another repetition follows.
    decision: Ptr<u64>,
    /// On real hosts: when a repetition starts.
    start: Option<Slice<u64>>,
    /// Between hosts that were started apart: how they ask each other for the time.
    pub clocks: Option<ClockLines>,
    /// Between these: how results reach host 0.
    pub wire: Option<Wire>,
    /// All of it behind the header: cleared before a run, whatever the last one left there.
    pub cleared: Slice<u64>,
    /// Everything above; a trial's layout continues it.
    pub arena: Arena,
}

impl Control {
    /// The control lines for `pod`, all of whose hosts are in this process.
    pub fn lay_out(pod: Pod) -> Self {
        Self::lay_out_for(pod, Hosts::Here)
    }

    /// The control lines for `pod`, whose hosts are processes of this machine.
    pub fn lay_out_local(pod: Pod) -> Self {
        Self::lay_out_for(pod, Hosts::Local)
    }

    /// The control lines for `pod`, whose hosts were started apart and share nothing but the
    /// region.
    pub fn lay_out_apart(pod: Pod) -> Self {
        Self::lay_out_for(pod, Hosts::Apart)
    }

    fn lay_out_for(pod: Pod, hosts: Hosts) -> Self {
        let mut arena = Arena::new();
        let header = Header::lay_out(&mut arena);
        let from = arena.region_bytes();
        let barrier = BarrierLayout::lay_out(&mut arena, "harness.barrier", pod);
        let decision = arena.word("harness.decision");
        let processes = hosts != Hosts::Here;
        let start = processes.then(|| arena.slice("harness.start", 2));
        let apart = hosts == Hosts::Apart;
        let clocks = apart.then(|| ClockLines::lay_out(&mut arena, pod.hosts));
        let wire = apart.then(|| Wire::lay_out(&mut arena, pod));
        Self {
            header,
            barrier,
            decision,
            start,
            clocks,
            wire,
            cleared: area(&arena, from),
            arena,
        }
    }
}

/// Where the hosts of a pod are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hosts {
    Here,
    Local,
    Apart,
}

/// Where a trial takes place.
pub struct Stage<'a, W> {
    /// What is measured.
    pub spec: &'a TrialSpec,
    /// The region's control lines.
    pub control: &'a Control,
    /// The barrier's epoch after the last trial; the same on every host.
    pub epoch: u64,
    /// Beats, and notices lost hosts.
    pub watch: &'a W,
    /// Knows the time; nobody has to where time is simulated.
    pub time: Option<&'a Timekeeper<'a>>,
    /// Told by lane 0 of host 0 after each repetition, and within a long one: repetitions done,
    /// warm-up included, and the share of the one under way.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// What one lane brings back from a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LaneReport {
    /// Its host.
    pub host: u32,
    /// Its lane.
    pub lane: u32,
    /// Its samples, by metric and pair.
    pub series: Vec<LaneSeries>,
    /// What it asked of the memory in the census repetition.
    pub census: Census,
    /// Operations it did in the census repetition.
    pub operations: u64,
    /// Whether its share of the answer was right.
    pub verified: Option<bool>,
    /// The answer, where this lane holds it.
    pub answer: Option<Value>,
    /// Timed repetitions.
    pub reps: u32,
    /// What ended the repetitions.
    pub stopped: Option<Stop>,
    /// Why the trial failed.
    pub error: Option<String>,
    /// Whose doing that was.
    pub blame: Option<Blame>,
    /// What hardware counted while the lane ran, by event: a count, or why there is none.
    #[serde(default)]
    pub counters: Vec<(String, Result<f64, String>)>,
    /// When it started each timed repetition; empty if that cannot be told.
    #[serde(default)]
    pub starts: Vec<Started>,
    /// The barrier's epoch at the end.
    pub epoch: u64,
}

/// Samples of one metric from one lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneSeries {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The other host of a pair.
    pub peer: Option<u32>,
    /// The samples of all timed repetitions.
    pub samples: Vec<f64>,
    /// Why there are none.
    pub absent: Option<String>,
}

impl LaneReport {
    fn add(&mut self, outcome: Outcome) {
        self.reps += 1;
        for series in outcome.series {
            let same = |known: &&mut LaneSeries| {
                known.metric == series.metric && known.peer == series.peer
            };
            match self.series.iter_mut().find(same) {
                Some(known) => known.extend(series),
                None => self.series.push(LaneSeries {
                    metric: series.metric.to_owned(),
                    unit: series.unit.to_owned(),
                    peer: series.peer,
                    samples: series.samples,
                    absent: series.absent,
                }),
            }
        }
    }

    /// The widest relative interval of this lane's metrics; none if one has too few samples.
    fn precision(&self) -> Option<f64> {
        let measured = self
            .series
            .iter()
            .filter(|series| !series.samples.is_empty());
        let widths =
            measured.map(|series| Summary::of(&series.samples).ok()?.relative_half_width());
        widths.reduce(|a, b| Some(a?.max(b?))).flatten()
    }
}

impl LaneSeries {
    /// A metric that was absent in one repetition is absent: half a sample set would mislead.
    fn extend(&mut self, more: Series) {
        if let Some(why) = more.absent {
            self.samples.clear();
            self.absent = Some(why);
        } else if self.absent.is_none() {
            self.samples.extend(more.samples);
        }
    }
}

/// Runs one trial of workload `L` on the lanes that this process holds.
pub fn run_trial<L: Workload, S: Substrate, W: Watch>(
    substrate: &S,
    stage: &Stage<'_, W>,
    params: &L::Params,
) -> Vec<LaneReport> {
    let spec = stage.spec;
    let mut arena = stage.control.arena.clone();
    let from = arena.region_bytes();
    let layout = L::layout(&mut arena, spec.pod, params);
    let area = area(&arena, from);
    let setting = Setting {
        pod: spec.pod,
        discipline: spec.discipline,
        host_bytes: arena.host_bytes(),
    };
    let trial = Trial::<L, W> {
        stage,
        params,
        layout: &layout,
        area,
        blank: substrate.starts_blank(),
    };
    let reports = substrate.run(&setting, stage.watch, &trial);
    let mut counted = substrate.counted();
    let with_counters = |(seat, mut report): (Seat, LaneReport)| {
        let own = counted.extract_if(.., |counted| counted.seat == seat);
        report.counters = own
            .map(|counted| (counted.event.to_owned(), counted.count))
            .collect();
        report
    };
    reports.into_iter().map(with_counters).collect()
}

/// What was laid out from byte `from` on.
fn area(arena: &Arena, from: u64) -> Slice<u64> {
    let words = (arena.region_bytes() - from) / 8;
    let start = arena.resolve(from.min(arena.region_bytes() - 8));
    start.expect("the header comes first").slice(words as usize)
}

struct Trial<'a, L: Workload, W> {
    stage: &'a Stage<'a, W>,
    params: &'a L::Params,
    layout: &'a L::Layout,
    area: Slice<u64>,
    /// Nobody has written the area since it was zero.
    blank: bool,
}

impl<L: Workload, W: Watch> Program for Trial<'_, L, W> {
    type Out = LaneReport;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> LaneReport {
        let mut report = LaneReport {
            host: seat.host,
            lane: seat.lane,
            ..LaneReport::default()
        };
        let pod = self.stage.spec.pod;
        let barrier = Barrier::new(&self.stage.control.barrier, pod, seat, self.stage.epoch);
        let lane = Lane {
            trial: self,
            seat,
            port,
            barrier: &barrier,
        };
        match lane.measure(&mut report) {
            Ok(()) => {}
            Err(Unready::Lacking(what)) => {
                (report.error, report.blame) = (Some(what), Some(Blame::Own));
            }
            Err(Unready::Gone(gone)) => {
                let Failure { what, blame } = gone.into();
                (report.error, report.blame) = (Some(what), Some(blame));
                if matches!(gone, Gone::Teardown { .. } | Gone::LostHost { .. }) {
                    report.stopped = Some(Stop::Interrupted);
                }
            }
        }
        report.epoch = barrier.epoch();
        report
    }
}

/// One lane in one trial.
struct Lane<'a, L: Workload, W, P> {
    trial: &'a Trial<'a, L, W>,
    seat: Seat,
    port: &'a P,
    barrier: &'a Barrier<'a>,
}

impl<L: Workload, W: Watch, P: HostAtomics> Lane<'_, L, W, P> {
    fn measure(&self, report: &mut LaneReport) -> Result<(), Unready> {
        let stage = self.trial.stage;
        let limits = stage.spec.limits;
        self.clear()?;
        let worker = self.worker(self.port, 0);
        L::prepare(&worker, self.trial.layout, self.trial.params)?;
        let start = self.port.now();
        let mut repetition = 0;
        self.estimate()?;
        loop {
            let (outcome, started) = self.repeat(self.port, repetition)?;
            repetition += 1;
            if repetition > limits.warmup {
                report.add(outcome);
                report.starts.extend(started);
            }
            if self.seat.leads_pod() {
                (stage.progress)(f64::from(repetition));
            }
            let (stopped, estimate) = self.decide(report, start)?;
            report.stopped = stopped;
            if stopped.is_some() {
                break;
            }
            if estimate {
                self.estimate()?;
            }
        }
        self.count(report, repetition)?;
        Ok(self.verify(report, repetition + 1)?)
    }

    /// Zeroes the workload's area at the device, a stripe a host, and drops every stale line of it.
    fn clear(&self) -> Result<(), Gone> {
        if self.trial.blank {
            return self.barrier.wait(self.port);
        }
        if self.seat.leads_host() {
            let hosts = self.trial.stage.spec.pod.hosts as usize;
            let host = self.seat.host as usize;
            self.each_chunk(host, hosts, |port, chunk| {
                port.write_posted(chunk.start(), &ZEROS[..chunk.len()]);
            })?;
        }
        self.barrier.wait(self.port)?;
        if self.seat.leads_host() {
            // Serves the workload's first loads: lines of the last trial may still be here.
            self.each_chunk(0, 1, |port, chunk| port.observe(chunk.lines()))?;
        }
        self.barrier.wait(self.port)
    }

    /// Calls `f` with every `stride`-th chunk of the area, from chunk `first`, beating in between.
    fn each_chunk(
        &self,
        first: usize,
        stride: usize,
        f: impl Fn(&P, Slice<u64>),
    ) -> Result<(), Gone> {
        let area = self.trial.area;
        for chunk in (first * CHUNK_WORDS..area.len()).step_by(stride * CHUNK_WORDS) {
            f(
                self.port,
                area.range(chunk, (chunk + CHUNK_WORDS).min(area.len())),
            );
            self.trial.stage.watch.look(self.seat, self.port)?;
        }
        Ok(())
    }

    /// Asks for the time anew; the other lanes wait in the next barrier.
    fn estimate(&self) -> Result<(), Gone> {
        match self.trial.stage.time {
            Some(time) if self.seat.leads_host() => time.estimate(self.port, self.seat),
            _ => Ok(()),
        }
    }

    fn repeat<Q: HostAtomics>(
        &self,
        port: &Q,
        repetition: u32,
    ) -> Result<(Outcome, Option<Started>), Gone> {
        self.trial.stage.watch.look(self.seat, self.port)?;
        self.barrier.wait(self.port)?;
        let started = self.set_off()?;
        let progress = self.trial.stage.progress;
        let within = |share| progress(f64::from(repetition) + share);
        let worker = self.worker(port, repetition).telling(&within);
        let outcome = L::run(&worker, self.trial.layout, self.trial.params)?;
        self.barrier.wait(self.port)?;
        Ok((outcome, started))
    }

    /// Lets this lane loose, and notes when that was.
    fn set_off(&self) -> Result<Option<Started>, Gone> {
        let stage = self.trial.stage;
        let Some(time) = stage.time else {
            return Ok(None);
        };
        let named_ns = match (stage.spec.limits.start, stage.control.start) {
            (StartBy::Window, Some(line)) => Some(self.await_window(time, line)?),
            _ => None,
        };
        Ok(time.started(self.port, self.seat, self.port.now(), named_ns))
    }

    /// Waits for the time that host 0 names, by this lane's own clock; the time, by host 0's.
    fn await_window(&self, time: &Timekeeper<'_>, line: Slice<u64>) -> Result<f64, Gone> {
        let (port, number) = (self.port, self.barrier.epoch());
        let named_ns = if self.seat.leads_pod() {
            let named_ns = own_ns(port, port.now()) + WINDOW_NS;
            // The number last: a line that has it has the time (stores drain in order).
            port.store(line.start(), named_ns.to_bits());
            port.store(line.at(1), number);
            // Serves every other lane's poll below.
            port.publish(line.lines());
            named_ns
        } else {
            wait_until(port, || {
                // Serves the load below, anew for each look, and the one of the time behind it.
                port.observe(line.lines());
                (port.load(line.at(1)) >= number).then_some(())
            })?;
            f64::from_bits(port.load(line.start()))
        };
        wait_until(port, || {
            let now = port.now();
            // Where nobody can tell, nothing can be waited for.
            let offset = time.offset(port, self.seat, now);
            let over = |offset_ns| own_ns(port, now) + offset_ns >= named_ns;
            offset
                .is_none_or(|offset| over(offset.offset_ns))
                .then_some(())
        })?;
        Ok(named_ns)
    }

    fn worker<'w, Q: HostAtomics>(&'w self, port: &'w Q, repetition: u32) -> Worker<'w, Q> {
        let spec = self.trial.stage.spec;
        Worker::new(
            port,
            spec.pod,
            self.seat,
            self.barrier,
            spec.seed,
            repetition,
        )
    }

    /// Host 0 decides by its own samples whether another repetition follows, and whether it is time
    /// to compare clocks; everyone learns it.
    ///
    /// The number published contains the barrier's epoch, so it differs from every earlier one.
    fn decide(&self, report: &LaneReport, start: Ticks) -> Result<(Option<Stop>, bool), Gone> {
        let stage = self.trial.stage;
        let decision = stage.control.decision;
        let turn = self.barrier.epoch() * 8;
        if self.seat.leads_pod() {
            let verdict = self.judge(report, start);
            let estimate = stage.time.is_some_and(|time| time.due(self.port));
            let number = turn + code(verdict) + u64::from(estimate) * ESTIMATE;
            // Serves every other lane's poll below. This lane knows, and does not load the line:
            // a `movnti` discipline forbids the writer to hold it.
            self.port.write_published(decision, &[number]);
            return Ok((verdict, estimate));
        }
        let number = wait_until(self.port, || {
            // Serves the load below, anew for each look.
            self.port.observe(decision.line());
            let number: u64 = self.port.load(decision);
            (number >= turn).then_some(number)
        })?;
        let told = number - turn;
        Ok((stop(told % ESTIMATE), told >= ESTIMATE))
    }

    fn judge(&self, report: &LaneReport, start: Ticks) -> Option<Stop> {
        let limits = self.trial.stage.spec.limits;
        if report.reps < limits.min_reps {
            return None;
        }
        let seconds = self.port.clock().span_ns(start, self.port.now()) / 1e9;
        if report
            .precision()
            .is_some_and(|width| width <= limits.target)
        {
            Some(Stop::Target)
        } else if report.reps >= limits.max_reps {
            Some(Stop::MaxReps)
        } else if seconds >= limits.max_seconds {
            Some(Stop::MaxSeconds)
        } else {
            None
        }
    }

    /// One more repetition, untimed, through a counting port.
    fn count(&self, report: &mut LaneReport, repetition: u32) -> Result<(), Gone> {
        let count = Count::default();
        let counted = Tapped::new(self.port, &count);
        report.operations = self.repeat(&counted, repetition)?.0.operations;
        report.census = count.census();
        Ok(())
    }

    fn verify(&self, report: &mut LaneReport, repetitions: u32) -> Result<(), Gone> {
        self.barrier.wait(self.port)?;
        let worker = self.worker(self.port, repetitions);
        match L::verify(&worker, self.trial.layout, self.trial.params, repetitions) {
            Ok(Verified::Nothing) => {}
            Ok(Verified::Right) => report.verified = Some(true),
            Ok(Verified::Answer(answer)) => {
                report.verified = Some(true);
                report.answer = Some(answer);
            }
            Err(mismatch) => {
                report.verified = Some(false);
                report.error = Some(mismatch.to_string());
                report.blame = Some(Blame::Answer);
            }
        }
        // Nobody clears the area for the next trial while another still verifies.
        self.barrier.wait(self.port)
    }
}

/// In a decision, beside whether another repetition follows: clocks are compared first.
const ESTIMATE: u64 = 4;

/// From naming a time to that time. Everybody has just left a barrier; what has to fit is the way
/// of one published line to every host, which takes microseconds, unless lanes share a core. Who
/// comes later says so.
const WINDOW_NS: f64 = 200_000.0;

/// Words cleared between two looks at the clock: 32 KiB.
const CHUNK_WORDS: usize = 4 * 1024;

/// Not on the stack: a simulated lane has a small one.
static ZEROS: [u64; CHUNK_WORDS] = [0; CHUNK_WORDS];

fn code(stop: Option<Stop>) -> u64 {
    match stop {
        None => 0,
        Some(Stop::Target) => 1,
        Some(Stop::MaxReps) => 2,
        Some(Stop::MaxSeconds | Stop::Interrupted) => 3,
    }
}

fn stop(code: u64) -> Option<Stop> {
    match code {
        0 => None,
        1 => Some(Stop::Target),
        2 => Some(Stop::MaxReps),
        _ => Some(Stop::MaxSeconds),
    }
}
