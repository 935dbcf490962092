//! One trial: an application under a policy from its first touch to its end.

use std::collections::VecDeque;

use crate::application::{Application, Phase, Step};
use crate::machine::{DAEMONS, Daemon, Mechanism, QUANTUM_PS, SPENT, Setup, Spent, Tally, Tier};
use crate::policy::{Gauges, Policy, Profile, Tick};
use crate::preset::MachinePreset;
use crate::truth::{Truth, true_shares};
use crate::world::{Lane, World};

/// Points of a series at most; then every second one is dropped.
const POINTS: usize = 400;

/// Regions whose entries are checked one by one at every check of page conservation.
const CHECK_DEPTH: usize = 4;

/// Quanta between two checks of page conservation when no clock ticks.
const CHECK_EVERY: u64 = 64;

/// The state at one moment of the measured phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the measured phase began, at full scale.
    pub seconds: f64,
    /// The share of demand misses that the fast tier served since the last point.
    pub fast_hit_ratio: f64,
    /// Resident bytes, at full scale.
    pub resident_bytes: f64,
    /// Bytes moved since the start, at full scale.
    pub moved_bytes: f64,
    /// What the policy shows.
    pub gauges: Gauges,
}

/// What a trial left.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The measured phase, in seconds at full scale.
    pub seconds: f64,
    /// Initialization, in seconds at full scale.
    pub setup_seconds: f64,
    /// Counts of the measured phase.
    pub tally: Tally,
    /// Counts of the whole trial.
    pub whole: Tally,
    /// Thread time of the measured phase by kind, in seconds of one thread at full scale.
    pub spent: Vec<(&'static str, f64)>,
    /// Time of the measured phase that each daemon worked, in seconds of its core at full scale.
    pub background: Vec<(&'static str, f64)>,
    /// Base pages resident at the end of initialization.
    pub setup_pages: u64,
    /// Resident bytes at the end, at full scale.
    pub resident_bytes: f64,
    /// Bytes of the fast tier in use at the end, at full scale.
    pub fast_bytes: f64,
    /// Bytes moved in the measured phase, at full scale.
    pub migrated_bytes: f64,
    /// The sampler's daemon: share of one core over the whole trial.
    pub sampler_share: f64,
    /// What the policy showed at the end.
    pub gauges: Gauges,
    /// Moments of the measured phase.
    pub series: Vec<Point>,
    /// The sampler's view against the truth, at each cooling of the measured phase.
    pub truths: Vec<Truth>,
    /// True heat, if it was asked for.
    pub profile: Profile,
}

/// What to run.
pub struct Trial<'a> {
    /// The machine's constants.
    pub preset: &'a MachinePreset,
    /// Scale, tiers, seed.
    pub setup: Setup,
    /// The application.
    pub application: Box<dyn Application>,
    /// The policy.
    pub policy: Box<dyn Policy>,
    /// Whether to keep the true heat of each page.
    pub profile: bool,
}

struct Clock {
    tick: Tick,
    period: u64,
    due: u64,
}

struct Run {
    world: World,
    application: Box<dyn Application>,
    clocks: Vec<Clock>,
    waiting: Vec<bool>,
    quanta: u64,
    measured: Option<Begin>,
    watch: Watch,
    keep_profile: bool,
    epoch: usize,
    profile: Profile,
}

/// The state when the measured phase began.
struct Begin {
    at: u64,
    tally: Tally,
    spent: [u64; SPENT.len()],
    background: [u64; DAEMONS.len()],
    pages: u64,
}

/// What each daemon has worked so far.
fn worked(machine: &Mechanism) -> [u64; DAEMONS.len()] {
    DAEMONS.map(|(daemon, _)| machine.busy(daemon))
}

#[derive(Default)]
struct Watch {
    every: u64,
    due: u64,
    last: Tally,
    series: Vec<Point>,
    coolings: u64,
    truths: VecDeque<Truth>,
}

