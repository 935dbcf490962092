//! Laying out a region: names to offsets, the same on every host.

use std::hash::Hasher;

use serde::Serialize;

use crate::place::{HostSlice, LINE_BYTES, Ptr, Slice};
use crate::word::Word;

/// Distance between what two hosts write. Two lines: x86's adjacent-line prefetcher fetches a
/// line's 128-byte neighbour unasked (Intel optimization manual, "spatial prefetcher"; the broker
/// Embarcadero pads for the same reason), which would revive stale copies of a peer's line.
const HOST_STRIDE_BYTES: u64 = 2 * LINE_BYTES;

/// Which memory an entry lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// The region that all hosts map.
    Region,
    /// DRAM that the lanes of one host share; each host has its own.
    HostShared,
}

/// One allocation of a layout, as `dsmark layout` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What it is for, `owner.thing`.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// First byte.
    pub offset: u64,
    /// Bytes, without padding.
    pub bytes: u64,
    /// Words in it.
    pub len: u64,
    /// Bytes of one word.
    pub word_bytes: u64,
}

/// Hands out places by bumping an offset. Pure: the same calls give the same offsets on every host,
/// and [`layout_hash`](Self::layout_hash) lets hosts check that they made the same calls.
///
/// Every allocation starts a line of its own, so two allocations never share one: a line that two
/// hosts write is a line in which each write-back clobbers the other's bytes.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    region_end: u64,
    host_end: u64,
    entries: Vec<Entry>,
}

impl Arena {
    /// An arena from offset 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// `len` words, zeroed before a trial, starting a line.
    ///
    /// # Panics
    /// If the layout passes 2^63 bytes.
    pub fn slice<T: Word>(&mut self, name: impl Into<String>, len: usize) -> Slice<T> {
        self.aligned(name, len, LINE_BYTES)
    }

    /// One word that has a line to itself.
    pub fn word<T: Word>(&mut self, name: impl Into<String>) -> Ptr<T> {
        self.slice(name, 1).start()
    }

    /// `len` words for each host, each on lines that no other host writes and that no other host's
    /// adjacent-line prefetch drags in.
    pub fn per_host<T: Word>(&mut self, name: &str, hosts: u32, len: usize) -> Vec<Slice<T>> {
        let each = (0..hosts)
            .map(|host| self.aligned(format!("{name}[{host}]"), len, HOST_STRIDE_BYTES))
            .collect();
        self.region_end = self.region_end.next_multiple_of(HOST_STRIDE_BYTES);
        each
    }

    /// `len` words starting at a multiple of `align` bytes.
    ///
    /// # Panics
    /// If `align` is not a power of two of at least a line, or the layout passes 2^63 bytes.
    pub fn aligned<T: Word>(
        &mut self,
        name: impl Into<String>,
        len: usize,
        align: u64,
    ) -> Slice<T> {
        assert!(
            align.is_power_of_two() && align >= LINE_BYTES,
            "alignment of {align} bytes"
        );
        let name = name.into();
        let offset = self.region_end.next_multiple_of(align);
        let bytes = (len as u64)
            .checked_mul(T::BYTES as u64)
            .filter(|&b| b < 1 << 62);
        let bytes = bytes.unwrap_or_else(|| panic!("{name}: {len} words exceed any region"));
        self.region_end = (offset + bytes).next_multiple_of(LINE_BYTES);
        assert!(
            self.region_end < 1 << 63,
            "{name}: the layout exceeds any region"
        );
        self.enter::<T>(name, Space::Region, offset, len);
        Slice::at_offset(offset, len as u64)
    }

    /// `len` words of each host's shared DRAM, starting a line.
    pub fn host_shared<T: Word>(&mut self, name: impl Into<String>, len: usize) -> HostSlice<T> {
        let offset = self.host_end.next_multiple_of(LINE_BYTES);
        self.host_end = (offset + len as u64 * T::BYTES as u64).next_multiple_of(LINE_BYTES);
        self.enter::<T>(name.into(), Space::HostShared, offset, len);
        HostSlice::at_offset(offset, len as u64)
    }

    fn enter<T: Word>(&mut self, name: String, space: Space, offset: u64, len: usize) {
        let word_bytes = T::BYTES as u64;
        let (bytes, len) = (len as u64 * word_bytes, len as u64);
        self.entries.push(Entry {
            name,
            space,
            offset,
            bytes,
            len,
            word_bytes,
        });
    }

    /// Bytes of region used so far, whole lines.
    pub fn region_bytes(&self) -> u64 {
        self.region_end
    }

    /// Bytes of each host's shared DRAM used so far, whole lines.
    pub fn host_bytes(&self) -> u64 {
        self.host_end
    }

    /// Everything allocated, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A place whose offset was read from the region: checked for bounds and alignment.
    pub fn resolve<T: Word>(&self, offset: u64) -> Option<Ptr<T>> {
        let end = offset.checked_add(T::BYTES as u64)?;
        let fits = end <= self.region_end && offset.is_multiple_of(T::BYTES as u64);
        fits.then(|| Ptr::at_offset(offset))
    }

    /// Says whether two hosts laid out the same: a hash of every entry (FNV-1a, 64 bits).
    pub fn layout_hash(&self) -> u64 {
        let mut hash = fnv::FnvHasher::default();
        for entry in &self.entries {
            hash.write(entry.name.as_bytes());
            hash.write_u8(match entry.space {
                Space::Region => 0,
                Space::HostShared => 1,
            });
            for number in [entry.offset, entry.len, entry.word_bytes] {
                hash.write(&number.to_le_bytes());
            }
        }
        hash.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn resolve_refuses_what_is_outside_or_crooked() {
        let mut arena = Arena::new();
        let slice = arena.slice::<u64>("test.a", 3);
        assert_eq!(
            arena.resolve::<u64>(slice.at(2).offset()),
            Some(slice.at(2))
        );
        assert_eq!(arena.resolve::<u64>(64), None);
        assert_eq!(arena.resolve::<u64>(4), None);
        assert_eq!(arena.resolve::<u64>(u64::MAX - 3), None);
    }

    #[test]
    fn hosts_that_lay_out_differently_are_told_apart() {
        let layout = |hosts| {
            let mut arena = Arena::new();
            arena.per_host::<u64>("test.flag", hosts, 1);
            arena.layout_hash()
        };
        assert_eq!(layout(8), layout(8));
        // A host count that differed at compile time (8 against 32) once made both hosts of a
        // published system spin for ever; the hash is what notices.
        assert_ne!(layout(8), layout(32));
    }

    proptest! {
        #[test]
        fn allocations_never_share_a_line(
            sizes in prop::collection::vec((0u8..4, 0usize..300), 1..40),
        ) {
            let mut arena = Arena::new();
            let mut spans = Vec::new();
            for (kind, len) in sizes {
                match kind {
                    0 => spans.push(arena.slice::<u8>("p.bytes", len).lines()),
                    1 => spans.push(arena.slice::<u32>("p.words", len).lines()),
                    2 => spans.push(arena.aligned::<u64>("p.page", len, 4096).lines()),
                    _ => {
                        let each = arena.per_host::<u16>("p.host", 3, len);
                        spans.extend(each.iter().map(|slice| slice.lines()));
                    }
                }
            }
            let mut end = 0;
            for lines in spans.into_iter().filter(|l| l.count() > 0) {
                prop_assert!(lines.first().0 >= end);
                end = lines.first().0 + lines.count();
            }
            prop_assert!(end * LINE_BYTES <= arena.region_bytes());
        }
    }
}
