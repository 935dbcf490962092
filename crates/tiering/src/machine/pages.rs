//! The page table: which pages exist, of which size, in which tier, and what they hold.

use crate::scale::SUBPAGES;

/// A memory tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Local DRAM.
    Fast,
    /// NVM or CXL memory.
    Capacity,
}

impl Tier {
    /// Fast is 0, capacity 1.
    pub fn index(self) -> usize {
        usize::from(self == Self::Capacity)
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Fast => Self::Capacity,
            Self::Capacity => Self::Fast,
        }
    }
}

/// A mapped page: a base page by its number, a huge page by its region's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    /// A base page.
    Base(u32),
    /// A region of 512 base pages that one entry maps.
    Huge(u32),
}

impl Page {
    /// The number of its first base page.
    pub fn first(self) -> u32 {
        match self {
            Self::Base(vpn) => vpn,
            Self::Huge(region) => region * SUBPAGES,
        }
    }

    /// The numbers of its base pages.
    pub fn range(self) -> std::ops::Range<u32> {
        self.first()..self.first() + self.size()
    }

    /// How many base pages it is.
    pub fn size(self) -> u32 {
        match self {
            Self::Base(_) => 1,
            Self::Huge(_) => SUBPAGES,
        }
    }

    /// Its tag in a translation buffer.
    pub(super) fn tag(self) -> u32 {
        match self {
            Self::Base(vpn) => vpn << 1,
            Self::Huge(region) => region << 1 | 1,
        }
    }
}

pub(super) const PRESENT: u8 = 1;
pub(super) const CAPACITY: u8 = 2;
pub(super) const HUGE: u8 = 4;
pub(super) const PROTECTED: u8 = 8;

fn bits(tier: Tier) -> u8 {
    PRESENT | if tier == Tier::Capacity { CAPACITY } else { 0 }
}

pub(super) fn tier_of(entry: u8) -> Tier {
    if entry & CAPACITY == 0 {
        Tier::Fast
    } else {
        Tier::Capacity
    }
}

/// The page table of one address space. One tenant owns each region.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Huge regions; 0 where base entries hold.
    regions: Vec<u8>,
    base: Vec<u8>,
    /// May a fault map the whole region?
    huge_allowed: Vec<bool>,
    tenants: Vec<u8>,
    /// One bit a base page: something other than zero was stored in it.
    written: Vec<u64>,
    /// Base pages of each region in each tier.
    held: Vec<[u16; 2]>,
    resident: [u64; 2],
    /// Where the next deep check of the table continues.
    next_check: usize,
}

impl Pages {
    /// Declares regions `first..first + count`.
    pub(super) fn declare(&mut self, first: u32, count: u32, huge: bool, tenant: u8) {
        let end = (first + count) as usize;
        if self.regions.len() < end {
            self.regions.resize(end, 0);
            self.held.resize(end, [0; 2]);
            self.huge_allowed.resize(end, false);
            self.tenants.resize(end, 0);
            self.base.resize(end * SUBPAGES as usize, 0);
            self.written.resize(end * SUBPAGES as usize / 64, 0);
        }
        for region in first as usize..end {
            self.huge_allowed[region] = huge;
            self.tenants[region] = tenant;
        }
    }

    /// The entry that maps a base page; 0 if none does.
    #[inline]
    pub(super) fn entry(&self, vpn: u32) -> u8 {
        let region = self.regions[(vpn / SUBPAGES) as usize];
        if region == 0 {
            self.base[vpn as usize]
        } else {
            region
        }
    }

    /// The page that maps a base page, and its tier.
    pub fn at(&self, vpn: u32) -> Option<(Page, Tier)> {
        let entry = self.entry(vpn);
        if entry & PRESENT == 0 {
            return None;
        }
        let page = if entry & HUGE == 0 {
            Page::Base(vpn)
        } else {
            Page::Huge(vpn / SUBPAGES)
        };
        Some((page, tier_of(entry)))
    }

    /// The tier of a page that is mapped at its size.
    pub fn tier(&self, page: Page) -> Option<Tier> {
        self.at(page.first())
            .filter(|&(mapped, _)| mapped == page)
            .map(|(_, tier)| tier)
    }

    /// Base pages resident in a tier.
    pub fn resident(&self, tier: Tier) -> u64 {
        self.resident[tier.index()]
    }

    /// Base pages resident in either.
    pub fn resident_all(&self) -> u64 {
        self.resident[0] + self.resident[1]
    }

    /// Base pages that there is room to describe: every page number is below it.
    pub fn limit(&self) -> u32 {
        self.base.len() as u32
    }

    /// Who owns a base page.
    pub fn tenant(&self, vpn: u32) -> usize {
        usize::from(self.tenants[(vpn / SUBPAGES) as usize])
    }

    /// Whether a fault on this page may map the whole region: it is aligned, wholly inside its
    /// area, and nothing of it is mapped yet.
    pub fn may_be_huge(&self, vpn: u32) -> bool {
        let region = (vpn / SUBPAGES) as usize;
        self.huge_allowed[region] && self.regions[region] == 0 && self.held[region] == [0, 0]
    }

    /// Whether a region may be mapped by one entry.
    pub fn is_huge_allowed(&self, region: u32) -> bool {
        self.huge_allowed[region as usize]
    }

    /// Whether nothing but zeros was ever stored in a base page.
    pub fn is_zero(&self, vpn: u32) -> bool {
        self.written[(vpn / 64) as usize] >> (vpn % 64) & 1 == 0
    }

