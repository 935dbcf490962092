//! The 64 bytes of a line, and which of them an access touches.

use std::hash::{Hash, Hasher};

use fabric::{LINE_BYTES, Line, Ptr, Word};

/// The bytes of one line, as the eight little-endian words that lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content([u64; 8]);

impl Content {
    /// A line of zeroes.
    pub const ZERO: Self = Self([0; 8]);

    /// A line of these words.
    pub fn of_words(words: [u64; 8]) -> Self {
        Self(words)
    }

    /// Its words.
    pub fn words(&self) -> &[u64; 8] {
        &self.0
    }

    /// The bits of one aligned word.
    #[inline(always)]
    pub fn get(&self, access: Access) -> u64 {
        (self.0[access.index()] >> access.shift()) & access.value_mask()
    }

    /// Puts the bits of one aligned word.
    #[inline(always)]
    pub fn put(&mut self, access: Access, bits: u64) {
        let word = &mut self.0[access.index()];
        let mask = access.value_mask() << access.shift();
        *word = (*word & !mask) | ((bits << access.shift()) & mask);
    }

    /// Takes over the bytes of `from` whose bit in `bytes` is set; bit 0 is byte 0.
    #[inline(always)]
    pub fn merge(&mut self, from: &Self, bytes: u64) {
        if bytes == u64::MAX {
            *self = *from;
            return;
        }
        for (index, word) in self.0.iter_mut().enumerate() {
            let mask = widen((bytes >> (8 * index)) as u8);
            *word = (*word & !mask) | (from.0[index] & mask);
        }
    }
}

/// Eight byte-enable bits to the sixty-four bits that they enable.
#[inline(always)]
fn widen(bytes: u8) -> u64 {
    // Spreads bit i to bit 8 i, then fills each byte: multiplication by 0xff has no carries here.
    let mut spread = 0u64;
    for bit in 0..8 {
        spread |= u64::from((bytes >> bit) & 1) << (8 * bit);
    }
    spread * 0xff
}

/// One aligned word of the region: where it lies, and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    offset: u64,
    bytes: u8,
}

/// Where an aligned word lies in a line, and how wide it is: of an [`Access`] all but the line, in
/// one byte, for who keeps many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u8);

impl Hash for Access {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        // At most 8 bytes, and offsets are far below 2^60.
        state.write_u64(self.offset << 4 | u64::from(self.bytes));
    }
}

impl Access {
    /// `bytes` bytes (1, 2, 4 or 8) at byte `offset` of the region.
    ///
    /// # Panics
    /// If the word is not aligned: such an access would cross a line, and tear.
    #[inline(always)]
    pub fn word(offset: u64, bytes: u8) -> Self {
        assert!(
            bytes.is_power_of_two() && bytes <= 8 && offset.is_multiple_of(u64::from(bytes)),
            "a word of {bytes} bytes at offset {offset:#x} is not aligned"
        );
        Self { offset, bytes }
    }

    /// The word that `at` points to.
    #[inline(always)]
    pub fn of<T: Word>(at: Ptr<T>) -> Self {
        Self::word(at.offset(), T::BYTES as u8)
    }

    /// Its line.
    #[inline(always)]
    pub fn line(self) -> Line {
        Line(self.offset / LINE_BYTES)
    }

    /// Where in its line it lies.
    #[inline(always)]
    pub fn place(self) -> Place {
        let offset = (self.offset % LINE_BYTES) as u8;
        Place((offset << 2) | self.bytes.trailing_zeros() as u8)
    }

    /// The word of `line` at `place`.
    #[inline(always)]
    pub fn of_line(line: Line, place: Place) -> Self {
        Self {
            offset: line.0 * LINE_BYTES + u64::from(place.0 >> 2),
            bytes: 1 << (place.0 & 3),
        }
    }

    /// Byte offset in the region.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The bytes of its line that it touches, one bit each.
    #[inline(always)]
    pub fn byte_mask(self) -> u64 {
        let ones = (1u64 << self.bytes) - 1;
        ones << (self.offset % LINE_BYTES)
    }

    #[inline(always)]
    fn index(self) -> usize {
        (self.offset % LINE_BYTES / 8) as usize
    }

    #[inline(always)]
    fn shift(self) -> u64 {
        8 * (self.offset % 8)
    }

    #[inline(always)]
    fn value_mask(self) -> u64 {
        u64::MAX >> (64 - 8 * u64::from(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_leaves_its_neighbours_alone() {
        let mut content = Content::of_words([u64::MAX; 8]);
        content.put(Access::word(64 + 10, 2), 0);
        assert_eq!(content.words()[1], 0xffff_ffff_0000_ffff);
        assert_eq!(content.get(Access::word(8, 4)), 0xffff);
        assert_eq!(content.get(Access::word(8, 8)), 0xffff_ffff_0000_ffff);
    }

    #[test]
    fn merging_honours_byte_enables() {
        let mut content = Content::ZERO;
        let from = Content::of_words([0x1111_1111_1111_1111; 8]);
        content.merge(&from, Access::word(64 + 20, 4).byte_mask());
        assert_eq!(content.words()[2], 0x1111_1111_0000_0000);
        assert_eq!(content.words()[1], 0);
        content.merge(&from, u64::MAX);
        assert_eq!(content, from);
    }

    #[test]
    fn line_and_place_are_the_access() {
        for (offset, bytes) in [(0, 1), (63, 1), (64 + 62, 2), (192 + 20, 4), (1 << 40, 8)] {
            let access = Access::word(offset, bytes);
            assert_eq!(Access::of_line(access.line(), access.place()), access);
        }
    }

    #[test]
    #[should_panic(expected = "not aligned")]
    fn a_word_never_crosses_a_line() {
        let _ = Access::word(60, 8);
    }
}
