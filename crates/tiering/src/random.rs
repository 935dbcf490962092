//! Seeded random numbers, the same on every machine.

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): one addition and one mix a word.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The finalizer of `SplitMix64`: a bijection of 64-bit words.
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Random {
    /// A stream of its own for each pair of seed and stream.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// The next word.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Below `bound`, by multiplication: the bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// At least 0, below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Ranks from 0, rank `k` with a weight of `(k + 1)^-theta`: rejection-inversion (Hormann and
/// Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
/// TOMACS 1996), exact for every exponent and without a table.
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: f64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// Over so many ranks.
    pub fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self {
            ranks: ranks as f64,
            theta,
            integral_first: 0.0,
            integral_last: 0.0,
            shortcut: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(zipf.ranks + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// The next rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let at =
                self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse(at);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.shortcut || at >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    fn integral(&self, x: f64) -> f64 {
        let exponent = 1.0 - self.theta;
        if exponent.abs() < 1e-9 {
            x.ln()
        } else {
            (x.powf(exponent) - 1.0) / exponent
        }
    }

    fn inverse(&self, y: f64) -> f64 {
        let exponent = 1.0 - self.theta;
        if exponent.abs() < 1e-9 {
            y.exp()
        } else {
            (1.0 + y * exponent).powf(1.0 / exponent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_draws_by_weight() {
        // The weights of 1,000 ranks summed in order, against frequencies of 200,000 draws: each
        // of the first ranks within five standard deviations.
        for theta in [0.5, 0.99, 1.0, 1.2] {
            let zipf = Zipf::new(1_000, theta);
            let mut random = Random::new(1, 2);
            let mut seen = vec![0_u32; 1_000];
            for _ in 0..200_000 {
                seen[zipf.draw(&mut random) as usize] += 1;
            }
            let total: f64 = (1..=1_000).map(|k| f64::from(k).powf(-theta)).sum();
            for (index, &count) in seen.iter().enumerate().take(8) {
                let share = (index as f64 + 1.0).powf(-theta) / total;
                let deviation = (200_000.0 * share * (1.0 - share)).sqrt();
                let off = (f64::from(count) - 200_000.0 * share).abs();
                assert!(
                    off < 5.0 * deviation,
                    "theta {theta}, rank {index}: {count}"
                );
            }
        }
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::new(7, 0);
        assert!((0..10_000).all(|_| random.below(3) < 3));
    }
}
