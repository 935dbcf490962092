//! The two daemons: cooling and adjusting walks, splits, demotion, promotion, collapse.

use super::group::Demotion;
use super::lists::Which;
use super::switches::Switch;
use super::{HugeRecord, Memtis};
use crate::machine::{Daemon, Mechanism, Page, Payer, Spent, Tier};
use crate::scale::SUBPAGES;

/// The daemon that works on a tier's lists.
fn daemon_of(tier: Tier) -> Daemon {
    match tier {
        Tier::Fast => Daemon::Demoter,
        Tier::Capacity => Daemon::Promoter,
    }
}

impl Memtis {
    /// A daemon wakes: walks and splits on its own tier, then what it will move.
    pub(super) fn wake(&mut self, tier: Tier, machine: &mut Mechanism) {
        self.rate_left[tier.index()] = self.constants.rate_pages;
        for tenant in 0..self.groups.len() {
            self.split_queued(tenant, tier, machine);
            let group = &mut self.groups[tenant];
            let cooling = std::mem::take(&mut group.need_cooling[tier.index()]);
            let adjusting = std::mem::take(&mut group.need_adjusting[tier.index()]);
            if cooling || adjusting {
                self.walk(tenant, tier, cooling, machine);
            }
            // A walk that cooled leaves an adjustment to the next wake-up.
            self.groups[tenant].need_adjusting[tier.index()] |= cooling && adjusting;
            match tier {
                Tier::Fast => self.plan_demotion(tenant, machine),
                Tier::Capacity => self.groups[tenant].promoting = true,
            }
        }
        self.go_on(tier, machine);
    }

    /// Goes on with what did not fit into the last quantum.
    pub(super) fn go_on(&mut self, tier: Tier, machine: &mut Mechanism) {
        for tenant in 0..self.groups.len() {
            match tier {
                Tier::Fast => self.demote(tenant, machine),
                Tier::Capacity => self.promote(tenant, machine),
            }
        }
    }

    /// Looks at every page of a tier: cools it, moves it to the list that its heat calls for,
    /// considers its split.
    pub(super) fn walk(
        &mut self,
        tenant: usize,
        tier: Tier,
        cooling: bool,
        machine: &mut Mechanism,
    ) {
        let below = cooling && self.switches.has(Switch::CooledBelow);
        let (mut base_pages, mut huge_pages) = (0, 0);
        for active in [true, false] {
            let which = Which {
                tenant,
                tier,
                active,
            };
            for page in self.lists.all(which) {
                self.cool_page(page, tenant);
                let mut threshold = self.groups[tenant].hot;
                match page {
                    Page::Base(vpn) => {
                        base_pages += 1;
                        threshold -= usize::from(below);
                        if cooling {
                            self.records.base[vpn as usize].samples = 0;
                        }
                    }
                    Page::Huge(_) => huge_pages += 1,
                }
                self.list(page, tenant, tier, self.bin_of(page) >= threshold);
                if let Page::Huge(region) = page
                    && self.switches.has(Switch::CodedSkew)
                {
                    self.consider_split(region, tenant);
                }
            }
        }
        let costs = machine.costs();
        let cost = base_pages * costs.cool_base + huge_pages * costs.cool_huge;
        machine.charge(Payer::Daemon(daemon_of(tier)), Spent::HintFault, cost);
    }

    /// Splits a batch of the pages that wait for it.
    fn split_queued(&mut self, tenant: usize, tier: Tier, machine: &mut Mechanism) {
        for _ in 0..self.constants.split_batch {
            let queue = &mut self.groups[tenant].splitting.queues[tier.index()];
            let Some(region) = queue.pop_front() else {
                return;
            };
            self.split(region, tenant, tier, machine);
        }
    }

    pub(super) fn split(
        &mut self,
        region: u32,
        tenant: usize,
        tier: Tier,
        machine: &mut Mechanism,
    ) {
        let page = Page::Huge(region);
        let payer = Payer::Daemon(daemon_of(tier));
        self.cool_page(page, tenant);
        let needs_unsampled = self.switches.has(Switch::ZeroNeedsUnsampled);
        let records = &self.records.base;
        let may_free = |vpn: u32| !needs_unsampled || records[vpn as usize].samples == 0;
        let bin = self.bin_of(page);
        let Ok(freed) = machine.split(region, payer, may_free) else {
            return;
        };
        self.records.huge[region as usize] = HugeRecord::default();
        let group = &mut self.groups[tenant];
        group.sized.take(bin, u64::from(SUBPAGES));
        group.splitting.happened = true;
        for vpn in freed {
            let bin = self.bin_of(Page::Base(vpn));
            let group = &mut self.groups[tenant];
            group.based.take(bin, 1);
            group.resident[tier.index()] -= 1;
        }
        for vpn in page.range() {
            if machine.pages().at(vpn).is_some() {
                self.place_subpage(vpn, tenant, tier, machine);
            }
        }
    }

