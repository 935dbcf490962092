//! Memtis (Lee et al., SOSP 2023), as described and as coded.
//!
//! A sampler's records give each page a decayed count of accesses. Two histograms of these counts,
//! by real page sizes and as if all pages were base pages, say which pages are the hottest that
//! fit. Two daemons move pages between lists and tiers and split huge pages whose subpages are
//! used unevenly. The paper and the kernel differ in 25 places; each is a [`Switch`].
//!
//! ```text
//! sample -> record, bins, list      classify
//! every 100,000 samples             adapt: thresholds; every 2,000,000: cool, decide on splits
//! every 0.5 s a daemon              migrate: walk, split, demote, promote
//! every 15 s                        sampling: periods
//! ```
//!
//! Written from descriptions; no source of the kernel was used.

mod adapt;
mod classify;
mod constants;
mod group;
pub mod histogram;
mod lists;
mod migrate;
mod sampling;
#[cfg(test)]
mod scenarios;
mod switches;

use classify::{BaseRecord, HugeRecord};
use constants::Constants;
use group::Group;
use histogram::bin;
use lists::Lists;
pub use switches::{DIFFERENCES, Difference, Switch, Switches};

use super::{Fault, Gauges, Placement, Policy, Tick};
use crate::machine::{Daemon, Mechanism, Page, Sample, Setup, Tier};
use crate::preset::MemtisPreset;
use crate::scale::SUBPAGES;

/// What is known of pages.
#[derive(Clone, Debug, Default)]
struct Records {
    base: Vec<BaseRecord>,
    huge: Vec<HugeRecord>,
}

/// What may be switched off to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Splitting of huge pages.
    pub split: bool,
    /// The warm set.
    pub warm: bool,
}

impl Features {
    /// Everything.
    pub const ALL: Self = Self {
        split: true,
        warm: true,
    };
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Memtis {
    switches: Switches,
    splits: bool,
    warms: bool,
    constants: Constants,
    controller: sampling::Controller,
    records: Records,
    lists: Lists,
    groups: Vec<Group>,
    samples: Vec<Sample>,
    /// Base pages that each daemon may still move before it wakes again.
    rate_left: [u64; 2],
    next_collapse: u32,
}

impl Memtis {
    /// For a machine and so many tenants.
    pub fn new(
        preset: &MemtisPreset,
        setup: &Setup,
        switches: Switches,
        features: Features,
        tenants: usize,
    ) -> Self {
        let constants = Constants::new(preset, setup, switches);
        let group = Group::new(constants.cooling_samples, constants.adaptation_samples);
        Self {
            switches,
            splits: features.split,
            warms: features.warm,
            controller: sampling::Controller::default(),
            records: Records::default(),
            lists: Lists::default(),
            groups: vec![group; tenants.max(1)],
            samples: Vec::new(),
            rate_left: [constants.rate_pages; 2],
            next_collapse: 0,
            constants,
        }
    }

    fn grow(&mut self, machine: &Mechanism, tenant: usize) {
        let limit = machine.pages().limit();
        if self.records.base.len() < limit as usize {
            self.records
                .base
                .resize(limit as usize, BaseRecord::default());
            let regions = limit / SUBPAGES;
            self.records
                .huge
                .resize(regions as usize, HugeRecord::default());
        }
        self.lists.grow(limit, tenant);
    }

    /// A new page's count, clock and place.
    fn enter(&mut self, page: Page, tenant: usize, tier: Tier) {
        let above = self.switches.has(Switch::NewPageAbove);
        let group = &mut self.groups[tenant];
        let hot = group.hot as u32;
        let total = 1_u32 << (hot + u32::from(above));
        let clock = group.clock + u32::from(above);
        for vpn in page.range() {
            self.records.base[vpn as usize] = BaseRecord {
                total,
                clock,
                // The kernel starts the count of samples there too; at 16 bits it wraps for T = 15.
                samples: total as u16,
                may_hot: false,
            };
        }
        if let Page::Huge(region) = page {
            self.records.huge[region as usize] = HugeRecord {
                total,
                clock,
                ..HugeRecord::default()
            };
        }
        let size = u64::from(page.size());
        if !above {
            group.sized.add(bin(total), size);
            group.based.add(bin(total), size);
        }
        group.resident[tier.index()] += size;
        self.list(page, tenant, tier, false);
    }

