//! Order statistics of a sample, and a confidence interval that assumes no distribution.
//!
//! Latencies are skewed, multimodal and bounded below, so nothing here assumes a normal
//! distribution: the median stands for the sample, and its interval is formed from order
//! statistics (Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems", SC15, on
//! nonparametric summaries; Le Boudec, "Performance Evaluation of Computer and Communication
//! Systems", 2010, chapter 2, on the confidence interval of the median).

use thiserror::Error;

/// The confidence level of every interval in a record.
const CONFIDENCE: f64 = 0.95;

/// Why a sample has no summary.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BadSamples {
    /// Nothing was measured.
    #[error("no samples to summarize; record the trial with an error or a reason instead")]
    Empty,
    /// A sample is infinite or not a number.
    #[error("sample {index} is {value}, not a finite number; check the division that made it")]
    NotFinite {
        /// The sample's index.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A sample is below zero.
    #[error("sample {index} is {value}, below zero; check the clock and what was subtracted")]
    Negative {
        /// The sample's index.
        index: usize,
        /// Its value.
        value: f64,
    },
}

/// The statistics of one sample, in the sample's unit.
///
/// A percentile is by nearest rank: the smallest sample that at least that share of the samples
/// does not exceed. It is always a value that was measured. With fewer than 1,000 samples `p999` is
/// therefore the maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of samples.
    pub n: u64,
    /// The least sample.
    pub min: f64,
    /// The median (of an even number of samples, the lower of the two in the middle).
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The greatest sample.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The interval that covers the true median with at least 95 % confidence. None below six
    /// samples: even the whole range of five covers it with 93.75 % only.
    pub ci95: Option<[f64; 2]>,
}

impl Summary {
    /// Summarizes a sample in any order.
    ///
    /// # Errors
    /// An empty sample, or the first sample that is not finite or is negative.
    pub fn of(samples: &[f64]) -> Result<Self, BadSamples> {
        check(samples)?;
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |per_mille: usize| sorted[nearest_rank(sorted.len(), per_mille) - 1];
        Ok(Self {
            n: sorted.len() as u64,
            min: at(0),
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max: at(1000),
            mean: mean(&sorted),
            ci95: median_ranks(sorted.len()).map(|[low, high]| [sorted[low - 1], sorted[high - 1]]),
        })
    }

    /// Half the interval's width over the median: what a stopping rule compares with its target.
    /// None where there is no interval, or the median is 0 and the interval is not.
    pub fn relative_half_width(&self) -> Option<f64> {
        let [low, high] = self.ci95?;
        let half_width = (high - low) / 2.0;
        if half_width == 0.0 {
            return Some(0.0);
        }
        (self.p50 > 0.0).then(|| half_width / self.p50)
    }
}

fn check(samples: &[f64]) -> Result<(), BadSamples> {
    if samples.is_empty() {
        return Err(BadSamples::Empty);
    }
    for (index, &value) in samples.iter().enumerate() {
        if !value.is_finite() {
            return Err(BadSamples::NotFinite { index, value });
        }
        if value < 0.0 {
            return Err(BadSamples::Negative { index, value });
        }
    }
    Ok(())
}

/// The rank, from 1, of the percentile at `per_mille` thousandths among `n` samples. In whole
/// numbers: 0.9 times 10 is more than 9 in binary floating point.
fn nearest_rank(n: usize, per_mille: usize) -> usize {
    (n * per_mille).div_ceil(1000).clamp(1, n)
}

/// Divides before it adds, so that a sum of large samples cannot overflow, and holds the result
/// between the extremes, where rounding could push it out.
fn mean(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let sum: f64 = sorted.iter().map(|sample| sample / n).sum();
    sum.clamp(sorted[0], sorted[sorted.len() - 1])
}

