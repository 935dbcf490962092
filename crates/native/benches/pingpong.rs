//! The price of the abstraction: a ping-pong between two processes, by hand in assembly, through
//! the port, and by the workload `visibility`, in turn on one region.
//!
//! Run with `cargo bench -p native --bench pingpong [-- ROUNDS]`. The bench runs itself as the peer
//! on a memfd. It prints one JSON object a line for each pair of CPUs, side and repetition, then
//! the ratio of each side to the hand-written one, repetition by repetition, with the 95 % interval
//! of its median. The figures themselves are a coherent stand-in's.
//!
//! A side is one entry of [`SIDES`]: another implementation of the same ping-pong is added there.

use std::arch::asm;
use std::error::Error;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Port, Program, Ptr, Seat, Setting, Substrate,
    Ticks, wait_until,
};
use micro::visibility::{self, Visibility};
use native::{Host, Pins, Region, Request, TscClock, available_cpus, pin};
use record::Summary;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use sync::{Barrier, BarrierLayout};
use workload::{Worker, Workload};

const ROUNDS: u64 = 10_000;
const REPETITIONS: u64 = 41;
/// Polls after which a silent peer is given up: some 10 s at 0.2 us each, and never for ever.
const POLL_LIMIT: u64 = 50_000_000;
/// A line each, a pair of lines apart: the adjacent-line prefetcher fetches pairs.
const THEIR_LINE_OFFSET: usize = 128;
const REGION_BYTES: u64 = 1 << 20;
/// The workload counts from 1 on the same lines: the others count from here, so that no number left
/// behind is taken for one that is awaited.
const FIRST_NUMBER: u64 = 1 << 40;

/// Who sends first and takes the time, and who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Caller,
    Answerer,
}

/// One ping-pong: `rounds` round trips with sequence numbers above `after`, half of each in
/// nanoseconds; the answerer's mean nothing.
type RoundTrips = fn(&Pair<'_>, after: u64, rounds: u64) -> Result<Vec<f64>, String>;

/// What is compared, the yardstick first.
const SIDES: &[(&str, RoundTrips)] = &[
    ("asm", by_hand),
    ("port", through_port),
    ("visibility", by_workload),
];

/// One process's end.
struct Pair<'r> {
    region: &'r Region,
    role: Role,
    cpu: usize,
    clock: &'r TscClock,
}

impl Pair<'_> {
    fn halves_ns(&self, ticks: &[u64]) -> Vec<f64> {
        let clock = self.clock.clock(true);
        ticks
            .iter()
            .map(|&t| clock.span_ns(Ticks(0), Ticks(t)) / 2.0)
            .collect()
    }
}

fn by_hand(pair: &Pair<'_>, after: u64, rounds: u64) -> Result<Vec<f64>, String> {
    pin(pair.cpu).map_err(|error| error.to_string())?;
    // SAFETY: the region has REGION_BYTES, both lines lie in it, and both processes touch them by
    // these instructions only while this side runs.
    let trips = unsafe { asm_round_trips(pair.region.base(), pair.role, after, rounds) };
    let silent = || format!("the peer fell silent: {:?} of side asm", pair.role);
    trips.map(|ticks| pair.halves_ns(&ticks)).ok_or_else(silent)
}

/// The hand-written ping-pong. None if the peer fell silent.
///
/// # Safety
/// `region` is the start of two live lines, at 0 and [`THEIR_LINE_OFFSET`]; the CPU has CLFLUSHOPT.
unsafe fn asm_round_trips(
    region: *mut u8,
    role: Role,
    after: u64,
    rounds: u64,
) -> Option<Vec<u64>> {
    let lines = [region, region.wrapping_add(THEIR_LINE_OFFSET)];
    let mut ticks = Vec::with_capacity(rounds as usize);
    for number in after + 1..=after + rounds {
        // SAFETY: as the caller promises.
        unsafe {
            match role {
                Role::Caller => {
                    let start = now();
                    publish(lines[0], number);
                    observe_until(lines[1], number)?;
                    ticks.push(now() - start);
                }
                Role::Answerer => {
                    observe_until(lines[0], number)?;
                    publish(lines[1], number);
                }
            }
        }
    }
    Some(ticks)
}

/// RDTSCP and LFENCE: after everything earlier, before everything later.
#[inline(always)]
fn now() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: it writes three registers, all declared.
    unsafe {
        asm!("rdtscp", "lfence", out("rax") low, out("rdx") high, out("rcx") _, options(nostack));
    }
    high << 32 | low
}

/// # Safety
/// `line` is a live line; the CPU has CLFLUSHOPT.
#[inline(always)]
unsafe fn publish(line: *mut u8, number: u64) {
    // SAFETY: as the caller promises.
    unsafe {
        asm!(
            "mov [{line}], {number}",
            "clflushopt [{line}]",
            "mfence",
            line = in(reg) line,
            number = in(reg) number,
            options(nostack),
        );
    }
}

