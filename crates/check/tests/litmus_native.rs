//! Every litmus file on this machine: hosts are processes over one memfd, lanes are threads.
//!
//! The memory between them is coherent, so this is a *coherent stand-in*: it can show that the
//! model forbids something that a real CPU does, and it says nothing of a pod. Counts differ from
//! run to run; that none leaves the exact set must not.
//!
//! A program of its own, because it starts itself once more for each host:
//! `litmus_native [NAME ...] [--rounds N]` runs the named tests, or all.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::print_stdout,
    reason = "a program of its own prints its answer"
)]

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use check::Litmus;
use check::litmus::stress::{Stress, Tally, never_seen_bound};
use check::litmus::{all, find};
use fabric::{
    Across, Arena, Clock, Coherence, Discipline, Gone, HostAtomics, NoWatch, Program, PublishBy,
    Seat, Setting, Substrate, Ticks,
};
use model::explore::Instr;
use native::{Cpu, Host, Pins, Region, Request, available_cpus, plan_pins};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use sync::{Barrier, BarrierLayout};

/// Instances of a test side by side: with three lines of 128 bytes each they fit a level-2 cache.
const INSTANCES: u64 = 128;
/// Rounds over them where nothing is said: enough that relaxed outcomes of two lanes come up, few
/// enough that all files take seconds.
const ROUNDS: u64 = 24;
/// A round takes milliseconds at worst; whoever waits longer waits for a lane that died.
const DEADLINE: Duration = Duration::from_mins(2);

const AS_HOST: &str = "--as-host";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, path, host, name, rounds] = &args[..]
        && first == AS_HOST
    {
        return run_host(path, host.parse().unwrap(), name, rounds.parse().unwrap());
    }
    let rounds = args.iter().position(|arg| arg == "--rounds");
    let rounds = rounds.map_or(ROUNDS, |at| args[at + 1].parse().unwrap());
    let mut all = all();
    if all
        .iter()
        .any(|test| args.iter().any(|arg| arg == test.name()))
    {
        all.retain(|test| args.iter().any(|arg| arg == test.name()));
    }
    let mut relaxed = 0;
    for test in &all {
        relaxed += stress(test, rounds);
    }
    println!(
        "{} tests, {relaxed} outcomes that no order of whole threads gives",
        all.len()
    );
}

/// Runs one test and holds its counts against the set; says how many outcomes came out that running
/// the threads one after the other does not give.
fn stress(test: &Litmus, rounds: u64) -> usize {
    if !can_run(test) {
        println!("{:32} skipped: this CPU lacks MOVDIR64B", test.name());
        return 0;
    }
    let memfd = memfd_create("litmus", MemfdFlags::empty()).unwrap();
    let mut arena = Arena::new();
    let _ = Bed::lay_out(&mut arena, test, 0);
    // Regions are whole pages.
    ftruncate(&memfd, arena.region_bytes().next_multiple_of(4096)).unwrap();
    let hosts: Vec<Child> = (0..test.pod().hosts)
        .map(|host| start_host(&memfd, host, test.name(), rounds))
        .collect();
    let mut said = String::new();
    for (mut host, id) in hosts.into_iter().zip(0..) {
        let mut text = String::new();
        host.stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert!(
            host.wait().unwrap().success(),
            "{}: host {id} failed",
            test.name()
        );
        said.push_str(&text);
    }
    let tally = tally_of(&said);
    assert_eq!(tally.runs(), rounds * INSTANCES, "{}: runs", test.name());
    judge(test, &tally)
}

fn judge(test: &Litmus, tally: &Tally) -> usize {
    let strictest = test.modes().min().unwrap();
    let set = test.set(strictest).unwrap();
    let foreign = tally.foreign(set);
    assert!(
        foreign.is_empty(),
        "{}: {foreign:?} left the set",
        test.name()
    );
    let (seen, never) = (tally.counts().len(), tally.never(set).len());
    let bound = never_seen_bound(tally.runs());
    print!(
        "{:32} {} runs, {seen} outcomes seen",
        test.name(),
        tally.runs()
    );
    if never > 0 {
        print!(", {never} never: each below {bound:.1e} at 95 %");
    }
    println!(" (coherent stand-in)");
    let sequential = one_after_the_other(test);
    tally
        .counts()
        .keys()
        .filter(|row| !sequential.contains(row))
        .count()
}

