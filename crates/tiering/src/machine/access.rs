//! One access: the path that every load and store takes.

use super::cache::Lookup;
use super::mechanism::Mechanism;
use super::pages::{HUGE, PRESENT, PROTECTED, Page, Tier, tier_of};
use super::sampler::Sample;
use super::tally::Spent;
use crate::scale::{LINE_BYTES, SUBPAGES};

/// How an access depends on others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load whose value the next access needs: its whole latency counts.
    Chase,
    /// A load that overlaps with others.
    Gather,
    /// A store; what it fetches overlaps with others.
    Store,
}

/// How a miss overlaps: an index of what it costs its thread.
const DEPENDENT: usize = 0;
const INDEPENDENT: usize = 1;
const FETCHED_AHEAD: usize = 2;

/// Lines of page tables lie above those of data.
const TABLE_LINES: u32 = 1 << 30;

/// What a page table says of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Mapped.
    Mapped(u8),
    /// Not mapped.
    Absent,
    /// Mapped and protected.
    Protected,
}

impl Mechanism {
    /// The base page of an address.
    #[inline]
    pub(crate) fn vpn(&self, address: u64) -> u32 {
        (address >> self.page_shift) as u32
    }

    #[inline]
    pub(crate) fn entry(&self, vpn: u32) -> Entry {
        let entry = self.pages.entry(vpn);
        if entry & (PRESENT | PROTECTED) == PRESENT {
            Entry::Mapped(entry)
        } else if entry & PRESENT == 0 {
            Entry::Absent
        } else {
            Entry::Protected
        }
    }

    /// Finishes an access to a page that is mapped. The line is that of the data: a demand miss
    /// is what neither the cache nor the prefetcher had.
    #[inline]
    pub(crate) fn reach(&mut self, thread: usize, address: u64, entry: u8, access: Access) {
        let vpn = self.vpn(address);
        self.tally.accesses += 1;
        let tag = if entry & HUGE == 0 {
            vpn << 1
        } else {
            (vpn / SUBPAGES) << 1 | 1
        };
        if !self.threads[thread].tlb.touch(tag) {
            self.walk(thread, vpn, tag);
        }
        let store = access == Access::Store;
        if store && self.sampler.store(thread) {
            self.record(thread, Sample { vpn, store });
        }
        let line = (address / LINE_BYTES) as u32;
        match self.cache.touch(line, store) {
            Lookup::Hit => {
                let cost = if access == Access::Chase {
                    self.costs.cache_hit
                } else {
                    self.costs.cache_hit_shared
                };
                self.spend(thread, Spent::CacheHit, cost);
                return;
            }
            Lookup::Miss => {}
            Lookup::Evicted(line) => self.write_back(line),
        }
        self.fetch(thread, vpn, line, tier_of(entry), access);
    }

    fn fetch(&mut self, thread: usize, vpn: u32, line: u32, tier: Tier, access: Access) {
        let index = tier.index();
        let memory = &mut self.memories[index];
        memory.read_line();
        let (shared, queue) = (memory.shared_ps, memory.backlog_ps);
        let (spent, overlap) = if self.threads[thread].streams.fetched(line) {
            self.tally.streamed[index] += 1;
            (Spent::Stream, FETCHED_AHEAD)
        } else {
            self.tally.misses[index] += 1;
            self.heat.add(vpn);
            if access != Access::Store && self.sampler.load(thread) {
                self.record(thread, Sample { vpn, store: false });
            }
            let spent = [Spent::FastMiss, Spent::CapacityMiss][index];
            match access {
                Access::Chase => (spent, DEPENDENT),
                Access::Gather | Access::Store => (spent, INDEPENDENT),
            }
        };
        self.spend(thread, spent, shared[overlap]);
        if queue > 0 {
            self.spend(thread, Spent::Queue, queue / self.costs.overlaps[overlap]);
        }
    }

    /// A page-table walk. Upper levels are cached; the last one is a line like any other, in the
    /// fast tier, where the kernel keeps its tables. A page that moves is waited for here: moving
    /// it dropped its translations.
    #[cold]
    fn walk(&mut self, thread: usize, vpn: u32, tag: u32) {
        self.tally.walks += 1;
        let wait = self.under_way(tag, self.threads[thread].now);
        if wait > 0 {
            self.spend(thread, Spent::Blocked, wait);
        }
        let mut cost = self.costs.walk;
        let index = if tag & 1 == 0 { vpn } else { vpn / SUBPAGES };
        let level = (tag & 1) << 29;
        let line = TABLE_LINES | level | index >> self.entry_line_shift;
        match self.cache.touch(line, false) {
            Lookup::Hit => {}
            found => {
                if let Lookup::Evicted(line) = found {
                    self.write_back(line);
                }
                let memory = &mut self.memories[Tier::Fast.index()];
                memory.read_line();
                cost += memory.idle_ps + memory.backlog_ps;
            }
        }
        self.spend(thread, Spent::Walk, cost);
    }

    #[cold]
    fn record(&mut self, thread: usize, sample: Sample) {
        self.tally.samples += 1;
        if !self.sampler.record(thread, sample) {
            self.tally.dropped_samples += 1;
        }
        self.spend(thread, Spent::Sampler, self.costs.sample_hardware);
    }

    fn write_back(&mut self, line: u32) {
        if line & TABLE_LINES != 0 {
            return;
        }
        let vpn = self.vpn(u64::from(line) * LINE_BYTES);
        // A page that was freed meanwhile has nowhere to go back to.
        if let Some((_, tier)) = self.pages.at(vpn) {
            self.memories[tier.index()].write_line();
        }
    }

    /// Maps a page at its first touch and makes the thread pay.
    pub(crate) fn first_touch(&mut self, thread: usize, page: Page, wanted: Tier) -> Tier {
        let size = u64::from(page.size());
        let tier = if wanted == Tier::Fast && self.free_fast() < size {
            Tier::Capacity
        } else {
            wanted
        };
        self.pages.map(page, tier);
        let cost = match page {
            Page::Base(_) => self.costs.minor_fault,
            Page::Huge(_) => self.costs.huge_fault,
        };
        let bytes = self.setup.scale.moved_bytes() * size as f64;
        self.memories[tier.index()].write_bytes(bytes);
        self.tally.faults += 1;
        self.spend(thread, Spent::Fault, cost);
        tier
    }

    /// Lifts the protection of a page and makes the thread pay for the fault.
    pub(crate) fn hint_fault(&mut self, thread: usize, page: Page) {
        self.pages.protect(page, false);
        self.tally.hint_faults += 1;
        self.spend(thread, Spent::HintFault, self.costs.hint_fault);
    }

    /// Notes that something other than zero is stored.
    #[inline]
    pub(crate) fn write_page(&mut self, vpn: u32) {
        self.pages.write(vpn);
    }

    /// Instructions.
    #[inline]
    pub(crate) fn compute(&mut self, thread: usize, cost_ps: u64) {
        self.spend(thread, Spent::Compute, cost_ps);
    }
}
