//! What it costs to wait for everyone.
//!
//! *Kernel.* `contenders` lanes of each host, or of host 0 alone, pass barrier after barrier. With
//! a skew, lane i of n comes `skew_ns` times i / (n - 1) after the first, so that the last one
//! finds all the others there.
//!
//! *Sharing.* The barrier's own lines (crate `sync`). *Maintenance an operation.* That of the
//! barrier; an operation is one barrier of one lane.
//!
//! *Metrics.* `barrier_ns`: from coming to leaving. Without a skew each lane's own; with one, the
//! last lane's alone, since the others also wait for the skew. Between hosts also
//! `barrier_bound_ns`, one trip: the last host must be seen by all.
//!
//! *Verified.* In rounds of their own, untimed, each lane counts its barriers in a line before it
//! waits; after the barrier no lane's count may be behind.

use fabric::{Arena, Coherence, Gone, HostAtomics, Line, Pod, Seat, Slice, Ticks};
use serde::{Deserialize, Serialize};
use sync::barrier::{AnyBarrier, BarrierAlgorithm, BarrierLayout, BarrierVisitor, HostBarrier};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::cast::Spread;
use crate::stay::stay;
use crate::verdict::Verdict;
use crate::yardstick::Yardstick;

/// Barriers of a repetition that are checked instead of timed.
const CHECKED: u64 = 8;

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Which barrier between hosts.
    pub algorithm: BarrierAlgorithm,
    /// Lanes of a host that meet; 0: all.
    pub contenders: u32,
    /// Whether those of all hosts meet, or those of host 0 alone.
    pub spread: Spread,
    /// How much later than the first the last lane comes, in nanoseconds.
    pub skew_ns: u32,
    /// Children of a tree's hosts.
    pub arity: u32,
    /// Timed barriers of a repetition.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            algorithm: BarrierAlgorithm::AllToAll,
            contenders: 0,
            spread: Spread::Hosts,
            skew_ns: 0,
            arity: 2,
            rounds: 200,
        }
    }
}

impl Params {
    /// The lanes that meet, as a pod of their own.
    fn meeting(&self, pod: Pod) -> Pod {
        let lanes = if self.contenders == 0 {
            pod.lanes
        } else {
            self.contenders
        };
        match self.spread {
            Spread::Hosts => Pod::new(pod.hosts, lanes),
            Spread::Lanes => Pod::new(1, lanes),
        }
    }