/// Outcomes of the threads in every order, each as a whole, on memory that is one array.
fn one_after_the_other(test: &Litmus) -> Vec<Vec<u64>> {
    let count = test.threads().len();
    let mut orders = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: Vec<usize>| {
            let left = (0..count)
                .filter(|it| !order.contains(it))
                .collect::<Vec<_>>();
            left.into_iter()
                .map(move |next| [&order[..], &[next]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
        .iter()
        .map(|order| in_this_order(test, order))
        .collect()
}

fn in_this_order(test: &Litmus, order: &[usize]) -> Vec<u64> {
    let mut memory = vec![0; test.region_bytes() as usize / 8];
    let mut loads = vec![Vec::new(); order.len()];
    for &thread in order {
        for &instr in &test.threads()[thread].instrs {
            match instr {
                Instr::Load(at) => loads[thread].push(memory[at.offset() as usize / 8]),
                Instr::Store(at, value) | Instr::StoreNt(at, value) => {
                    memory[at.offset() as usize / 8] = value;
                }
                Instr::StoreLine(line, value) => {
                    let first = line.offset() as usize / 8;
                    memory[first..first + 8].fill(value);
                }
                Instr::Writeback(_) | Instr::Flush(..) | Instr::Fence(_) => {}
            }
        }
    }
    let end: Vec<u64> = test
        .watched()
        .iter()
        .map(|at| memory[at.offset() as usize / 8])
        .collect();
    test.row(&loads, &end)
}

fn can_run(test: &Litmus) -> bool {
    let uses = |instr: &Instr| matches!(instr, Instr::StoreLine(..));
    let uses = test
        .threads()
        .iter()
        .any(|thread| thread.instrs.iter().any(uses));
    !uses || Cpu::detect().publish_methods().contains(&PublishBy::Line64)
}

fn start_host(memfd: &OwnedFd, host: u32, name: &str, rounds: u64) -> Child {
    // By process, not `self`: the child opens it.
    let path = format!("/proc/{}/fd/{}", std::process::id(), memfd.as_raw_fd());
    Command::new(std::env::current_exe().unwrap())
        .args([AS_HOST, &path, &host.to_string(), name, &rounds.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What one host process does; host 0 prints a line for each outcome: its values, its count.
fn run_host(path: &str, host: u32, name: &str, rounds: u64) {
    let test = find(name).unwrap();
    let mut arena = Arena::new();
    let bed = Bed::lay_out(&mut arena, &test, rounds);
    let region = Region::open(&Request::new(path, arena.region_bytes(), host)).unwrap();
    let pod = test.pod();
    let cpus = available_cpus().unwrap();
    let pins = plan_pins(pod, host, &cpus).unwrap_or_else(|_| Pins {
        cpus: (0..pod.lanes as usize)
            .map(|lane| cpus[lane % cpus.len()])
            .collect(),
        oversubscribed: true,
    });
    // Only the deadline reads it, and that need not be exact: calibrating takes longer than a test.
    let clock = Clock {
        ticks_per_ns: 1.0,
        read_overhead: Ticks(0),
        across_hosts: Across::Incomparable("nothing is timed"),
    };
    let mut native = Host::new(&region, host, pins, clock);
    native.set_deadline(Some(DEADLINE));
    let setting = Setting {
        pod,
        // As on a pod: what clears and counts must not rely on this machine's coherence.
        discipline: Discipline::DEFAULT,
        host_bytes: arena.host_bytes(),
    };
    native.set_coherence(Coherence::Software);
    for (_, tally) in native.run(&setting, &NoWatch, &bed) {
        for (row, count) in tally.unwrap().iter().flat_map(Tally::counts) {
            let row: Vec<String> = row.iter().map(u64::to_string).collect();
            println!("{}\t{count}", row.join(" "));
        }
    }
}

fn tally_of(said: &str) -> Tally {
    let mut tally = Tally::default();
    for line in said.lines() {
        let (row, count) = line.split_once('\t').unwrap();
        let row = row.split(' ').map(|value| value.parse().unwrap()).collect();
        tally.add(row, count.parse().unwrap());
    }
    tally
}

/// A stress with the barrier that its lanes meet at.
struct Bed {
    stress: Stress,
    barrier: BarrierLayout,
    rounds: u64,
}

impl Bed {
    fn lay_out(arena: &mut Arena, test: &Litmus, rounds: u64) -> Self {
        Self {
            barrier: BarrierLayout::lay_out(arena, "stress.barrier", test.pod()),
            stress: Stress::lay_out(arena, test.clone(), INSTANCES),
            rounds,
        }
    }
}

impl Program for Bed {
    type Out = Result<Option<Tally>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.barrier, self.stress.test().pod(), seat, 0);
        self.stress
            .run(port, seat, self.rounds, || barrier.wait(port))
    }
}
