//! The region at the device: contents, and which hosts hold copies, page by page as touched.

use model::Content;

/// Lines of a page of this table.
const PAGE_LINES: u32 = 64;

/// Who holds copies of one line, a bit for each host (a pod has at most 64).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holders {
    /// Hosts whose copy equals the device's content: it needs no bytes of its own.
    pub mirror: u64,
    /// Hosts with bytes of their own for it: dirty, or stale, or on their way out.
    pub own: u64,
    /// Hosts that have not read it since another host wrote it.
    pub unread: u64,
}

/// Lines that follow each other.
#[derive(Debug)]
pub(crate) struct Page {
    holders: [Holders; PAGE_LINES as usize],
    /// None while every line is zero.
    contents: Option<Box<[Content; PAGE_LINES as usize]>>,
}

impl Page {
    #[inline(always)]
    pub(crate) fn holders_mut(&mut self, line: u32) -> &mut Holders {
        &mut self.holders[(line % PAGE_LINES) as usize]
    }

    /// What the device holds.
    #[inline(always)]
    pub(crate) fn content(&self, line: u32) -> &Content {
        let contents = self.contents.as_ref();
        contents.map_or(&Content::ZERO, |all| &all[(line % PAGE_LINES) as usize])
    }

    /// A write arrives at the device.
    #[inline]
    pub(crate) fn merge(&mut self, line: u32, content: &Content, bytes: u64) {
        // Clearing memory that was never written keeps it unallocated.
        if self.contents.is_none() && *content == Content::ZERO {
            return;
        }
        let zeroes = || Box::new([Content::ZERO; PAGE_LINES as usize]);
        let contents = self.contents.get_or_insert_with(zeroes);
        contents[(line % PAGE_LINES) as usize].merge(content, bytes);
    }
}

/// The lines of the region.
///
/// A clean copy costs a host one bit until a peer overwrites the line at the device; only then are
/// its bytes kept, for that host alone. So 64 hosts that read one region cost as much as one.
#[derive(Debug, Default)]
pub(crate) struct Region {
    pages: Vec<Option<Box<Page>>>,
}

impl Region {
    #[inline(always)]
    fn page(&self, line: u32) -> Option<&Page> {
        self.pages.get((line / PAGE_LINES) as usize)?.as_deref()
    }

    /// The page of a line, made if nobody has touched it yet.
    #[inline(always)]
    pub(crate) fn page_mut(&mut self, line: u32) -> &mut Page {
        let index = (line / PAGE_LINES) as usize;
        if !matches!(self.pages.get(index), Some(Some(_))) {
            return self.make_page(index);
        }
        let page = self.pages[index].as_deref_mut();
        page.expect("seen just above")
    }

    #[cold]
    fn make_page(&mut self, index: usize) -> &mut Page {
        if index >= self.pages.len() {
            self.pages.resize_with(index + 1, || None);
        }
        self.pages[index].insert(Box::new(Page {
            holders: [Holders::default(); PAGE_LINES as usize],
            contents: None,
        }))
    }

    #[inline(always)]
    pub(crate) fn holders(&self, line: u32) -> Holders {
        let at = (line % PAGE_LINES) as usize;
        self.page(line)
            .map_or_else(Holders::default, |page| page.holders[at])
    }

    /// Holders and content together: one walk for the commonest operation.
    #[inline(always)]
    pub(crate) fn look(&self, line: u32) -> (Holders, &Content) {
        let at = (line % PAGE_LINES) as usize;
        match self.page(line) {
            None => (Holders::default(), &Content::ZERO),
            Some(page) => (page.holders[at], page.content(line)),
        }
    }

    #[inline(always)]
    pub(crate) fn holders_mut(&mut self, line: u32) -> &mut Holders {
        self.page_mut(line).holders_mut(line)
    }

    /// What the device holds.
    #[inline(always)]
    pub(crate) fn content(&self, line: u32) -> &Content {
        self.page(line)
            .map_or(&Content::ZERO, |page| page.content(line))
    }

    /// A write arrives at the device.
    #[inline]
    pub(crate) fn merge(&mut self, line: u32, content: &Content, bytes: u64) {
        self.page_mut(line).merge(line, content, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_cost_nothing_and_bytes_merge() {
        let mut region = Region::default();
        region.merge(1 << 20, &Content::ZERO, u64::MAX);
        assert!(
            region
                .page(1 << 20)
                .is_some_and(|page| page.contents.is_none())
        );
        region.merge(70, &Content::of_words([3; 8]), 0xff);
        assert_eq!(region.content(70).words()[..2], [3, 0]);
        assert_eq!(region.content(71), &Content::ZERO);
        region.merge(70, &Content::ZERO, u64::MAX);
        assert_eq!(region.content(70), &Content::ZERO);
    }
}
