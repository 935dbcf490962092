//! Every way to operate on one word. The story: fetch-and-add wrapped in flushes gave 80,000 of
//! 80,000 in a published test, and the lock built on it hung (FUSEE-CXL); a final sum is no proof.
//! So every result of every lane is kept, and all of them together must be explained by one order.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use common::{Dice, run, simulated};
use fabric::{Arena, Census, Count, Discipline, HostAtomics, NoWatch, Pod, Program, Ptr, Seat};
use fabric::{Setting, Substrate, Tapped, wait_until};
use sync::atomic::{AnyAtomic, Atomic64, AtomicVisitor, Rmw, ValueDesk, Via};
use sync::lock::Options;

/// What a lane did, and the value that it found.
type Done = (Rmw, Option<u64>);

/// Every lane but a server's operates `rounds` times, then reads.
struct Operating {
    pod: Pod,
    atomic: AnyAtomic,
    served: bool,
    rounds: u64,
    /// Makes a lane's n-th operation.
    op: fn(u64, u64) -> Rmw,
    /// So many lanes operate; the others only read in the end.
    active: u32,
    most_work: u64,
    seed: u64,
    done: Vec<Ptr<u64>>,
    host_bytes: u64,
}

impl Operating {
    fn new(via: Via, options: &Options, op: fn(u64, u64) -> Rmw, seed: u64) -> Self {
        let mut arena = Arena::new();
        let pod = options.pod;
        let atomic = AnyAtomic::lay_out(via, &mut arena, "test.atomic", options);
        let mut line = |seat: Seat| arena.aligned(format!("{seat:?}"), 1, 128).start();
        Self {
            pod,
            atomic,
            served: via.is_served(),
            rounds: 12,
            op,
            active: u32::MAX,
            most_work: 4_000,
            seed,
            done: pod.seats().map(&mut line).collect(),
            host_bytes: arena.host_bytes(),
        }
    }

    fn members(&self) -> usize {
        self.done.len() - usize::from(self.served)
    }

    /// Whether all members have operated (1), or also read (2).
    fn all_have<P: HostAtomics>(&self, port: &P, done: u64) -> bool {
        let lines: Vec<_> = self.done.iter().map(|at| at.line()).collect();
        port.observe_each(&lines);
        let mut members = self.done[..self.members()].iter();
        members.all(|&at| port.load(at) >= done)
    }
}

#[derive(Clone, Debug, Default)]
struct Seen {
    done: Vec<Done>,
    /// The word after all had finished.
    last: u64,
    census: Census,
    times_ns: Vec<f64>,
}

struct Lane<'a, P> {
    operating: &'a Operating,
    port: &'a P,
    seat: Seat,
}

impl<P: HostAtomics> AtomicVisitor for Lane<'_, P> {
    type Out = Seen;

    fn visit<A: Atomic64>(self, atomic: &A) -> Seen {
        let (operating, port) = (self.operating, self.port);
        let index = self.seat.host * operating.pod.lanes + self.seat.lane;
        if A::SERVED && index as usize == operating.members() {
            let mut desk = ValueDesk::default();
            // A server that looked at something else after each round would be slower.
            while !operating.all_have(port, 2) {
                for _ in 0..64 {
                    atomic.serve(port, &mut desk);
                }
            }
            return Seen::default();
        }
        let count = Count::default();
        let counted = Tapped::new(port, &count);
        let mut dice = Dice::new(operating.seed, self.seat);
        let mut seen = Seen::default();
        let active = index < operating.active;
        for round in (0..operating.rounds).filter(|_| active) {
            if operating.most_work > 0 {
                port.work(dice.roll(operating.most_work) as u32);
            }
            let op = (operating.op)(u64::from(index), round);
            let start = port.now();
            let old = match op {
                // A way may read more cheaply than it operates.
                Rmw::Load => Some(atomic.load(&counted, index).unwrap()),
                op => atomic.apply(&counted, index, op).unwrap(),
            };
            let took = port.clock().span_ns(start, port.now());
            seen.times_ns.push(took);
            seen.done.push((op, old));
        }
        seen.census = count.census();
        port.write_published(operating.done[index as usize], &[1]);
        wait_until(port, || operating.all_have(port, 1).then_some(())).unwrap();
        seen.last = atomic.load(port, index).unwrap();
        port.write_published(operating.done[index as usize], &[2]);
        seen
    }
}

