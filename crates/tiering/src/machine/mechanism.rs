//! What a policy may do, and what each costs: a policy can never move a page for free.

use thiserror::Error;

use super::cache::Cache;
use super::costs::Costs;
use super::heat::Heat;
use super::pages::{Page, Pages, Tier};
use super::sampler::{Periods, Sample, Sampler};
use super::space::{Area, Space};
use super::stream::Streams;
use super::tally::{SPENT, Spent, Tally};
use super::tiers::Memory;
use super::tlb::Tlb;
use crate::preset::{CapacityTier, MachinePreset};
use crate::random::Random;
use crate::scale::{Grain, SUBPAGES, Scale};

/// A kernel thread with a core of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// Reads the sampler's records.
    Sampler,
    /// Moves pages out of the fast tier.
    Demoter,
    /// Moves pages into the fast tier.
    Promoter,
    /// Collapses base pages.
    Collapser,
}

/// Each of them, with its name.
pub const DAEMONS: [(Daemon, &str); 4] = [
    (Daemon::Sampler, "sampler"),
    (Daemon::Demoter, "demoter"),
    (Daemon::Promoter, "promoter"),
    (Daemon::Collapser, "collapser"),
];

/// Who pays for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    /// The application's thread: the move is in its fault.
    Thread(usize),
    /// A daemon: the application pays with bandwidth, shootdowns and blocking.
    Daemon(Daemon),
}

/// Why a page did not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// It is not mapped at this size; look it up again.
    #[error("{0:?} is not mapped at this size; look it up again")]
    Gone(Page),
    /// It is there already.
    #[error("{0:?} is in that tier already; nothing to pay for")]
    There(Page),
    /// The fast tier is full.
    #[error("no room for {0:?} in the fast tier; demote first")]
    Full(Page),
}

/// What a mechanism is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How far it is scaled down.
    pub scale: Scale,
    /// What shrinks with the pages.
    pub grain: Grain,
    /// What the capacity tier is.
    pub capacity_tier: CapacityTier,
    /// Base pages of the fast tier.
    pub fast_pages: u64,
    /// Seed of everything random.
    pub seed: u64,
}

/// One logical thread of the application.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) now: u64,
    pub(super) spent: [u64; SPENT.len()],
    pub(super) tlb: Tlb,
    pub(super) streams: Streams,
}

/// Pages under way: whoever touches one waits for its end. A daemon moves at most 57 base pages a
/// quantum at a geometry of 128.
const MOVES_REMEMBERED: usize = 64;

/// Simulated time that threads run ahead of each other at most, in picoseconds: short against the
/// 2 ms after which samples are read, scaled to 1/1024 or more; shorter only costs.
pub const QUANTUM_PS: u64 = 2_000_000;

/// The hardware and the kernel.
#[derive(Clone, Debug)]
pub struct Mechanism {
    pub(super) setup: Setup,
    pub(super) costs: Costs,
    pub(super) pages: Pages,
    pub(super) threads: Vec<Thread>,
    pub(super) cache: Cache,
    pub(super) memories: [Memory; 2],
    pub(super) sampler: Sampler,
    pub(super) tally: Tally,
    /// Demand misses of each base page since the last decay.
    pub(super) heat: Heat,
    pub(super) page_shift: u32,
    pub(super) entry_line_shift: u32,
    /// Tag, begin and end of the latest moves.
    moves: [(u32, u64, u64); MOVES_REMEMBERED],
    next_move: usize,
    /// The end of the last of them.
    moves_end: u64,
    daemons: [(u64, u64); 4],
    space: Space,
    random: Random,
    now: u64,
}

impl Mechanism {
    /// An empty machine.
    pub fn new(preset: &MachinePreset, setup: Setup) -> Self {
        let Setup { scale, grain, .. } = setup;
        let entries = scale.count(preset.cpu.tlb_entries.value as f64) as usize;
        let threads = preset.cpu.threads.value as usize;
        let lines = scale.cache_lines(preset.cpu.llc_bytes.value as f64, grain);
        let ring = scale.count(preset.kernel.ring_records.value as f64) as usize;
        let thread = Thread {
            now: 0,
            spent: [0; SPENT.len()],
            tlb: Tlb::new(entries),
            streams: Streams::new(),
        };
        let costs = Costs::new(preset, &setup, scale);
        let capacity = preset.capacity(setup.capacity_tier);
        Self {
            setup,
            pages: Pages::default(),
            threads: vec![thread; threads],
            cache: Cache::new(lines),
            memories: [
                Memory::new(&preset.fast, costs.overlaps),
                Memory::new(capacity, costs.overlaps),
            ],
            costs,
            sampler: Sampler::new(threads, ring),
            tally: Tally::default(),
            heat: Heat::new(),
            page_shift: scale.page_shift(grain),
            entry_line_shift: scale.entries_per_line_shift(grain),
            moves: [(u32::MAX, 0, 0); MOVES_REMEMBERED],
            next_move: 0,
            moves_end: 0,
            daemons: [(0, 0); 4],
            space: Space::default(),
            random: Random::new(setup.seed, 1),
            now: 0,
        }
    }

