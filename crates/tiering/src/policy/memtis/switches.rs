//! Where the published description of Memtis and its kernel differ: 25 named switches.

/// One difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What switches it.
    pub switch: Switch,
    /// Its name.
    pub name: &'static str,
    /// What the paper says, or what would be meant where it says nothing.
    pub off: &'static str,
    /// What the switch makes of it.
    pub on: &'static str,
    /// Whether the kernel at HEAD does what the switch does.
    pub kernel: bool,
    /// Whether the paper does: only where it contradicts nothing.
    pub paper: bool,
}

macro_rules! differences {
    ($($switch:ident $name:literal ($paper:literal, $kernel:literal)
        $off:literal => $on:literal;)+) => {
        /// A difference between the paper and the kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Switch { $(#[doc = $on] $switch,)+ }

        /// All 25, in the order of the comparison in docs/TIERING.md.
        pub const DIFFERENCES: [Difference; 25] = [$(Difference {
            switch: Switch::$switch, name: $name, off: $off, on: $on,
            paper: $paper == 1, kernel: $kernel == 1,
        },)+];
    };
}

// (paper, kernel): which of the two personalities has it on.
differences! {
    LiteralOr "literal-or" (0, 0)
        "the threshold goes down while bins remain and the next fits"
        => "the loop's condition as printed, with or: it never stops, all pages are hot";
    WarmThreeQuarters "warm-three-quarters" (0, 1)
        "a warm set if the hot set is below 90 % of the fast tier"
        => "only if it is below 75 % of the fast tier less its watermark";
    NewPageAbove "new-page-above" (0, 1)
        "new pages start in the threshold's bin"
        => "one bin above it, skipping one cooling, absent from the histogram";
    RebuildHistogram "rebuild-histogram" (0, 1)
        "cooling shifts the histogram by one bin"
        => "cooling clears it, and pages enter again as they are next looked at";
    CoolOnGrowth "cool-on-growth" (0, 1)
        "cooling after 2 million samples"
        => "also after every 10 GB of growth";
    RaiseOnly "raise-only" (0, 1)
        "the threshold follows every adaptation"
        => "it only rises between coolings, and falls by one bin after one";
    RelativeGap "relative-gap" (0, 1)
        "splits at a gap of 5 points between eHR and rHR"
        => "where 0.95 eHR exceeds rHR";
    SplitGate "split-gate" (0, 1)
        "splits are decided once samples exceed a quarter of the pages"
        => "and the pages of the fast tier; off for ever if rHR gained less than 3 %";
    CodedLatencies "coded-latencies" (0, 1)
        "the number of splits uses 300 ns or 177 ns"
        => "270 ns or 170 ns";
    CodedSkew "coded-skew" (0, 1)
        "pages are ranked by the sum of squares over the squared number of hot subpages"
        => "divided by 11, wrapped at 32 bits, in 21 buckets, hot huge pages exempt";
    WatermarkPair "watermark-pair" (0, 1)
        "one watermark of 2 %"
        => "2 % for demotion and 3 % for promotion, clamped";
    WarmNextRound "warm-next-round" (0, 1)
        "warm pages go in the same round if cold ones do not suffice"
        => "the threshold is lowered for the next round";
    RawCpuShare "raw-cpu-share" (0, 1)
        "the sampler follows a moving average of its CPU use"
        => "the last interval's use";
    DrainAll "drain-all" (1, 1)
        "rings are read when half full, down to a tenth"
        => "every ring is emptied each time";
    EqualStores "equal-stores" (1, 1)
        "a sampled store counts for as many accesses as its period says"
        => "a sampled store counts as one load";
    CooledBelow "cooled-below" (0, 1)
        "after cooling a base page is active from the threshold's bin"
        => "from the bin below it";
    SplitToList "split-to-list" (0, 1)
        "subpages go to their tier when their page is split"
        => "to the active list from the bin below the threshold, then migrate as others";
    ZeroNeedsUnsampled "zero-needs-unsampled" (0, 1)
        "all-zero subpages are freed"
        => "only if their count of samples is 0, but new pages start above it";
    ByteClock "byte-clock" (0, 1)
        "a base page's cooling clock does not wrap"
        => "it is 8 bits wide and compared with one of 32 bits";
    UnguardedBase "unguarded-base" (0, 1)
        "the base threshold stops at 0"
        => "it is decremented below 0 and wraps";
    MaskedShift "masked-shift" (0, 1)
        "the decayed number of records saturates"
        => "its shift is masked to 5 bits, so that it dips every 32 coolings";
    NoRateLimit "no-rate-limit" (1, 1)
        "migration is limited to 2048 MB/s"
        => "the limit is defined and unused";
    GlobalSplitSwitch "global-split-switch" (0, 1)
        "each tenant's splitting is switched off by itself"
        => "one tenant's failed split switches it off for all";
    TwentyCpus "twenty-cpus" (0, 1)
        "every CPU is sampled"
        => "the first 20 are";
    LeakQueued "leak-queued" (0, 0)
        "pages queued for a split return to their lists when splitting is switched off"
        => "they stay isolated, as before 838a80268";
}

/// A set of switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches(u32);

impl Switches {
    /// As described in the paper.
    pub fn paper() -> Self {
        Self::of(|difference| difference.paper)
    }

    /// As coded in the kernel.
    pub fn kernel() -> Self {
        Self::of(|difference| difference.kernel)
    }

    fn of(is_on: impl Fn(&Difference) -> bool) -> Self {
        let on = DIFFERENCES.iter().filter(|difference| is_on(difference));
        Self(on.map(|difference| 1 << difference.switch as u32).sum())
    }

    /// Whether one is on.
    #[inline]
    pub fn has(self, switch: Switch) -> bool {
        self.0 >> (switch as u32) & 1 == 1
    }

    /// The same set with one of them the other way.
    #[must_use]
    pub fn flipped(self, switch: Switch) -> Self {
        Self(self.0 ^ 1 << switch as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_25_and_each_has_its_place() {
        for (index, difference) in DIFFERENCES.iter().enumerate() {
            assert_eq!(difference.switch as usize, index);
        }
        assert!(Switches::kernel().has(Switch::RaiseOnly));
        assert!(!Switches::paper().has(Switch::RaiseOnly));
        assert!(
            Switches::paper()
                .flipped(Switch::RaiseOnly)
                .has(Switch::RaiseOnly)
        );
    }
}