impl Program for Operating {
    type Out = Seen;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Seen {
        self.atomic.visit(Lane {
            operating: self,
            port,
            seat,
        })
    }
}

/// Whether one order of all operations, each lane's in its own, explains every value found. Adds
/// and swaps here find distinct values, so the order is forced: each finds what another left.
fn explained(all: &[Vec<Done>], last: u64) -> Result<(), String> {
    let mut next: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for (lane, done) in all.iter().enumerate() {
        for (index, &(_, old)) in done.iter().enumerate() {
            let old = old.ok_or("no value")?;
            next.entry(old).or_default().push((lane, index));
        }
    }
    let mut progress = vec![0; all.len()];
    let (mut value, total) = (0, all.iter().map(Vec::len).sum::<usize>());
    for step in 0..total {
        let candidates = next.get_mut(&value).filter(|list| !list.is_empty());
        let list = candidates.ok_or(format!("step {step}: nobody found {value}"))?;
        // Those that leave the word as it is come first: they need it to be so.
        let keeps = |&(lane, index): &(usize, usize)| {
            index == progress[lane] && all[lane][index].0.apply(value) == value
        };
        let ready = |&(lane, index): &(usize, usize)| index == progress[lane];
        let place = list
            .iter()
            .position(keeps)
            .or_else(|| list.iter().position(ready));
        let (lane, index) = list.remove(place.ok_or(format!("step {step}: out of order"))?);
        progress[lane] += 1;
        value = all[lane][index].0.apply(value);
    }
    (value == last)
        .then_some(())
        .ok_or(format!("ends with {value}, not {last}"))
}

fn operate(via: Via, name: &str, lanes: u32, op: fn(u64, u64) -> Rmw, seed: u64) -> Vec<Seen> {
    let (sim, pod, discipline, arrival) = simulated(name, lanes);
    let options = Options {
        arrival,
        ..Options::of(pod)
    };
    let operating = Operating::new(via, &options, op, seed);
    let out = run(&sim, pod, discipline, operating.host_bytes, &operating);
    let members = operating.members();
    out.into_iter()
        .map(|(_, seen)| seen)
        .take(members)
        .collect()
}

fn pods(via: Via) -> &'static [&'static str] {
    if via.is_hardware() {
        &["coherent-four-host"]
    } else {
        &["sc26-four-host", "xc50256-two-host", "coherent-four-host"]
    }
}

fn add(_: u64, _: u64) -> Rmw {
    Rmw::FetchAdd(1)
}

fn swap(lane: u64, round: u64) -> Rmw {
    Rmw::Swap(1 + lane * 1_000 + round)
}

#[test]
fn adds_and_swaps_are_explained_by_one_order() {
    for &via in Via::ALL {
        for op in [add, swap] {
            if via == Via::Sharded {
                continue;
            }
            for (name, lanes) in pods(via).iter().flat_map(|name| [(name, 1), (name, 4)]) {
                for seed in 0..3 {
                    let seen = operate(via, name, lanes, op, seed);
                    let done: Vec<_> = seen.iter().map(|seen| seen.done.clone()).collect();
                    for seen in &seen {
                        let explained = explained(&done, seen.last);
                        assert_eq!(explained, Ok(()), "{via} on {name}, {lanes} lanes");
                    }
                }
            }
        }
    }
}

/// Each lane wants to raise the word from what it guesses: some succeed, no two from one value.
fn exchange(lane: u64, round: u64) -> Rmw {
    Rmw::CompareExchange {
        current: round,
        new: round + 1 + lane % 2,
    }
}

fn set_bit(lane: u64, round: u64) -> Rmw {
    Rmw::FetchOr(1 << ((lane * 12 + round) % 64))
}

#[test]
fn no_value_is_exchanged_twice_and_no_bit_is_lost() {
    for &via in Via::ALL {
        if via == Via::Sharded {
            continue;
        }
        for name in pods(via) {
            let seen = operate(via, name, 2, exchange, 1);
            let succeeded = |&(op, old): &Done| match op {
                Rmw::CompareExchange { current, .. } => old.filter(|&old| old == current),
                _ => None,
            };
            let done = seen.iter().flat_map(|seen| &seen.done);
            let from: Vec<u64> = done.filter_map(succeeded).collect();
            let mut values = from.clone();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), from.len(), "{via} on {name}");

            let seen = operate(via, name, 2, set_bit, 1);
            let all = seen.iter().flat_map(|seen| &seen.done);
            let bits = all.fold(0, |bits, (op, _)| op.apply(bits));
            for seen in &seen {
                assert_eq!(seen.last, bits, "{via} on {name}");
            }
        }
    }
}

