//! Clocks that are known to be wrong, and how wrong: what is said of them must hold. The story that
//! this guards: a tool that took half a round trip for a one-way time, and another that reported a
//! core-to-core latency of 0 ns, since two cores' counters differed by more than what it measured.

use std::sync::Mutex;

use fabric::{
    Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, SplitMix64, Substrate,
};
use sync::clocks::{ClockLines, Estimator, Exchange, MAX_DRIFT, Offset, WANDER};

/// A clock of our own making: what it shows at a true time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct TestClock {
    offset_ns: f64,
    drift: f64,
    /// The rate strays by this much around its mean, slowly.
    wander: f64,
    period_ns: f64,
}

impl TestClock {
    fn shows(&self, true_ns: f64) -> f64 {
        let turns = std::f64::consts::TAU * true_ns / self.period_ns;
        // The integral of wander * sin: the clock's own error, not its rate's.
        let strayed = self.wander * self.period_ns / std::f64::consts::TAU * (1.0 - turns.cos());
        true_ns + self.offset_ns + self.drift * true_ns + strayed
    }
}

struct Draw(SplitMix64);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }
}

fn check(told: &Offset, truth: f64, run: u64) {
    assert!(
        (told.offset_ns - truth).abs() <= told.error_ns,
        "run {run}: {truth} is not within {told:?}"
    );
    let limit = told.round_trip_ns / 2.0 + told.drift_bound * told.age_ns;
    // A nanosecond in 10^12 of the times themselves is what their representation costs.
    assert!(
        told.error_ns <= limit + 1e-3,
        "run {run}: {told:?} above {limit}"
    );
}

/// One run: batches of exchanges over seconds, each way of each with a delay of its own.
fn run(seed: u64) {
    let mut draw = Draw(SplitMix64::new(seed));
    let mut clock = |drift: f64| TestClock {
        offset_ns: draw.between(-1e12, 1e12),
        drift: draw.between(-drift, drift),
        wander: draw.between(0.0, WANDER / 4.0),
        period_ns: draw.between(1e9, 1e11),
    };
    // Half of what two clocks may differ by, less what they stray.
    let most = MAX_DRIFT / 2.0 - WANDER;
    let (own, reference) = (clock(most), clock(most));
    let mut estimator = Estimator::default();
    let mut now_ns = draw.between(0.0, 1e10);
    for _ in 0..=draw.0.below(12) {
        let batch: Vec<Exchange> = (0..16)
            .map(|_| {
                let mut way = || 200.0 + draw.between(0.0, 1.0).powi(8) * 50_000.0;
                let (there, back) = (way(), way());
                let asked = now_ns;
                now_ns += there + back;
                Exchange {
                    before_ns: own.shows(asked),
                    reference_ns: reference.shows(asked + there),
                    after_ns: own.shows(now_ns),
                }
            })
            .collect();
        estimator.add(&batch);
        // Asked for right after, and long after.
        for _ in 0..3 {
            now_ns += draw.between(0.0, 1e9);
            let told = estimator
                .at(own.shows(now_ns))
                .expect("the assumptions hold");
            check(&told, reference.shows(now_ns) - own.shows(now_ns), seed);
        }
    }
}

#[test]
fn the_stated_error_contains_the_truth_in_1000_of_1000_runs() {
    for seed in 0..1_000 {
        run(seed);
    }
}

/// Hosts whose clocks are off, in a simulated pod: the exchange itself, over published lines.
struct Exchanges<'a> {
    lines: &'a ClockLines,
    clocks: &'a [TestClock],
    found: Mutex<Vec<(u32, Offset, f64)>>,
}

impl Program for Exchanges<'_> {
    type Out = ();

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) {
        let true_ns = |port: &P| port.now().0 as f64 / port.clock().ticks_per_ns;
        let own = self.clocks[seat.host as usize];
        let clock = |port: &P| own.shows(true_ns(port));
        let mut estimator = Estimator::default();
        for batch in 0..4 {
            let before = batch * 8;
            if seat.host == 0 {
                self.lines
                    .answer(port, before, 8, clock)
                    .expect("nothing ends the wait");
                continue;
            }
            let exchanges = self.lines.ask(port, seat.host, before, 8, clock);
            estimator.add(&exchanges.expect("nothing ends the wait"));
            let at_ns = true_ns(port);
            let told = estimator
                .at(own.shows(at_ns))
                .expect("the assumptions hold");
            let truth = self.clocks[0].shows(at_ns) - own.shows(at_ns);
            self.found
                .lock()
                .expect("no lane panics")
                .push((seat.host, told, truth));
        }
    }
}

#[test]
fn hosts_of_a_simulated_pod_learn_each_other_s_offset_over_the_region() {
    let file = sim::pod::load("sc26-four-host").expect("it ships");
    let pod = Pod::new(4, 1);
    for seed in 0..50 {
        let mut draw = Draw(SplitMix64::new(seed));
        let clocks: Vec<TestClock> = (0..4)
            .map(|_| TestClock {
                offset_ns: draw.between(-1e9, 1e9),
                drift: draw.between(-200e-6, 200e-6),
                wander: 0.0,
                period_ns: 1e9,
            })
            .collect();
        let mut arena = fabric::Arena::new();
        let lines = ClockLines::lay_out(&mut arena, 4);
        let sim = sim::Sim::new(file.clone(), pod).seed(seed);
        let sim = sim.region_bytes(arena.region_bytes());
        let exchanges = Exchanges {
            lines: &lines,
            clocks: &clocks,
            found: Mutex::new(Vec::new()),
        };
        let setting = Setting {
            pod,
            discipline: Discipline::DEFAULT,
            host_bytes: 0,
        };
        sim.run(&setting, &NoWatch, &exchanges);
        let found = exchanges.found.into_inner().expect("no lane panics");
        assert_eq!(found.len(), 3 * 4);
        for (host, told, truth) in found {
            check(&told, truth, seed * 10 + u64::from(host));
            // Not vacuous: a round trip of two publishes and two observes is some microseconds.
            assert!(told.error_ns < 10_000.0, "{told:?}");
        }
    }
}
