//! What Memtis knows of one tenant: histograms, thresholds, hits, what to split and to move.

use std::collections::VecDeque;

use super::histogram::{BUCKETS, Histogram, Skew};

/// What a demotion pass has still to do, in base pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demotion {
    /// To demote in all.
    pub(super) want: u64,
    /// Demoted so far.
    pub(super) done: u64,
    /// To look at before the pass ends.
    pub(super) scan: u64,
    /// Whether allocations wait, so that hot pages may go too.
    pub(super) pressure: bool,
    /// Whether warm pages may go in this pass.
    pub(super) warm_too: bool,
    /// Pages that waited for promotion when it began.
    pub(super) waiting: u64,
}

/// The state of splitting.
#[derive(Clone, Debug, Default)]
pub(super) struct Splitting {
    /// Whether it is switched off for ever.
    pub(super) off: bool,
    /// Whether the next adaptation decides how many to split.
    pub(super) needed: bool,
    /// Whether pages were split since the last decision.
    pub(super) happened: bool,
    /// Samples since the last decision.
    pub(super) samples: u64,
    /// Fast-tier hits at the last decision.
    pub(super) hits_before: u64,
    /// Huge pages by bucket of skewness, since the last cooling.
    pub(super) buckets: [u64; BUCKETS],
    /// Accesses of huge pages with a hot subpage, and how many those are.
    pub(super) accesses: u64,
    pub(super) used: u64,
    /// Pages in buckets above this one are split when they are met; none if it is the last.
    pub(super) above: usize,
    /// Base pages of that bucket itself that may be split.
    pub(super) tail: u64,
    /// Base pages that may still be split.
    pub(super) quota: u64,
    /// Regions to split, by tier.
    pub(super) queues: [VecDeque<u32>; 2],
}

impl Splitting {
    /// Counts a huge page that cools.
    pub(super) fn count(&mut self, skew: &Skew) {
        self.buckets[skew.bucket] += 1;
        self.accesses += skew.accesses;
        self.used += u64::from(skew.hot > 0);
    }
}

/// One tenant.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Coolings.
    pub(super) clock: u32,
    /// By real page sizes.
    pub(super) sized: Histogram,
    /// As if every page were a base page.
    pub(super) based: Histogram,
    pub(super) hot: usize,
    pub(super) warm: usize,
    /// The base threshold; wraps below 0 in the kernel.
    pub(super) base: u32,
    /// Samples on mapped pages until the next cooling, and until the next adaptation.
    pub(super) to_cooling: u64,
    pub(super) to_adaptation: u64,
    /// Since the last adaptation, nothing but the first one after it lowers thresholds.
    pub(super) cooled: bool,
    pub(super) need_cooling: [bool; 2],
    pub(super) need_adjusting: [bool; 2],
    /// Decayed hits of the fast tier, and those that came since.
    pub(super) fast_hits: u64,
    pub(super) new_fast_hits: u64,
    /// Decayed hits on pages that base pages alone would have kept in the fast tier.
    pub(super) base_hits: u64,
    pub(super) new_base_hits: u64,
    pub(super) splitting: Splitting,
    pub(super) demotion: Demotion,
    /// Whether the promoter has something to do.
    pub(super) promoting: bool,
    /// Whether allocations found the fast tier full.
    pub(super) pressed: bool,
    /// Base pages resident in each tier.
    pub(super) resident: [u64; 2],
    /// Base pages mapped since the last cooling by growth.
    pub(super) grown: u64,
    /// Estimates at the last cooling.
    pub(super) shares: Option<(f64, f64)>,
}

impl Group {
    /// Empty; with so many samples between two coolings, and between two adaptations.
    pub(super) fn new(cooling: u64, adaptation: u64) -> Self {
        Self {
            clock: 0,
            sized: Histogram::default(),
            based: Histogram::default(),
            hot: 1,
            warm: 1,
            base: 1,
            to_cooling: cooling,
            to_adaptation: adaptation,
            cooled: false,
            need_cooling: [false; 2],
            need_adjusting: [false; 2],
            fast_hits: 0,
            new_fast_hits: 0,
            base_hits: 0,
            new_base_hits: 0,
            splitting: Splitting {
                above: BUCKETS,
                ..Splitting::default()
            },
            demotion: Demotion::default(),
            promoting: false,
            pressed: false,
            resident: [0; 2],
            grown: 0,
            shares: None,
        }
    }

    /// Resident base pages.
    pub(super) fn resident_all(&self) -> u64 {
        self.resident[0] + self.resident[1]
    }

    /// The threshold that says which subpages are hot when skew is measured.
    pub(super) fn skew_threshold(&self) -> usize {
        self.hot.min(self.base as usize)
    }
}
