//! Where things are: offsets, slices, lines. Offsets, never addresses: hosts map differently.

use std::fmt;
use std::marker::PhantomData;

use crate::word::Word;

/// Bytes in a cache line, the unit of every writeback and flush (64 on every CXL host so far;
/// CXL.mem moves 64-byte lines).
pub const LINE_BYTES: u64 = 64;

/// The place of one word in the region: a byte offset, the same on every host.
///
/// It comes from an [`Arena`](crate::Arena) or from a projection of a [`Slice`]. An offset that was
/// itself read from the region passes [`Arena::resolve`](crate::Arena::resolve) once. Using a
/// forged one is outside a native port's contract; simulator, checker and debug builds catch it.
pub struct Ptr<T> {
    offset: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Word> Ptr<T> {
    pub(crate) fn at_offset(offset: u64) -> Self {
        debug_assert!(
            offset.is_multiple_of(T::BYTES as u64),
            "word at {offset:#x} is not aligned"
        );
        Self {
            offset,
            of: PhantomData,
        }
    }

    /// Bytes from the start of the region.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The line that holds it. A word never crosses a line.
    #[inline(always)]
    pub fn line(self) -> Line {
        Line(self.offset / LINE_BYTES)
    }

    /// The lines that `len` words from here touch.
    #[inline(always)]
    pub fn lines(self, len: usize) -> Lines {
        Lines::spanning(self.offset, len as u64 * T::BYTES as u64)
    }

    /// This word and the `len - 1` after it, as a slice. The caller knows that they are its own.
    #[inline(always)]
    pub fn slice(self, len: usize) -> Slice<T> {
        Slice {
            start: self,
            len: len as u64,
        }
    }
}

/// `len` consecutive words in the region.
pub struct Slice<T> {
    start: Ptr<T>,
    len: u64,
}

impl<T: Word> Slice<T> {
    pub(crate) fn at_offset(offset: u64, len: u64) -> Self {
        Self {
            start: Ptr::at_offset(offset),
            len,
        }
    }

    /// Its first word.
    #[inline(always)]
    pub fn start(self) -> Ptr<T> {
        self.start
    }

    /// Words in it.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // an empty slice is legal and never special
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Bytes in it.
    pub fn bytes(self) -> u64 {
        self.len * T::BYTES as u64
    }

    /// The place of word `index`.
    ///
    /// The bound is asserted in debug builds only: this is the address arithmetic of hot loops.
    #[inline(always)]
    pub fn at(self, index: usize) -> Ptr<T> {
        debug_assert!(
            (index as u64) < self.len,
            "word {index} of a slice of {}",
            self.len
        );
        Ptr {
            offset: self.start.offset + index as u64 * T::BYTES as u64,
            of: PhantomData,
        }
    }

    /// The place of the word `bytes` bytes from the start. A chase stores such offsets: a multiple
    /// of eight that is added as it is costs a cycle less a hop than an index that is scaled (AMD
    /// optimization guide for family 19h, "load-store unit").
    #[inline(always)]
    pub fn at_byte(self, bytes: u64) -> Ptr<T> {
        debug_assert!(
            bytes < self.bytes() && bytes.is_multiple_of(T::BYTES as u64),
            "byte {bytes} of a slice of {}",
            self.bytes()
        );
        Ptr {
            offset: self.start.offset + bytes,
            of: PhantomData,
        }
    }

    /// Words `from..to`.
    ///
    /// # Panics
    /// If the range leaves the slice.
    #[must_use]
    pub fn range(self, from: usize, to: usize) -> Self {
        assert!(
            from <= to && to as u64 <= self.len,
            "{from}..{to} of a slice of {}",
            self.len
        );
        let offset = self.start.offset + from as u64 * T::BYTES as u64;
        Self {
            start: Ptr {
                offset,
                of: PhantomData,
            },
            len: (to - from) as u64,
        }
    }

    /// The lines it touches.
    #[inline(always)]
    pub fn lines(self) -> Lines {
        Lines::spanning(self.start.offset, self.bytes())
    }
}

/// A range that nobody writes any more and that no host holds a stale line of.
///
/// It comes from the collective `Worker::freeze` alone (publish, pod barrier, observe); from then
/// on plain loads of it are right on every host, and prefetches of it are harmless.
pub struct Frozen<T> {
    slice: Slice<T>,
}

impl<T: Word> Frozen<T> {
    /// For the collective freeze only; a tidy test holds that.
    pub fn after_collective_freeze(slice: Slice<T>) -> Self {
        Self { slice }
    }

    /// The range.
    #[inline(always)]
    pub fn slice(self) -> Slice<T> {
        self.slice
    }
}

/// A line of the region, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line(pub u64);

impl Line {
    /// Byte offset of its first byte.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        self.0 * LINE_BYTES
    }

    /// Its first word.
    #[inline(always)]
    pub fn start(self) -> Ptr<u64> {
        Ptr::at_offset(self.offset())
    }
}

