//! Rank correlation: whether one quantity grows with another, whatever the form of the relation.
//!
//! Spearman's rho ("The proof and measurement of association between two things", American Journal
//! of Psychology 15, 1904): the correlation of ranks, ties sharing the mean of theirs. Its interval
//! is a percentile bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
//! chapter 13): pairs are drawn with replacement, so no distribution is assumed.

use serde::Serialize;

/// Resamples: the ends of a 95 % interval are then 50 from the extremes.
const RESAMPLES: usize = 2_000;

/// Where the draws start: the same directory gives the same interval.
const SEED: u64 = 1;

/// How closely one quantity follows another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// Spearman's rho: 1 if both always grow together, -1 if one falls where the other grows.
    pub rho: f64,
    /// Its 95 % interval; none if no resample had both quantities varied.
    pub interval: Option<[f64; 2]>,
    /// Pairs.
    pub n: usize,
}

impl Correlation {
    /// That of some pairs; none below four, or where one quantity does not vary.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.len() < 4 {
            return None;
        }
        let rho = spearman(pairs)?;
        let mut random = SplitMix64(SEED);
        let mut drawn = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let sample = pairs.iter().map(|_| pairs[random.below(pairs.len())]);
            drawn.extend(spearman(&sample.collect::<Vec<_>>()));
        }
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| drawn[(share * (drawn.len() - 1) as f64).round() as usize];
        let interval = (!drawn.is_empty()).then(|| [at(0.025), at(0.975)]);
        let n = pairs.len();
        Some(Self { rho, interval, n })
    }
}

/// Spearman's rho; none where one quantity does not vary.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (ranks(&x), ranks(&y));
    let mean = 1.0_f64.midpoint(pairs.len() as f64);
    let of = |a: &[f64], b: &[f64]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean));
        products.sum()
    };
    let spread = (of(&x, &x) * of(&y, &y)).sqrt();
    (spread > 0.0).then(|| of(&x, &y) / spread)
}

/// Ranks from 1; those of equal values are the mean of the ranks that they take.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut taken = 0;
    for equal in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let mean = taken as f64 + 1.0_f64.midpoint(equal.len() as f64);
        for &index in equal {
            ranks[index] = mean;
        }
        taken += equal.len();
    }
    ranks
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Below `bound`; the bias of so small a bound is far below a draw's.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spearman's own formula, 1 - 6 sum d^2 / n (n^2 - 1), holds where nothing ties.
    #[test]
    fn it_is_the_formula_of_1904_without_ties() {
        let pairs = [
            (1.0, 20.0),
            (2.0, 10.0),
            (3.0, 40.0),
            (4.0, 30.0),
            (5.0, 50.0),
        ];
        let d2 = 1.0 + 1.0 + 1.0 + 1.0 + 0.0;
        let expected = 1.0 - 6.0 * d2 / (5.0 * 24.0);
        assert!((spearman(&pairs).unwrap() - expected).abs() < 1e-12);
        let squared: Vec<_> = pairs.iter().map(|(x, y)| (*x, y * y)).collect();
        assert_eq!(spearman(&pairs), spearman(&squared), "only ranks count");
    }

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(ranks(&[7.0, 3.0, 7.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(spearman(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]), None);
    }

    #[test]
    fn the_interval_holds_the_estimate_and_narrows_with_more_pairs() {
        let noisy = |n: u32| -> Vec<(f64, f64)> {
            let pair = |i: u32| (f64::from(i), f64::from((i * 7919) % (n / 2) + i));
            (0..n).map(pair).collect()
        };
        let width = |n| {
            let found = Correlation::of(&noisy(n)).unwrap();
            let [low, high] = found.interval.unwrap();
            assert!(low <= found.rho && found.rho <= high, "{found:?}");
            high - low
        };
        assert!(width(400) < width(20));
        assert_eq!(Correlation::of(&noisy(2)), None);
    }
}
