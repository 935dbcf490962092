//! Every barrier, any number of hosts, on simulated pods. The story: a barrier whose flags survived
//! the last run was satisfied by them before anyone had arrived (FUSEE-CXL); one with toggled bits
//! is satisfied by a stale line of the barrier before the last.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Dice, run, simulated};
use fabric::{Arena, Census, Count, HostAtomics, Pod, Program, Ptr, Seat, Tapped};
use sim::{Sim, pod};
use sync::barrier::{
    AnyBarrier, Barrier, BarrierAlgorithm, BarrierLayout, BarrierVisitor, HostBarrier,
};

/// Each lane counts its barriers in a line of its own before it waits, and looks at all the others'
/// lines afterwards: none may be behind.
struct Marching {
    pod: Pod,
    barrier: AnyBarrier,
    steps: Vec<Ptr<u64>>,
    rounds: u64,
    seed: u64,
    most_work: u64,
    host_bytes: u64,
}

impl Marching {
    fn new(algorithm: BarrierAlgorithm, pod: Pod, arity: u32, seed: u64) -> Self {
        let mut arena = Arena::new();
        let barrier = AnyBarrier::lay_out(algorithm, &mut arena, "test.barrier", pod, arity);
        let mut step = |seat: Seat| arena.aligned(format!("{seat:?}"), 1, 128).start();
        Self {
            pod,
            barrier,
            steps: pod.seats().map(&mut step).collect(),
            rounds: 8,
            seed,
            most_work: 10_000,
            host_bytes: arena.host_bytes(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Marched {
    behind: u64,
    census: Census,
    slowest_ns: f64,
}

struct Lane<'a, P> {
    marching: &'a Marching,
    port: &'a P,
    seat: Seat,
}

impl<P: HostAtomics> BarrierVisitor for Lane<'_, P> {
    type Out = Marched;

    fn visit<B: HostBarrier>(self, layout: &BarrierLayout<B>) -> Marched {
        let (marching, port) = (self.marching, self.port);
        let count = Count::default();
        let counted = Tapped::new(port, &count);
        let barrier = Barrier::new(layout, marching.pod, self.seat, 0);
        let mut dice = Dice::new(marching.seed, self.seat);
        let mine = marching.steps[(self.seat.host * marching.pod.lanes + self.seat.lane) as usize];
        let mut marched = Marched::default();
        for round in 1..=marching.rounds {
            if marching.most_work > 0 {
                port.work(dice.roll(marching.most_work) as u32);
                port.write_published(mine, &[round]);
            }
            let start = port.now();
            barrier.wait(&counted).unwrap();
            let took = port.clock().span_ns(start, port.now());
            marched.slowest_ns = marched.slowest_ns.max(took);
            if marching.most_work == 0 {
                continue;
            }
            for &step in &marching.steps {
                port.observe(step.line());
                marched.behind += u64::from(port.load(step) < round);
            }
        }
        marched.census = count.census();
        marched
    }
}

impl Program for Marching {
    type Out = Marched;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Marched {
        self.barrier.visit(Lane {
            marching: self,
            port,
            seat,
        })
    }
}

#[test]
fn nobody_passes_before_the_last_has_come_with_any_number_of_hosts() {
    for &algorithm in BarrierAlgorithm::ALL {
        let name = match algorithm {
            BarrierAlgorithm::Hardware => "coherent-four-host",
            _ => "sc26-four-host",
        };
        let (_, _, discipline, _) = simulated(name, 1);
        for (hosts, lanes, arity) in [
            (1, 3, 2),
            (2, 1, 2),
            (3, 2, 1),
            (5, 1, 3),
            (8, 2, 2),
            (13, 1, 4),
        ] {
            for seed in 0..3 {
                let pod = Pod::new(hosts, lanes);
                let sim = Sim::new(pod::load(name).unwrap(), pod);
                let marching = Marching::new(algorithm, pod, arity, seed);
                for (seat, marched) in run(&sim, pod, discipline, marching.host_bytes, &marching) {
                    assert_eq!(
                        marched.behind, 0,
                        "{algorithm}, {pod:?}, seed {seed}: {seat:?}"
                    );
                }
            }
        }
    }
}

fn at_once(algorithm: BarrierAlgorithm) -> (Census, f64) {
    let (sim, pod, discipline, _) = simulated("sc26-four-host", 1);
    let marching = Marching {
        most_work: 0,
        ..Marching::new(algorithm, pod, 2, 0)
    };
    let out = run(&sim, pod, discipline, marching.host_bytes, &marching);
    let mut census = Census::default();
    let mut slowest_ns: f64 = 0.0;
    for (_, marched) in out {
        census += marched.census;
        slowest_ns = slowest_ns.max(marched.slowest_ns);
    }
    (census, slowest_ns)
}

#[test]
fn publishes_are_those_of_the_table() {
    let rounds = 8;
    for (algorithm, publishes, lines) in [
        (BarrierAlgorithm::AllToAll, 4, 4),
        (BarrierAlgorithm::Dissemination, 8, 8),
        (BarrierAlgorithm::Central, 4, 4),
        (BarrierAlgorithm::RcceLinear, 4, 6),
        (BarrierAlgorithm::Tournament, 4, 4),
        (BarrierAlgorithm::Tree, 4, 4),
    ] {
        let (census, _) = at_once(algorithm);
        assert_eq!(census.publishes, rounds * publishes, "{algorithm}");
        assert_eq!(census.lines_published, rounds * lines, "{algorithm}");
    }
}

#[test]
fn all_to_all_takes_one_one_way_trip() {
    let (sim, ..) = simulated("sc26-four-host", 1);
    let flush = &sim.file().flush;
    let (publish, observe) = (
        flush.publish_dirty_ns.value,
        flush.observe_peer_written_ns.value,
    );
    let (_, took) = at_once(BarrierAlgorithm::AllToAll);
    assert!(took <= 1.15 * (publish + 1.5 * observe), "{took} ns");
    for slower in [BarrierAlgorithm::Central, BarrierAlgorithm::Dissemination] {
        assert!(
            at_once(slower).1 > 1.5 * took,
            "{slower}: {} ns",
            at_once(slower).1
        );
    }
}
