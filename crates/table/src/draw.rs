//! Which entries a client asks for, as YCSB draws them (Cooper et al., "Benchmarking cloud serving
//! systems with YCSB", `SoCC` 2010; generators of its core package).

use fabric::SplitMix64;
use serde::{Deserialize, Serialize};

/// How often which entry is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// The entry of rank `r` in proportion to `1 / r^theta`.
    #[default]
    Zipf,
    /// A share of the operations goes to a share of the entries.
    HotSet,
}

/// Terms of a zeta that are added one by one; the rest is an integral with its corrections, whose
/// next term is below 1e-9 here (Euler-Maclaurin).
const EXACT_TERMS: u64 = 1_000;

/// Draws ranks in proportion to `1 / rank^theta` (Gray et al., "Quickly generating billion-record
/// synthetic databases", SIGMOD 1994, as YCSB does).
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    entries: u64,
    theta: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    /// Of `entries` ranks, 0 the most frequent; `theta` between 0 and 1.
    pub fn new(entries: u64, theta: f64) -> Self {
        let (zeta, two) = (zeta(entries, theta), zeta(2.min(entries), theta));
        let n = entries as f64;
        Self {
            entries,
            theta,
            alpha: 1.0 / (1.0 - theta),
            zeta,
            eta: (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - two / zeta),
        }
    }

    /// A rank.
    pub fn draw(&self, random: &mut SplitMix64) -> u64 {
        let u = random.unit();
        let scaled = u * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5f64.powf(self.theta) {
            return 1.min(self.entries - 1);
        }
        let share = (self.eta * u - self.eta + 1.0).powf(self.alpha);
        ((self.entries as f64 * share) as u64).min(self.entries - 1)
    }
}

/// The sum of `1 / i^theta` for i from 1 to n, `theta` other than 1.
fn zeta(n: u64, theta: f64) -> f64 {
    let exact = n.min(EXACT_TERMS);
    let sum: f64 = (1..=exact).map(|i| (i as f64).powf(-theta)).sum();
    if exact == n {
        return sum;
    }
    let (a, b) = (exact as f64, n as f64);
    let integral = (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta);
    let ends = (b.powf(-theta) - a.powf(-theta)) / 2.0;
    let slopes = theta / 12.0 * (a.powf(-theta - 1.0) - b.powf(-theta - 1.0));
    sum + integral + ends + slopes
}

/// Which entry has a rank, if popular entries are strewn over all: FNV-1a of the rank's bytes, as
/// YCSB's scrambled generator; a few entries get several ranks.
pub fn scrambled(rank: u64, entries: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in rank.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash % entries
}

/// Draws entries.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    distribution: Distribution,
    zipf: Zipf,
    scrambled: bool,
    entries: u64,
    hot_entries: u64,
    hot_operations: f64,
}

impl Draw {
    /// Of `entries` entries; `hot`: which share of the operations goes to which of the entries.
    pub fn new(
        distribution: Distribution,
        entries: u64,
        theta: f64,
        scrambled: bool,
        hot: (f64, f64),
    ) -> Self {
        Self {
            distribution,
            zipf: Zipf::new(entries, theta),
            scrambled,
            entries,
            hot_entries: ((entries as f64 * hot.1) as u64).clamp(1, entries),
            hot_operations: hot.0,
        }
    }

    /// An entry.
    pub fn draw(&self, random: &mut SplitMix64) -> u64 {
        match self.distribution {
            Distribution::Uniform => self.entry(random.below(self.entries)),
            Distribution::Zipf => self.entry(self.zipf.draw(random)),
            Distribution::HotSet => {
                let cold = self.entries - self.hot_entries;
                let hot = random.unit() < self.hot_operations || cold == 0;
                let rank = if hot {
                    random.below(self.hot_entries)
                } else {
                    self.hot_entries + random.below(cold)
                };
                self.entry(rank)
            }
        }
    }

    /// How far from the newest an entry is that is read where the latest are popular.
    pub(crate) fn recency(&self, random: &mut SplitMix64) -> u64 {
        self.zipf.draw(random)
    }

    /// The entry of a rank.
    pub fn entry(&self, rank: u64) -> u64 {
        if self.scrambled && self.distribution != Distribution::Uniform {
            scrambled(rank, self.entries)
        } else {
            rank
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.5, 0.99] {
            let sum: f64 = (1..=50_000u64).map(|i| (i as f64).powf(-theta)).sum();
            assert!((zeta(50_000, theta) - sum).abs() < 1e-8, "{theta}");
        }
        // YCSB's constant for ten billion items (its ScrambledZipfianGenerator).
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }

    #[test]
    fn ranks_come_as_often_as_they_should() {
        let (zipf, mut random) = (Zipf::new(1_000, 0.99), SplitMix64::new(7));
        let draws = 200_000;
        let mut counts = vec![0u32; 1_000];
        for _ in 0..draws {
            counts[zipf.draw(&mut random) as usize] += 1;
        }
        // The two first ranks are drawn exactly; the others by the approximation.
        for (rank, &count) in counts.iter().enumerate().take(2) {
            let share = 1.0 / ((rank + 1) as f64).powf(0.99) / zeta(1_000, 0.99);
            let expected = share * f64::from(draws);
            let found = f64::from(count);
            assert!(
                (found - expected).abs() < 5.0 * expected.sqrt(),
                "{rank}: {found}"
            );
        }
        assert!(counts[2..].iter().all(|&count| count < counts[1]));
    }

    #[test]
    fn a_hot_set_gets_its_share() {
        let draw = Draw::new(Distribution::HotSet, 1_000, 0.99, false, (0.8, 0.2));
        let mut random = SplitMix64::new(3);
        let hot = (0..100_000)
            .filter(|_| draw.draw(&mut random) < 200)
            .count();
        assert!((79_000..81_000).contains(&hot), "{hot}");
    }
}
