//! Every lock between processes of this machine, one of which is stopped and continued at random:
//! what a host does that is paged, throttled or debugged. The story: locks of this kind pass on an
//! idle machine and lose increments when a holder is suspended between its load and its flush.
//!
//! Fischer's lock is left out: a host that is stopped breaks its timing assumption.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::env;
use std::os::fd::AsRawFd;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use common::{Counting, Dice, Seen};
use fabric::{Coherence, Discipline, NoWatch, Pod, Seat, Setting, Substrate};
use native::{Host, Pins, Region, Request, TscClock, available_cpus};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::{Pid, Signal, kill_process};
use sync::lock::{Algorithm, Options};

const HOSTS: u32 = 4;

/// Increments of all hosts together. A debug build does a share, since each hand-over of a fair
/// lock waits for the scheduler where processes outnumber cores.
const INCREMENTS: u64 = if cfg!(debug_assertions) {
    2_000
} else {
    100_000
};

/// How often each lock counts.
const RUNS: u64 = if cfg!(debug_assertions) { 1 } else { 5 };

/// How long one lock may take, in debug builds with more processes than cores.
const DEADLINE: Duration = Duration::from_mins(2);

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
    substrate.set_deadline(Some(DEADLINE));
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

/// Stops one of `children` after the other and lets it go on, until all have ended.
fn disturb(children: &mut [Child], dice: &mut Dice) {
    let mut running = true;
    while running {
        let at = dice.roll(children.len() as u64) as usize;
        if children[at].try_wait().unwrap().is_none() {
            let pid = Pid::from_child(&children[at]);
            kill_process(pid, Signal::STOP).unwrap();
            thread::sleep(Duration::from_micros(dice.roll(3_000)));
            kill_process(pid, Signal::CONT).unwrap();
        }
        thread::sleep(Duration::from_micros(dice.roll(10_000)));
        running = children
            .iter_mut()
            .any(|child| child.try_wait().unwrap().is_none());
    }
}

fn exact_under(algorithm: Algorithm, increments: u64, seed: u64) {
    let bytes = counting(algorithm, increments).region_bytes;
    let fd = memfd_create("sync-test", MemfdFlags::empty()).unwrap();
    ftruncate(&fd, bytes.next_multiple_of(4_096)).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
    let mut children: Vec<Child> = (0..HOSTS)
        .map(|host| start(algorithm, increments, host, &path))
        .collect();
    disturb(
        &mut children,
        &mut Dice::new(seed, Seat { host: 0, lane: 0 }),
    );
    for (host, child) in children.iter_mut().enumerate() {
        let ended = child.wait().unwrap();
        assert!(ended.success(), "{algorithm}, host {host}: {ended}");
    }
}

#[test]
fn the_counter_is_exact_although_hosts_are_stopped_and_continued() {
    for &algorithm in Algorithm::ALL {
        if algorithm == Algorithm::Fischer {
            continue;
        }
        for seed in 0..RUNS {
            exact_under(algorithm, INCREMENTS, seed);
        }
    }
}
