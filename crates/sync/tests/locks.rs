//! Every lock on every simulated pod. The story: a published ticket lock for such pods passed 80,000
//! increments of its counter and then hung when it was built on (FUSEE-CXL); so what is asked here
//! is not one counter on one pod, but no overlap and no lost increment under many interleavings.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Counting, run, simulated};
use sync::lock::{Algorithm, Options};

const PODS: [&str; 5] = [
    "sc26-four-host",
    "xc50256-two-host",
    "niagara2-two-host",
    "multi-headed-three-host",
    "coherent-four-host",
];

fn count(algorithm: Algorithm, name: &str, lanes: u32, rounds: u64, seed: u64) {
    let (sim, pod, discipline, arrival) = simulated(name, lanes);
    let options = Options {
        arrival,
        local_passes: 3,
        ..Options::of(pod)
    };
    let counting = Counting::new(algorithm, &options, rounds, seed);
    let seen = run(&sim, pod, discipline, counting.host_bytes, &counting);
    for (seat, seen) in seen {
        let what = format!("{algorithm} on {name}, {lanes} lanes, seed {seed}: {seat:?}");
        assert_eq!(seen.overlaps, 0, "{what}");
        assert_eq!(seen.counter, counting.total(), "{what}");
    }
}

fn works_on(algorithm: Algorithm, name: &str) -> bool {
    !algorithm.is_hardware() || name == "coherent-four-host"
}

#[test]
fn one_lane_a_host_counts_exactly_on_every_pod() {
    for &algorithm in Algorithm::ALL {
        for name in PODS.iter().filter(|name| works_on(algorithm, name)) {
            for seed in 0..5 {
                count(algorithm, name, 1, 20, seed);
            }
        }
    }
}

#[test]
fn lanes_of_a_host_share_its_place_among_the_hosts() {
    for &algorithm in Algorithm::ALL {
        for name in PODS.iter().filter(|name| works_on(algorithm, name)) {
            for seed in 0..2 {
                count(algorithm, name, 3, 10, seed);
            }
        }
    }
}