    /// A subpage of a page that was just split: into a list, or into its tier at once.
    fn place_subpage(&mut self, vpn: u32, tenant: usize, tier: Tier, machine: &mut Mechanism) {
        let page = Page::Base(vpn);
        let bin = self.bin_of(page);
        let hot = self.groups[tenant].hot;
        self.groups[tenant].sized.add(bin, 1);
        if self.switches.has(Switch::SplitToList) {
            self.list(page, tenant, tier, bin + 1 >= hot);
            return;
        }
        let active = bin >= hot;
        self.list(page, tenant, tier, active);
        let wanted = if active { Tier::Fast } else { Tier::Capacity };
        if wanted != tier {
            self.relocate(page, tenant, wanted, active, daemon_of(tier), machine);
        }
    }

    /// Moves a page and what is noted of it; whether it moved.
    fn relocate(
        &mut self,
        page: Page,
        tenant: usize,
        to: Tier,
        active: bool,
        daemon: Daemon,
        machine: &mut Mechanism,
    ) -> bool {
        let size = u64::from(page.size());
        let from = to.other();
        let rate_left = &mut self.rate_left[from.index()];
        if !self.switches.has(Switch::NoRateLimit) && *rate_left < size {
            return false;
        }
        let payer = Payer::Daemon(daemon);
        let moved = match to {
            Tier::Fast => machine.promote(page, payer),
            Tier::Capacity => machine.demote(page, payer),
        };
        if moved.is_err() {
            return false;
        }
        *rate_left = rate_left.saturating_sub(size);
        let group = &mut self.groups[tenant];
        group.resident[from.index()] -= size;
        group.resident[to.index()] += size;
        self.list(page, tenant, to, active);
        true
    }

    /// How much of the fast tier has to go.
    fn plan_demotion(&mut self, tenant: usize, machine: &Mechanism) {
        let limit = self.limit(machine);
        let demotion = self.constants.demotion.of(limit);
        let promotion = self.constants.promotion.of(limit);
        let pressure = self.constants.pressure_pages;
        let list = |tier, active| Which {
            tenant,
            tier,
            active,
        };
        let waiting = self.lists.pages(list(Tier::Capacity, true));
        let inactive = self.lists.pages(list(Tier::Fast, false));
        let group = &mut self.groups[tenant];
        let used = group.resident[Tier::Fast.index()];
        let pressed = std::mem::take(&mut group.pressed);
        let beyond = |pages: u64| pages.saturating_sub(limit);
        let want = if pressed {
            match beyond(used + promotion) {
                0 => 0,
                want => want + pressure,
            }
        } else if waiting > 0 {
            beyond(used + waiting + promotion)
        } else if used + demotion > limit {
            beyond(used + promotion)
        } else {
            0
        };
        group.demotion = Demotion {
            want,
            done: 0,
            scan: inactive,
            pressure: pressed && inactive < want,
            warm_too: false,
            waiting,
        };
    }

    /// Demotes cold pages, then warm ones, as long as the daemon has time.
    fn demote(&mut self, tenant: usize, machine: &mut Mechanism) {
        let inactive = Which {
            tenant,
            tier: Tier::Fast,
            active: false,
        };
        let active = Which {
            active: true,
            ..inactive
        };
        while machine.is_idle(Daemon::Demoter) {
            let demotion = self.groups[tenant].demotion;
            if demotion.done >= demotion.want {
                return;
            }
            let oldest = self.lists.oldest(inactive);
            let page = match oldest {
                Some(page) if demotion.scan > 0 => page,
                _ if demotion.pressure => match self.lists.oldest(active) {
                    Some(page) => page,
                    None => return self.end_pass(tenant),
                },
                _ => {
                    self.end_pass(tenant);
                    continue;
                }
            };
            self.demote_page(page, tenant, machine);
        }
    }

