//! Hosts die amid writes. In a table that hosts share without coherence a dead writer could leave
//! half a value that is read as a whole one, a bucket that nobody may enter, and a lock that stops
//! everybody else's keys too. So four processes write, one is killed, and then: the others went on
//! with every key that does not share the dead one's lock, no value is torn, every key holds what
//! its writer was told or had just asked for, and the repair names what the dead one was at.
//!
//! `DSMARK_KILLS=100 cargo test -p table --test kills` kills a hundred.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Ptr, Seat, Setting, Slice, SplitMix64,
    Substrate, wait_until,
};
use native::{Host, Pins, Region, Request, TscClock, available_cpus};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::{Signal, set_parent_process_death_signal};
use table::{Config, Handle, Repaired, Sharing, Table, TableError};

const HOSTS: u32 = 4;
const KEYS: u64 = 48;
const WORDS: usize = 9;
const REMOVED: u64 = 1 << 63;
/// How long an operation waits for another host; so often in a row before a lock is given up.
const PATIENCE_NS: f64 = 100e6;
const TRIES: u32 = 10;

/// Everything in the region.
struct Layout {
    arena: Arena,
    table: Table,
    sharing: Sharing,
    /// Not 0: all stop.
    stop: Ptr<u64>,
    /// The dead host's number plus one.
    dead: Ptr<u64>,
    /// Each host's: operations done; torn values read; then for each key what was asked for last,
    /// what was answered last, and whether it was given up.
    reports: Vec<Slice<u64>>,
}

const HEAD: usize = 2;

fn layout(sharing: Sharing) -> Layout {
    let mut arena = Arena::new();
    let config = Config {
        group_buckets: 4,
        locks: 8,
        sharing,
        // Room enough that no group of buckets is ever full.
        ..Config::of(4 * KEYS, WORDS)
    };
    Layout {
        table: Table::lay_out(&mut arena, "kills", pod(), &config),
        sharing,
        stop: arena.word("kills.stop"),
        dead: arena.word("kills.dead"),
        reports: arena.per_host("kills.report", HOSTS, HEAD + 3 * KEYS as usize),
        arena,
    }
}

fn pod() -> Pod {
    Pod::new(HOSTS, 1)
}

/// The value that makes `sequence` recognizable in every word.
fn value(key: u64, sequence: u64) -> [u64; WORDS] {
    let mut words = [sequence; WORDS];
    for (index, word) in words.iter_mut().enumerate().skip(1) {
        *word = (sequence ^ key << 40).wrapping_mul(index as u64 * 2 + 1);
    }
    words
}

/// Nobody is waited for in vain because it has not started yet.
fn await_all<P: HostAtomics>(port: &P, reports: &[Slice<u64>]) {
    let started = wait_until(port, || {
        let up = reports.iter().all(|report| {
            // Serves the load of what that host has published when it began.
            port.observe(report.at(0).line());
            port.load(report.at(0)) != 0
        });
        up.then_some(())
    });
    started.unwrap();
}

/// What a host process does until it is stopped or killed: it writes its own keys, those whose
/// number has its remainder, and reads everybody's.
struct Writer<'l>(&'l Layout);

