//! Hosts die amid writes. In a table that hosts share without coherence a dead writer could leave
//! half a value that is read as a whole one, a bucket that nobody may enter, and a lock that stops
//! everybody else's keys too. So four processes write, one is killed, and then: the others went on
//! with every key that does not share the dead one's lock, no value is torn, every key holds what
//! its writer was told or had just asked for, the repair names what the dead one was at, and the
//! mended table takes and gives every key.
//!
//! A kill at some moment nearly never falls between the stores that leave a bucket busy: they are
//! nanoseconds apart. So a second test looks for that moment. All four are stopped again and again,
//! until one of them has a bucket in mid-change, or a key in one whose home does not know of it
//! yet: that one is killed there, and the repair has to find just this.
//!
//! `DSMARK_TABLE_KILLS=100 cargo test -p table --test kills` kills a hundred in each test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod moment;
mod place;
mod verdict;
mod writer;

use std::process::Child;

use fabric::SplitMix64;
use rustix::process::{Signal, set_parent_process_death_signal};
use table::{Repaired, Table};

use moment::Moment;
use place::{Bed, HOSTS, Kind, SHARINGS, Task};

const CHILD: &str = "DSMARK_TABLE_HOST";

/// A host process: the test starts this very test of itself.
#[test]
fn a_host_process() {
    let Ok(config) = std::env::var(CHILD) else {
        return;
    };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (host, config) = config.split_once(' ').unwrap();
    let (kind, path) = config.split_once(' ').unwrap();
    let host = host.parse().unwrap();
    let bed = Bed::open(path, host, Kind::parse(kind));
    bed.run(host, &writer::Writer(&bed.layout));
}

/// Four writers at work.
struct Hosts {
    bed: Bed,
    children: Vec<Child>,
    /// Kept open: the region.
    _file: std::os::fd::OwnedFd,
}

impl Hosts {
    /// Starts them and lets each do some operations.
    fn start(kind: Kind, warm: u64) -> Self {
        let (file, path) = place::memory(kind);
        let bed = Bed::open(&path, 0, kind);
        let children = (0..HOSTS).map(|host| place::start(host, kind, &path));
        let hosts = Self {
            children: children.collect(),
            bed,
            _file: file,
        };
        hosts.bed.wait_for("writers", |reports| {
            reports.iter().all(|report| report[0] > warm + 1)
        });
        hosts
    }

    /// Kills one; lets the others go on, stops them, repairs the table and judges all of it.
    fn lose(mut self, dead: usize) -> Repaired {
        let bed = &self.bed;
        self.children[dead].kill().unwrap();
        self.children[dead].wait().unwrap();
        bed.run(0, &Task::Set(bed.layout.dead, dead as u64 + 1));
        let then = bed.reports();
        bed.wait_for("the survivors", |reports| {
            (0..HOSTS as usize).all(|host| host == dead || reports[host][0] > then[host][0] + 50)
        });
        bed.run(0, &Task::Set(bed.layout.stop, 1));
        for (host, child) in self.children.iter_mut().enumerate() {
            let ended = child.wait().unwrap();
            assert!(host == dead || ended.success(), "host {host}: {ended}");
        }
        let repaired = bed.repair();
        verdict::of_repair(&bed.layout, &repaired, dead as u32);
        let entries = bed.entries();
        assert_eq!(repaired.entries, entries.len() as u64);
        verdict::of_keys(bed, &repaired, &entries, dead as u64);
        verdict::of_mended(bed, &entries);
        repaired
    }
}

fn kills(default: u64) -> u64 {
    std::env::var("DSMARK_TABLE_KILLS").map_or(default, |kills| {
        kills.parse().expect("DSMARK_TABLE_KILLS is a number")
    })
}

#[test]
fn a_host_dies_amid_writes() {
    let kills = kills(6);
    let mut random = SplitMix64::new(0x5eed);
    let mut left = 0;
    for kill in 0..kills {
        let kind = Kind {
            sharing: SHARINGS[kill as usize % SHARINGS.len()],
            crowded: false,
        };
        let hosts = Hosts::start(kind, 20 + random.below(200));
        let repaired = hosts.lose(random.below(u64::from(HOSTS)) as usize);
        left += usize::from(!repaired.left.is_empty());
        eprintln!("{kill}: {repaired:?}");
    }
    eprintln!("{kills} kills: {left} in a group");
    assert!(
        kills < 10 || left > 0,
        "writers spend most of their time in a group"
    );
}

#[test]
fn a_host_dies_in_mid_change() {
    let mut random = SplitMix64::new(0xdead);
    let (mut busy, mut miscounted) = (0, 0);
    let kills = kills(6);
    for kill in 0..kills {
        let kind = Kind {
            sharing: SHARINGS[kill as usize / 2 % SHARINGS.len()],
            crowded: true,
        };
        let moment = [Moment::Busy, Moment::Miscounted][kill as usize % 2];
        let hosts = Hosts::start(kind, 20);
        let seen = moment::hunt(&hosts.bed, &hosts.children, moment, random.word());
        let repaired = hosts.lose(seen.host as usize);
        eprintln!("{kill}: after {} looks {seen:?}, {repaired:?}", seen.looks);
        // A survivor's bucket is never busy, and its counts are right: all of it is the dead one's.
        match moment {
            Moment::Busy => assert_eq!(repaired.busy, [(seen.bucket, seen.host)]),
            Moment::Miscounted => assert_eq!(repaired.miscounted, [seen.bucket]),
        }
        busy += repaired.busy.len();
        miscounted += repaired.miscounted.len();
    }
    eprintln!("{kills} kills: {busy} buckets busy, {miscounted} miscounted, all mended");
}

/// The owner's number where sharing is partitioned: groups in order, hosts in order.
fn owner_of(table: &Table, keys: &[u64], group: u64) -> Option<u32> {
    let key = keys.iter().find(|&&key| table.group_of(key) == group)?;
    Some(table.owner(*key))
}
