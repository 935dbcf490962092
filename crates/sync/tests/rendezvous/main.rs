//! Rendezvous, hearts and the barrier that they guard, in simulated time.
//!
//! The story: a run that was killed leaves a region that says "running", hosts that say "here", and
//! whatever their caches wrote back last. The next run must neither believe it nor be refused by
//! it, and a host that never comes must be named and not waited for.

mod beating;
mod joined;

use fabric::{Discipline, Pod, Setting};
use sim::{Sim, pod};

/// The four-host pod with pauses of 0.2 milliseconds, so that a second of waiting is some five
/// thousand looks, and five beats of a heart.
fn slow(pod: Pod, region_bytes: u64) -> Sim {
    let file = pod::load("sc26-four-host").expect("a built-in pod");
    let file = file.scaled("core.pause_cycles", 4_000.0);
    let file = file.expect("a constant that may have any length");
    Sim::new(file, pod).region_bytes(region_bytes)
}

fn setting(pod: Pod, host_bytes: u64) -> Setting {
    Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes,
    }
}