impl Program for Writer<'_> {
    type Out = ();

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) {
        let Layout {
            table,
            reports,
            stop,
            dead,
            ..
        } = self.0;
        let report = reports[seat.host as usize];
        let mut handle = Handle::open(table, port, seat);
        handle.set_patience(Some(PATIENCE_NS));
        let mut random = SplitMix64::of_lane(port.now().0, u64::from(seat.host));
        let (mut done, mut torn, mut sequence) = (1, 0, 0);
        let mut room = [0; WORDS];
        port.store(report.at(0), done);
        port.publish(report.at(0).line());
        await_all(port, reports);
        loop {
            port.observe(stop.line());
            if port.load(*stop) != 0 {
                break;
            }
            if let Err(TableError::Gone(_)) = handle.serve() {
                break;
            }
            let key = random.below(KEYS) + 1;
            if key % u64::from(HOSTS) != u64::from(seat.host) {
                if let Ok(Some(_)) = handle.get(key, &mut room) {
                    torn += u64::from(room != value(key, room[0]));
                }
                port.store(report.at(1), torn);
                continue;
            }
            let at = HEAD + 3 * (key as usize - 1);
            if port.load(report.at(at + 2)) != 0 {
                continue;
            }
            sequence += 1;
            let removed = u64::from(random.below(4) == 0) * REMOVED;
            let asked = removed | sequence;
            port.store(report.at(at), asked);
            for attempt in 0.. {
                let answer = if asked & REMOVED == 0 {
                    handle.upsert(key, &value(key, asked))
                } else {
                    handle.remove(key)
                };
                match answer {
                    Ok(_) => {
                        port.store(report.at(at + 1), asked);
                        break;
                    }
                    Err(TableError::Held { .. }) => {
                        let _ = handle.serve();
                        port.observe_each(&[stop.line(), dead.line()]);
                        // Before anybody has died it was merely slow.
                        if port.load(*stop) != 0 || attempt >= TRIES && port.load(*dead) != 0 {
                            port.store(report.at(at + 2), 1);
                            break;
                        }
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            done += 1;
            port.store(report.at(0), done);
        }
        handle.close();
    }
}

/// What the test itself does with the region.
enum Task<'l> {
    Read(&'l [Slice<u64>]),
    Set(Ptr<u64>, u64),
    Repair(&'l Layout),
    Entries(&'l Layout),
}

enum Got {
    Words(Vec<Vec<u64>>),
    Repaired(Repaired),
    Entries(HashMap<u64, Vec<u64>>),
}

impl Program for Task<'_> {
    type Out = Got;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Got {
        match self {
            Self::Read(slices) => {
                let mut all = Vec::new();
                for slice in *slices {
                    port.observe(slice.lines());
                    let mut words = vec![0; slice.len()];
                    port.read_into(slice.start(), &mut words);
                    all.push(words);
                }
                Got::Words(all)
            }
            Self::Set(at, word) => {
                port.write_published(*at, &[*word]);
                Got::Words(Vec::new())
            }
            Self::Repair(layout) => Got::Repaired(layout.table.repair(port)),
            Self::Entries(layout) => {
                let mut entries = HashMap::new();
                let mut handle = Handle::open(&layout.table, port, seat);
                let all = handle.for_each(|key, words| {
                    assert!(entries.insert(key, words.to_vec()).is_none(), "{key} twice");
                });
                all.unwrap();
                Got::Entries(entries)
            }
        }
    }
}

struct Bed {
    region: Region,
    clock: TscClock,
    layout: Layout,
}

impl Bed {
    fn run<G: Program>(&self, host: u32, program: &G) -> G::Out {
        // Unpinned hosts would all start on the first CPU: each takes its own in turn.
        let cpus = available_cpus().unwrap();
        let pins = Pins {
            cpus: vec![cpus[host as usize % cpus.len()]],
            oversubscribed: true,
        };
        let mut native = Host::new(&self.region, host, pins, self.clock.clock(true));
        native.set_deadline(Some(Duration::from_mins(2)));
        let setting = Setting {
            pod: pod(),
            discipline: Discipline::DEFAULT,
            host_bytes: self.layout.arena.host_bytes(),
        };
        native.run(&setting, &NoWatch, program).remove(0).1
    }

    fn reports(&self) -> Vec<Vec<u64>> {
        match self.run(0, &Task::Read(&self.layout.reports)) {
            Got::Words(words) => words,
            _ => unreachable!("words were asked for"),
        }
    }

    fn wait_for(&self, what: &str, ready: impl Fn(&[Vec<u64>]) -> bool) {
        let start = Instant::now();
        while !ready(&self.reports()) {
            assert!(
                start.elapsed() < Duration::from_secs(90),
                "waited in vain for {what}"
            );
        }
    }
}

fn open(path: &str, host: u32, sharing: Sharing) -> Bed {
    let layout = layout(sharing);
    let bytes = layout.arena.region_bytes();
    Bed {
        region: Region::open(&Request::new(path, bytes, host)).unwrap(),
        clock: TscClock::calibrate().unwrap(),
        layout,
    }
}

const CHILD: &str = "DSMARK_TABLE_HOST";

/// A host process: the test starts this very test of itself.
#[test]
fn a_host_process() {
    let Ok(config) = std::env::var(CHILD) else {
        return;
    };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (host, config) = config.split_once(' ').unwrap();
    let (sharing, path) = config.split_once(' ').unwrap();
    let sharing = SHARINGS[sharing.parse::<usize>().unwrap()];
    let bed = open(path, host.parse().unwrap(), sharing);
    bed.run(host.parse().unwrap(), &Writer(&bed.layout));
}

const SHARINGS: [Sharing; 3] = [Sharing::Seqlock, Sharing::Partitioned, Sharing::BucketLocks];

fn start(host: u32, sharing: usize, path: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_host_process", "--nocapture"])
        .env(CHILD, format!("{host} {sharing} {path}"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills one of four; what the repair found.
fn kill_one(sharing: usize, random: &mut SplitMix64) -> Repaired {
    let file = memfd_create("kills", MemfdFlags::empty()).unwrap();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let bytes = layout(SHARINGS[sharing]).arena.region_bytes();
    ftruncate(&file, bytes.next_multiple_of(4096)).unwrap();
    let bed = open(&path, 0, SHARINGS[sharing]);
    let mut hosts: Vec<Child> = (0..HOSTS).map(|host| start(host, sharing, &path)).collect();
    let warm = 20 + random.below(200);
    bed.wait_for("writers", |reports| {
        reports.iter().all(|report| report[0] > warm + 1)
    });
    let dead = random.below(u64::from(HOSTS)) as usize;
    hosts[dead].kill().unwrap();
    hosts[dead].wait().unwrap();
    bed.run(0, &Task::Set(bed.layout.dead, dead as u64 + 1));
    let then = bed.reports();
    bed.wait_for("the survivors", |reports| {
        (0..HOSTS as usize).all(|host| host == dead || reports[host][0] > then[host][0] + 50)
    });
    bed.run(0, &Task::Set(bed.layout.stop, 1));
    for (host, child) in hosts.iter_mut().enumerate() {
        let ended = child.wait().unwrap();
        assert!(host == dead || ended.success(), "host {host}: {ended}");
    }
    let Got::Repaired(repaired) = bed.run(0, &Task::Repair(&bed.layout)) else {
        unreachable!("a repair was asked for");
    };
    check_repair(&bed.layout, &repaired, dead as u32);
    let Got::Entries(entries) = bed.run(0, &Task::Entries(&bed.layout)) else {
        unreachable!("entries were asked for");
    };
    assert_eq!(repaired.entries, entries.len() as u64);
    check_keys(&bed, &repaired, &entries, dead as u64);
    repaired
}

fn check_repair(layout: &Layout, repaired: &Repaired, dead: u32) {
    let lock = |group| layout.table.lock_number(group);
    for left in &repaired.left {
        assert_eq!(left.host, dead, "{repaired:?}");
    }
    for &(bucket, host) in &repaired.busy {
        assert_eq!(host, dead, "{repaired:?}");
        let named = |left: &table::Left| lock(left.group) == lock(bucket / 4);
        let found = layout.sharing == Sharing::Partitioned || repaired.left.iter().any(named);
        assert!(
            found,
            "bucket {bucket} is busy, and no intent says so: {repaired:?}"
        );
    }
}

fn check_keys(bed: &Bed, repaired: &Repaired, entries: &HashMap<u64, Vec<u64>>, dead: u64) {
    let table = &bed.layout.table;
    for (host, report) in bed.reports().iter().enumerate() {
        assert_eq!(report[1], 0, "host {host} has read torn values");
    }
    for (&key, words) in entries {
        assert_eq!(words[..], value(key, words[0]), "key {key} is torn");
    }
    for key in 1..=KEYS {
        let writer = key % u64::from(HOSTS);
        let report = &bed.reports()[writer as usize];
        let at = HEAD + 3 * (key as usize - 1);
        let (asked, answered, given_up) = (report[at], report[at + 1], report[at + 2] != 0);
        let holds = entries.get(&key).map_or(0, |words| words[0]);
        let state = |word: u64| if word & REMOVED == 0 { word } else { 0 };
        let right = holds == state(answered) || holds == state(asked);
        assert!(
            right,
            "key {key} holds {holds:x}: {answered:x} answered, {asked:x} asked"
        );
        // Who lives has its answer, unless the key shared its lock or owner with the dead.
        if given_up {
            let group = table.group_of(key);
            let lock = |left: &table::Left| table.lock_number(left.group);
            let held = repaired
                .left
                .iter()
                .any(|left| lock(left) == table.lock_number(group));
            let owned =
                bed.layout.sharing == Sharing::Partitioned && u64::from(table.owner(key)) == dead;
            assert!(
                held || owned,
                "key {key} was given up for nothing: {repaired:?}"
            );
        } else if writer != dead {
            assert_eq!(asked, answered, "key {key}");
        }
    }
}

#[test]
fn a_host_dies_amid_writes() {
    let kills: u64 = std::env::var("DSMARK_KILLS")
        .map_or(6, |kills| kills.parse().expect("DSMARK_KILLS is a number"));
    let mut random = SplitMix64::new(0x5eed);
    let (mut left, mut busy, mut miscounted) = (0, 0, 0);
    for kill in 0..kills {
        let repaired = kill_one(kill as usize % SHARINGS.len(), &mut random);
        left += usize::from(!repaired.left.is_empty());
        busy += repaired.busy.len();
        miscounted += repaired.miscounted.len();
        eprintln!("{kill}: {repaired:?}");
    }
    eprintln!("{kills} kills: {left} in a group, {busy} buckets busy, {miscounted} miscounted");
    assert!(
        kills < 10 || left > 0,
        "writers spend most of their time in a group"
    );
}