/// # Safety
/// `line` is a live line; the CPU has CLFLUSHOPT.
#[inline(always)]
unsafe fn observe_until(line: *mut u8, number: u64) -> Option<()> {
    let mut left = POLL_LIMIT;
    // SAFETY: as the caller promises.
    unsafe {
        asm!(
            "2:",
            "clflushopt [{line}]",
            "mfence",
            "cmp [{line}], {number}",
            "je 3f",
            "dec {left}",
            "jnz 2b",
            "3:",
            line = in(reg) line,
            number = in(reg) number,
            left = inout(reg) left,
            options(nostack),
        );
    }
    (left > 0).then_some(())
}

fn through_port(pair: &Pair<'_>, after: u64, rounds: u64) -> Result<Vec<f64>, String> {
    let mut arena = Arena::new();
    let lines = arena.per_host::<u64>("pingpong.line", 2, 1);
    assert_eq!(
        lines[1].start().offset() as usize,
        THEIR_LINE_OFFSET,
        "both sides' second line"
    );
    let program = PingPong {
        lines: [lines[0].start(), lines[1].start()],
        role: pair.role,
        after,
        rounds,
    };
    let pins = Pins {
        cpus: vec![pair.cpu],
        oversubscribed: false,
    };
    let mut host = Host::new(pair.region, 0, pins, pair.clock.clock(true));
    host.set_deadline(Some(Duration::from_secs(10)));
    let pod = Pod::new(1, 1);
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    let mut outs = host.run(&setting, &NoWatch, &program);
    let ticks = outs.pop().expect("a pod of one lane brings one result").1?;
    Ok(pair.halves_ns(&ticks))
}

/// The workload itself, as the harness runs it, repetition after repetition. Its messages come
/// first in the region, so they are the very lines of the other sides: another line may lie in
/// another slice of the last-level cache, which alone is worth some percent.
fn by_workload(pair: &Pair<'_>, after: u64, rounds: u64) -> Result<Vec<f64>, String> {
    let mut arena = Arena::new();
    let pod = Pod::new(2, 1);
    let params = visibility::Params {
        rounds: rounds as u32,
        ..visibility::Params::default()
    };
    let ride = Ride {
        layout: Visibility::layout(&mut arena, pod, &params),
        barrier: BarrierLayout::lay_out(&mut arena, "pingpong.barrier", pod),
        params,
        // Sides take turns, so this one has run once for each full turn before.
        repetition: ((after - FIRST_NUMBER) / rounds / SIDES.len() as u64) as u32,
    };
    assert!(
        arena.region_bytes() <= REGION_BYTES,
        "{} bytes are laid out",
        arena.region_bytes()
    );
    let pins = Pins {
        cpus: vec![pair.cpu],
        oversubscribed: false,
    };
    let host = u32::from(pair.role == Role::Answerer);
    let mut host = Host::new(pair.region, host, pins, pair.clock.clock(true));
    host.set_deadline(Some(Duration::from_secs(10)));
    let discipline = Discipline::DEFAULT;
    let setting = Setting {
        pod,
        discipline,
        host_bytes: arena.host_bytes(),
    };
    let mut outs = host.run(&setting, &NoWatch, &ride);
    outs.pop().expect("a host of one lane brings one result").1
}

struct Ride {
    barrier: BarrierLayout,
    layout: visibility::Layout,
    params: visibility::Params,
    repetition: u32,
}

impl Program for Ride {
    type Out = Result<Vec<f64>, String>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let pod = Pod::new(2, 1);
        // One barrier a repetition: that of the only pair.
        let barrier = Barrier::new(&self.barrier, pod, seat, u64::from(self.repetition));
        let worker = Worker::new(port, pod, seat, &barrier, 1, self.repetition);
        let outcome = Visibility::run(&worker, &self.layout, &self.params);
        let mut series = outcome.map_err(|gone| gone.to_string())?.series.into_iter();
        Ok(series
            .find(|s| s.metric == "half_round_trip_ns")
            .map_or(Vec::new(), |s| s.samples))
    }
}

/// The same ping-pong as any algorithm would write it.
struct PingPong {
    lines: [Ptr<u64>; 2],
    role: Role,
    after: u64,
    rounds: u64,
}

impl PingPong {
    fn round<P: Port>(&self, port: &P, number: u64) -> Result<u64, fabric::Gone> {
        let [ping, pong] = self.lines;
        let seen = |at: Ptr<u64>| {
            wait_until(port, || {
                port.observe(at.line());
                Some(()).filter(|()| port.load(at) == number)
            })
        };
        match self.role {
            Role::Caller => {
                let start = port.now();
                port.write_published(ping, &[number]);
                seen(pong)?;
                Ok(port.now().0 - start.0)
            }
            Role::Answerer => {
                seen(ping)?;
                port.write_published(pong, &[number]);
                Ok(0)
            }
        }
    }
}

