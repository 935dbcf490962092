//! What runs on the two tiers: real algorithms on scaled data, and synthetic patterns.

pub mod btree;
pub mod graph500;
pub mod silo;
pub mod synthetic;

use crate::scale::Grain;
use crate::world::Lane;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One operation; there may be more.
    Operated,
    /// Nothing is left of this phase for this thread.
    Wait,
}

/// What follows when all threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// More of the initialization.
    Setup,
    /// The measured part begins or goes on.
    Measured,
    /// Nothing.
    End,
}

/// An application: phases of operations on 20 logical threads. An operation is short, so that
/// threads interleave at a fixed quantum of simulated time.
pub trait Application {
    /// What its locality is made of.
    fn grain(&self) -> Grain;

    /// Maps its memory, on thread 0.
    fn layout(&mut self, lane: &mut Lane<'_>);

    /// One operation of a thread.
    fn operate(&mut self, lane: &mut Lane<'_>) -> Step;

    /// Called when every thread waits, and once before the first operation.
    fn next_phase(&mut self) -> Phase;

    /// How much of the measured part is done, from 0 to 1.
    fn progress(&self) -> f64;

    /// Lines a second that another program streams from the fast tier, as a share of what that
    /// tier gives; most applications run alone.
    fn antagonist_share(&self) -> f64 {
        0.0
    }
}
