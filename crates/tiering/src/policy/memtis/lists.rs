//! The active and inactive lists of each tier: order is what migration and splitting go by.

use crate::machine::{Page, Tier};

/// End of a list.
const END: u32 = u32::MAX;

/// In no list.
const NOWHERE: u8 = u8::MAX;

/// One list's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Which {
    /// Whose.
    pub(super) tenant: usize,
    /// Of which tier.
    pub(super) tier: Tier,
    /// Hot pages.
    pub(super) active: bool,
}

impl Which {
    fn index(self) -> usize {
        self.tenant * 4 + self.tier.index() * 2 + usize::from(self.active)
    }
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
    pages: u64,
}

/// Doubly linked lists of pages, by the number of the page's first base page.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    ends: Vec<Ends>,
    links: Vec<[u32; 2]>,
    of: Vec<u8>,
    huge: Vec<bool>,
}

impl Lists {
    /// Makes room for base pages below `limit` and lists of a tenant.
    pub(super) fn grow(&mut self, limit: u32, tenant: usize) {
        let limit = limit as usize;
        if self.of.len() < limit {
            self.of.resize(limit, NOWHERE);
            self.links.resize(limit, [END; 2]);
            self.huge.resize(limit, false);
        }
        let empty = Ends {
            head: END,
            tail: END,
            pages: 0,
        };
        if self.ends.len() < tenant * 4 + 4 {
            self.ends.resize(tenant * 4 + 4, empty);
        }
    }

    /// Base pages in a list.
    pub(super) fn pages(&self, which: Which) -> u64 {
        self.ends[which.index()].pages
    }

    /// The list that a page is in.
    pub(super) fn which(&self, page: Page) -> Option<Which> {
        let list = self.of[page.first() as usize];
        (list != NOWHERE).then(|| Which {
            tenant: usize::from(list / 4),
            tier: if list & 2 == 0 {
                Tier::Fast
            } else {
                Tier::Capacity
            },
            active: list & 1 == 1,
        })
    }

    /// Whether a page is in this list.
    #[inline]
    pub(super) fn is_in(&self, page: Page, which: Which) -> bool {
        self.of[page.first() as usize] == which.index() as u8
    }

    /// Puts a page at the head of a list, out of the one that it is in.
    pub(super) fn put(&mut self, page: Page, which: Which) {
        self.take(page);
        let at = page.first();
        let ends = &mut self.ends[which.index()];
        self.links[at as usize] = [END, ends.head];
        match ends.head {
            END => ends.tail = at,
            head => self.links[head as usize][0] = at,
        }
        ends.head = at;
        ends.pages += u64::from(page.size());
        self.of[at as usize] = which.index() as u8;
        self.huge[at as usize] = matches!(page, Page::Huge(_));
    }

    /// Takes a page out of its list; whether it was in one.
    pub(super) fn take(&mut self, page: Page) -> bool {
        let at = page.first() as usize;
        let list = std::mem::replace(&mut self.of[at], NOWHERE);
        if list == NOWHERE {
            return false;
        }
        let ends = &mut self.ends[list as usize];
        let [before, after] = self.links[at];
        match before {
            END => ends.head = after,
            before => self.links[before as usize][1] = after,
        }
        match after {
            END => ends.tail = before,
            after => self.links[after as usize][0] = before,
        }
        let page = self.page(at as u32);
        self.ends[list as usize].pages -= u64::from(page.size());
        true
    }

    fn page(&self, first: u32) -> Page {
        if self.huge[first as usize] {
            Page::Huge(first / crate::scale::SUBPAGES)
        } else {
            Page::Base(first)
        }
    }

    /// The page that has been in a list for longest.
    pub(super) fn oldest(&self, which: Which) -> Option<Page> {
        let tail = self.ends[which.index()].tail;
        (tail != END).then(|| self.page(tail))
    }

    /// All pages of a list, the newest first.
    pub(super) fn all(&self, which: Which) -> Vec<Page> {
        let mut pages = Vec::new();
        let mut at = self.ends[which.index()].head;
        while at != END {
            pages.push(self.page(at));
            at = self.links[at as usize][1];
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_in_the_order_in_which_they_came() {
        let mut lists = Lists::default();
        lists.grow(2048, 0);
        let which = |active| Which {
            tenant: 0,
            tier: Tier::Fast,
            active,
        };
        let pages = [Page::Base(3), Page::Huge(1), Page::Base(5)];
        for page in pages {
            lists.put(page, which(false));
        }
        assert_eq!(lists.pages(which(false)), 514);
        assert_eq!(lists.oldest(which(false)), Some(Page::Base(3)));
        lists.put(Page::Base(3), which(true));
        assert_eq!(lists.all(which(false)), [Page::Base(5), Page::Huge(1)]);
        assert!(lists.take(Page::Huge(1)) && !lists.take(Page::Huge(1)));
        assert_eq!(lists.pages(which(false)), 1);
        assert_eq!(lists.oldest(which(true)), Some(Page::Base(3)));
    }
}