impl Trial<'_> {
    /// Runs it.
    pub fn run(self) -> Outcome {
        let mechanism = Mechanism::new(self.preset, self.setup);
        let threads = mechanism.threads();
        let clocks = self.policy.clocks().into_iter();
        let clocks = clocks
            .map(|(tick, period)| Clock {
                tick,
                period: period.max(QUANTUM_PS),
                due: period.max(QUANTUM_PS),
            })
            .collect();
        let watch = Watch {
            // One second at full scale, and more as the series grows.
            every: self.setup.scale.time_ps(1e9),
            ..Watch::default()
        };
        let mut run = Run {
            world: World::new(mechanism, self.policy),
            application: self.application,
            clocks,
            waiting: vec![false; threads],
            quanta: 0,
            measured: None,
            watch,
            keep_profile: self.profile,
            epoch: 0,
            profile: Profile::default(),
        };
        run.whole();
        run.outcome()
    }
}

impl Run {
    fn whole(&mut self) {
        let mut lane = Lane {
            world: &mut self.world,
            thread: 0,
        };
        self.application.layout(&mut lane);
        while self.begin_phase() {
            self.phase();
        }
        self.world.mechanism.conserve(usize::MAX);
    }

    /// Begins the next phase; false at the end.
    fn begin_phase(&mut self) -> bool {
        let at = self.world.mechanism.align();
        match self.application.next_phase() {
            Phase::End => return false,
            Phase::Setup => {}
            Phase::Measured if self.measured.is_some() => {}
            Phase::Measured => self.begin_measuring(at),
        }
        self.waiting.fill(false);
        true
    }

    fn begin_measuring(&mut self, at: u64) {
        let machine = &mut self.world.mechanism;
        self.measured = Some(Begin {
            at,
            tally: *machine.tally(),
            spent: machine.spent(),
            background: worked(machine),
            pages: machine.pages().resident_all(),
        });
        self.watch.due = at + self.watch.every;
        self.watch.last = *machine.tally();
        self.watch.coolings = self.world.policy.gauges().coolings;
        self.world.policy.on_tick(Tick::Epoch(0), machine);
        if self.keep_profile {
            machine.reset_heat();
            self.profile.epochs.push(Vec::new());
        }
    }

    fn phase(&mut self) {
        while !self.waiting.iter().all(|&waits| waits) {
            let end = self.world.mechanism.now() + QUANTUM_PS;
            for thread in 0..self.waiting.len() {
                self.quantum(thread, end);
            }
            self.close(end);
        }
    }

    fn quantum(&mut self, thread: usize, end: u64) {
        let mut lane = Lane {
            world: &mut self.world,
            thread,
        };
        while !self.waiting[thread] && lane.world.mechanism.thread_now(thread) < end {
            self.waiting[thread] = self.application.operate(&mut lane) == Step::Wait;
        }
    }

    fn close(&mut self, end: u64) {
        self.quanta += 1;
        let machine = &mut self.world.mechanism;
        let others = self.application.antagonist_share();
        if others > 0.0 {
            machine.read_by_others(others * machine.fast_bytes_in(QUANTUM_PS));
        }
        machine.close_quantum(end);
        if self.quanta.is_multiple_of(CHECK_EVERY) {
            machine.conserve(CHECK_DEPTH);
        }
        for index in 0..self.clocks.len() {
            let clock = &mut self.clocks[index];
            if clock.due <= end {
                clock.due = end + clock.period;
                let tick = clock.tick;
                self.world.policy.on_tick(tick, &mut self.world.mechanism);
                self.world.mechanism.conserve(0);
            }
        }
        let machine = &mut self.world.mechanism;
        self.world.policy.on_tick(Tick::Resume, machine);
        self.observe(end);
    }

    /// What is written down of the measured phase.
    fn observe(&mut self, now: u64) {
        let Some(begin) = &self.measured else { return };
        let begin_at = begin.at;
        self.follow_progress();
        let gauges = self.world.policy.gauges();
        if gauges.coolings != self.watch.coolings {
            self.watch.coolings = gauges.coolings;
            self.cooled(now, &gauges);
        }
        if now >= self.watch.due {
            self.watch.due = now + self.watch.every;
            let point = self.point(now - begin_at, gauges);
            self.watch.push(point);
            self.watch.last = *self.world.mechanism.tally();
        }
    }