    /// The page table.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// How the run is scaled, and what for.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What things cost.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// What happened so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Base pages of the fast tier that hold nothing.
    pub fn free_fast(&self) -> u64 {
        let resident = self.pages.resident(Tier::Fast);
        self.setup.fast_pages.saturating_sub(resident)
    }

    /// The start of the current quantum, in picoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Whether a daemon can begin something in the current quantum: what it was given ends before
    /// the quantum does.
    pub fn is_idle(&self, daemon: Daemon) -> bool {
        self.daemons[daemon as usize].0 < self.now + QUANTUM_PS
    }

    /// What a daemon has worked in all, in picoseconds.
    pub fn busy(&self, daemon: Daemon) -> u64 {
        self.daemons[daemon as usize].1
    }

    /// Makes somebody pay.
    pub fn charge(&mut self, payer: Payer, spent: Spent, cost_ps: u64) {
        match payer {
            Payer::Thread(thread) => self.spend(thread, spent, cost_ps),
            Payer::Daemon(daemon) => {
                let (until, busy) = &mut self.daemons[daemon as usize];
                *until = (*until).max(self.now) + cost_ps;
                *busy += cost_ps;
            }
        }
    }

    /// Promotes a page.
    ///
    /// # Errors
    /// It is not mapped at this size, or there already, or the fast tier is full.
    pub fn promote(&mut self, page: Page, payer: Payer) -> Result<(), Refused> {
        self.relocate(page, Tier::Fast, payer)
    }

    /// Demotes a page.
    ///
    /// # Errors
    /// It is not mapped at this size, or there already.
    pub fn demote(&mut self, page: Page, payer: Payer) -> Result<(), Refused> {
        self.relocate(page, Tier::Capacity, payer)
    }

    fn relocate(&mut self, page: Page, to: Tier, payer: Payer) -> Result<(), Refused> {
        let size = u64::from(page.size());
        let refusal = match self.pages.tier(page) {
            None => Some(Refused::Gone(page)),
            Some(tier) if tier == to => Some(Refused::There(page)),
            Some(_) if to == Tier::Fast && self.free_fast() < size => Some(Refused::Full(page)),
            Some(_) => None,
        };
        if let Some(refused) = refusal {
            self.tally.refused_moves += 1;
            return Err(refused);
        }
        self.pages.relocate(page, to);
        let bytes = self.setup.scale.moved_bytes() * size as f64;
        self.memories[to.other().index()].read_bytes(bytes);
        self.memories[to.index()].write_bytes(bytes);
        let moved = match to {
            Tier::Fast => &mut self.tally.promoted_pages,
            Tier::Capacity => &mut self.tally.demoted_pages,
        };
        *moved += size;
        let cost = self
            .costs
            .migrate(matches!(page, Page::Huge(_)), to == Tier::Capacity);
        self.charge(payer, Spent::HintFault, cost);
        self.shoot_down(page, payer);
        if let Payer::Daemon(daemon) = payer {
            let end = self.daemons[daemon as usize].0;
            self.moves[self.next_move] = (page.tag(), end - cost, end);
            self.next_move = (self.next_move + 1) % MOVES_REMEMBERED;
            self.moves_end = self.moves_end.max(end);
        }
        Ok(())
    }

