//! Policies that never move a page: what every other one is held against.

use super::{Fault, Placement, Policy};
use crate::machine::{Mechanism, Tier};

/// All pages in the fast tier. Build the machine with a fast tier that holds them all.
#[derive(Debug)]
pub struct AllFast;

/// All pages in the capacity tier: the published baseline, with huge pages.
#[derive(Debug)]
pub struct AllCapacity;

/// The fast tier until it is full, then the capacity tier.
#[derive(Debug)]
pub struct FirstTouch;

/// Pages alternate between the tiers in the ratio of their sizes, as weighted interleaving does.
#[derive(Debug)]
pub struct Interleave {
    share: f64,
    credit: f64,
}

impl Interleave {
    /// With so much of all pages in the fast tier.
    pub fn new(fast_share: f64) -> Self {
        Self {
            share: fast_share,
            credit: 0.0,
        }
    }
}

fn huge_in(tier: Tier) -> Placement {
    Placement { tier, huge: true }
}

impl Policy for AllFast {
    fn on_fault(&mut self, _: Fault, _: &mut Mechanism) -> Placement {
        huge_in(Tier::Fast)
    }
}

impl Policy for AllCapacity {
    fn on_fault(&mut self, _: Fault, _: &mut Mechanism) -> Placement {
        huge_in(Tier::Capacity)
    }
}

impl Policy for FirstTouch {
    fn on_fault(&mut self, _: Fault, _: &mut Mechanism) -> Placement {
        huge_in(Tier::Fast)
    }
}

impl Policy for Interleave {
    fn on_fault(&mut self, _: Fault, _: &mut Mechanism) -> Placement {
        self.credit += self.share;
        if self.credit >= 1.0 {
            self.credit -= 1.0;
            huge_in(Tier::Fast)
        } else {
            huge_in(Tier::Capacity)
        }
    }
}
