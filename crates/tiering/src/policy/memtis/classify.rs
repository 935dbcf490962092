//! From a sample to a page's place: records, lazy cooling, histograms, lists.

use super::group::Group;
use super::histogram::{BASE_WEIGHT, BINS, Skew, bin, least_of};
use super::lists::Which;
use super::switches::Switch;
use super::{Memtis, Records};
use crate::machine::{Mechanism, Page, Sample, Tier};
use crate::scale::SUBPAGES;

/// What is known of a base page, or of a subpage of a huge one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaseRecord {
    pub(super) total: u32,
    pub(super) clock: u32,
    /// Samples since the last cooling walk.
    pub(super) samples: u16,
    /// Whether it would have been in the fast tier when it last cooled.
    pub(super) may_hot: bool,
}

/// What is known of a huge page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HugeRecord {
    pub(super) total: u32,
    pub(super) clock: u32,
    pub(super) skew: Skew,
    /// Waits for its split, and so in no list.
    pub(super) queued: bool,
}

impl Memtis {
    /// Classifies the page of a sample, at once.
    pub(super) fn account(&mut self, sample: Sample, machine: &Mechanism) {
        // The page may have been freed since.
        let Some((page, tier)) = machine.pages().at(sample.vpn) else {
            return;
        };
        let tenant = machine.pages().tenant(sample.vpn);
        let accesses = self.accesses_of(sample.store);
        self.cool_page(page, tenant);
        let group = &mut self.groups[tenant];
        group.splitting.samples += 1;
        group.new_fast_hits += u64::from(tier == Tier::Fast);
        let record = &mut self.records.base[sample.vpn as usize];
        group.new_base_hits += u64::from(record.may_hot);
        let before = bin(record.total);
        record.total = record.total.saturating_add(accesses * BASE_WEIGHT);
        record.samples = record.samples.saturating_add(1);
        let after = bin(record.total);
        group.based.take(before, 1);
        group.based.add(after, 1);
        let index = match page {
            Page::Base(_) => {
                group.sized.take(before, 1);
                group.sized.add(after, 1);
                after
            }
            Page::Huge(region) => {
                let record = &mut self.records.huge[region as usize];
                let before = bin(record.total);
                record.total = record.total.saturating_add(accesses);
                let after = bin(record.total);
                if before != after {
                    group.sized.take(before, u64::from(SUBPAGES));
                    group.sized.add(after, u64::from(SUBPAGES));
                }
                after
            }
        };
        let active = index >= group.hot;
        self.list(page, tenant, tier, active);
        self.after_sample(tenant, machine);
    }

    /// Puts a page into a list, unless it is there or waits for its split.
    pub(super) fn list(&mut self, page: Page, tenant: usize, tier: Tier, active: bool) {
        let which = Which {
            tenant,
            tier,
            active,
        };
        let queued = match page {
            Page::Huge(region) => self.records.huge[region as usize].queued,
            Page::Base(_) => false,
        };
        if !queued && !self.lists.is_in(page, which) {
            self.lists.put(page, which);
        }
    }

    /// The bin by which a page is hot or cold.
    pub(super) fn bin_of(&self, page: Page) -> usize {
        bin(match page {
            Page::Base(vpn) => self.records.base[vpn as usize].total,
            Page::Huge(region) => self.records.huge[region as usize].total,
        })
    }

    /// Halves a page's counts for each cooling that it missed, and enters it in the histograms.
    pub(super) fn cool_page(&mut self, page: Page, tenant: usize) {
        let byte_clock = self.switches.has(Switch::ByteClock);
        let rebuild = self.switches.has(Switch::RebuildHistogram);
        let group = &mut self.groups[tenant];
        match page {
            Page::Base(vpn) => {
                let record = &mut self.records.base[vpn as usize];
                let clock = if byte_clock {
                    record.clock & 0xff
                } else {
                    record.clock
                };
                let behind = group.clock.saturating_sub(clock);
                if behind > 0 {
                    let (from, to) = halve(record, behind, group);
                    if !rebuild {
                        group.sized.take(from, 1);
                    }
                    group.sized.add(to, 1);
                    enter(group, from, to, rebuild);
                }
            }
            Page::Huge(region) => self.records.cool_huge(region, group, rebuild),
        }
    }
}

/// A count after so many coolings.
fn halved(count: u32, coolings: u32) -> u32 {
    count.checked_shr(coolings).unwrap_or(0)
}

/// How many of a huge page's subpages are in each bin. Four arrays in turn, or each count would
/// wait for the store of the one before: neighbours are mostly in the same bin.
fn bins_of(counts: &[u32; SUBPAGES as usize]) -> [u64; BINS] {
    let bins = counts.map(|count| bin(count) as u8);
    let mut partial = [[0_u64; BINS]; 4];
    for four in bins.chunks_exact(4) {
        for (partial, &bin) in partial.iter_mut().zip(four) {
            partial[usize::from(bin) % BINS] += 1;
        }
    }
    std::array::from_fn(|bin| partial.iter().map(|part| part[bin]).sum())
}

/// Halves a record; the bins that the shifted histogram had it in, and that it is in now.
fn halve(record: &mut BaseRecord, behind: u32, group: &Group) -> (usize, usize) {
    let before = bin(record.total);
    record.may_hot = record.total >= least_of(group.base as usize);
    record.total = halved(record.total, behind);
    record.clock = group.clock;
    (before.saturating_sub(behind as usize), bin(record.total))
}

/// Enters a base page or subpage in the histogram of base pages.
fn enter(group: &mut Group, from: usize, to: usize, rebuild: bool) {
    if !rebuild {
        group.based.take(from, 1);
    }
    group.based.add(to, 1);
}

impl Records {
    /// Cools a huge page and its subpages; measures its skew before. Most of what a sample
    /// costs is its share of this.
    fn cool_huge(&mut self, region: u32, group: &mut Group, rebuild: bool) {
        let record = &mut self.huge[region as usize];
        let behind = group.clock.saturating_sub(record.clock);
        if behind == 0 {
            return;
        }
        let range = Page::Huge(region).range();
        let subpages = &mut self.base[range.start as usize..range.end as usize];
        let hot_from = least_of(group.base as usize);
        let mut counts = [0; SUBPAGES as usize];
        for (subpage, count) in subpages.iter_mut().zip(&mut counts) {
            *count = subpage.total;
            subpage.may_hot = subpage.total >= hot_from;
            subpage.total = halved(subpage.total, behind);
            subpage.clock = group.clock;
        }
        let came = bins_of(&counts.map(|count| halved(count, behind)));
        if !rebuild {
            let left = bins_of(&counts);
            for (bin, pages) in left.into_iter().enumerate() {
                group.based.take(bin.saturating_sub(behind as usize), pages);
            }
        }
        for (bin, pages) in came.into_iter().enumerate() {
            group.based.add(bin, pages);
        }
        record.skew = Skew::of(record.total, &counts, group.skew_threshold());
        group.splitting.count(&record.skew);
        let from = bin(record.total).saturating_sub(behind as usize);
        record.total = halved(record.total, behind);
        record.clock = group.clock;
        if !rebuild {
            group.sized.take(from, u64::from(SUBPAGES));
        }
        group.sized.add(bin(record.total), u64::from(SUBPAGES));
    }
}