    /// A page was freed: it leaves lists and histograms.
    fn forget(&mut self, page: Page, tenant: usize, tier: Tier) {
        self.cool_page(page, tenant);
        self.lists.take(page);
        let bin = self.bin_of(page);
        let group = &mut self.groups[tenant];
        group.sized.take(bin, u64::from(page.size()));
        group.resident[tier.index()] -= u64::from(page.size());
        for vpn in page.range() {
            let record = std::mem::take(&mut self.records.base[vpn as usize]);
            group.based.take(histogram::bin(record.total), 1);
        }
        if let Page::Huge(region) = page {
            let queues = &mut group.splitting.queues;
            for queue in queues {
                queue.retain(|&queued| queued != region);
            }
            self.records.huge[region as usize] = HugeRecord::default();
        }
    }

    /// A quantum ended: daemons go on, and a failed allocation wakes the demoter early.
    fn resume(&mut self, machine: &mut Mechanism) {
        let pressed = self.groups.iter().any(|group| group.pressed);
        if machine.is_idle(Daemon::Demoter) {
            if pressed {
                self.wake(Tier::Fast, machine);
            } else {
                self.go_on(Tier::Fast, machine);
            }
        }
        self.go_on(Tier::Capacity, machine);
    }

    /// Whether growth alone cools.
    fn grown(&mut self, pages: u64, tenant: usize, machine: &Mechanism) {
        let group = &mut self.groups[tenant];
        group.grown += pages;
        if group.grown >= self.constants.cooling_growth_pages {
            group.grown = 0;
            if self.switches.has(Switch::CoolOnGrowth) {
                self.cool(tenant, machine);
            }
        }
    }
}

impl Policy for Memtis {
    fn clocks(&self) -> Vec<(Tick, u64)> {
        let constants = &self.constants;
        vec![
            (Tick::Drain, constants.drain_ps),
            (Tick::CpuCheck, constants.cpu_check_ps),
            (Tick::Wake(Daemon::Demoter), constants.wake_ps),
            (Tick::Wake(Daemon::Promoter), constants.wake_ps),
            (Tick::Wake(Daemon::Collapser), constants.collapse_ps),
        ]
    }

    fn start(&mut self, machine: &mut Mechanism) {
        self.start_sampling(machine);
    }

    fn on_fault(&mut self, fault: Fault, machine: &mut Mechanism) -> Placement {
        let tenant = machine.pages().tenant(fault.vpn);
        let limit = self.limit(machine);
        let size = if fault.may_be_huge { SUBPAGES } else { 1 };
        let group = &mut self.groups[tenant];
        let fits = group.resident[0] + u64::from(size) <= limit;
        if !fits {
            group.pressed = true;
        }
        Placement {
            tier: if fits { Tier::Fast } else { Tier::Capacity },
            huge: true,
        }
    }

    fn on_mapped(&mut self, page: Page, machine: &mut Mechanism) {
        let tenant = machine.pages().tenant(page.first());
        self.grow(machine, tenant);
        let Some(tier) = machine.pages().tier(page) else {
            return;
        };
        self.enter(page, tenant, tier);
        self.grown(u64::from(page.size()), tenant, machine);
    }

    fn on_sample(&mut self, sample: Sample, machine: &mut Mechanism) {
        self.account(sample, machine);
    }

    fn on_tick(&mut self, tick: Tick, machine: &mut Mechanism) {
        match tick {
            Tick::Drain => self.drain(machine),
            Tick::CpuCheck => self.check_cpu(machine),
            Tick::Wake(Daemon::Demoter) if machine.is_idle(Daemon::Demoter) => {
                self.wake(Tier::Fast, machine);
            }
            Tick::Wake(Daemon::Promoter) if machine.is_idle(Daemon::Promoter) => {
                self.wake(Tier::Capacity, machine);
            }
            Tick::Wake(Daemon::Collapser) => self.collapse(machine),
            Tick::Resume => self.resume(machine),
            Tick::Wake(_) | Tick::Epoch(_) => {}
        }
    }

    fn on_release(&mut self, page: Page, tier: Tier, machine: &mut Mechanism) {
        let tenant = machine.pages().tenant(page.first());
        self.forget(page, tenant, tier);
    }

    fn gauges(&self) -> Gauges {
        let group = &self.groups[0];
        Gauges {
            hot_threshold: group.hot as u32,
            warm_threshold: group.warm as u32,
            base_threshold: group.base,
            histogram: group.sized.0,
            coolings: u64::from(group.clock),
            estimated_ehr: group.shares.map(|shares| shares.0),
            sampled_rhr: group.shares.map(|shares| shares.1),
            splitting_off: group.splitting.off,
        }
    }
}
