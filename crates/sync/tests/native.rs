//! Every lock between processes of this machine, one of which is stopped and continued at random:
//! what a host does that is paged, throttled or debugged. The story: locks of this kind pass on an
//! idle machine and lose increments when a holder is suspended between its load and its flush.
//!
//! Fischer's lock is left out: a host that is stopped breaks its timing assumption.
//!
//! `DSMARK_INCREMENTS=1000000 DSMARK_RUNS=1 cargo test -p sync --test native -- --nocapture` counts
//! longer, once; docs/SYNC.md says what came of it.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::env;
use std::os::fd::AsRawFd;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use common::{Counting, Dice, Seen};
use fabric::{Coherence, Discipline, NoWatch, Pod, Seat, Setting, Substrate};
use native::{Host, Pins, Region, Request, TscClock, available_cpus};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::{Pid, Signal, kill_process};
use sync::lock::{Algorithm, Options};

const HOSTS: u32 = 4;

/// Increments of all hosts together, under each lock.
const INCREMENTS: u64 = 100_000;

/// How often each lock counts.
const RUNS: u64 = 5;

/// How long so many increments may take, in debug builds with more processes than cores: 20 times
/// what the slowest lock takes on two cores that others use as well.
const DEADLINE_PER_100_000: Duration = Duration::from_mins(10);

/// Tells the child which host it is, and what it runs.
const CHILD: &str = "SYNC_TEST_HOST";

fn counting(algorithm: Algorithm, increments: u64) -> Counting {
    let options = Options::of(Pod::new(HOSTS, 1));
    let contenders = u64::from(HOSTS) - u64::from(algorithm.is_served());
    let mut counting = Counting::new(algorithm, &options, increments.div_ceil(contenders), 1);
    counting.most_work = 100;
    counting
}

fn setting(algorithm: Algorithm, counting: &Counting) -> Setting {
    Setting {
        pod: counting.pod,
        discipline: if algorithm.is_hardware() {
            Discipline::NONE
        } else {
            Discipline::DEFAULT
        },
        host_bytes: counting.host_bytes,
    }
}

/// Not a test by itself: what the processes run that the others start.
#[test]
fn host_process() {
    let Ok(told) = env::var(CHILD) else { return };
    let told: Vec<&str> = told.split(' ').collect();
    let [host, name, increments, path] = told[..] else {
        panic!("{told:?}");
    };
    let host: u32 = host.parse().unwrap();
    let named = |algorithm: &&Algorithm| algorithm.name() == name;
    let algorithm = *Algorithm::ALL.iter().find(named).unwrap();
    let counting = counting(algorithm, increments.parse().unwrap());
    let region = Region::open(&Request::new(path, 0, host)).unwrap();
    let cpus = available_cpus().unwrap();
    let pins = Pins {
        cpus: vec![cpus[host as usize % cpus.len()]],
        oversubscribed: true,
    };
    let clock = TscClock::calibrate().unwrap().clock(true);
    let mut substrate = Host::new(&region, host, pins, clock);
    let hundred_thousands = counting.total().div_ceil(100_000) as u32;
    substrate.set_deadline(Some(DEADLINE_PER_100_000 * hundred_thousands));
    if algorithm.is_hardware() {
        substrate.set_coherence(Coherence::Hardware);
    }
    let seen = substrate.run(&setting(algorithm, &counting), &NoWatch, &counting)[0].1;
    let right = Seen {
        overlaps: 0,
        counter: counting.total(),
    };
    assert_eq!(seen, right, "{algorithm}, host {host}");
}

fn start(algorithm: Algorithm, increments: u64, host: u32, path: &str) -> Child {
    let told = format!("{host} {algorithm} {increments} {path}");
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "host_process", "--nocapture"])
        .env(CHILD, told)
        .spawn()
        .unwrap()
}

/// Stops one of `children` after the other and lets it go on, until all have ended; how often.
fn disturb(children: &mut [Child], dice: &mut Dice) -> u64 {
    let (mut running, mut stops) = (true, 0);
    while running {
        let at = dice.roll(children.len() as u64) as usize;
        if children[at].try_wait().unwrap().is_none() {
            let pid = Pid::from_child(&children[at]);
            kill_process(pid, Signal::STOP).unwrap();
            thread::sleep(Duration::from_micros(dice.roll(3_000)));
            kill_process(pid, Signal::CONT).unwrap();
            stops += 1;
        }
        thread::sleep(Duration::from_micros(dice.roll(10_000)));
        running = children
            .iter_mut()
            .any(|child| child.try_wait().unwrap().is_none());
    }
    stops
}

fn exact_under(algorithm: Algorithm, increments: u64, seed: u64) {
    let started = Instant::now();
    let bytes = counting(algorithm, increments).region_bytes;
    let fd = memfd_create("sync-test", MemfdFlags::empty()).unwrap();
    ftruncate(&fd, bytes.next_multiple_of(4_096)).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
    let mut children: Vec<Child> = (0..HOSTS)
        .map(|host| start(algorithm, increments, host, &path))
        .collect();
    let mut dice = Dice::new(seed, Seat { host: 0, lane: 0 });
    let stops = disturb(&mut children, &mut dice);
    for (host, child) in children.iter_mut().enumerate() {
        let ended = child.wait().unwrap();
        assert!(ended.success(), "{algorithm}, host {host}: {ended}");
    }
    let took = started.elapsed();
    eprintln!("{algorithm}: {increments} increments, {stops} stops, {took:.1?}");
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    let given = env::var(name).ok();
    given.map_or(otherwise, |n| n.parse().expect("a whole number"))
}

#[test]
fn the_counter_is_exact_although_hosts_are_stopped_and_continued() {
    let increments = from_environment("DSMARK_INCREMENTS", INCREMENTS);
    let runs = from_environment("DSMARK_RUNS", RUNS);
    for &algorithm in Algorithm::ALL {
        if algorithm == Algorithm::Fischer {
            continue;
        }
        for seed in 0..runs {
            exact_under(algorithm, increments, seed);
        }
    }
}
