//! What runs lanes, and what they run.
//!
//! A substrate supplies ports; it never names a workload. A program is what every lane runs; it
//! never names a substrate. Both meet at this pair of traits, once a trial, so nothing here is on a
//! hot path, and every access inside is monomorphic.

use crate::discipline::Discipline;
use crate::pod::{Pod, Seat};
use crate::port::{HostAtomics, Port};
use crate::wait::Gone;

/// What is fixed while a program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Hosts and lanes.
    pub pod: Pod,
    /// How lines travel.
    pub discipline: Discipline,
    /// Bytes of DRAM that the lanes of each host share; zeroed by the substrate.
    pub host_bytes: u64,
}

/// What every lane runs: the lane of a thread natively, a coroutine in simulator and checker.
pub trait Program: Sync {
    /// What a lane brings back.
    type Out: Send;

    /// Runs one lane to its end.
    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out;
}

/// Called from the slow path of a native `pause`: beats this host's heart and looks for reasons to
/// give up. It gets a bare port, whose own `pause` does not call it again.
pub trait Watch: Sync {
    /// One look.
    ///
    /// # Errors
    /// The reason to give up.
    fn look<P: Port>(&self, seat: Seat, port: &P) -> Result<(), Gone>;
}

/// Nothing to watch: one process holds every host, as in a simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {
    fn look<P: Port>(&self, _: Seat, _: &P) -> Result<(), Gone> {
        Ok(())
    }
}

/// What hardware counted of one event while a lane ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Whose.
    pub seat: Seat,
    /// The event, as `llc_load_misses`.
    pub event: &'static str,
    /// The count, or why there is none.
    pub count: Result<f64, String>,
}

/// What runs lanes.
pub trait Substrate {
    /// What hardware counted in the last run; nothing where nothing counts.
    fn counted(&self) -> Vec<Counted> {
        Vec::new()
    }

    /// Whether every run starts with a region of zeroes that no host holds a line of, as memory
    /// made for the run does: then nobody has to clear it. A device keeps what the last run left.
    fn starts_blank(&self) -> bool {
        false
    }

    /// Runs `program` on every lane that this process holds: those of one host natively, those of
    /// the whole pod in a simulator. Returns what each lane brought back, by seat.
    fn run<G: Program, W: Watch>(
        &self,
        setting: &Setting,
        watch: &W,
        program: &G,
    ) -> Vec<(Seat, G::Out)>;
}