/// The ranks, from 1, of the two order statistics between which the true median lies with at
/// least 95 % confidence, the interval being as narrow as that allows and symmetric in rank.
///
/// The number of samples below the true median is binomial(n, 1/2), so the median lies below the
/// k-th order statistic with probability P(B < k), whatever the distribution. The largest k with
/// P(B < k) <= 2.5 % gives both ranks. The sum is exact rather than Le Boudec's normal
/// approximation: it costs less than the sort, and small samples need it.
fn median_ranks(n: usize) -> Option<[usize; 2]> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut low = 0;
    while low < n / 2 {
        below += log_term.exp();
        if below > tail {
            break;
        }
        log_term += ((n - low) as f64 / (low + 1) as f64).ln();
        low += 1;
    }
    (low > 0).then_some([low, n + 1 - low])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let samples: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.n, summary.min, summary.max), (10, 1.0, 10.0));
        assert_eq!((summary.p50, summary.p90, summary.p99), (5.0, 9.0, 10.0));
        assert!((summary.mean - 5.5).abs() < 1e-12);
    }

    #[test]
    fn the_ranks_are_those_of_the_exact_binomial() {
        // From binomial coefficients in exact integer arithmetic.
        assert_eq!(median_ranks(5), None);
        assert_eq!(median_ranks(6), Some([1, 6]));
        assert_eq!(median_ranks(8), Some([1, 8]));
        assert_eq!(median_ranks(9), Some([2, 8]));
        assert_eq!(median_ranks(30), Some([10, 21]));
        assert_eq!(median_ranks(70), Some([27, 44]));
    }

    #[test]
    fn large_samples_agree_with_the_normal_approximation() {
        for n in [1_000, 100_000, 1_000_000] {
            let [low, high] = median_ranks(n).unwrap();
            let approximate = n as f64 / 2.0 - 0.98 * (n as f64).sqrt();
            assert!(
                (low as f64 - approximate).abs() < 2.0,
                "{n}: {low} against {approximate}"
            );
            assert_eq!(low + high, n + 1);
        }
    }

    #[test]
    fn bad_samples_are_named() {
        assert_eq!(Summary::of(&[]), Err(BadSamples::Empty));
        assert_eq!(
            Summary::of(&[1.0, -2.0]),
            Err(BadSamples::Negative {
                index: 1,
                value: -2.0
            })
        );
        let said = Summary::of(&[1.0, 2.0, f64::NAN]).unwrap_err().to_string();
        assert!(said.starts_with("sample 2 is NaN"), "{said}");
    }

    #[test]
    fn the_relative_half_width_needs_an_interval() {
        assert_eq!(Summary::of(&[3.0; 5]).unwrap().relative_half_width(), None);
        assert_eq!(
            Summary::of(&[0.0; 6]).unwrap().relative_half_width(),
            Some(0.0)
        );
        let summary = Summary::of(&[90.0, 95.0, 100.0, 100.0, 105.0, 110.0]).unwrap();
        assert_eq!(summary.relative_half_width(), Some(0.1));
    }

    /// The next word of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014), as a fraction of 1.
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn the_interval_covers_the_true_median_as_often_as_it_says() {
        // With 101 samples the ranks 41 and 61 cover with 1 - 2 P(B <= 40) = 95.40 %. Of 2,000
        // intervals that is 1,908, with a standard deviation of sqrt(2000 * 0.954 * 0.046) = 9.4;
        // four of them, 37, leave a false alarm to one seed in 15,000, and this seed is fixed.
        assert_eq!(median_ranks(101), Some([41, 61]));
        let mut state = 20_260_101;
        let covered = (0..2_000)
            .filter(|_| {
                let samples: Vec<f64> = (0..101).map(|_| uniform(&mut state)).collect();
                let [low, high] = Summary::of(&samples).unwrap().ci95.unwrap();
                low <= 0.5 && 0.5 <= high
            })
            .count();
        assert!((1_871..=1_945).contains(&covered), "{covered} of 2000");
    }

    proptest! {
        #[test]
        fn statistics_are_ordered(
            samples in prop::collection::vec(0.0..f64::MAX, 1..300)
        ) {
            let s = Summary::of(&samples).unwrap();
            let ordered = [s.min, s.p50, s.p90, s.p99, s.p999, s.max];
            prop_assert!(ordered.is_sorted(), "{ordered:?}");
            prop_assert!(s.min <= s.mean && s.mean <= s.max);
            prop_assert_eq!(s.ci95.is_some(), samples.len() >= 6);
            if let Some([low, high]) = s.ci95 {
                prop_assert!(s.min <= low && low <= s.p50 && s.p50 <= high && high <= s.max);
            }
        }

        #[test]
        fn order_does_not_matter(mut samples in prop::collection::vec(0.0..1e9, 1..50)) {
            let before = Summary::of(&samples).unwrap();
            samples.reverse();
            prop_assert_eq!(Summary::of(&samples).unwrap(), before);
        }
    }
}
