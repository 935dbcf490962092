//! Bins, thresholds, skew: the arithmetic of Memtis, without state.

/// Bins of a histogram.
pub const BINS: usize = 16;

/// What one access to a base page counts, so that heat is compared a byte: a huge page of 512
/// subpages counts 1.
pub const BASE_WEIGHT: u32 = 512;

/// Buckets of skewness.
pub const BUCKETS: usize = 21;

/// Huge pages in this bin and above are not split.
const EXEMPT_BIN: usize = 13;

/// The lowest hot threshold.
const LEAST_THRESHOLD: usize = 1;

/// The bin of a decayed count: `min(15, floor(log2(n + 1)))`, as the exponent of a float. That is
/// exact, since all that the last bin begins with and more is clamped to 2^15; processors convert
/// several numbers at once, and many take as long for one bit scan.
#[inline]
pub fn bin(total: u32) -> usize {
    let clamped = total.min(LAST_BIN_FROM) as i32 + 1;
    ((clamped as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1)) as usize - EXPONENT_BIAS
}

/// The least count of the last bin.
const LAST_BIN_FROM: u32 = (1 << (BINS - 1)) - 1;

/// The exponent of 1 in the bits of a float.
const EXPONENT_BIAS: usize = f32::MAX_EXP as usize - 1;

/// The least count of a bin; of one above the last, which none is in but a count that saturated.
pub fn least_of(bin: usize) -> u32 {
    match bin {
        0..BINS => (1 << bin) - 1,
        _ => u32::MAX,
    }
}

/// Base pages by bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub [u64; BINS]);

impl Histogram {
    /// Counts pages in a bin.
    #[inline]
    pub fn add(&mut self, bin: usize, pages: u64) {
        self.0[bin] += pages;
    }

    /// Takes pages from a bin; a bin that does not hold them is emptied, since pages that were
    /// never counted may leave.
    #[inline]
    pub fn take(&mut self, bin: usize, pages: u64) {
        self.0[bin] = self.0[bin].saturating_sub(pages);
    }

    /// Halves all counts of pages at once: one bin down.
    pub fn shift(&mut self) {
        let lowest = self.0[0];
        self.0.rotate_left(1);
        self.0[0] += lowest;
        self.0[BINS - 1] = 0;
    }

    /// The lowest bin from which on everything fits into `room` pages, and how much that is. If
    /// the highest bin alone does not fit, it is the threshold. `literal_or` reads the loop's
    /// condition as it is printed, so that nothing stops it.
    pub fn threshold(&self, room: u64, literal_or: bool) -> (usize, u64) {
        let mut held = 0;
        let mut next = BINS;
        while next > 0 && (literal_or || held + self.0[next - 1] <= room) {
            held += self.0[next - 1];
            next -= 1;
        }
        (next.clamp(LEAST_THRESHOLD, BINS - 1), held)
    }
}

/// The bucket of a skewness as the kernel computes it.
pub fn bucket(skew: u64) -> usize {
    if skew < 1024 {
        (u64::BITS - skew.leading_zeros()) as usize
    } else {
        let steps = skew.div_ceil(1024) - 1;
        11 + steps.min(9) as usize
    }
}

/// How unevenly a huge page is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skew {
    /// Subpages in the threshold's bin or above.
    pub hot: u32,
    /// The kernel's bucket.
    pub bucket: usize,
    /// The sum of squared counts over the squared number of hot subpages; 0 without hot ones.
    pub factor: f64,
    /// The sum of counts, in accesses.
    pub accesses: u64,
}

impl Skew {
    /// Of a huge page's `total` and its subpages' counts before they are halved. A loop a sum,
    /// since each alone is one that the compiler makes vectors of.
    pub fn of(total: u32, subpages: &[u32], threshold: usize) -> Self {
        let least = least_of(threshold);
        let hot: u32 = subpages
            .iter()
            .map(|&count| u32::from(count >= least))
            .sum();
        let (squares, wrapped) = squares(subpages);
        let sum: u64 = subpages.iter().copied().map(u64::from).sum();
        let users = u64::from(hot);
        let coded = if bin(total) >= EXEMPT_BIN {
            0
        } else {
            (wrapped / 11).checked_div(users).unwrap_or(0) / users.max(1)
        };
        Self {
            hot,
            bucket: bucket(coded),
            factor: if hot == 0 {
                0.0
            } else {
                squares / (users * users) as f64
            },
            accesses: sum / u64::from(BASE_WEIGHT),
        }
    }
}

/// The sum of squared counts, and the kernel's: its product is 32 bits wide, so that it wraps from
/// a count of 65,536, 128 samples. Below that both are the same whole number.
fn squares(counts: &[u32]) -> (f64, u64) {
    let bits = counts.iter().fold(0, |all, count| all | count);
    if bits.leading_zeros() >= u32::BITS / 2 {
        let squares = counts.iter().map(|&count| u64::from(count * count));
        let sum: u64 = squares.sum();
        return (sum as f64, sum);
    }
    let wrapped = counts.iter().map(|count| count.wrapping_mul(*count));
    let exact = counts.iter().copied().map(f64::from);
    let exact = exact.map(|count| count * count).sum();
    (exact, wrapped.map(u64::from).sum())
}

/// The decayed number of records after so many coolings, `2C - C / 2^(coolings - 1)`. `masked`
/// computes the shift as the processor does: modulo 32.
pub fn decayed_records(cooling: u64, coolings: u32, masked: bool) -> u64 {
    let shift = coolings.saturating_sub(1);
    let shift = if masked { shift % 32 } else { shift };
    2 * cooling - cooling.checked_shr(shift).unwrap_or(0)
}