impl Program for PingPong {
    type Out = Result<Vec<u64>, String>;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Self::Out {
        let mut ticks = Vec::with_capacity(self.rounds as usize);
        for number in self.after + 1..=self.after + self.rounds {
            ticks.push(self.round(port, number).map_err(|gone| gone.to_string())?);
        }
        Ok(ticks)
    }
}

/// Every side in turn, `REPETITIONS` times, so that drift hits all alike.
fn play(
    pair: &Pair<'_>,
    rounds: u64,
    mut done: impl FnMut(&str, u64, Vec<f64>) -> io::Result<()>,
) -> Result<(), Box<dyn Error>> {
    let mut after = FIRST_NUMBER;
    for repetition in 0..REPETITIONS {
        for &(side, round_trips) in SIDES {
            let halves_ns = round_trips(pair, after, rounds)?;
            after += rounds;
            done(side, repetition, halves_ns)?;
        }
    }
    Ok(())
}

/// Ends the peer on every way out.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself, which is how a run that succeeds ends.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs the caller here and the answerer as a process of its own.
fn call(cpus: [usize; 2], rounds: u64, clock: &TscClock) -> Result<(), Box<dyn Error>> {
    // A new one for each pair: both lines start at zero.
    let memfd = memfd_create("pingpong", MemfdFlags::empty())?;
    ftruncate(&memfd, REGION_BYTES)?;
    let path = PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        memfd.as_raw_fd()
    ));
    let region = Region::open(&Request::new(&path, REGION_BYTES, 0))?;
    let peer = Command::new(std::env::current_exe()?)
        .arg("answer")
        .arg(&path)
        .args([cpus[1].to_string(), rounds.to_string()])
        .spawn()?;
    let _peer = Peer(peer);
    let pair = Pair {
        region: &region,
        role: Role::Caller,
        cpu: cpus[0],
        clock,
    };
    let mut medians: Vec<(&str, f64)> = Vec::new();
    play(&pair, rounds, |side, repetition, halves_ns| {
        let summary = Summary::of(&halves_ns).map_err(io::Error::other)?;
        let index = medians.len() % SIDES.len();
        medians.push((SIDES[index].0, summary.p50));
        let [from, to] = cpus;
        writeln!(
            io::stdout(),
            concat!(
                r#"{{"side":"{}","cpus":[{},{}],"rep":{},"n":{},"#,
                r#""half_round_trip_ns":{:.1}}}"#
            ),
            side,
            from,
            to,
            repetition,
            summary.n,
            summary.p50,
        )
    })?;
    compare(cpus, &medians)
}

/// Prints each side's ratio to the yardstick, over the repetitions.
fn compare(cpus: [usize; 2], medians: &[(&str, f64)]) -> Result<(), Box<dyn Error>> {
    for (index, (side, _)) in SIDES.iter().enumerate().skip(1) {
        let turns = medians.chunks_exact(SIDES.len());
        let ratios: Vec<f64> = turns.map(|turn| turn[index].1 / turn[0].1).collect();
        let summary = Summary::of(&ratios)?;
        let [low, high] = summary.ci95.unwrap_or([f64::NAN; 2]);
        writeln!(
            io::stdout(),
            concat!(
                r#"{{"ratio":"{}/{}","cpus":{:?},"pairs":{},"#,
                r#""median":{:.4},"ci95":[{:.4},{:.4}]}}"#
            ),
            side,
            SIDES[0].0,
            cpus,
            summary.n,
            summary.p50,
            low,
            high,
        )?;
    }
    Ok(())
}

fn answer(path: &Path, cpu: usize, rounds: u64) -> Result<(), Box<dyn Error>> {
    let clock = TscClock::calibrate()?;
    let region = Region::open(&Request::new(path, REGION_BYTES, 1))?;
    let pair = Pair {
        region: &region,
        role: Role::Answerer,
        cpu,
        clock: &clock,
    };
    play(&pair, rounds, |_, _, _| Ok(()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, path, cpu, rounds] = arguments.as_slice()
        && role == "answer"
    {
        return answer(Path::new(path), cpu.parse()?, rounds.parse()?);
    }
    // Cargo passes `--bench`; tests of all targets pass nothing and get a short run.
    let benched = arguments.iter().any(|argument| argument == "--bench");
    let asked = arguments.iter().find_map(|argument| argument.parse().ok());
    let rounds = asked.unwrap_or(if benched { ROUNDS } else { 100 });
    let cpus = available_cpus()?;
    let [first, others @ ..] = cpus.as_slice() else {
        return Err("no CPU is available to this process".into());
    };
    if others.is_empty() {
        return Err("a ping-pong needs two CPUs, but one is available; widen the cpuset".into());
    }
    let clock = TscClock::calibrate()?;
    others.iter().try_for_each(|&other| {
        // A run leaves the thread pinned by hand; the next pair pins it anew.
        call([*first, other], rounds, &clock)
    })
}
