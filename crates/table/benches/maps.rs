//! The table on one host beside maps for the threads of one process.
//!
//! Run with `cargo bench -p table --bench maps [-- ROUNDS [MIX]]`. A million keys, 8-byte values,
//! scrambled Zipf 0.99, one and two lanes, YCSB mixes C (reads), B (5 % updates), A (half updates).
//! Every map hashes with rustc's `FxHasher`. Sides run in turn, round by round, in the same pinned
//! threads, over the same precomputed streams of keys; updates overwrite. It prints one JSON object
//! a line: each side's median of millions of operations a second, and the ratio of `table` to the
//! fastest other, round by round, with its quartiles and its range.
//!
//! `array` is no map: open addressing in a fixed array of atomics, without removal, versions or
//! errors. It bounds what is to be had.

#![allow(clippy::print_stdout, reason = "the bench's output")]

use std::collections::HashMap;
use std::error::Error;
use std::hash::Hasher;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, SplitMix64, Substrate,
};
use native::{Host, Pins, Region, Request, TscClock, available_cpus};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::AsRawFd;
use table::draw::{Distribution, Draw};
use table::{Config, Handle, Table};

const ENTRIES: u64 = 1_000_000;
/// What the table is laid out for. It is then 0.48 full, as dashmap is, whose capacity of a million
/// a power of two rounds up.
const ROOM: u64 = ENTRIES / 4 * 5;
/// Operations of a lane in a round: longer than any cache remembers.
const STREAM: usize = 4 << 20;
const UPDATE: u64 = 1 << 63;
const SHARDS: usize = 64;

/// A map that lanes share.
trait Map: Sync {
    fn get(&self, key: u64) -> Option<u64>;
    fn update(&self, key: u64, value: u64);
}

impl Map for dashmap::DashMap<u64, u64, FxBuildHasher> {
    fn get(&self, key: u64) -> Option<u64> {
        self.get(&key).map(|value| *value)
    }

    fn update(&self, key: u64, value: u64) {
        self.insert(key, value);
    }
}

impl Map for papaya::HashMap<u64, u64, FxBuildHasher> {
    fn get(&self, key: u64) -> Option<u64> {
        self.pin().get(&key).copied()
    }

    fn update(&self, key: u64, value: u64) {
        self.pin().insert(key, value);
    }
}

impl Map for scc::HashMap<u64, u64, FxBuildHasher> {
    fn get(&self, key: u64) -> Option<u64> {
        self.read_sync(&key, |_, value| *value)
    }

    fn update(&self, key: u64, value: u64) {
        self.upsert_sync(key, value);
    }
}

/// Shards of the standard map, each under its mutex, on lines of their own.
struct Sharded(Vec<Shard>);

#[repr(align(128))]
struct Shard(Mutex<FxHashMap<u64, u64>>);

impl Sharded {
    fn new() -> Self {
        let shard = |_| {
            let map =
                HashMap::with_capacity_and_hasher(ENTRIES as usize / SHARDS * 2, FxBuildHasher);
            Shard(Mutex::new(map))
        };
        Self((0..SHARDS).map(shard).collect())
    }

    fn shard(&self, key: u64) -> &Mutex<FxHashMap<u64, u64>> {
        // The standard map indexes by the low bits and tags by the highest.
        &self.0[(hash(key) >> 40) as usize % SHARDS].0
    }
}

impl Map for Sharded {
    fn get(&self, key: u64) -> Option<u64> {
        let shard = self.shard(key).lock().expect("nothing panics under it");
        shard.get(&key).copied()
    }

    fn update(&self, key: u64, value: u64) {
        let mut shard = self.shard(key).lock().expect("nothing panics under it");
        shard.insert(key, value);
    }
}

/// Open addressing in a fixed array: key and value in turn.
struct Array(Vec<AtomicU64>);