#[test]
fn a_sharded_counter_adds_up() {
    for name in pods(Via::Sharded) {
        let seen = operate(Via::Sharded, name, 3, add, 0);
        for one in &seen {
            assert_eq!(one.last, seen.len() as u64 * 12, "{name}");
        }
    }
    assert!(!Via::Sharded.can(Rmw::Swap(1)) && Via::Sharded.can(Rmw::FetchAdd(1)));
}

/// Two hosts answer each other; what half a round trip takes.
struct PingPong {
    flags: Vec<fabric::Slice<u64>>,
}

impl Program for PingPong {
    type Out = f64;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> f64 {
        if seat.host > 1 {
            return 0.0;
        }
        let [mine, theirs] =
            [seat.host, 1 - seat.host].map(|host| self.flags[host as usize].start());
        let receive = |number| {
            wait_until(port, || {
                port.observe(theirs.line());
                (port.load(theirs) == number).then_some(())
            })
            .unwrap();
        };
        let start = port.now();
        for number in 1..=100 {
            if seat.host == 0 {
                port.write_published(mine, &[number]);
                receive(number);
            } else {
                receive(number);
                port.write_published(mine, &[number]);
            }
        }
        port.clock().span_ns(start, port.now()) / 200.0
    }
}

#[test]
fn an_operation_by_a_server_takes_two_one_way_trips() {
    let (sim, pod, discipline, _) = simulated("sc26-four-host", 1);
    let flags = Arena::new().per_host("test.flag", 4, 1);
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    let one_way = sim.run(&setting, &NoWatch, &PingPong { flags })[0].1;
    let mut operating = Operating::new(Via::Server, &Options::of(pod), add, 0);
    (operating.rounds, operating.active) = (50, 1);
    // Back to back, as the messages of the one-way trip.
    operating.most_work = 0;
    let out = run(&sim, pod, discipline, operating.host_bytes, &operating);
    let mut times: Vec<f64> = out
        .into_iter()
        .flat_map(|(_, seen)| seen.times_ns)
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    assert!(
        median <= 1.15 * 2.0 * one_way,
        "{median} ns, one way {one_way} ns"
    );
}

/// Publishes, observes and lines observed of a host that operates alone, an operation.
fn alone(via: Via, op: fn(u64, u64) -> Rmw) -> [f64; 3] {
    let name = if via.is_hardware() {
        "coherent-four-host"
    } else {
        "sc26-four-host"
    };
    let (sim, pod, discipline, _) = simulated(name, 1);
    let mut operating = Operating::new(via, &Options::of(pod), op, 0);
    operating.active = 1;
    let out = run(&sim, pod, discipline, operating.host_bytes, &operating);
    let census = out[0].1.census;
    let each = |count: u64| count as f64 / operating.rounds as f64;
    [census.publishes, census.observes, census.lines_observed].map(each)
}

#[test]
#[allow(clippy::float_cmp)] // whole counts by a whole number of rounds: exact where they are right
fn costs_are_those_of_the_table() {
    let read = |_, _| Rmw::Load;
    for via in [Via::Server, Via::Combining] {
        for op in [add, swap, read] {
            let [publishes, looks, lines] = alone(via, op);
            assert_eq!(publishes, 1.0, "{via}");
            assert!(
                looks >= 1.0 && looks == lines,
                "{via}: a look is at one line"
            );
        }
    }
    // Acquire 1 P + 1 O of 3 lines, the word 1 O and 1 P, release 1 P; a read needs no lock.
    assert_eq!(alone(Via::Lock, add), [3.0, 2.0, 4.0]);
    assert_eq!(alone(Via::Lock, read), [0.0, 1.0, 1.0]);
    assert_eq!(alone(Via::Sharded, add), [1.0, 0.0, 0.0]);
    assert_eq!(alone(Via::Sharded, read), [0.0, 1.0, 3.0]);
    for op in [add, swap, read] {
        assert_eq!(alone(Via::Hardware, op), [0.0; 3]);
    }
}
