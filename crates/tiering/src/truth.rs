//! The truth that a sampler estimates.

use crate::machine::{Mechanism, Tier};

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
pub fn true_shares(machine: &Mechanism) -> (f64, f64) {
    let heat = machine.heat();
    let total: u64 = heat.iter().map(|&heat| u64::from(heat)).sum();
    if total == 0 {
        return (1.0, 1.0);
    }
    let fits = machine.setup().fast_pages.min(heat.len() as u64) as usize;
    let mut sorted: Vec<u32> = heat.to_vec();
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
