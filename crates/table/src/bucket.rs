//! One bucket: one line.
//!
//! ```text
//! word 0  version: count << 8 | host << 1 | busy, by its last writer
//! word 1  displaced: how many keys whose home this is lie elsewhere, and how far off at most
//! word 2  key 0     word 3  entry 0
//! word 4  key 1     word 5  entry 1
//! word 6  key 2     word 7  entry 2
//! ```
//!
//! Key 0 marks a free slot. An entry is the value itself where values have one word; otherwise it
//! names the place where the value lies (see [`Entry`]).
//!
//! A writer makes the version busy, changes slots, and then stores the next version; stores reach a
//! line in their order and a line leaves whole. So whoever loads the same version, not busy, before
//! and after its other loads has seen slots that stood together, also if its copy was exchanged for
//! a newer one in between: copies only get newer. No second look at the device is needed.

use std::hint::select_unpredictable;

use fabric::{Port, Ptr, Slice};

pub(crate) const WORDS: usize = 8;

/// Entries of a bucket.
pub const SLOTS: usize = 3;

/// The key that marks a free slot.
pub const FREE: u64 = 0;

const BUSY: u64 = 1;
const HOST_BITS: u32 = 7;
const COUNT_SHIFT: u32 = 1 + HOST_BITS;

/// A bucket's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub(crate) u64);

impl Version {
    /// How often the bucket has been changed.
    pub(crate) fn count(self) -> u64 {
        self.0 >> COUNT_SHIFT
    }

    /// Whether a change is under way.
    #[inline(always)]
    pub(crate) fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// Its last writer.
    pub(crate) fn host(self) -> u32 {
        (self.0 >> 1) as u32 & ((1 << HOST_BITS) - 1)
    }

    /// The next version, being made by `host`.
    #[inline(always)]
    pub(crate) fn begin(self, host: u32) -> Self {
        Self(((self.count() + 1) << COUNT_SHIFT) | (u64::from(host) << 1) | BUSY)
    }

    /// The same version, made.
    #[inline(always)]
    pub(crate) fn end(self) -> Self {
        Self(self.0 & !BUSY)
    }
}

/// What word 1 says: how many keys are displaced from here, and the greatest distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Displaced {
    pub(crate) keys: u64,
    pub(crate) distance: u64,
}

impl Displaced {
    pub(crate) fn of(word: u64) -> Self {
        Self {
            keys: word >> 32,
            distance: word & u64::from(u32::MAX),
        }
    }

    pub(crate) fn word(self) -> u64 {
        (self.keys << 32) | self.distance
    }

    pub(crate) fn with_one_more(self, distance: u64) -> Self {
        Self {
            keys: self.keys + 1,
            distance: self.distance.max(distance),
        }
    }

    /// The distance stays as long as any is left: it is a bound.
    pub(crate) fn with_one_less(self) -> Self {
        match self.keys {
            0 | 1 => Self::default(),
            keys => Self {
                keys: keys - 1,
                distance: self.distance,
            },
        }
    }
}

/// What one look at a bucket found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The key, in this slot, while the bucket had this version.
    Found { slot: usize, entry: u64 },
    /// Not here.
    Absent { displaced: u64 },
    /// Somebody is changing the bucket, or has during the look.
    Changing(Version),
}

/// A key that a look found where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) slot: usize,
    pub(crate) entry: u64,
    /// The bucket's version during the look.
    pub(crate) version: Version,
}

/// One bucket's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket(Slice<u64>);

impl Bucket {
    #[inline(always)]
    pub(crate) fn new(words: Slice<u64>) -> Self {
        Self(words)
    }

    #[inline(always)]
    pub(crate) fn version(self) -> Ptr<u64> {
        self.0.at(0)
    }

    #[inline(always)]
    pub(crate) fn displaced(self) -> Ptr<u64> {
        self.0.at(1)
    }

    #[inline(always)]
    pub(crate) fn key(self, slot: usize) -> Ptr<u64> {
        self.0.at(2 + 2 * slot)
    }

    #[inline(always)]
    pub(crate) fn entry(self, slot: usize) -> Ptr<u64> {
        self.0.at(3 + 2 * slot)
    }

