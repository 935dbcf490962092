//! What the simulator does is something that the model allows: for every litmus file, on several
//! pods, with lanes that start at random moments, no outcome leaves the exact set.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use check::Litmus;
use check::litmus;
use fabric::{
    Coherence, Discipline, Fence, Flush, HostAtomics, NoWatch, Pod, Program, Seat, Setting,
    SplitMix64, Substrate,
};
use model::WriteMode;
use sim::pod::PodFile;
use sim::{Sim, pod};

/// Longer, in cycles, than any litmus thread takes on any of these pods.
const SETTLED: u32 = 1_000_000;

/// The threads of a test, each after a delay of its own, and one more lane that reads the end.
struct Lanes<'t> {
    test: &'t Litmus,
    /// Cycles before each thread.
    delays: Vec<u32>,
}

impl Lanes<'_> {
    /// Hosts of software pods do not see each other's caches, so a host of its own reads the
    /// device. On one host, one of its lanes reads what all of them see.
    fn pod(&self) -> Pod {
        let Pod { hosts, lanes } = self.test.pod();
        if hosts == 1 {
            Pod::new(1, lanes + 1)
        } else {
            Pod::new(hosts + 1, lanes)
        }
    }

    fn reads_the_end(&self, seat: Seat) -> bool {
        let Pod { hosts, lanes } = self.test.pod();
        let last = if hosts == 1 { (0, lanes) } else { (hosts, 0) };
        (seat.host, seat.lane) == last
    }

    fn row(&self, sim: &Sim) -> Vec<u64> {
        let setting = Setting {
            pod: self.pod(),
            discipline: Discipline::DEFAULT,
            host_bytes: 0,
        };
        let mut loads = vec![Vec::new(); self.test.threads().len()];
        let mut memory = Vec::new();
        for (seat, values) in sim.run(&setting, &NoWatch, self) {
            if self.reads_the_end(seat) {
                memory = values;
            } else if let Some(thread) = self.test.thread_of(seat) {
                loads[thread] = values;
            }
        }
        self.test.row(&loads, &memory)
    }
}

impl Program for Lanes<'_> {
    type Out = Vec<u64>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<u64> {
        if self.reads_the_end(seat) {
            port.work(SETTLED);
            let mut memory = Vec::new();
            for &at in self.test.watched() {
                if seat.host > 0 {
                    port.flush(at.line(), Flush::ClFlushOpt);
                    port.fence(Fence::Full);
                }
                memory.push(port.load(at));
            }
            return memory;
        }
        let Some(thread) = self.test.thread_of(seat) else {
            return Vec::new();
        };
        port.work(self.delays[thread]);
        self.test.perform(port, thread, 0)
    }
}

fn pods(coherence: Coherence, writes: WriteMode) -> Vec<PodFile> {
    let names: &[&str] = match coherence {
        Coherence::Hardware => &["coherent-four-host"],
        Coherence::Software => &[
            "sc26-four-host",
            "xc50256-two-host",
            "multi-headed-three-host",
        ],
    };
    let load = |name: &&str| {
        let mut file = pod::load(name).unwrap();
        writes.name().clone_into(&mut file.write_mode.value);
        if writes != WriteMode::Synchronous {
            file.fence.posted_hold_ns.value = 900.0;
        }
        // A litmus touches a handful of lines; caches of real size only cost time to set up.
        for level in &mut file.cache {
            level.size_bytes = 64 * fabric::LINE_BYTES * u64::from(level.ways);
        }
        file
    };
    names.iter().map(load).collect()
}

/// Seeds of each pod's jitter, and runs with each: all at once, then at random moments within some
/// microseconds. A seed has one `Sim`, which keeps its lanes' stacks.
const SEEDS: u64 = 2;
const RUNS: u64 = 12;

fn seen(test: &Litmus, writes: WriteMode) -> BTreeSet<Vec<u64>> {
    let mut seen = BTreeSet::new();
    let mut random = SplitMix64::new(1);
    for file in pods(test.coherence(), writes) {
        for seed in 0..SEEDS {
            let mut lanes = Lanes {
                test,
                delays: vec![0; test.threads().len()],
            };
            let sim = Sim::new(file.clone(), lanes.pod()).seed(seed);
            for run in 0..RUNS {
                seen.insert(lanes.row(&sim));
                let longest = 400 << (run % 6);
                lanes.delays.fill_with(|| random.below(longest) as u32);
            }
        }
    }
    seen
}

#[test]
fn no_simulated_outcome_leaves_the_set() {
    for test in litmus::all() {
        for writes in test.modes() {
            let seen = seen(&test, writes);
            let foreign: Vec<_> = seen.difference(test.set(writes).unwrap().exact()).collect();
            assert!(
                foreign.is_empty(),
                "{} ({writes}): {foreign:?}",
                test.name()
            );
        }
    }
}

/// The simulator is not merely sequential: hazards that its likely choices contain do appear.
#[test]
fn likely_hazards_appear() {
    for (name, hazard) in [
        ("mp+unflushed-payload", [1, 0]),
        ("mp+fence-only", [1, 0]),
        ("clobber+flush", [0, 1]),
        ("clobber+flush", [1, 0]),
    ] {
        let test = litmus::find(name).unwrap();
        let seen = seen(&test, WriteMode::Synchronous);
        assert!(seen.contains(&hazard[..]), "{name}: {seen:?}");
    }
}
