//! Programs that every primitive runs, on any substrate, with their checks.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Ptr, Seat, Setting, Substrate,
};
use sim::{Sim, pod};
use sync::lock::{Algorithm, AnyLock, Lock, LockVisitor, Member, Options};
use sync::{Arrival, Barrier, BarrierLayout, Desk, Patience};

/// `SplitMix64`: the same times in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, seat: Seat) -> Self {
        Self(seed ^ (u64::from(seat.host) << 32) ^ (u64::from(seat.lane) << 48))
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % sides
    }
}

/// Every lane but a server's increments a counter under the lock, `rounds` times.
pub(crate) struct Counting {
    pub(crate) pod: Pod,
    pub(crate) lock: AnyLock,
    pub(crate) served: bool,
    pub(crate) rounds: u64,
    pub(crate) seed: u64,
    /// Lanes work up to so many cycles inside and outside.
    pub(crate) most_work: u64,
    counter: Ptr<u64>,
    owner: Ptr<u64>,
    done: Vec<Ptr<u64>>,
    barrier: BarrierLayout,
    pub(crate) host_bytes: u64,
    pub(crate) region_bytes: u64,
}

/// What a lane that waited for ever reports besides its overlaps.
pub(crate) const STUCK: u64 = 1_000_000;

/// What one lane saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Holds during which another lane was in as well.
    pub(crate) overlaps: u64,
    /// The counter when all were done.
    pub(crate) counter: u64,
}

impl Counting {
    pub(crate) fn new(algorithm: Algorithm, options: &Options, rounds: u64, seed: u64) -> Self {
        let mut arena = Arena::new();
        let pod = options.pod;
        let lanes = (pod.hosts * pod.lanes) as usize;
        Self {
            pod,
            lock: AnyLock::lay_out(algorithm, &mut arena, "test.lock", options),
            served: algorithm.is_served(),
            rounds,
            seed,
            most_work: 4_000,
            counter: arena.aligned("test.counter", 1, 128).start(),
            owner: arena.aligned("test.owner", 1, 128).start(),
            done: (0..lanes)
                .map(|lane| arena.aligned(format!("test.done{lane}"), 1, 128).start())
                .collect(),
            barrier: BarrierLayout::lay_out(&mut arena, "test.barrier", pod),
            host_bytes: arena.host_bytes(),
            region_bytes: arena.region_bytes(),
        }
    }

    fn contenders(&self) -> usize {
        self.done.len() - usize::from(self.served)
    }

    pub(crate) fn total(&self) -> u64 {
        self.contenders() as u64 * self.rounds
    }

    fn all_done<P: HostAtomics>(&self, port: &P) -> bool {
        let lines: Vec<_> = self.done.iter().map(|at| at.line()).collect();
        port.observe_each(&lines);
        let mut done = self.done[..self.contenders()].iter();
        done.all(|&at| port.load(at) == 1)
    }

    fn contend<P: HostAtomics, L: Lock>(&self, port: &P, lock: &L, seat: Seat) -> u64 {
        let index = seat.host * self.pod.lanes + seat.lane;
        let mut me = Member::new(index);
        let mut dice = Dice::new(self.seed, seat);
        let mut overlaps = 0;
        for _ in 0..self.rounds {
            port.work(dice.roll(self.most_work) as u32);
            if lock.acquire(port, &mut me, Patience::Endless).is_err() {
                return overlaps + STUCK;
            }
            overlaps += u64::from(!self.inside(port, u64::from(index) + 1, &mut dice));
            if lock.release(port, &mut me).is_err() {
                return overlaps + STUCK;
            }
        }
        port.write_published(self.done[index as usize], &[1]);
        while L::TENDED && !self.all_done(port) {
            lock.tend(port, &mut me);
        }
        overlaps
    }

    /// One critical section; whether this lane was alone in it.
    fn inside<P: HostAtomics>(&self, port: &P, id: u64, dice: &mut Dice) -> bool {
        port.observe_each(&[self.counter.line(), self.owner.line()]);
        let mut alone = port.load(self.owner) == 0;
        let count = port.load(self.counter);
        port.store(self.owner, id);
        port.publish(self.owner.line());
        port.work(dice.roll(self.most_work) as u32);
        port.observe(self.owner.line());
        alone &= port.load(self.owner) == id;
        port.store(self.owner, 0);
        port.post(self.owner.line());
        port.store(self.counter, count + 1);
        port.post(self.counter.line());
        alone
    }
}

struct Lane<'a, P> {
    counting: &'a Counting,
    port: &'a P,
    seat: Seat,
}

impl<P: HostAtomics> LockVisitor for Lane<'_, P> {
    type Out = u64;

    fn visit<L: Lock>(self, lock: &L) -> u64 {
        let (counting, pod) = (self.counting, self.counting.pod);
        let serves = self.seat.host + 1 == pod.hosts && self.seat.lane + 1 == pod.lanes;
        if L::SERVED && serves {
            let mut desk = Desk::default();
            while !counting.all_done(self.port) {
                lock.serve(self.port, &mut desk);
                if self.port.pause().is_err() {
                    return STUCK;
                }
            }
            return 0;
        }
        counting.contend(self.port, lock, self.seat)
    }
}

impl Program for Counting {
    type Out = Seen;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Seen {
        let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
        barrier.wait(port).unwrap();
        let lane = Lane {
            counting: self,
            port,
            seat,
        };
        let overlaps = self.lock.visit(lane);
        if barrier.wait(port).is_err() {
            let counter = 0;
            return Seen { overlaps, counter };
        }
        port.observe(self.counter.line());
        Seen {
            overlaps,
            counter: port.load(self.counter),
        }
    }
}

/// A simulated pod by name, with as many hosts as it has and `lanes` lanes.
pub(crate) fn simulated(name: &str, lanes: u32) -> (Sim, Pod, Discipline, Arrival) {
    let file = pod::load(name).unwrap();
    let pod = Pod::new(file.hosts.value, lanes);
    let discipline = match file.coherence.value {
        fabric::Coherence::Hardware => Discipline::NONE,
        fabric::Coherence::Software => Discipline::DEFAULT,
    };
    let arrival = if file.write_mode.value == "synchronous" {
        Arrival::Fence
    } else {
        Arrival::Confirm
    };
    // A lock that hangs is noticed soon.
    let sim = Sim::new(file, pod).stall_limit_ms(10);
    (sim, pod, discipline, arrival)
}

/// Runs a program on a simulated pod.
pub(crate) fn run<G: Program>(
    sim: &Sim,
    pod: Pod,
    discipline: Discipline,
    host_bytes: u64,
    program: &G,
) -> Vec<(Seat, G::Out)> {
    let setting = Setting {
        pod,
        discipline,
        host_bytes,
    };
    sim.run(&setting, &NoWatch, program)
}
