//! Thresholds: adaptation, cooling, and how many huge pages to split.

use super::Memtis;
use super::group::Group;
use super::histogram::{BUCKETS, Histogram, SplitInput, decayed_records};
use super::switches::Switch;
use crate::machine::{Mechanism, Page, Tier};
use crate::scale::SUBPAGES;

impl Memtis {
    /// Cools or adapts when the number of samples says so: not both, so that where they coincide
    /// the adaptation is left out. Counts down, since a division costs as much as the rest.
    pub(super) fn after_sample(&mut self, tenant: usize, machine: &Mechanism) {
        let group = &mut self.groups[tenant];
        group.to_cooling -= 1;
        group.to_adaptation -= 1;
        let adapts = group.to_adaptation == 0;
        if adapts {
            group.to_adaptation = self.constants.adaptation_samples;
        }
        if group.to_cooling == 0 {
            group.to_cooling = self.constants.cooling_samples;
            self.cool(tenant, machine);
        } else if adapts {
            self.adapt(tenant, machine);
        }
    }

    /// Base pages of a tenant's part of the fast tier.
    pub(super) fn limit(&self, machine: &Mechanism) -> u64 {
        machine.setup().fast_pages / self.groups.len() as u64
    }

    /// Halves every count, now or when a page is next looked at.
    pub(super) fn cool(&mut self, tenant: usize, machine: &Mechanism) {
        let rebuild = self.switches.has(Switch::RebuildHistogram);
        let unguarded = self.switches.has(Switch::UnguardedBase);
        let group = &mut self.groups[tenant];
        group.clock += 1;
        if rebuild && group.need_cooling.contains(&true) {
            // The walk of the last cooling is not through: pages catch up with both.
            return;
        }
        if rebuild {
            group.sized = Histogram::default();
            group.based = Histogram::default();
        } else {
            group.sized.shift();
            group.based.shift();
        }
        group.splitting.buckets = [0; BUCKETS];
        group.splitting.accesses = 0;
        group.splitting.used = 0;
        group.base = if unguarded {
            group.base.wrapping_sub(1)
        } else {
            group.base.saturating_sub(1)
        };
        group.cooled = true;
        group.need_cooling = [true; 2];
        group.fast_hits = group.fast_hits / 2 + std::mem::take(&mut group.new_fast_hits);
        group.base_hits = group.base_hits / 2 + std::mem::take(&mut group.new_base_hits);
        let records = self.records_of(tenant);
        let group = &mut self.groups[tenant];
        group.shares = Some((
            group.base_hits as f64 / records,
            group.fast_hits as f64 / records,
        ));
        self.decide_splitting(tenant, machine);
    }

    /// The decayed number of samples.
    fn records_of(&self, tenant: usize) -> f64 {
        let masked = self.switches.has(Switch::MaskedShift);
        let clock = self.groups[tenant].clock;
        decayed_records(self.constants.cooling_samples, clock, masked) as f64
    }

    /// At a cooling: whether the next adaptation shall split.
    fn decide_splitting(&mut self, tenant: usize, machine: &Mechanism) {
        let coded = self.switches.has(Switch::SplitGate);
        let limit = self.limit(machine);
        let group = &mut self.groups[tenant];
        if group.splitting.off || !self.splits || group.splitting.needed {
            return;
        }
        let mut gate = (group.resident_all() as f64 * self.constants.split_gate_share) as u64;
        if coded {
            gate = gate.max(limit);
        }
        if group.splitting.samples <= gate {
            group.splitting.aim();
            return;
        }
        group.splitting.samples = 0;
        let gained = group.fast_hits as f64
            >= self.constants.split_gain * group.splitting.hits_before as f64;
        let failed = coded && group.splitting.happened && !gained;
        group.splitting.hits_before = group.fast_hits;
        if failed {
            self.switch_splitting_off(tenant);
        } else {
            group.splitting.happened = false;
            group.splitting.needed = true;
        }
    }

    /// Splitting is over, for this tenant or for all.
    pub(super) fn switch_splitting_off(&mut self, tenant: usize) {
        let all = self.switches.has(Switch::GlobalSplitSwitch);
        let leak = self.switches.has(Switch::LeakQueued);
        for other in 0..self.groups.len() {
            if other != tenant && !all {
                continue;
            }
            let splitting = &mut self.groups[other].splitting;
            splitting.off = true;
            splitting.above = BUCKETS;
            let queues = std::mem::take(&mut splitting.queues);
            if leak {
                continue;
            }
            for (queue, tier) in queues.into_iter().zip([Tier::Fast, Tier::Capacity]) {
                for region in queue {
                    self.unqueue(region, other, tier);
                }
            }
        }
    }