/// Consecutive lines, the operand of `publish`, `post` and `observe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lines {
    first: Line,
    count: u64,
}

impl Lines {
    /// The lines that `bytes` bytes from `offset` touch.
    #[inline(always)]
    pub fn spanning(offset: u64, bytes: u64) -> Self {
        let first = offset / LINE_BYTES;
        let end = (offset + bytes).div_ceil(LINE_BYTES);
        Self {
            first: Line(first),
            count: if bytes == 0 { 0 } else { end - first },
        }
    }

    /// `count` lines from `first`.
    #[inline(always)]
    pub fn from_first(first: Line, count: u64) -> Self {
        Self { first, count }
    }

    /// The first line.
    #[inline(always)]
    pub fn first(self) -> Line {
        self.first
    }

    /// How many.
    #[inline(always)]
    pub fn count(self) -> u64 {
        self.count
    }

    /// Whether `line` is one of them.
    pub fn contains(self, line: Line) -> bool {
        line >= self.first && line.0 < self.first.0 + self.count
    }
}

impl From<Line> for Lines {
    #[inline(always)]
    fn from(line: Line) -> Self {
        Self {
            first: line,
            count: 1,
        }
    }
}

impl IntoIterator for Lines {
    type Item = Line;
    type IntoIter = std::iter::Map<std::ops::Range<u64>, fn(u64) -> Line>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        (self.first.0..self.first.0 + self.count).map(Line as fn(u64) -> Line)
    }
}

/// The place of one word in the DRAM that the lanes of one host share: each host has its own.
pub struct HostShared<T> {
    offset: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Word> HostShared<T> {
    pub(crate) fn at_offset(offset: u64) -> Self {
        Self {
            offset,
            of: PhantomData,
        }
    }

    /// Bytes from the start of the host's shared DRAM.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        self.offset
    }
}

/// `len` consecutive words of host-shared DRAM.
pub struct HostSlice<T> {
    start: HostShared<T>,
    len: u64,
}

impl<T: Word> HostSlice<T> {
    pub(crate) fn at_offset(offset: u64, len: u64) -> Self {
        Self {
            start: HostShared::at_offset(offset),
            len,
        }
    }

    /// Words in it.
    #[allow(clippy::len_without_is_empty)] // as for Slice
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// The place of word `index`; the bound is asserted in debug builds only, as for [`Slice::at`].
    #[inline(always)]
    pub fn at(self, index: usize) -> HostShared<T> {
        debug_assert!(
            (index as u64) < self.len,
            "word {index} of a host slice of {}",
            self.len
        );
        HostShared {
            offset: self.start.offset + index as u64 * T::BYTES as u64,
            of: PhantomData,
        }
    }
}

/// What an atomic instruction works on.
///
/// `Pool` is legal only where [`Coherence::Hardware`](crate::Coherence) holds between hosts: on
/// other pods each host's cache would do its own atomic on its own copy. Registries refuse it, the
/// checker reports it.
#[derive(Clone, Copy, Debug)]
pub enum Cell<T> {
    /// A word that the lanes of one host share.
    Host(HostShared<T>),
    /// A word of the region.
    Pool(Ptr<T>),
}

impl<T> From<HostShared<T>> for Cell<T> {
    #[inline(always)]
    fn from(at: HostShared<T>) -> Self {
        Self::Host(at)
    }
}

impl<T> From<Ptr<T>> for Cell<T> {
    #[inline(always)]
    fn from(at: Ptr<T>) -> Self {
        Self::Pool(at)
    }
}

// Derives would ask for `T: Clone`; a place is copied whatever it holds.
macro_rules! places {
    ($($name:ident),*) => {$(
        impl<T> Clone for $name<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
    )*};
}

places!(Ptr, Slice, Frozen, HostShared, HostSlice);

impl<T> PartialEq for Ptr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}

impl<T> Eq for Ptr<T> {}

impl<T> fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ptr({:#x})", self.offset)
    }
}

impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slice({:#x}; {})", self.start.offset, self.len)
    }
}

impl<T> fmt::Debug for Frozen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Frozen({:#x}; {})",
            self.slice.start.offset, self.slice.len
        )
    }
}

impl<T> fmt::Debug for HostShared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostShared({:#x})", self.offset)
    }
}

impl<T> fmt::Debug for HostSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostSlice({:#x}; {})", self.start.offset, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_span() {
        assert_eq!(Lines::spanning(0, 0).count(), 0);
        assert_eq!(Lines::spanning(63, 2), Lines::from_first(Line(0), 2));
        assert_eq!(Lines::spanning(64, 64), Lines::from(Line(1)));
        let slice = Slice::<u32>::at_offset(128, 33);
        assert_eq!(slice.lines(), Lines::from_first(Line(2), 3));
        assert_eq!(slice.range(16, 32).lines(), Lines::from(Line(3)));
    }
}
