//! Every lock on every simulated pod. The story: a published fetch-and-add for such pods counted
//! 80,000 of 80,000, and the ticket lock built on it hung (FUSEE-CXL); so what is asked here is not
//! one counter on one pod, but no overlap and no lost increment under many interleavings.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Counting, run, simulated};
use fabric::{Arena, Discipline, HostAtomics, Pod, Program, Seat, Ticks};
use sim::Sim;
use sync::lock::{Algorithm, AnyLock, Lock, LockVisitor, Member, NotAcquired, Options};
use sync::{Arrival, Desk, Patience};

const PODS: [&str; 5] = [
    "sc26-four-host",
    "xc50256-two-host",
    "niagara2-two-host",
    "multi-headed-three-host",
    "coherent-four-host",
];

fn count(algorithm: Algorithm, name: &str, lanes: u32, rounds: u64, seed: u64) {
    let (sim, pod, discipline, arrival) = simulated(name, lanes);
    let options = Options {
        arrival,
        local_passes: 3,
        ..Options::of(pod)
    };
    let counting = Counting::new(algorithm, &options, rounds, seed);
    let seen = run(&sim, pod, discipline, counting.host_bytes, &counting);
    for (seat, seen) in seen {
        let what = format!("{algorithm} on {name}, {lanes} lanes, seed {seed}: {seat:?}");
        assert_eq!(seen.overlaps, 0, "{what}");
        assert_eq!(seen.counter, counting.total(), "{what}");
    }
}

fn works_on(algorithm: Algorithm, name: &str) -> bool {
    !algorithm.is_hardware() || name == "coherent-four-host"
}

#[test]
fn one_lane_a_host_counts_exactly_on_every_pod() {
    for &algorithm in Algorithm::ALL {
        for name in PODS.iter().filter(|name| works_on(algorithm, name)) {
            for seed in 0..5 {
                count(algorithm, name, 1, 20, seed);
            }
        }
    }
}

#[test]
fn lanes_of_a_host_share_its_place_among_the_hosts() {
    for &algorithm in Algorithm::ALL {
        for name in PODS.iter().filter(|name| works_on(algorithm, name)) {
            for seed in 0..2 {
                count(algorithm, name, 3, 10, seed);
            }
        }
    }
}

/// A pod whose writes may be held after their fence.
fn posted(hold_ns: f64) -> sim::pod::PodFile {
    let mut file = sim::pod::load("sc26-four-host").unwrap();
    file.write_mode.value = "posted".into();
    file.fence.posted_hold_ns.value = hold_ns;
    file
}

/// Overlaps and lost increments over a few seeds.
fn damage(algorithm: Algorithm, arrival: Arrival) -> u64 {
    let file = posted(5_000.0);
    let pod = Pod::new(4, 1);
    let mut damage = 0;
    for seed in 0..10 {
        let options = Options {
            arrival,
            delay_ns: 40_000.0,
            ..Options::of(pod)
        };
        let mut counting = Counting::new(algorithm, &options, 20, seed);
        // The hold is the same for all writes: lanes have to drift apart by as much.
        counting.most_work = 4_000 + 8_000 * seed;
        // What is broken may also wait for ever: that counts as damage.
        let sim = Sim::new(file.clone(), pod).stall_limit_ms(5);
        let seen = run(
            &sim,
            pod,
            Discipline::DEFAULT,
            counting.host_bytes,
            &counting,
        );
        damage += seen.iter().map(|(_, seen)| seen.overlaps).sum::<u64>();
        damage += counting.total().abs_diff(seen[0].1.counter);
    }
    damage
}

#[test]
fn where_fences_do_not_mean_arrival_register_locks_need_confirm() {
    for &algorithm in Algorithm::ALL {
        let reads_after_writing = matches!(
            algorithm,
            Algorithm::Bakery
                | Algorithm::BakeryFastPath
                | Algorithm::LamportFast
                | Algorithm::PetersonTournament
                | Algorithm::YangAnderson
                | Algorithm::Szymanski
                | Algorithm::BurnsLynch
        );
        if algorithm.is_hardware() {
            continue;
        }
        assert_eq!(
            damage(algorithm, Arrival::Confirm),
            0,
            "{algorithm}, confirmed"
        );
        let fenced = damage(algorithm, Arrival::Fence);
        if reads_after_writing {
            assert!(
                fenced > 0,
                "{algorithm} works by fences: what is confirm for?"
            );
        } else {
            assert_eq!(fenced, 0, "{algorithm} passes messages, or waits");
        }
    }
}

/// Host 1 waits for a lock that host 0 never gives up; what its timed acquire says.
struct Stuck {
    lock: AnyLock,
    served: bool,
}

struct StuckLane<'a, P> {
    port: &'a P,
    seat: Seat,
}

impl<P: HostAtomics> LockVisitor for StuckLane<'_, P> {
    type Out = Option<NotAcquired>;

    fn visit<L: Lock>(self, lock: &L) -> Option<NotAcquired> {
        let (port, mut me) = (self.port, Member::new(self.seat.host));
        let until = Patience::for_ns(port, 400_000.0);
        match self.seat.host {
            0 => {
                // It dies inside.
                lock.acquire(port, &mut me, Patience::Endless).unwrap();
                None
            }
            1 => {
                port.work(50_000);
                let first = lock.acquire(port, &mut me, Patience::for_ns(port, 100_000.0));
                let second = lock.acquire(port, &mut me, Patience::for_ns(port, 100_000.0));
                assert_eq!(first, second, "the first left a consistent state");
                first.err()
            }
            _ => {
                let mut desk = Desk::default();
                while L::SERVED && port.now() < until_ticks(until) {
                    lock.serve(port, &mut desk);
                }
                None
            }
        }
    }
}

fn until_ticks(patience: Patience) -> Ticks {
    match patience {
        Patience::Until(end) => end,
        Patience::Endless => unreachable!(),
    }
}

impl Program for Stuck {
    type Out = Option<NotAcquired>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Option<NotAcquired> {
        assert!(self.served || seat.host < 2);
        self.lock.visit(StuckLane { port, seat })
    }
}

#[test]
fn a_timed_acquire_names_the_host_that_died_inside() {
    for &algorithm in Algorithm::ALL {
        let hosts = 2 + u32::from(algorithm.is_served());
        let name = if algorithm.is_hardware() {
            "coherent-four-host"
        } else {
            "sc26-four-host"
        };
        let (_, _, discipline, _) = simulated(name, 1);
        let pod = Pod::new(hosts, 1);
        let mut arena = Arena::new();
        let lock = AnyLock::lay_out(algorithm, &mut arena, "test.lock", &Options::of(pod));
        let program = Stuck {
            lock,
            served: algorithm.is_served(),
        };
        let sim = Sim::new(sim::pod::load(name).unwrap(), pod);
        let out = run(&sim, pod, discipline, arena.host_bytes(), &program);
        let Some(NotAcquired::TimedOut { waited_for, queued }) = out[1].1 else {
            panic!("{algorithm}: {:?}", out[1].1);
        };
        // A server does not say whom it waits for, a word without names cannot.
        let knows = !matches!(
            algorithm,
            Algorithm::TicketServer | Algorithm::HardwareSpin | Algorithm::HardwareTicket
        );
        assert_eq!(waited_for, knows.then_some(0), "{algorithm}");
        let stays = matches!(
            algorithm,
            Algorithm::TicketServer
                | Algorithm::McsServer
                | Algorithm::Szymanski
                | Algorithm::HardwareTicket
                | Algorithm::HardwareMcs
        );
        assert_eq!(queued, stays, "{algorithm}");
    }
}
