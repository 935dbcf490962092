//! What the engine itself costs: device operations and cache hits a second of one core.
//!
//! A device operation is one access that the simulated device serves: a read of a line, a read
//! for ownership, a write. What stays in a host (a hit, a flush of a clean line, a fence) is none,
//! though it takes a turn. Each turn of the first benchmark is three device operations and six of a
//! lane's:
//! a store of an absent line (the read for ownership), a flush (the write) and a fence publish; a
//! flush of the clean copy, a fence and a load (the read) observe. All of them are counted, nothing
//! else is.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Slice, Substrate,
};
use sim::{Sim, pod};

struct DeviceOps {
    /// One line a lane.
    lines: Vec<Slice<u64>>,
    lanes: u32,
    turns: u64,
}

impl Program for DeviceOps {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> u64 {
        let own = (seat.host * self.lanes + seat.lane) as usize;
        let mine = self.lines[own].start();
        let theirs = self.lines[(own + self.lanes as usize) % self.lines.len()].start();
        let mut sum = 0;
        for turn in 0..self.turns {
            port.write_published(mine, &[turn]);
            port.observe(theirs.line());
            sum += port.load(theirs);
        }
        sum
    }
}

struct Hits {
    words: Slice<u64>,
    turns: usize,
}

impl Program for Hits {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> u64 {
        let mut sum = 0u64;
        for _ in 0..self.turns {
            for index in 0..self.words.len() {
                sum = sum.wrapping_add(port.load(self.words.at(index)));
            }
        }
        sum
    }
}

const SHAPES: [(u32, u32); 4] = [(4, 1), (64, 1), (4, 4), (64, 4)];

/// Operations of one run, over all lanes: enough that starting the lanes does not count.
const OPERATIONS: u64 = 3 << 20;

/// 16 KiB: a third of the first level.
const HIT_WORDS: usize = 2 * 1024;

fn run<G: Program>(pod: Pod, program: &G) -> Vec<(Seat, G::Out)> {
    let file = pod::load("sc26-four-host").expect("built in");
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    Sim::new(file, pod).run(&setting, &NoWatch, program)
}

fn device_ops(c: &mut Criterion) {
    let mut group = c.benchmark_group("device-operations");
    group
        .throughput(Throughput::Elements(OPERATIONS))
        .sample_size(10);
    for (hosts, lanes) in SHAPES {
        let pod = Pod::new(hosts, lanes);
        let mut arena = Arena::new();
        let program = DeviceOps {
            lines: arena.per_host("bench.line", hosts * lanes, 1),
            lanes,
            turns: OPERATIONS / 3 / u64::from(hosts * lanes),
        };
        group.bench_function(format!("{hosts}-hosts-{lanes}-lanes"), |b| {
            b.iter(|| run(pod, &program));
        });
    }
    group.finish();
}

fn cache_hits(c: &mut Criterion) {
    let mut group = c.benchmark_group("cache-hits");
    let hits = 32 << 20;
    group.throughput(Throughput::Elements(hits)).sample_size(10);
    for (hosts, lanes) in SHAPES {
        let pod = Pod::new(hosts, lanes);
        let words = Arena::new().slice("bench.words", HIT_WORDS);
        let turns = hits as usize / HIT_WORDS / (hosts * lanes) as usize;
        let program = Hits { words, turns };
        group.bench_function(format!("{hosts}-hosts-{lanes}-lanes"), |b| {
            b.iter(|| run(pod, &program));
        });
    }
    group.finish();
}

criterion_group!(benches, device_ops, cache_hits);
criterion_main!(benches);
