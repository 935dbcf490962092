//! Where the table lies, and what the test itself does with it.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Ptr, Seat, Setting, Slice, Substrate,
};
use native::{Host, Pins, Region, Request, TscClock, available_cpus};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use table::{Config, Handle, Repaired, Sharing, Table};

pub(crate) const HOSTS: u32 = 4;
pub(crate) const KEYS: usize = 48;
pub(crate) const WORDS: usize = 9;
pub(crate) const SHARINGS: [Sharing; 3] =
    [Sharing::Seqlock, Sharing::Partitioned, Sharing::BucketLocks];
/// Buckets of a group.
pub(crate) const GROUP: u64 = 4;
/// Keys of a group where all of them are at home in its first bucket: half of them lie elsewhere.
const CROWD: usize = 6;

/// Which table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) sharing: Sharing,
    /// Whether keys were chosen to collide.
    pub(crate) crowded: bool,
}

impl Kind {
    /// As [`start`] writes it.
    pub(crate) fn parse(text: &str) -> Self {
        let number: usize = text.parse().unwrap();
        Self {
            sharing: SHARINGS[number / 2],
            crowded: number % 2 == 1,
        }
    }

    fn number(self) -> usize {
        let sharing = SHARINGS.iter().position(|&other| other == self.sharing);
        2 * sharing.unwrap() + usize::from(self.crowded)
    }
}

/// Everything in the region.
pub(crate) struct Layout {
    pub(crate) arena: Arena,
    pub(crate) table: Table,
    pub(crate) sharing: Sharing,
    pub(crate) keys: Vec<u64>,
    /// Not 0: all stop.
    pub(crate) stop: Ptr<u64>,
    /// The dead host's number plus one.
    pub(crate) dead: Ptr<u64>,
    /// Each host's: operations done; torn values read; then for each key what was asked for last,
    /// what was answered last, and why it was not, if so.
    pub(crate) reports: Vec<Slice<u64>>,
}

/// Words of a report before its keys.
pub(crate) const HEAD: usize = 2;

fn layout(kind: Kind) -> Layout {
    let mut arena = Arena::new();
    // Room enough that no group of buckets is ever full.
    let entries = if kind.crowded { KEYS } else { 4 * KEYS };
    let config = Config {
        group_buckets: GROUP as u32,
        locks: 8,
        sharing: kind.sharing,
        ..Config::of(entries as u64, WORDS)
    };
    let table = Table::lay_out(&mut arena, "kills", pod(), &config);
    Layout {
        keys: keys(&table, kind.crowded),
        table,
        sharing: kind.sharing,
        stop: arena.word("kills.stop"),
        dead: arena.word("kills.dead"),
        reports: arena.per_host("kills.report", HOSTS, HEAD + 3 * KEYS),
        arena,
    }
}

fn keys(table: &Table, crowded: bool) -> Vec<u64> {
    let mut in_group: HashMap<u64, usize> = HashMap::new();
    let fits = |key: &u64| {
        let keys = in_group.entry(table.group_of(*key)).or_default();
        let fits = *keys < CROWD && table.home_of(*key).is_multiple_of(GROUP);
        *keys += usize::from(fits);
        fits
    };
    if crowded {
        (1..).filter(fits).take(KEYS).collect()
    } else {
        (1..=KEYS as u64).collect()
    }
}

fn pod() -> Pod {
    Pod::new(HOSTS, 1)
}

/// The value that makes `sequence` recognizable in every word.
pub(crate) fn value(key: u64, sequence: u64) -> [u64; WORDS] {
    let mut words = [sequence; WORDS];
    for (index, word) in words.iter_mut().enumerate().skip(1) {
        *word = (sequence ^ key << 40).wrapping_mul(index as u64 * 2 + 1);
    }
    words
}

/// What the test itself does with the region.
pub(crate) enum Task<'l> {
    Read(&'l [Slice<u64>]),
    Set(Ptr<u64>, u64),
    Repair(&'l Layout),
    Entries(&'l Layout),
    /// Puts a new value for each key that this host may write.
    Renew(&'l Layout),
}

pub(crate) enum Got {
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
            Self::Renew(layout) => {
                let mut handle = Handle::open(&layout.table, port, seat);
                for &key in &layout.keys {
                    let owned = layout.sharing == Sharing::Partitioned;
                    if !owned || layout.table.owner(key) == seat.host {
                        handle.upsert(key, &value(key, RENEWED)).unwrap();
                    }
                }
                handle.close();
                Got::Words(Vec::new())
            }
        }
    }
}

/// The sequence number of what is put after a repair.
pub(crate) const RENEWED: u64 = 1 << 62;

/// A host's end of the region.
pub(crate) struct Bed {
    region: Region,
    clock: TscClock,
    pub(crate) layout: Layout,
}

impl Bed {
    pub(crate) fn open(path: &str, host: u32, kind: Kind) -> Self {
        let layout = layout(kind);
        let bytes = layout.arena.region_bytes();
        Self {
            region: Region::open(&Request::new(path, bytes, host)).unwrap(),
            clock: TscClock::calibrate().unwrap(),
            layout,
        }
    }

    pub(crate) fn run<G: Program>(&self, host: u32, program: &G) -> G::Out {
        // Unpinned hosts would all start on the first CPU: each takes its own in turn.
        let cpus = available_cpus().unwrap();
        let pins = Pins {
            cpus: vec![cpus[host as usize % cpus.len()]],
            oversubscribed: true,
        };
        let mut native = Host::new(&self.region, host, pins, self.clock.clock(true));
        native.set_deadline(Some(Duration::from_mins(10)));
        let setting = Setting {
            pod: pod(),
            discipline: Discipline::DEFAULT,
            host_bytes: self.layout.arena.host_bytes(),
        };
        native.run(&setting, &NoWatch, program).remove(0).1
    }

    pub(crate) fn reports(&self) -> Vec<Vec<u64>> {
        match self.run(0, &Task::Read(&self.layout.reports)) {
            Got::Words(words) => words,
            _ => unreachable!("words were asked for"),
        }
    }

    pub(crate) fn repair(&self) -> Repaired {
        match self.run(0, &Task::Repair(&self.layout)) {
            Got::Repaired(repaired) => repaired,
            _ => unreachable!("a repair was asked for"),
        }
    }

    pub(crate) fn entries(&self) -> HashMap<u64, Vec<u64>> {
        match self.run(0, &Task::Entries(&self.layout)) {
            Got::Entries(entries) => entries,
            _ => unreachable!("entries were asked for"),
        }
    }

    pub(crate) fn wait_for(&self, what: &str, ready: impl Fn(&[Vec<u64>]) -> bool) {
        let start = Instant::now();
        while !ready(&self.reports()) {
            assert!(
                start.elapsed() < Duration::from_mins(5),
                "waited in vain for {what}"
            );
        }
    }
}

/// Memory for the region, and its name to whoever inherits it.
pub(crate) fn memory(kind: Kind) -> (OwnedFd, String) {
    let file = memfd_create("kills", MemfdFlags::empty()).unwrap();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let bytes = layout(kind).arena.region_bytes();
    ftruncate(&file, bytes.next_multiple_of(4096)).unwrap();
    (file, path)
}

pub(crate) fn start(host: u32, kind: Kind, path: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_host_process", "--nocapture"])
        .env(super::CHILD, format!("{host} {} {path}", kind.number()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}