    /// Maps a huge page by base pages, and frees those that hold nothing but zeros and of which
    /// `may_free` says so. The freed ones are returned.
    ///
    /// # Errors
    /// It is not a huge page.
    pub fn split(
        &mut self,
        region: u32,
        payer: Payer,
        may_free: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, Refused> {
        let page = Page::Huge(region);
        let tier = self.pages.tier(page).ok_or(Refused::Gone(page))?;
        self.pages.split(region);
        self.shoot_down(page, payer);
        let cost = self.costs.split + self.costs.zero_scan + self.costs.shootdown;
        self.charge(payer, Spent::HintFault, cost);
        let bytes = self.setup.scale.moved_bytes() * f64::from(SUBPAGES);
        self.memories[tier.index()].read_bytes(bytes);
        self.tally.splits += 1;
        let zero: Vec<u32> = page
            .range()
            .filter(|&vpn| self.pages.is_zero(vpn) && may_free(vpn))
            .collect();
        for &vpn in &zero {
            self.pages.unmap(Page::Base(vpn));
        }
        self.tally.freed_zero_pages += zero.len() as u64;
        Ok(zero)
    }

    /// Maps a region of base pages by one entry in the fast tier: copies all of it.
    ///
    /// # Errors
    /// Not all of its base pages are mapped, or the fast tier has no room for a copy.
    pub fn collapse(&mut self, region: u32, payer: Payer) -> Result<(), Refused> {
        let page = Page::Huge(region);
        let held = self.pages.held(region);
        let whole = u32::from(held[0]) + u32::from(held[1]) == SUBPAGES;
        if !whole || self.pages.tier(page).is_some() {
            return Err(Refused::Gone(page));
        }
        if self.free_fast() < u64::from(SUBPAGES) {
            return Err(Refused::Full(page));
        }
        let bytes = self.setup.scale.moved_bytes();
        for tier in [Tier::Fast, Tier::Capacity] {
            self.memories[tier.index()].read_bytes(bytes * f64::from(held[tier.index()]));
        }
        self.memories[0].write_bytes(bytes * f64::from(SUBPAGES));
        for vpn in page.range() {
            self.drop_translations(Page::Base(vpn));
        }
        self.pages.collapse(region, Tier::Fast);
        self.charge(payer, Spent::HintFault, self.costs.collapse);
        self.interrupt_all(payer);
        self.tally.collapses += 1;
        self.tally.promoted_pages += u64::from(held[1]);
        Ok(())
    }

    /// Protects a page, so that the next touch is a hint fault.
    ///
    /// # Errors
    /// It is not mapped at this size.
    pub fn protect(&mut self, page: Page, payer: Payer) -> Result<(), Refused> {
        self.pages.tier(page).ok_or(Refused::Gone(page))?;
        self.pages.protect(page, true);
        self.drop_translations(page);
        self.charge(payer, Spent::HintFault, self.costs.protect);
        Ok(())
    }

    /// Sets the sampler's periods.
    pub fn sample_every(&mut self, periods: Periods) {
        self.sampler.set(periods, &mut self.random);
    }

    /// The sampler's periods.
    pub fn periods(&self) -> Periods {
        self.sampler.periods
    }

    /// Takes the records of each ring that is filled beyond the share `high`, down to the share
    /// `low`, of the first `cpus`, and charges the sampler's daemon for each.
    pub fn drain(&mut self, into: &mut Vec<Sample>, (high, low): (f64, f64), cpus: usize) {
        let before = into.len();
        let records = |share: f64| (share * self.sampler.ring_records() as f64) as usize;
        let (high, low) = (records(high), records(low));
        self.sampler.drain(into, (high, low), cpus);
        let taken = (into.len() - before) as u64;
        let cost = taken * self.costs.sample;
        self.charge(Payer::Daemon(Daemon::Sampler), Spent::Sampler, cost);
    }

    fn shoot_down(&mut self, page: Page, payer: Payer) {
        self.drop_translations(page);
        self.interrupt_all(payer);
    }

    /// Every thread that runs answers the interrupt, but for the one that sent it.
    fn interrupt_all(&mut self, payer: Payer) {
        for thread in 0..self.threads.len() {
            if payer != Payer::Thread(thread) {
                self.spend(thread, Spent::Shootdown, self.costs.shootdown_receiver);
            }
        }
    }

    fn drop_translations(&mut self, page: Page) {
        for thread in &mut self.threads {
            thread.tlb.drop_page(page.tag());
        }
    }

    /// How long a page that is touched at a time is still under way.
    #[inline]
    pub(super) fn under_way(&self, tag: u32, at: u64) -> u64 {
        if at >= self.moves_end {
            return 0;
        }
        let moves = self.moves.iter();
        let held = moves.filter(|&&(moved, begin, end)| moved == tag && begin <= at && at < end);
        held.map(|&(_, _, end)| end - at).max().unwrap_or(0)
    }

    #[inline]
    pub(super) fn spend(&mut self, thread: usize, spent: Spent, cost_ps: u64) {
        let thread = &mut self.threads[thread];
        thread.now += cost_ps;
        thread.spent[spent as usize] += cost_ps;
    }

    /// Maps an area; its first touch faults. `huge` areas are aligned to huge pages, as the kernel
    /// aligns large anonymous mappings.
    pub(crate) fn map_area(&mut self, bytes: u64, huge: bool, tenant: u8) -> Area {
        let region_bytes = u64::from(SUBPAGES) << self.page_shift;
        let (first, regions) = self.space.take(bytes, region_bytes);
        self.pages.declare(first, regions, huge, tenant);
        self.heat.resize(self.pages.limit());
        Area {
            start: u64::from(first) * region_bytes,
            bytes,
        }
    }

    /// Frees an area; the pages that it held are returned.
    pub(crate) fn unmap_area(&mut self, area: Area, payer: Payer) -> Vec<(Page, Tier)> {
        let region_bytes = u64::from(SUBPAGES) << self.page_shift;
        let first = (area.start / region_bytes) as u32;
        let regions = area.bytes.div_ceil(region_bytes) as u32;
        let mut freed = Vec::new();
        for vpn in first * SUBPAGES..(first + regions) * SUBPAGES {
            if let Some((page, tier)) = self.pages.at(vpn) {
                self.pages.unmap(page);
                self.drop_translations(page);
                freed.push((page, tier));
            }
        }
        self.interrupt_all(payer);
        self.space.give(first, regions);
        freed
    }

    /// Time of a thread, in picoseconds.
    pub(crate) fn thread_now(&self, thread: usize) -> u64 {
        self.threads[thread].now
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// What all threads spent, by kind.
    pub(crate) fn spent(&self) -> [u64; SPENT.len()] {
        let mut sum = [0; SPENT.len()];
        for thread in &self.threads {
            for (sum, spent) in sum.iter_mut().zip(thread.spent) {
                *sum += spent;
            }
        }
        sum
    }

    /// Ends a quantum: what the memories could not serve waits, pages are counted.
    pub(crate) fn close_quantum(&mut self, end: u64) {
        let quantum = end - self.now;
        self.memories
            .iter_mut()
            .for_each(|memory| memory.close(quantum));
        self.now = end;
    }

    /// Checks page conservation, `depth` regions of it to the last entry.
    pub(crate) fn conserve(&mut self, depth: usize) {
        self.pages.conserve(depth);
    }

    /// All threads wait for the last one, which is returned.
    pub(crate) fn align(&mut self) -> u64 {
        let last = self.threads.iter().map(|t| t.now).max().unwrap_or(0);
        for thread in 0..self.threads.len() {
            let wait = last - self.threads[thread].now;
            self.spend(thread, Spent::Barrier, wait);
        }
        last
    }

    /// Demand misses of each base page since the last decay.
    pub(crate) fn heat(&mut self) -> &[u32] {
        self.heat.counts()
    }

    /// What a demand miss saves in the fast tier without load, in picoseconds.
    pub fn latency_gap_ps(&self) -> u64 {
        self.memories[1]
            .idle_ps
            .saturating_sub(self.memories[0].idle_ps)
    }

    /// How long the memories are occupied by one huge page that goes and one that comes.
    pub fn copy_occupies_ps(&self) -> u64 {
        let bytes = self.setup.scale.moved_bytes() * f64::from(SUBPAGES);
        let [fast, capacity] = &self.memories;
        (fast.occupied_by(bytes) + capacity.occupied_by(bytes)) as u64
    }

    /// Bytes of a base page.
    pub(crate) fn page_bytes(&self) -> u64 {
        1 << self.page_shift
    }

    /// Another program's reads of the fast tier, in bytes.
    pub(crate) fn read_by_others(&mut self, bytes: f64) {
        self.memories[Tier::Fast.index()].read_bytes(bytes);
    }

    /// What the fast tier can serve in a time, in bytes.
    pub(crate) fn fast_bytes_in(&self, time_ps: u64) -> f64 {
        self.memories[Tier::Fast.index()].bytes_in(time_ps)
    }

    /// Forgets the heat.
    pub(crate) fn reset_heat(&mut self) {
        self.heat.reset();
    }

    /// Halves the heat, as a cooling halves counts.
    pub(crate) fn decay_heat(&mut self) {
        self.heat.decay();
    }
}