    /// Begins the next part of the measured phase when it is due.
    fn follow_progress(&mut self) {
        let due = (self.application.progress() * Profile::EPOCHS as f64) as usize;
        let due = due.min(Profile::EPOCHS - 1);
        if due <= self.epoch {
            return;
        }
        self.epoch = due;
        let machine = &mut self.world.mechanism;
        if self.keep_profile {
            if let Some(last) = self.profile.epochs.last_mut() {
                *last = machine.heat().to_vec();
            }
            machine.reset_heat();
            // A part that was too short to be seen has no heat of its own.
            self.profile.epochs.resize(due + 1, Vec::new());
        }
        self.world.policy.on_tick(Tick::Epoch(due), machine);
    }

    fn cooled(&mut self, now: u64, gauges: &Gauges) {
        let machine = &mut self.world.mechanism;
        if let (Some(estimated), Some(sampled)) = (gauges.estimated_ehr, gauges.sampled_rhr) {
            let (ehr, rhr) = true_shares(machine);
            self.watch.truths.push_back(Truth {
                seconds: machine.setup().scale.full_ns(now) / 1e9,
                estimated_ehr: estimated,
                true_ehr: ehr,
                sampled_rhr: sampled,
                true_rhr: rhr,
            });
        }
        if !self.keep_profile {
            machine.decay_heat();
        }
    }

    fn point(&self, since: u64, gauges: Gauges) -> Point {
        let machine = &self.world.mechanism;
        let scale = machine.setup().scale;
        Point {
            seconds: scale.full_ns(since) / 1e9,
            fast_hit_ratio: machine.tally().since(&self.watch.last).fast_hit_ratio(),
            resident_bytes: scale.full_bytes(machine.pages().resident_all()),
            moved_bytes: scale.full_bytes(machine.tally().moved_pages()),
            gauges,
        }
    }

    fn outcome(mut self) -> Outcome {
        if self.keep_profile
            && let Some(last) = self.profile.epochs.last_mut()
        {
            *last = self.world.mechanism.heat().to_vec();
        }
        let machine = &self.world.mechanism;
        let scale = machine.setup().scale;
        let end = machine.thread_now(0);
        let begin = self.measured.unwrap_or(Begin {
            at: end,
            tally: *machine.tally(),
            spent: machine.spent(),
            background: worked(machine),
            pages: machine.pages().resident_all(),
        });
        let tally = machine.tally().since(&begin.tally);
        let seconds = |ps: u64| scale.full_ns(ps) / 1e9;
        let spent = SPENT.iter().map(|&(kind, name): &(Spent, _)| {
            let index = kind as usize;
            (name, seconds(machine.spent()[index] - begin.spent[index]))
        });
        let background = worked(machine).into_iter().zip(begin.background);
        let background = DAEMONS.iter().zip(background);
        let background = background.map(|((_, name), (now, then))| (*name, seconds(now - then)));
        Outcome {
            background: background.collect(),
            seconds: seconds(end - begin.at),
            setup_seconds: seconds(begin.at),
            tally,
            whole: *machine.tally(),
            spent: spent.collect(),
            setup_pages: begin.pages,
            resident_bytes: scale.full_bytes(machine.pages().resident_all()),
            fast_bytes: scale.full_bytes(machine.pages().resident(Tier::Fast)),
            migrated_bytes: scale.full_bytes(tally.moved_pages()),
            sampler_share: machine.busy(Daemon::Sampler) as f64 / end.max(1) as f64,
            gauges: self.world.policy.gauges(),
            series: self.watch.series,
            truths: self.watch.truths.into(),
            profile: self.profile,
        }
    }
}

impl Watch {
    /// Keeps a point; a long series is thinned to every second point, and grows half as fast.
    fn push(&mut self, point: Point) {
        self.series.push(point);
        if self.series.len() == POINTS {
            let mut keep = false;
            self.series.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }
}
