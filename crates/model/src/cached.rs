//! A host's copy of a line, and what each instruction makes of it.

use crate::content::{Access, Content};

/// One host's copy of one line. What it holds may be older than the device: nothing tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CachedLine {
    /// What loads of this host see.
    pub content: Content,
    /// Whether this host has stored into it since it was last written back.
    pub dirty: bool,
}

impl CachedLine {
    /// A clean copy of what the device held when it was read.
    #[inline(always)]
    pub const fn fetched(content: Content) -> Self {
        Self {
            content,
            dirty: false,
        }
    }

    /// A store drains into it.
    #[inline(always)]
    pub fn store(&mut self, access: Access, bits: u64) {
        self.content.put(access, bits);
        self.dirty = true;
    }

    /// CLWB: what travels to the device if it is dirty, **all 64 bytes**; the copy stays, clean.
    #[inline(always)]
    pub fn write_back(&mut self) -> Option<Content> {
        std::mem::take(&mut self.dirty).then_some(self.content)
    }

    /// CLFLUSH, CLFLUSHOPT, or an eviction: as a write-back, and the copy is gone.
    #[inline(always)]
    pub fn flush(copy: &mut Option<Self>) -> Option<Content> {
        let dirty = copy.as_mut().and_then(Self::write_back);
        *copy = None;
        dirty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dirty_line_travels_and_it_travels_whole() {
        let mut line = CachedLine::fetched(Content::of_words([5; 8]));
        assert_eq!(line.write_back(), None);
        line.store(Access::word(8, 8), 6);
        let out = line.write_back().expect("it is dirty");
        assert_eq!(out.words()[..3], [5, 6, 5]);
        let mut copy = Some(line);
        assert_eq!(CachedLine::flush(&mut copy), None);
        assert_eq!(copy, None);
    }
}
