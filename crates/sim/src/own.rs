//! Bytes of its own that a host has for lines: found by line number, in two steps.

use model::{CachedLine, Content};

use crate::timing::Time;

/// A copy that several lanes of its host have read since one wrote it.
pub(crate) const SHARED: u32 = u32::MAX;

/// Lines of a page of the index.
const PAGE_LINES: usize = 64;

/// What a host holds of a line, where that is not what the device holds.
#[derive(Clone, Debug)]
pub(crate) struct OwnLine {
    /// The copy, or what is left of it.
    bytes: CachedLine,
    /// Whether there is one: not while only a write of it is still on its way.
    here: bool,
    /// The lane that wrote it last, or [`SHARED`].
    pub owner: u32,
    /// Writes of it on their way to the device.
    pub pending: u32,
    /// When the last of them arrives.
    pub pending_until: Time,
}

impl OwnLine {
    const EMPTY: Self = Self {
        bytes: CachedLine::fetched(Content::ZERO),
        here: false,
        owner: SHARED,
        pending: 0,
        pending_until: 0,
    };

    #[inline(always)]
    pub(crate) fn copy(&self) -> Option<&CachedLine> {
        self.here.then_some(&self.bytes)
    }

    #[inline(always)]
    pub(crate) fn copy_mut(&mut self) -> Option<&mut CachedLine> {
        self.here.then_some(&mut self.bytes)
    }

    /// What the host's lanes see.
    #[inline(always)]
    pub(crate) fn content(&self) -> Option<&Content> {
        self.copy().map(|copy| &copy.content)
    }

    /// As a write-back of the copy, if there is one; whether [`out`](Self::out) is to be sent.
    #[inline(always)]
    pub(crate) fn write_back(&mut self) -> bool {
        let out = self.copy_mut().and_then(CachedLine::write_back);
        out.is_some()
    }

    /// The same, and the copy is gone.
    #[inline(always)]
    pub(crate) fn drop_copy(&mut self) -> bool {
        let dirty = self.write_back();
        self.here = false;
        dirty
    }

    /// What the last write-back takes to the device: left here, so that it moves but once.
    #[inline(always)]
    pub(crate) fn out(&self) -> &Content {
        &self.bytes.content
    }
}

/// The lines that one host has bytes of its own for.
///
/// An index of 4 bytes a line, page by page as touched, leads to slots that are used again: every
/// operation that leaves a host looks lines up here, and a hash costs several times as much.
#[derive(Debug, Default)]
pub(crate) struct OwnLines {
    /// Slot numbers plus one; 0 where there is none.
    pages: Vec<Option<Box<[u32; PAGE_LINES]>>>,
    slots: Vec<OwnLine>,
    free: Vec<u32>,
}

impl OwnLines {
    /// Where a line is, if it is here.
    #[inline(always)]
    pub(crate) fn slot(&self, line: u32) -> Option<usize> {
        let page = self.pages.get(line as usize / PAGE_LINES)?.as_deref()?;
        (page[line as usize % PAGE_LINES] as usize).checked_sub(1)
    }

    #[inline(always)]
    pub(crate) fn get(&self, line: u32) -> Option<&OwnLine> {
        Some(&self.slots[self.slot(line)?])
    }

    #[inline(always)]
    pub(crate) fn at(&mut self, slot: usize) -> &mut OwnLine {
        &mut self.slots[slot]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, line: u32) -> Option<&mut OwnLine> {
        let slot = self.slot(line)?;
        Some(&mut self.slots[slot])
    }

    /// Puts a line in, without a copy and with nothing on its way; it takes the place of what was
    /// there.
    #[inline(always)]
    pub(crate) fn insert(&mut self, line: u32, owner: u32) -> usize {
        let slot = self.slot_for(line);
        let own = &mut self.slots[slot];
        own.here = false;
        own.owner = owner;
        own.pending = 0;
        own.pending_until = 0;
        slot
    }

    /// The same with a clean copy.
    #[inline(always)]
    pub(crate) fn insert_copy(&mut self, line: u32, content: &Content, owner: u32) -> &mut OwnLine {
        let slot = self.insert(line, owner);
        let own = &mut self.slots[slot];
        (own.bytes, own.here) = (CachedLine::fetched(*content), true);
        own
    }

    #[inline(always)]
    fn slot_for(&mut self, line: u32) -> usize {
        let page = line as usize / PAGE_LINES;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE_LINES]));
        let place = &mut page[line as usize % PAGE_LINES];
        if *place == 0 {
            *place = 1 + self.free.pop().unwrap_or_else(|| {
                self.slots.push(OwnLine::EMPTY);
                self.slots.len() as u32 - 1
            });
        }
        *place as usize - 1
    }

    /// Takes a line out, if it is there.
    #[inline(always)]
    pub(crate) fn remove(&mut self, line: u32) {
        let page = self.pages.get_mut(line as usize / PAGE_LINES);
        if let Some(page) = page.and_then(Option::as_deref_mut)
            && let Some(slot) = page[line as usize % PAGE_LINES].checked_sub(1)
        {
            page[line as usize % PAGE_LINES] = 0;
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u32..300, any::<bool>()), 0..400)) {
            let (mut own, mut map) = (OwnLines::default(), BTreeMap::new());
            for (index, (line, put)) in steps.into_iter().enumerate() {
                if put {
                    own.insert(line, index as u32);
                    map.insert(line, index as u32);
                } else {
                    own.remove(line);
                    map.remove(&line);
                }
            }
            for line in 0..300 {
                let owner = own.get(line).map(|own| own.owner);
                prop_assert_eq!(owner, map.get(&line).copied());
            }
        }
    }
}
