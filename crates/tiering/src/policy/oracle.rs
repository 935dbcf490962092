//! Policies that know the future: the true heat of a run that came before.
//!
//! The static one places each page once, by its heat over the whole measured phase. The dynamic
//! one starts there and, at the beginning of each part of the run, swaps pages where what the swap
//! saves in this part exceeds what it costs. Both are greedy, so neither is a proven bound; both
//! know more than any policy can.

use super::{Fault, Placement, Policy, Tick};
use crate::machine::{Daemon, Mechanism, Page, Payer, Tier};
use crate::scale::SUBPAGES;

/// Demand misses of each base page, for each part of the measured phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// One table of counts a part.
    pub epochs: Vec<Vec<u32>>,
}

impl Profile {
    /// Parts of the measured phase.
    pub const EPOCHS: usize = 16;

    fn total(&self) -> Vec<u64> {
        let pages = self.epochs.iter().map(Vec::len).max().unwrap_or(0);
        let mut total = vec![0; pages];
        for epoch in &self.epochs {
            for (sum, &heat) in total.iter_mut().zip(epoch) {
                *sum += u64::from(heat);
            }
        }
        total
    }
}

fn by_region(heat: impl Iterator<Item = u64>) -> Vec<u64> {
    let heat: Vec<u64> = heat.collect();
    heat.chunks(SUBPAGES as usize)
        .map(|region| region.iter().sum())
        .collect()
}

/// The hottest units that fit, hottest first; ties in the order of addresses.
fn hottest(heat: &[u64], fits: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..heat.len() as u32).collect();
    order.sort_by_key(|&unit| std::cmp::Reverse(heat[unit as usize]));
    order.truncate(fits);
    order.retain(|&unit| heat[unit as usize] > 0);
    order
}

/// The best static placement by true heat, with one page size.
#[derive(Debug)]
pub struct OracleStatic {
    huge: bool,
    /// For each region, or base page, whether it belongs into the fast tier.
    fast: Vec<bool>,
}

impl OracleStatic {
    /// From the true heat of a run of the same application and seed.
    pub fn new(profile: &Profile, fast_pages: u64, huge: bool) -> Self {
        let total = profile.total();
        let heat = if huge {
            by_region(total.into_iter())
        } else {
            total
        };
        let size = if huge { u64::from(SUBPAGES) } else { 1 };
        let mut fast = vec![false; heat.len()];
        for unit in hottest(&heat, (fast_pages / size) as usize) {
            fast[unit as usize] = true;
        }
        Self { huge, fast }
    }

    fn tier(&self, vpn: u32) -> Tier {
        let unit = if self.huge { vpn / SUBPAGES } else { vpn };
        match self.fast.get(unit as usize) {
            Some(true) => Tier::Fast,
            _ => Tier::Capacity,
        }
    }
}

impl Policy for OracleStatic {
    fn on_fault(&mut self, fault: Fault, _: &mut Mechanism) -> Placement {
        Placement {
            tier: self.tier(fault.vpn),
            huge: self.huge,
        }
    }
}

/// The static placement of huge pages, then swaps that pay.
#[derive(Debug)]
pub struct OracleDynamic {
    start: OracleStatic,
    /// Heat of each region in each part of the run.
    epochs: Vec<Vec<u64>>,
    /// Pairs still to swap, the best last: out, in.
    swaps: Vec<(u32, u32)>,
}

impl OracleDynamic {
    /// From the true heat of a run of the same application and seed.
    pub fn new(profile: &Profile, fast_pages: u64) -> Self {
        let epochs = profile.epochs.iter();
        Self {
            start: OracleStatic::new(profile, fast_pages, true),
            epochs: epochs
                .map(|heat| by_region(heat.iter().map(|&heat| u64::from(heat))))
                .collect(),
            swaps: Vec::new(),
        }
    }

    /// Pairs of a cold page in the fast tier and a hot one outside, as long as a swap pays: what
    /// the misses of this part save is more than the threads' time that both moves cost.
    fn plan(&mut self, epoch: usize, machine: &Mechanism) {
        let Some(heat) = self.epochs.get(epoch) else {
            return;
        };
        let of = |region: u32| heat.get(region as usize).copied().unwrap_or(0);
        let in_tier = |tier| {
            let regions = 0..machine.pages().regions();
            let mut units: Vec<u32> = regions
                .filter(|&region| machine.pages().tier(Page::Huge(region)) == Some(tier))
                .collect();
            units.sort_by_key(|&region| of(region));
            units
        };
        let cold = in_tier(Tier::Fast).into_iter();
        let hot = in_tier(Tier::Capacity).into_iter().rev();
        let saved_ps = machine.latency_gap_ps();
        let costs = machine.costs();
        let threads = machine.threads() as u64;
        // Nobody waits for a daemon, but every thread answers two interrupts, and may wait behind
        // the copies for the memories.
        let cost_ps = threads * (2 * costs.shootdown_receiver + machine.copy_occupies_ps());
        self.swaps = cold
            .zip(hot)
            .take_while(|&(out, into)| {
                of(into).saturating_sub(of(out)).saturating_mul(saved_ps) > cost_ps
            })
            .collect();
        self.swaps.reverse();
    }

    fn swap(&mut self, machine: &mut Mechanism) {
        while machine.is_idle(Daemon::Promoter) {
            let Some((out, into)) = self.swaps.pop() else {
                return;
            };
            let payer = Payer::Daemon(Daemon::Promoter);
            // A refusal is counted; the pages stay where they are.
            let _ = machine.demote(Page::Huge(out), payer);
            let _ = machine.promote(Page::Huge(into), payer);
        }
    }
}

impl Policy for OracleDynamic {
    fn on_fault(&mut self, fault: Fault, machine: &mut Mechanism) -> Placement {
        self.start.on_fault(fault, machine)
    }

    fn on_tick(&mut self, tick: Tick, machine: &mut Mechanism) {
        if let Tick::Epoch(epoch) = tick {
            self.plan(epoch, machine);
        }
        self.swap(machine);
    }
}