impl Array {
    fn new() -> Self {
        let words = 2 * (2 * ENTRIES).next_power_of_two() as usize;
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    fn slot(&self, key: u64) -> usize {
        let mask = self.0.len() - 1;
        let mut at = (hash(key) as usize * 2) & mask;
        loop {
            let found = self.0[at].load(Ordering::Relaxed);
            if found == key || found == 0 {
                return at;
            }
            at = (at + 2) & mask;
        }
    }
}

impl Map for Array {
    fn get(&self, key: u64) -> Option<u64> {
        let at = self.slot(key);
        let value = self.0[at + 1].load(Ordering::Acquire);
        (self.0[at].load(Ordering::Relaxed) == key).then_some(value)
    }

    fn update(&self, key: u64, value: u64) {
        let at = self.slot(key);
        self.0[at].store(key, Ordering::Relaxed);
        self.0[at + 1].store(value, Ordering::Release);
    }
}

fn hash(key: u64) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(key);
    hasher.finish()
}

/// What lanes do together in one round.
struct Round<'a, F> {
    streams: &'a [Vec<u64>],
    start: Barrier,
    /// The whole stream of a lane; what it read, added up.
    run: F,
}

/// One lane's pass over its stream through a map of this process.
struct Through<'m, M>(&'m M);

/// One lane's pass through the table.
struct ThroughTable<'t>(&'t Table);

trait Pass: Sync {
    fn pass<P: HostAtomics>(&self, seat: Seat, port: &P, stream: &[u64]) -> u64;
}

impl<M: Map> Pass for Through<'_, M> {
    fn pass<P: HostAtomics>(&self, _: Seat, _: &P, stream: &[u64]) -> u64 {
        let mut sum = 0u64;
        for &word in stream {
            let key = word & !UPDATE;
            if word & UPDATE == 0 {
                sum = sum.wrapping_add(self.0.get(key).unwrap_or(0));
            } else {
                self.0.update(key, word);
            }
        }
        sum
    }
}

impl Pass for ThroughTable<'_> {
    fn pass<P: HostAtomics>(&self, seat: Seat, port: &P, stream: &[u64]) -> u64 {
        let mut handle = Handle::open(self.0, port, seat);
        let (mut sum, mut value) = (0u64, [0]);
        for &word in stream {
            let key = word & !UPDATE;
            if word & UPDATE == 0 {
                if let Ok(Some(_)) = handle.get(key, &mut value) {
                    sum = sum.wrapping_add(value[0]);
                }
            } else {
                handle
                    .upsert(key, &[word])
                    .expect("there is room for every key");
            }
        }
        handle.close();
        sum
    }
}

impl<F: Pass> Program for Round<'_, F> {
    /// Nanoseconds.
    type Out = f64;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> f64 {
        let stream = &self.streams[seat.lane as usize];
        self.start.wait();
        let start = port.now();
        black_box(self.run.pass(seat, port, stream));
        port.clock().span_ns(start, port.now())
    }
}

struct Bench<'r> {
    region: &'r Region,
    clock: &'r TscClock,
    cpus: &'r [usize],
    table: Table,
    dashmap: dashmap::DashMap<u64, u64, FxBuildHasher>,
    papaya: papaya::HashMap<u64, u64, FxBuildHasher>,
    scc: scc::HashMap<u64, u64, FxBuildHasher>,
    mutex: Sharded,
    array: Array,
}

const SIDES: [&str; 6] = ["table", "dashmap", "papaya", "scc", "mutex64", "array"];

impl Bench<'_> {
    /// Millions of operations a second of all lanes together.
    fn round(&self, side: &str, streams: &[Vec<u64>]) -> f64 {
        match side {
            "table" => self.timed(ThroughTable(&self.table), streams),
            "dashmap" => self.timed(Through(&self.dashmap), streams),
            "papaya" => self.timed(Through(&self.papaya), streams),
            "scc" => self.timed(Through(&self.scc), streams),
            "mutex64" => self.timed(Through(&self.mutex), streams),
            _ => self.timed(Through(&self.array), streams),
        }
    }

    fn timed<F: Pass>(&self, run: F, streams: &[Vec<u64>]) -> f64 {
        let lanes = streams.len() as u32;
        let pins = Pins {
            cpus: self.cpus[..streams.len()].to_vec(),
            oversubscribed: false,
        };
        let host = Host::new(self.region, 0, pins, self.clock.clock(true));
        let setting = Setting {
            pod: Pod::new(1, lanes),
            discipline: Discipline::NONE,
            host_bytes: 0,
        };
        let program = Round {
            streams,
            start: Barrier::new(streams.len()),
            run,
        };
        let spans = host.run(&setting, &NoWatch, &program);
        let longest = spans.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
        let operations: usize = streams.iter().map(Vec::len).sum();
        operations as f64 / longest * 1e3
    }
}