/// What the number of splits depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitInput {
    /// Samples that base pages would have had served by the fast tier, less the discount.
    pub expected_hits: f64,
    /// Samples that the fast tier served.
    pub fast_hits: f64,
    /// The decayed number of records.
    pub records: f64,
    /// Huge pages with a hot subpage.
    pub used: u64,
    /// Their accesses in all.
    pub accesses: u64,
    /// Latency of the capacity tier less that of the fast tier, over the latter.
    pub latency_ratio: f64,
    /// Gamma.
    pub gamma: f64,
}

impl SplitInput {
    /// Base pages to split: the gap times the huge pages in use, times the latency ratio.
    pub fn pages(&self) -> f64 {
        let average = self.accesses.checked_div(self.used).unwrap_or(0);
        if average == 0 || self.expected_hits <= self.fast_hits {
            return 0.0;
        }
        (self.expected_hits - self.fast_hits) * self.accesses as f64 / self.records / average as f64
            * self.latency_ratio
            * f64::from(BASE_WEIGHT)
            * self.gamma
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_the_published_ranges() {
        let vectors = [
            (0, 0),
            (1, 1),
            (2, 1),
            (3, 2),
            (510, 8),
            (511, 9),
            (512, 9),
            (1022, 9),
            (1023, 10),
            (32_766, 14),
            (32_767, 15),
            (u32::MAX, 15),
        ];
        for (total, expected) in vectors {
            assert_eq!(bin(total), expected, "{total}");
        }
    }

    #[test]
    fn a_bin_begins_at_its_least_count() {
        for index in 0..BINS {
            assert_eq!(bin(least_of(index)), index);
            assert!(index == 0 || bin(least_of(index) - 1) == index - 1);
        }
    }

    #[test]
    fn buckets_are_the_kernel_s() {
        let vectors = [
            (0, 0),
            (1, 1),
            (1023, 10),
            (1024, 11),
            (1025, 12),
            (2048, 12),
            (2049, 13),
            (9216, 19),
            (9217, 20),
            (1_000_000_000, 20),
        ];
        for (skew, expected) in vectors {
            assert_eq!(bucket(skew), expected, "{skew}");
        }
    }

    fn histogram(top: [u64; 5]) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.0[11..].copy_from_slice(&top);
        histogram
    }

    #[test]
    fn the_threshold_is_the_lowest_bin_that_fits() {
        // Bins 11 to 15; a limit of 10,000 less a watermark of 3 %.
        let room = 9_700;
        let usual = histogram([5_000, 3_000, 3_000, 2_000, 1_000]);
        assert_eq!(usual.threshold(room, false), (12, 9_000));
        let full = histogram([5_000, 5_000, 3_000, 2_000, 1_000]);
        assert_eq!(full.threshold(room, false), (13, 6_000));
        let overflowing = histogram([0, 0, 0, 0, 10_000]);
        assert_eq!(overflowing.threshold(room, false).0, 15);
    }

    #[test]
    fn the_printed_condition_never_stops() {
        let full = histogram([5_000, 5_000, 3_000, 2_000, 1_000]);
        assert_eq!(full.threshold(9_700, true), (1, 16_000));
    }

    #[test]
    fn halving_shifts_all_but_the_top_of_a_bin() {
        for total in 1..40_000_u32 {
            let shifted = bin(total).saturating_sub(1);
            let top = (total + 2).is_power_of_two();
            let saturated = total >= 65_534;
            assert_eq!(bin(total / 2) == shifted, !top || saturated, "{total}");
        }
        let mut histogram = Histogram(std::array::from_fn(|bin| 1 << bin));
        histogram.shift();
        assert_eq!(histogram.0[0], 1 + 2);
        assert_eq!(histogram.0[14], 1 << 15);
        assert_eq!(histogram.0[15], 0);
    }

    #[test]
    fn the_number_of_splits_is_the_kernel_s() {
        let input = SplitInput {
            expected_hits: 0.95 * 3.6e6,
            fast_hits: 1.2e6,
            records: decayed_records(2_000_000, 60, false) as f64,
            used: 20_000,
            accesses: 2_000_000,
            latency_ratio: (270.0 - 80.0) / 80.0,
            gamma: 0.4,
        };
        let pages = input.pages();
        assert!((pages - 5.4e6).abs() < 0.05e6, "{pages}");
        assert!((pages / 512.0 - 10_544.0).abs() <= 1.0, "{pages}");
    }

    #[test]
    fn the_masked_shift_dips_every_32_coolings() {
        assert_eq!(decayed_records(2_000_000, 1, true), 2_000_000);
        assert_eq!(decayed_records(2_000_000, 32, true), 4_000_000);
        assert_eq!(decayed_records(2_000_000, 33, true), 2_000_000);
        assert_eq!(decayed_records(2_000_000, 33, false), 4_000_000);
        assert_eq!(decayed_records(2_000_000, 300, false), 4_000_000);
    }

    #[test]
    fn the_product_wraps_at_128_samples() {
        let at = |samples: u32| Skew::of(0, &[samples * BASE_WEIGHT], 9);
        assert_eq!(at(128).bucket, 0);
        assert_eq!(at(127).bucket, 20);
        assert!(at(128).factor > at(127).factor);
    }
}
