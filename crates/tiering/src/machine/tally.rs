//! What happened, and where the time went.

/// Where a thread's time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Instructions.
    Compute,
    /// Hits in the cache.
    CacheHit,
    /// Demand misses served by the fast tier.
    FastMiss,
    /// Demand misses served by the capacity tier.
    CapacityMiss,
    /// Lines that a prefetcher had under way.
    Stream,
    /// Waiting behind others for a tier's bandwidth.
    Queue,
    /// Page-table walks.
    Walk,
    /// First-touch faults.
    Fault,
    /// Faults on protected pages, moves in them included.
    HintFault,
    /// Touching a page while it moves.
    Blocked,
    /// Answering shootdowns.
    Shootdown,
    /// Sampler interrupts.
    Sampler,
    /// Waiting for other threads at the end of a phase.
    Barrier,
}

/// Each of them, with its name.
pub const SPENT: [(Spent, &str); 13] = [
    (Spent::Compute, "compute"),
    (Spent::CacheHit, "cache-hit"),
    (Spent::FastMiss, "fast-miss"),
    (Spent::CapacityMiss, "capacity-miss"),
    (Spent::Stream, "stream"),
    (Spent::Queue, "queue"),
    (Spent::Walk, "walk"),
    (Spent::Fault, "fault"),
    (Spent::HintFault, "hint-fault"),
    (Spent::Blocked, "blocked"),
    (Spent::Shootdown, "shootdown"),
    (Spent::Sampler, "sampler"),
    (Spent::Barrier, "barrier"),
];

/// Counts since the start. Arrays over tiers: fast, then capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it; pages are base pages
pub struct Tally {
    pub accesses: u64,
    pub misses: [u64; 2],
    pub streamed: [u64; 2],
    pub walks: u64,
    pub faults: u64,
    pub hint_faults: u64,
    pub promoted_pages: u64,
    pub demoted_pages: u64,
    pub splits: u64,
    pub collapses: u64,
    pub freed_zero_pages: u64,
    pub refused_moves: u64,
    pub samples: u64,
    pub dropped_samples: u64,
}

impl Tally {
    /// What happened since an earlier one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pair = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
        Self {
            accesses: self.accesses - earlier.accesses,
            misses: pair(self.misses, earlier.misses),
            streamed: pair(self.streamed, earlier.streamed),
            walks: self.walks - earlier.walks,
            faults: self.faults - earlier.faults,
            hint_faults: self.hint_faults - earlier.hint_faults,
            promoted_pages: self.promoted_pages - earlier.promoted_pages,
            demoted_pages: self.demoted_pages - earlier.demoted_pages,
            splits: self.splits - earlier.splits,
            collapses: self.collapses - earlier.collapses,
            freed_zero_pages: self.freed_zero_pages - earlier.freed_zero_pages,
            refused_moves: self.refused_moves - earlier.refused_moves,
            samples: self.samples - earlier.samples,
            dropped_samples: self.dropped_samples - earlier.dropped_samples,
        }
    }

    /// The share of demand misses that the fast tier served; 1 without misses.
    pub fn fast_hit_ratio(&self) -> f64 {
        let all = self.misses[0] + self.misses[1];
        if all == 0 {
            return 1.0;
        }
        self.misses[0] as f64 / all as f64
    }

    /// Pages that moved, either way.
    pub fn moved_pages(&self) -> u64 {
        self.promoted_pages + self.demoted_pages
    }
}