    #[inline]
    pub(super) fn write(&mut self, vpn: u32) {
        self.written[(vpn / 64) as usize] |= 1 << (vpn % 64);
    }

    pub(super) fn map(&mut self, page: Page, tier: Tier) {
        match page {
            Page::Base(vpn) => self.base[vpn as usize] = bits(tier),
            Page::Huge(region) => self.regions[region as usize] = bits(tier) | HUGE,
        }
        self.count(page, tier, true);
    }

    pub(super) fn unmap(&mut self, page: Page) {
        let Some(tier) = self.tier(page) else { return };
        match page {
            Page::Base(vpn) => self.base[vpn as usize] = 0,
            Page::Huge(region) => self.regions[region as usize] = 0,
        }
        for vpn in page.range() {
            self.written[(vpn / 64) as usize] &= !(1 << (vpn % 64));
        }
        self.count(page, tier, false);
    }

    pub(super) fn relocate(&mut self, page: Page, to: Tier) {
        match page {
            Page::Base(vpn) => self.base[vpn as usize] = bits(to),
            Page::Huge(region) => self.regions[region as usize] = bits(to) | HUGE,
        }
        self.count(page, to.other(), false);
        self.count(page, to, true);
    }

    /// Maps a huge region by base pages where it is.
    pub(super) fn split(&mut self, region: u32) {
        let tier = tier_of(self.regions[region as usize]);
        self.regions[region as usize] = 0;
        for vpn in Page::Huge(region).range() {
            self.base[vpn as usize] = bits(tier);
        }
    }

    /// Maps a region of base pages by one entry.
    pub(super) fn collapse(&mut self, region: u32, to: Tier) {
        let held = std::mem::take(&mut self.held[region as usize]);
        self.resident[0] -= u64::from(held[0]);
        self.resident[1] -= u64::from(held[1]);
        for vpn in Page::Huge(region).range() {
            self.base[vpn as usize] = 0;
        }
        self.map(Page::Huge(region), to);
    }

    pub(super) fn protect(&mut self, page: Page, protected: bool) {
        let entry = match page {
            Page::Base(vpn) => &mut self.base[vpn as usize],
            Page::Huge(region) => &mut self.regions[region as usize],
        };
        *entry = *entry & !PROTECTED | if protected { PROTECTED } else { 0 };
    }

    /// Base pages of a region in each tier.
    pub fn held(&self, region: u32) -> [u16; 2] {
        self.held[region as usize]
    }

    fn count(&mut self, page: Page, tier: Tier, more: bool) {
        let size = page.size();
        let held = &mut self.held[(page.first() / SUBPAGES) as usize][tier.index()];
        let resident = &mut self.resident[tier.index()];
        if more {
            *held += size as u16;
            *resident += u64::from(size);
        } else {
            *held -= size as u16;
            *resident -= u64::from(size);
        }
    }

    /// Checks that no page was lost or doubled: the regions add up to what is resident, and the
    /// entries of `depth` regions, in turn, to what those regions hold.
    ///
    /// # Panics
    /// If they do not: the model is broken, and no figure of the run counts.
    pub(super) fn conserve(&mut self, depth: usize) {
        let mut sums = [0_u64; 2];
        for held in &self.held {
            sums[0] += u64::from(held[0]);
            sums[1] += u64::from(held[1]);
        }
        assert_eq!(sums, self.resident, "pages were lost or doubled");
        for _ in 0..depth.min(self.regions.len()) {
            let region = self.next_check;
            self.next_check = (region + 1) % self.regions.len();
            assert_eq!(
                self.recount(region as u32),
                self.held[region],
                "region {region} lost pages"
            );
        }
    }

    fn recount(&self, region: u32) -> [u16; 2] {
        let mut counts = [0; 2];
        for vpn in Page::Huge(region).range() {
            let entry = self.entry(vpn);
            if entry & PRESENT != 0 {
                counts[tier_of(entry).index()] += 1;
            }
        }
        counts
    }

    /// Regions described.
    pub fn regions(&self) -> u32 {
        self.regions.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is done to them, pages are neither lost nor doubled.
        #[test]
        fn pages_are_conserved(
            steps in prop::collection::vec((0_u8..5, 0_u32..4, 0_u32..512), 60)
        ) {
            let mut pages = Pages::default();
            pages.declare(0, 4, true, 0);
            for (what, region, offset) in steps {
                let vpn = region * SUBPAGES + offset;
                let huge = Page::Huge(region);
                match (what, pages.at(vpn)) {
                    (0, None) if pages.may_be_huge(vpn) => pages.map(huge, Tier::Fast),
                    (0 | 1, None) => pages.map(Page::Base(vpn), Tier::Capacity),
                    (1, Some((page, tier))) => pages.relocate(page, tier.other()),
                    (2, Some((Page::Huge(_), _))) => pages.split(region),
                    (3, Some((page, _))) => pages.unmap(page),
                    (4, Some((Page::Base(_), _))) => {
                        let held = pages.held(region);
                        if u32::from(held[0] + held[1]) == SUBPAGES {
                            pages.collapse(region, Tier::Fast);
                        }
                    }
                    _ => {}
                }
                pages.conserve(4);
            }
        }
    }

    #[test]
    #[should_panic(expected = "lost pages")]
    fn a_lost_page_is_found() {
        let mut pages = Pages::default();
        pages.declare(0, 1, true, 0);
        pages.map(Page::Base(3), Tier::Fast);
        pages.base[3] = 0;
        pages.conserve(1);
    }
}
