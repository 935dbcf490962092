//! What a lane reads and writes without a verb of its port: frozen ranges and its own memory.

use std::marker::PhantomData;
use std::ops::Range;

use fabric::{Flush, Pages, Private, Stream, View, Word};

use crate::dram::{Dram, DramError};
use crate::{instr, loops};

/// A window on a frozen range of the region: a pointer and a length, checked when it was opened.
#[derive(Debug)]
pub struct NativeView<'a, T> {
    start: *const T,
    len: usize,
    region: PhantomData<&'a ()>,
}

impl<T> NativeView<'_, T> {
    /// # Safety
    /// `start` is aligned, and `len` words from it stay mapped and unwritten while the view lives.
    pub(super) unsafe fn new(start: *const T, len: usize) -> Self {
        Self {
            start,
            len,
            region: PhantomData,
        }
    }
}

impl<T> Clone for NativeView<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NativeView<'_, T> {}

impl<T: Word> View<T> for NativeView<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    #[track_caller]
    fn get(&self, index: usize) -> T {
        debug_assert!(index < self.len, "word {index} of a view of {}", self.len);
        // SAFETY: the range was checked when the view was opened, and nobody writes a frozen range,
        // so a plain read is no race; that `index` lies in it is the boundary's contract, asserted
        // in debug builds and by the other substrates.
        unsafe { self.start.add(index).read() }
    }
}

/// Memory of one lane.
#[derive(Debug)]
pub struct NativePrivate<'a, T> {
    start: *mut T,
    len: usize,
    wide: bool,
    // Owns what `start` points to.
    dram: Dram,
    lane: PhantomData<&'a ()>,
}

impl<T: Word> NativePrivate<'_, T> {
    /// `wide`: the CPU has AVX2.
    pub(super) fn new(len: usize, fill: T, wide: bool) -> Self {
        Self::filled(Dram::heap(len * T::BYTES), len, fill, wide)
    }

    /// On pages of its own, verified.
    pub(super) fn on(pages: Pages, len: usize, fill: T, wide: bool) -> Result<Self, DramError> {
        let bytes = len * T::BYTES;
        let private = Self::filled(Dram::mapped(bytes, pages)?, len, fill, wide);
        private.dram.verify(bytes, pages)?;
        Ok(private)
    }

    fn filled(dram: Dram, len: usize, fill: T, wide: bool) -> Self {
        let start = dram.start().cast::<T>();
        for index in 0..len {
            // SAFETY: the block has `len` words, is aligned to 64, and is nobody else's.
            unsafe { start.add(index).write(fill) };
        }
        let lane = PhantomData;
        Self {
            start,
            len,
            wide,
            dram,
            lane,
        }
    }

    // Bounds are checked here, in release builds too: this is memory of the process's own, where a
    // wrong index would corrupt something else than the region's words.
    #[inline(always)]
    fn at(&self, index: usize) -> *mut T {
        assert!(
            index < self.len,
            "word {index} of private memory of {}",
            self.len
        );
        // SAFETY: within the block.
        unsafe { self.start.add(index) }
    }
}

impl<T: Word> Private<T> for NativePrivate<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn get(&self, index: usize) -> T {
        // SAFETY: a word of the block, which every bit pattern suits.
        unsafe { self.at(index).read() }
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: T) {
        // SAFETY: a word of the block, borrowed exclusively.
        unsafe { self.at(index).write(value) };
    }

    #[inline(always)]
    fn flush(&self, index: usize, how: Flush) {
        let at = self.at(index).cast::<u8>();
        // SAFETY: a live line; that the CPU has the instruction is the port's contract.
        unsafe {
            match how {
                Flush::ClFlush => instr::clflush(at),
                Flush::ClFlushOpt => instr::clflushopt(at),
            }
        }
    }

    #[inline(always)]
    fn chase(&self, from: u64, hops: u64) -> u64 {
        // SAFETY: the links stay inside: the caller has checked them, as the trait demands.
        unsafe { loops::chase(self.start.cast(), from, hops) }
    }

    #[inline(always)]
    fn stream(&mut self, what: Stream, area: Range<usize>, value: u64) -> u64 {
        let len = what.array_len(area.len());
        assert!(
            area.end <= self.len && area.start.is_multiple_of(8),
            "words {area:?} of private memory of {}",
            self.len
        );
        // SAFETY: whole lines of the block (just checked), borrowed exclusively; `wide` is CPUID's.
        unsafe {
            let start = self.start.cast::<u8>().add(8 * area.start);
            loops::stream(what, start, len, value, self.wide)
        }
    }
}