    fn demote_page(&mut self, page: Page, tenant: usize, machine: &mut Mechanism) {
        let size = u64::from(page.size());
        let look = machine.costs().cool_base;
        machine.charge(Payer::Daemon(Daemon::Demoter), Spent::HintFault, look);
        self.cool_page(page, tenant);
        let bin = self.bin_of(page);
        let group = &mut self.groups[tenant];
        let demotion = &mut group.demotion;
        let passed = demotion.scan > 0;
        demotion.scan = demotion.scan.saturating_sub(size);
        let threshold = if demotion.warm_too {
            group.hot
        } else {
            group.warm
        };
        let hot_too = demotion.pressure && !passed;
        if bin >= threshold && !hot_too {
            self.rotate(page);
            return;
        }
        let moved = self.relocate(
            page,
            tenant,
            Tier::Capacity,
            false,
            Daemon::Demoter,
            machine,
        );
        let demotion = &mut self.groups[tenant].demotion;
        if moved {
            demotion.done += size;
        } else {
            // Only the rate limit refuses: the next wake-up goes on.
            demotion.want = 0;
        }
    }

    /// To the head of its list, to be met last.
    fn rotate(&mut self, page: Page) {
        if let Some(which) = self.lists.which(page) {
            self.lists.put(page, which);
        }
    }

    /// The inactive list was seen once. Warm pages go next, now or in the next round.
    fn end_pass(&mut self, tenant: usize) {
        let later = self.switches.has(Switch::WarmNextRound);
        let inactive = self.lists.pages(Which {
            tenant,
            tier: Tier::Fast,
            active: false,
        });
        let group = &mut self.groups[tenant];
        let demotion = &mut group.demotion;
        let short = demotion.done < demotion.waiting.min(demotion.want);
        if later || demotion.warm_too || group.warm == group.hot {
            if later && short {
                group.warm = group.hot;
            }
            demotion.want = 0;
        } else {
            demotion.warm_too = true;
            demotion.scan = inactive;
        }
    }

    /// Promotes hot pages as long as there is room and the daemon has time.
    fn promote(&mut self, tenant: usize, machine: &mut Mechanism) {
        let limit = self.limit(machine);
        let watermark = self.constants.promotion.of(limit);
        let active = Which {
            tenant,
            tier: Tier::Capacity,
            active: true,
        };
        while self.groups[tenant].promoting && machine.is_idle(Daemon::Promoter) {
            let used = self.groups[tenant].resident[Tier::Fast.index()];
            let room = limit.saturating_sub(watermark + used);
            let next = self.lists.oldest(active);
            let fits = next.filter(|page| u64::from(page.size()) <= room);
            let moved = fits.is_some_and(|page| {
                self.relocate(page, tenant, Tier::Fast, true, Daemon::Promoter, machine)
            });
            self.groups[tenant].promoting = moved;
        }
    }

    /// Collapses regions whose base pages are all present and were all hot.
    pub(super) fn collapse(&mut self, machine: &mut Mechanism) {
        let regions = machine.pages().regions();
        let size = u64::from(SUBPAGES);
        for _ in 0..self
            .constants
            .collapse_pages
            .div_ceil(size)
            .min(u64::from(regions))
        {
            let region = self.next_collapse % regions;
            self.next_collapse = (region + 1) % regions;
            let page = Page::Huge(region);
            let allowed = machine.pages().is_huge_allowed(region);
            let hot = allowed
                && page.range().all(|vpn| {
                    let mapped = machine.pages().at(vpn);
                    matches!(mapped, Some((Page::Base(_), _)))
                        && self.records.base[vpn as usize].may_hot
                });
            let tenant = machine.pages().tenant(page.first());
            let room = self
                .limit(machine)
                .saturating_sub(self.groups[tenant].resident[0]);
            if hot && room >= size {
                self.collapse_region(region, tenant, machine);
            }
        }
    }

    fn collapse_region(&mut self, region: u32, tenant: usize, machine: &mut Mechanism) {
        let page = Page::Huge(region);
        let held = machine.pages().held(region);
        for vpn in page.range() {
            self.cool_page(Page::Base(vpn), tenant);
        }
        if machine
            .collapse(region, Payer::Daemon(Daemon::Collapser))
            .is_err()
        {
            return;
        }
        let mut accesses = 0;
        for vpn in page.range() {
            let bin = self.bin_of(Page::Base(vpn));
            self.groups[tenant].sized.take(bin, 1);
            self.lists.take(Page::Base(vpn));
            accesses += self.records.base[vpn as usize].total / super::histogram::BASE_WEIGHT;
        }
        let group = &mut self.groups[tenant];
        let record = &mut self.records.huge[region as usize];
        record.total = accesses;
        record.clock = group.clock;
        group.resident[0] += u64::from(held[1]);
        group.resident[1] -= u64::from(held[1]);
        let bin = self.bin_of(page);
        let group = &mut self.groups[tenant];
        group.sized.add(bin, u64::from(SUBPAGES));
        let active = bin >= group.hot;
        self.list(page, tenant, Tier::Fast, active);
    }
}