    #[inline(always)]
    pub(crate) fn line(self) -> fabric::Line {
        self.0.start().line()
    }

    /// The only slot that can hold `key`.
    ///
    /// Which it is cannot be predicted, and a wrong guess that waits for the line costs more than
    /// the line: the slot is computed, so that the one branch is whether the key is in it.
    #[inline(always)]
    #[track_caller]
    fn candidate<P: Port>(self, port: &P, key: u64) -> usize {
        let in_first = port.load(self.key(0)) == key;
        let in_second = port.load(self.key(1)) == key;
        select_unpredictable(in_first, 0, select_unpredictable(in_second, 1, 2))
    }

    /// Looks for `key` in what this host's copy says.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn look<P: Port>(self, port: &P, key: u64) -> Look {
        // The version first, and again last: what lies between is as old as one of the two.
        let before = port.load(self.version());
        let slot = self.candidate(port, key);
        let found = port.load(self.key(slot));
        let entry = port.load(self.entry(slot));
        let displaced = port.load(self.displaced());
        let after = port.load(self.version());
        if before != after || after & BUSY != 0 {
            return Look::Changing(Version(after));
        }
        if found == key {
            Look::Found { slot, entry }
        } else {
            Look::Absent { displaced }
        }
    }

    /// A look that tells nothing but a hit, in the fewest instructions: whoever gets none looks
    /// again, with [`look`](Self::look).
    ///
    /// Reads of one lane do not depend on each other, and a core has as many of them under way as
    /// fit into its window of instructions. So it is their number that decides, not how long each
    /// takes; and each of the three branches nearly always goes one way.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn hit<P: Port>(self, port: &P, key: u64) -> Option<Hit> {
        let version = Version(port.load(self.version()));
        if version.is_busy() {
            return None;
        }
        let slot = self.candidate(port, key);
        if port.load(self.key(slot)) != key {
            return None;
        }
        let entry = port.load(self.entry(slot));
        // Last, as in `look`: it vouches for the two loads before.
        let after = port.load(self.version());
        (after == version.0).then_some(Hit {
            slot,
            entry,
            version,
        })
    }

    /// The slot that holds `key`, for whoever may write the bucket.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn find<P: Port>(self, port: &P, key: u64) -> Option<usize> {
        let slot = self.candidate(port, key);
        (port.load(self.key(slot)) == key).then_some(slot)
    }
}

/// Where a value of several words lies, packed in one: the version count of the change that wrote
/// it, its length, and which of the bucket's four places.
///
/// A bucket of three slots has four places for values, so that one is always spare: a new value is
/// written there, published, and then the entry is exchanged. A reader never meets a half-written
/// value, and a host that dies leaves the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) stamp: u64,
    pub(crate) words: usize,
    pub(crate) place: usize,
}

impl Entry {
    /// What slot `slot` says. A slot of zeroes stands for the place of its own number.
    pub(crate) fn unpack(word: u64, slot: usize) -> Self {
        Self {
            stamp: word >> 16,
            words: (word >> 8) as usize & 0xff,
            place: (word as usize & 3) ^ slot,
        }
    }

    pub(crate) fn pack(self, slot: usize) -> u64 {
        (self.stamp << 16) | ((self.words as u64) << 8) | (self.place ^ slot) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_packing_and_zero_means_ones_own_place() {
        for slot in 0..SLOTS {
            assert_eq!(Entry::unpack(0, slot).place, slot);
            let entry = Entry {
                stamp: 1 << 40,
                words: 128,
                place: 3,
            };
            assert_eq!(Entry::unpack(entry.pack(slot), slot), entry);
        }
    }

    #[test]
    fn a_version_says_who_and_how_often() {
        let version = Version(0).begin(63);
        assert!(version.is_busy());
        assert_eq!((version.end().count(), version.host()), (1, 63));
        assert_eq!(version.end().begin(5).end().count(), 2);
    }

    #[test]
    fn the_last_displaced_key_takes_the_distance_with_it() {
        let two = Displaced::default().with_one_more(3).with_one_more(1);
        assert_eq!(Displaced::of(two.word()), two);
        assert_eq!(two.with_one_less().distance, 3);
        assert_eq!(two.with_one_less().with_one_less(), Displaced::default());
    }
}