    fn takes_part(&self, pod: Pod, seat: Seat) -> bool {
        let meeting = self.meeting(pod);
        seat.host < meeting.hosts && seat.lane < meeting.lanes
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    barrier: AnyBarrier,
    /// How many checked barriers each lane has come to.
    steps: Vec<Slice<u64>>,
    verdict: Verdict,
    yardstick: Yardstick,
}

/// The workload.
#[derive(Debug)]
pub struct Barrier;

impl Workload for Barrier {
    const NAME: &'static str = "barrier";
    const ABOUT: &'static str = "how long a barrier of all lanes takes";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let pod = params.meeting(pod);
        let lanes = pod.hosts * pod.lanes;
        Layout {
            barrier: AnyBarrier::lay_out(params.algorithm, arena, "barrier", pod, params.arity),
            steps: arena.per_host("barrier.step", lanes, 1),
            verdict: Verdict::lay_out(arena, "barrier.behind"),
            yardstick: Yardstick::lay_out(arena, "barrier.yardstick"),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if params.contenders > pod.lanes {
            return Err(format!(
                "contenders = {}: lanes of a host; use 1 to {}, 0 for all, or more --lanes",
                params.contenders, pod.lanes
            ));
        }
        if params.rounds == 0 {
            return Err("rounds = 0: use 1 or more".into());
        }
        if params.arity == 0 {
            return Err("arity = 0: use 1 or more".into());
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        if let Some(why) = refuses(worker, params) {
            let series = Series::absent("barrier_ns", "ns", why);
            return Ok(Outcome {
                series: if worker.seat().leads_pod() {
                    vec![series]
                } else {
                    Vec::new()
                },
                operations: 0,
            });
        }
        let bounds = layout.yardstick.measure(worker)?;
        worker.line_up()?;
        if !params.takes_part(worker.pod(), worker.seat()) {
            return Ok(Outcome::default());
        }
        let mut outcome = layout.barrier.visit(Lane {
            worker,
            pod: params.meeting(worker.pod()),
            layout,
            params,
        })?;
        outcome
            .series
            .extend(bounds.of_trips("barrier_bound_ns", 1));
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let took_part = params.takes_part(worker.pod(), worker.seat());
        if !worker.seat().leads_host() || !took_part || refuses(worker, params).is_some() {
            return Ok(Verified::Nothing);
        }
        let what = "lanes that passed before all had come";
        layout.verdict.demand(worker.port(), repetitions, what)?;
        Ok(Verified::Right)
    }
}

fn refuses<P: HostAtomics>(worker: &Worker<'_, P>, params: &Params) -> Option<&'static str> {
    let alone =
        params.meeting(worker.pod()).hosts == 1 || worker.port().coherence() == Coherence::Hardware;
    (params.algorithm.is_hardware() && !alone).then_some(
        "atomic instructions work within one host of this pod: set spread = lanes for a barrier of \
         one host's lanes, or use a coherent pod",
    )
}

/// One lane in one repetition, for a barrier of known type.
struct Lane<'a, 'w, P> {
    worker: &'a Worker<'w, P>,
    /// The lanes that meet.
    pod: Pod,
    layout: &'a Layout,
    params: &'a Params,
}

impl<P: HostAtomics> BarrierVisitor for Lane<'_, '_, P> {
    type Out = Result<Outcome, Gone>;

    fn visit<B: HostBarrier>(self, between: &BarrierLayout<B>) -> Result<Outcome, Gone> {
        let (pod, seat) = (self.pod, self.worker.seat());
        let rounds = u64::from(self.params.rounds);
        let before = u64::from(self.worker.repetition()) * (CHECKED + rounds);
        let barrier = sync::Barrier::resumed(between, pod, seat, before);
        self.check(&barrier)?;
        let (port, lane) = (self.worker.port(), lane(pod, seat));
        let lanes = pod.hosts * pod.lanes;
        let skew = u64::from(self.params.skew_ns) * u64::from(lane) / u64::from(lanes.max(2) - 1);
        let mut spans = Vec::with_capacity(rounds as usize);
        for _ in 0..rounds {
            stay(port, skew)?;
            let start = port.now();
            barrier.wait(port)?;
            spans.push(port.now().0 - start.0);
        }
        let clock = port.clock();
        let ns = |&span: &u64| clock.span_ns(Ticks(0), Ticks(span));
        let mut outcome = Outcome {
            series: Vec::new(),
            operations: rounds,
        };
        if self.params.skew_ns == 0 || lane + 1 == lanes {
            let samples = spans.iter().map(ns).collect();
            outcome.series.push(Series::of("barrier_ns", "ns", samples));
        }
        Ok(outcome)
    }
}

impl<P: HostAtomics> Lane<'_, '_, P> {
    /// Passes some barriers and looks whether everyone had come. Aside: not the algorithm's.
    fn check<B: HostBarrier>(&self, barrier: &sync::Barrier<'_, B>) -> Result<(), Gone> {
        let (pod, seat) = (self.pod, self.worker.seat());
        let before = u64::from(self.worker.repetition()) * CHECKED;
        let steps = &self.layout.steps;
        let lines: Vec<Line> = steps.iter().map(|step| step.start().line()).collect();
        self.worker.port().aside(|port| {
            let mut behind = 0;
            for step in before + 1..=before + CHECKED {
                let mine = steps[lane(pod, seat) as usize].start();
                port.store(mine, step);
                // Serves the others' looks after the barrier.
                port.post(mine.line());
                barrier.wait(port)?;
                // Serves the loads below.
                port.observe_each(&lines);
                for other in steps {
                    behind += u64::from(port.load(other.start()) < step);
                }
            }
            self.layout.verdict.note(port, behind);
            Ok(())
        })
    }
}

fn lane(pod: Pod, seat: Seat) -> u32 {
    seat.host * pod.lanes + seat.lane
}