fn stream(lane: u64, updates: f64) -> Vec<u64> {
    let draw = Draw::new(Distribution::Zipf, ENTRIES, 0.99, true, (0.8, 0.2));
    let mut random = SplitMix64::of_lane(1, lane);
    let threshold = (updates * f64::from(u32::MAX)) as u64;
    (0..STREAM)
        .map(|_| {
            let key = draw.draw(&mut random) + 1;
            let updates = (random.word() >> 32) < threshold;
            key | if updates { UPDATE } else { 0 }
        })
        .collect()
}

fn median(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(9);
    let only = std::env::args().nth(2).filter(|text| text.len() == 1);
    let mut arena = Arena::new();
    let config = Config::of(ROOM, 1);
    let table = Table::lay_out(&mut arena, "maps", Pod::new(1, 2), &config);
    let file = memfd_create("maps", MemfdFlags::empty())?;
    ftruncate(&file, arena.region_bytes().next_multiple_of(2 << 20))?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let region = Region::open(&Request::new(path, arena.region_bytes(), 0))?;
    let (clock, cpus) = (TscClock::calibrate()?, available_cpus()?);
    let bench = Bench {
        region: &region,
        clock: &clock,
        cpus: &cpus,
        table,
        dashmap: dashmap::DashMap::with_capacity_and_hasher(ENTRIES as usize, FxBuildHasher),
        papaya: papaya::HashMap::with_capacity_and_hasher(ENTRIES as usize, FxBuildHasher),
        scc: scc::HashMap::with_capacity_and_hasher(ENTRIES as usize, FxBuildHasher),
        mutex: Sharded::new(),
        array: Array::new(),
    };
    let load = [(1..=ENTRIES).map(|key| key | UPDATE).collect()];
    for side in SIDES {
        bench.round(side, &load);
    }
    for lanes in [1, 2] {
        for (mix, updates) in [("c", 0.0), ("b", 0.05), ("a", 0.5)] {
            if lanes > cpus.len() || only.as_deref().is_some_and(|only| only != mix) {
                continue;
            }
            let streams: Vec<_> = (0..lanes as u64)
                .map(|lane| stream(lane, updates))
                .collect();
            compare(&bench, mix, &streams, rounds);
        }
    }
    Ok(())
}

fn compare(bench: &Bench<'_>, mix: &str, streams: &[Vec<u64>], rounds: usize) {
    let mut figures = vec![Vec::new(); SIDES.len()];
    for _ in 0..rounds {
        for (side, figures) in SIDES.iter().zip(&mut figures) {
            figures.push(bench.round(side, streams));
        }
    }
    let lanes = streams.len();
    // The array is not a map.
    let fastest = |round: usize| {
        figures[1..5]
            .iter()
            .map(|side| side[round])
            .fold(0.0, f64::max)
    };
    let mut ratios: Vec<f64> = (0..rounds)
        .map(|round| figures[0][round] / fastest(round))
        .collect();
    for (side, figures) in SIDES.iter().zip(&mut figures) {
        let [low, middle, high] = median(figures);
        println!(
            "{{\"side\":\"{side}\",\"mix\":\"{mix}\",\"lanes\":{lanes},\"mops\":{middle:.2},\
             \"quartiles\":[{low:.2},{high:.2}]}}"
        );
    }
    let [low, middle, high] = median(&mut ratios);
    // Sorted. Of six rounds or more, 97 % of such ranges hold the median of all rounds.
    let (least, most) = (ratios[0], ratios[rounds - 1]);
    println!(
        "{{\"ratio\":\"table/fastest\",\"mix\":\"{mix}\",\"lanes\":{lanes},\"p50\":{middle:.3},\
         \"quartiles\":[{low:.3},{high:.3}],\"range\":[{least:.3},{most:.3}],\"rounds\":{rounds}}}"
    );
}