    /// Sets thresholds from the histograms.
    pub(super) fn adapt(&mut self, tenant: usize, machine: &Mechanism) {
        let limit = self.limit(machine);
        let room = limit - self.constants.promotion.of(limit).min(limit);
        let literal = self.switches.has(Switch::LiteralOr);
        let raise_only = self.switches.has(Switch::RaiseOnly);
        let group = &mut self.groups[tenant];
        let (hot, held) = group.sized.threshold(room, literal);
        let (base, _) = group.based.threshold(room, literal);
        let need_warm = (held as f64) < self.constants.warm_share * room as f64;
        let before = group.hot;
        let cooled = std::mem::take(&mut group.cooled);
        if raise_only {
            raise(group, hot, base as u32, cooled);
        } else {
            group.hot = hot;
            group.base = base as u32;
        }
        if cooled || group.hot != before {
            group.need_adjusting = [true; 2];
        }
        group.warm = if self.warms && need_warm {
            group.hot - 1
        } else {
            group.hot
        };
        if cooled && std::mem::take(&mut group.splitting.needed) {
            self.decide_number(tenant);
        }
    }

    /// How many huge pages to split, and which are skewed enough.
    fn decide_number(&mut self, tenant: usize) {
        let relative = self.switches.has(Switch::RelativeGap);
        let records = self.records_of(tenant);
        let group = &self.groups[tenant];
        let gap = self.constants.split_gap;
        let (base_hits, fast_hits) = (group.base_hits as f64, group.fast_hits as f64);
        let expected_hits = if relative {
            (1.0 - gap) * base_hits
        } else if base_hits - fast_hits >= gap * records {
            base_hits
        } else {
            fast_hits
        };
        let input = SplitInput {
            expected_hits,
            fast_hits,
            records,
            used: group.splitting.used,
            accesses: group.splitting.accesses,
            latency_ratio: self.constants.latency_ratio,
            gamma: self.constants.split_gamma,
        };
        let quota = input.pages() as u64;
        self.groups[tenant].splitting.quota = quota;
        if self.switches.has(Switch::CodedSkew) {
            self.groups[tenant].splitting.aim();
        } else if quota > 0 {
            self.queue_most_skewed(tenant);
        }
    }

    /// The most skewed huge pages that the quota allows, exactly ranked.
    fn queue_most_skewed(&mut self, tenant: usize) {
        let huge = &self.records.huge;
        let mut ranked: Vec<u32> = (0..huge.len() as u32)
            .filter(|&region| huge[region as usize].skew.factor > 0.0)
            .filter(|&region| {
                let which = self.lists.which(Page::Huge(region));
                which.is_some_and(|which| which.tenant == tenant)
            })
            .collect();
        ranked.sort_by(|&a, &b| {
            let factor = |region: u32| huge[region as usize].skew.factor;
            factor(b).total_cmp(&factor(a))
        });
        let fits = self.groups[tenant].splitting.quota / u64::from(SUBPAGES);
        ranked.truncate(fits as usize);
        for region in ranked {
            self.queue(region, tenant);
        }
    }

    /// Queues a page that a walk met, if it is skewed enough.
    pub(super) fn consider_split(&mut self, region: u32, tenant: usize) {
        let bucket = self.records.huge[region as usize].skew.bucket;
        let splitting = &mut self.groups[tenant].splitting;
        let size = u64::from(SUBPAGES);
        if splitting.off || bucket < splitting.above || splitting.quota < size {
            return;
        }
        if bucket == splitting.above {
            if splitting.tail < size {
                return;
            }
            splitting.tail -= size;
        }
        splitting.quota -= size;
        self.queue(region, tenant);
    }

    /// Takes a page out of its list until it is split.
    pub(super) fn queue(&mut self, region: u32, tenant: usize) {
        let page = Page::Huge(region);
        let Some(which) = self.lists.which(page) else {
            return;
        };
        self.lists.take(page);
        self.records.huge[region as usize].queued = true;
        let queues = &mut self.groups[tenant].splitting.queues;
        queues[which.tier.index()].push_back(region);
    }

    /// Puts a page back that will not be split.
    fn unqueue(&mut self, region: u32, tenant: usize, tier: Tier) {
        let page = Page::Huge(region);
        self.records.huge[region as usize].queued = false;
        let active = self.bin_of(page) >= self.groups[tenant].hot;
        self.list(page, tenant, tier, active);
    }
}

/// The kernel's rule: follow a cooling by one bin, rise otherwise, fall only after a split.
fn raise(group: &mut Group, hot: usize, base: u32, cooled: bool) {
    if cooled {
        if hot < group.hot && group.hot > 1 {
            group.hot -= 1;
        }
        group.base = group.base.min(base);
    } else {
        if hot > group.hot || group.splitting.happened {
            group.hot = hot;
        }
        group.base = base;
    }
}

impl super::group::Splitting {
    /// Finds the bucket above which all pages fit the quota; it keeps what is left itself.
    fn aim(&mut self) {
        let mut left = self.quota;
        self.above = BUCKETS;
        self.tail = 0;
        for bucket in (1..BUCKETS).rev() {
            if left == 0 {
                return;
            }
            self.above = bucket;
            self.tail = left;
            left = left.saturating_sub(self.buckets[bucket] * u64::from(SUBPAGES));
        }
    }
}
