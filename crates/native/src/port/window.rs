//! What a lane reads and writes without a verb of its port: frozen ranges and its own memory.

use std::marker::PhantomData;

use fabric::{Private, View, Word};

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
    words: Vec<T>,
    lane: PhantomData<&'a ()>,
}

impl<T: Word> NativePrivate<'_, T> {
    pub(super) fn new(len: usize, fill: T) -> Self {
        Self {
            words: vec![fill; len],
            lane: PhantomData,
        }
    }
}

impl<T: Word> Private<T> for NativePrivate<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.words.len()
    }

    // Bounds are checked here, in release builds too: this is memory of the process's own, where a
    // wrong index would corrupt something else than the region's words.
    #[inline(always)]
    fn get(&self, index: usize) -> T {
        self.words[index]
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: T) {
        self.words[index] = value;
    }
}
