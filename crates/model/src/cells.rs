//! How a [`Memory`](crate::Memory) stores lines: small sorted vectors, cheap to copy and to hash.

use std::hash::{Hash, Hasher};

use fabric::LINE_BYTES;

use crate::content::{Access, Content};
use crate::order::Buffered;

/// Who stored a word, in the numbers of whoever asked to know: see
/// [`Memory::enter`](crate::Memory::enter).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

impl Tag {
    /// Nobody that was asked about: what stood there at the start.
    pub const NONE: Self = Self(0);
}

/// The tag of each aligned eight bytes of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Tags([Tag; 8]);

impl Tags {
    #[inline(always)]
    pub(crate) fn of(&self, at: Access) -> Tag {
        self.0[(at.offset() % LINE_BYTES / 8) as usize]
    }
}

/// A line with the tags of its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cells {
    pub(crate) content: Content,
    pub(crate) tags: Tags,
}

/// Most words of most lines are zero and nobody's: only the others are hashed, with a mask that
/// says
/// which they are.
impl Hash for Cells {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_words(&self.content, &self.tags, 0, state);
    }
}

#[inline(always)]
fn hash_words<H: Hasher>(content: &Content, tags: &Tags, flags: u64, state: &mut H) {
    let words = content.words().iter().zip(&tags.0);
    let used = |(word, tag): (&u64, &Tag)| *word != 0 || tag.0 != 0;
    let mut mask = flags << 8;
    for (index, both) in words.clone().enumerate() {
        mask |= u64::from(used(both)) << index;
    }
    state.write_u64(mask);
    for (word, tag) in words.filter(|both| used(*both)) {
        state.write_u64(*word);
        state.write_u64(u64::from(tag.0));
    }
}

impl Cells {
    pub(crate) fn whole(content: Content, tag: Tag) -> Self {
        Self {
            content,
            tags: Tags([tag; 8]),
        }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, at: Access, bits: u64, tag: Tag) {
        self.content.put(at, bits);
        self.tags.0[(at.offset() % LINE_BYTES / 8) as usize] = tag;
    }

    /// Takes over the bytes of `from` whose bit in `bytes` is set, with the tags of their words.
    #[inline(always)]
    pub(crate) fn merge(&mut self, from: &Self, bytes: u64) {
        self.content.merge(&from.content, bytes);
        for (index, tag) in self.tags.0.iter_mut().enumerate() {
            if (bytes >> (8 * index)) & 0xff != 0 {
                *tag = from.tags.0[index];
            }
        }
    }
}

/// One host's copy of one line, with what a search asks about it. What each instruction makes of it
/// is as for [`CachedLine`](crate::CachedLine).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Copy {
    pub(crate) content: Content,
    pub(crate) tags: Tags,
    /// Bytes that this host has stored since it fetched the line or wrote it back, one bit each.
    pub(crate) written: u64,
    pub(crate) dirty: bool,
    /// Whether an access of the domain has used it; otherwise only a prefetch brought it.
    pub(crate) accessed: bool,
}

impl Hash for Copy {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let flags = u64::from(self.dirty) | u64::from(self.accessed) << 1;
        hash_words(&self.content, &self.tags, flags, state);
        if self.dirty {
            state.write_u64(self.written);
        }
    }
}

impl Copy {
    pub(crate) fn fetched(cells: Cells) -> Self {
        Self {
            content: cells.content,
            tags: cells.tags,
            written: 0,
            dirty: false,
            accessed: false,
        }
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, at: Access, bits: u64, tag: Tag) {
        let mut cells = self.cells();
        cells.put(at, bits, tag);
        (self.content, self.tags) = (cells.content, cells.tags);
        self.written |= at.byte_mask();
        self.dirty = true;
    }

    #[inline(always)]
    pub(crate) fn cells(&self) -> Cells {
        Cells {
            content: self.content,
            tags: self.tags,
        }
    }
}

/// A lane's operation that has executed and not yet taken effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) lane: u32,
    pub(crate) op: Buffered,
    pub(crate) tag: Tag,
}

/// A word of a host's DRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostWord {
    pub(crate) bits: u64,
    pub(crate) tag: Tag,
}

/// A map as a vector sorted by key: a search copies it a million times a second, and it holds a
/// handful of lines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table<K, V>(Vec<(K, V)>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + std::marker::Copy, V> Table<K, V> {
    #[inline(always)]
    fn find(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key)
    }

    #[inline(always)]
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        let index = self.find(key).ok()?;
        Some(&self.0[index].1)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let index = self.find(key).ok()?;
        Some(&mut self.0[index].1)
    }

    #[inline(always)]
    pub(crate) fn entry(&mut self, key: K, fresh: impl FnOnce() -> V) -> &mut V {
        let index = self.find(key).unwrap_or_else(|index| {
            self.0.insert(index, (key, fresh()));
            index
        });
        &mut self.0[index].1
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.find(key) {
            Ok(index) => self.0[index].1 = value,
            Err(index) => self.0.insert(index, (key, value)),
        }
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let index = self.find(key).ok()?;
        Some(self.0.remove(index).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }
}
