//! Counting: the census of an algorithm's maintenance.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};
use std::panic::Location;

use serde::{Deserialize, Serialize};

use super::{Op, Tap, Verdict};
use crate::discipline::Fence;
use crate::place::LINE_BYTES;

/// Fences by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    /// Store fences.
    pub store: u64,
    /// Load fences.
    pub load: u64,
    /// Full fences.
    pub full: u64,
}

/// What an algorithm asked of the memory: the volume of republished state, the deciding factor in
/// multi-host scaling on such pods (SC26).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// Calls of publish, post, confirm, and published or posted writes.
    pub publishes: u64,
    /// Calls of observe.
    pub observes: u64,
    /// Lines published.
    pub lines_published: u64,
    /// Lines observed.
    pub lines_observed: u64,
    /// Fences, those of the recipes included.
    pub fences: Fences,
}

impl Census {
    /// Bytes published: whole lines, since no less travels.
    pub fn bytes_published(&self) -> u64 {
        self.lines_published * LINE_BYTES
    }

    /// Bytes observed.
    pub fn bytes_observed(&self) -> u64 {
        self.lines_observed * LINE_BYTES
    }

    fn note(&mut self, op: Op) {
        match op {
            Op::Publish(lines) | Op::Post(lines) => {
                self.publishes += 1;
                self.lines_published += lines.count();
            }
            Op::PublishEach { lines } => {
                self.publishes += 1;
                self.lines_published += lines;
            }
            Op::Confirm(_) => {
                self.publishes += 1;
                self.observes += 1;
                self.lines_published += 1;
                self.lines_observed += 1;
            }
            Op::Observe(lines) => {
                self.observes += 1;
                self.lines_observed += lines.count();
            }
            Op::ObserveEach { lines } => {
                self.observes += 1;
                self.lines_observed += lines;
            }
            Op::Fence(Fence::Store) => self.fences.store += 1,
            Op::Fence(Fence::Load) => self.fences.load += 1,
            Op::Fence(Fence::Full) => self.fences.full += 1,
            _ => {}
        }
    }
}

impl AddAssign for Census {
    fn add_assign(&mut self, other: Self) {
        self.publishes += other.publishes;
        self.observes += other.observes;
        self.lines_published += other.lines_published;
        self.lines_observed += other.lines_observed;
        self.fences.store += other.fences.store;
        self.fences.load += other.fences.load;
        self.fences.full += other.fences.full;
    }
}

impl Sub for Census {
    type Output = Self;

    /// What was counted since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            publishes: self.publishes - earlier.publishes,
            observes: self.observes - earlier.observes,
            lines_published: self.lines_published - earlier.lines_published,
            lines_observed: self.lines_observed - earlier.lines_observed,
            fences: Fences {
                store: self.fences.store - earlier.fences.store,
                load: self.fences.load - earlier.fences.load,
                full: self.fences.full - earlier.fences.full,
            },
        }
    }
}

/// The tap that counts.
#[derive(Debug, Default)]
pub struct Count {
    census: Cell<Census>,
}

impl Count {
    /// What has been counted so far.
    pub fn census(&self) -> Census {
        self.census.get()
    }
}

impl Tap for Count {
    fn before(&self, op: Op, _: &'static Location<'static>) -> Verdict {
        let mut census = self.census.get();
        census.note(op);
        self.census.set(census);
        Verdict::Perform
    }
}
