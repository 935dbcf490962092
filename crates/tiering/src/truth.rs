//! The truth that a sampler estimates.

use crate::machine::{Mechanism, Tier};
use crate::policy::memtis::histogram::{BASE_WEIGHT, Skew, bin};
use crate::random::Random;
use crate::scale::SUBPAGES;

/// A sampler's estimates beside what they estimate, at one cooling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Seconds since the start, at full scale.
    pub seconds: f64,
    /// The policy's eHR: samples on base pages that would be in the fast tier.
    pub estimated_ehr: f64,
    /// The share of demand misses on the hottest base pages that fit.
    pub true_ehr: f64,
    /// The policy's rHR: samples that the fast tier served.
    pub sampled_rhr: f64,
    /// The share of demand misses on pages that are now in the fast tier.
    pub true_rhr: f64,
}

/// The shares of true heat, halved at each cooling as the policy's counts are: on the hottest base
/// pages that fit into the fast tier, and on those that are there.
pub(crate) fn true_shares(machine: &mut Mechanism) -> (f64, f64) {
    let heat = machine.heat().to_vec();
    let total: u64 = heat.iter().map(|&heat| u64::from(heat)).sum();
    if total == 0 {
        return (1.0, 1.0);
    }
    let fits = machine.setup().fast_pages.min(heat.len() as u64) as usize;
    let mut sorted = heat.clone();
    if fits > 0 && fits < sorted.len() {
        sorted.select_nth_unstable_by(fits - 1, |a, b| b.cmp(a));
    }
    let best: u64 = sorted[..fits].iter().map(|&heat| u64::from(heat)).sum();
    let there: u64 = heat
        .iter()
        .enumerate()
        .filter(|&(_, &heat)| heat > 0)
        .filter(|&(vpn, _)| {
            let at = machine.pages().at(vpn as u32);
            at.is_some_and(|(_, tier)| tier == Tier::Fast)
        })
        .map(|(_, &heat)| u64::from(heat))
        .sum();
    let share = |part: u64| part as f64 / total as f64;
    (share(best), share(there))
}

/// Coolings after which counts are in a steady state: what is left of the first is below 1/1000.
const STEADY: u32 = 20;

/// The bin of one sample on a base page: what a subpage that was touched once is in.
const TOUCHED_BIN: usize = 9;

/// What a sampler makes of a huge page of which `active` subpages are touched alike, at a density
/// of samples a base page and cooling: its skewness as the kernel computes it, at a cooling, in a
/// steady state. Samples are Poisson counts, halved at each cooling.
pub fn sampled_skew(density: f64, active: u32, random: &mut Random) -> Skew {
    let rate = density * f64::from(SUBPAGES) / f64::from(active);
    let mut counts = vec![0_u32; SUBPAGES as usize];
    let mut total = 0_u32;
    for _ in 0..STEADY {
        for count in &mut counts {
            *count /= 2;
        }
        total /= 2;
        for count in &mut counts[..active as usize] {
            let samples = poisson(rate, random);
            *count += samples * BASE_WEIGHT;
            total += samples;
        }
    }
    debug_assert_eq!(bin(BASE_WEIGHT), TOUCHED_BIN);
    Skew::of(total, &counts, TOUCHED_BIN)
}

/// By multiplication of uniforms (Knuth), in parts so that the product does not underflow.
fn poisson(rate: f64, random: &mut Random) -> u32 {
    let parts = (rate / 16.0).ceil().max(1.0);
    let limit = (-rate / parts).exp();
    let mut count = 0;
    for _ in 0..parts as u32 {
        let mut product = random.unit();
        while product > limit {
            count += 1;
            product *= random.unit();
        }
    }
    count
}
