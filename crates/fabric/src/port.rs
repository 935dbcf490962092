//! One lane's way into the region.
//!
//! The ordering rules below are those of x86 write-back memory (Intel SDM, vol. 2 pages of each
//! instruction and vol. 3 "Memory Ordering"; AMD APM vol. 2 ch. 7). Where the texts leave a pair
//! unstated, it is unordered here. "Device" is where other hosts see a line.

use std::ops::Range;

use crate::discipline::{Coherence, Discipline, Fence, Flush, PublishBy};
use crate::maintain;
use crate::mark::Mark;
use crate::place::{Cell, Frozen, Line, Lines, Ptr, Slice};
use crate::stream::{self, Pages, Stream};
use crate::time::{Clock, Ticks};
use crate::wait::Gone;
use crate::word::{AtomicWord, Word};

/// One lane's way into the region: plain accesses, line maintenance, fences, and time.
///
/// A port belongs to one lane and is not `Sync`. Its verbs report their caller (`#[track_caller]`),
/// which is what a checker's findings name; the chain breaks inside iterator adaptors, so hot and
/// checked code loops with `for`.
///
/// Natively nothing is bounds-checked in release builds; simulator and checker always check, and
/// run the same source.
pub trait Port {
    /// Whether hardware keeps copies equal **between hosts**. Fixed for a trial.
    fn coherence(&self) -> Coherence;

    /// How lines travel in this trial.
    fn discipline(&self) -> Discipline;

    /// Loads one aligned word, never torn.
    ///
    /// May be served by this lane's store buffer, by any cache of this host however stale, or by
    /// the device. Ordered after earlier loads and before later loads and stores (TSO). *Not*
    /// ordered after an earlier store, flush or writeback, to whichever line: only a full fence in
    /// between makes the load come after them.
    #[track_caller]
    fn load<T: Word>(&self, at: Ptr<T>) -> T;

    /// As [`load`](Self::load), of a word whose address does not hang on the load before and that
    /// the next address does not hang on: a core overlaps many of these, and a simulator charges
    /// for them accordingly. Provided: `load`, since a real core finds out by itself.
    #[track_caller]
    #[inline(always)]
    fn load_overlapped<T: Word>(&self, at: Ptr<T>) -> T {
        self.load(at)
    }

    /// Stores one aligned word, never torn.
    ///
    /// It enters the store buffer, drains in program order into this host's cache, and makes the
    /// line dirty. Other hosts see it when the line is written back: by a publish, or unasked, by
    /// an eviction at any moment, and then **whole**, with this host's idea of the other 56 bytes.
    /// Ordered after earlier loads, stores and CLFLUSH; *not* after an earlier CLFLUSHOPT or CLWB
    /// of another line.
    #[track_caller]
    fn store<T: Word>(&self, at: Ptr<T>, value: T);

    /// Stores one aligned word around the caches (MOVNTI).
    ///
    /// Weakly ordered with everything until a store or full fence; a line may leave in parts, by
    /// byte mask, so neighbours' bytes survive. If this host holds the line in its cache, an
    /// implementation may update it there, and then the fence publishes nothing (Intel's
    /// optimization manual): a line written this way must not be loaded by its writer.
    #[track_caller]
    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T);

    /// Writes a whole line in one 64-byte transaction (MOVDIR64B).
    ///
    /// Never torn; it drops this host's copy of the line. Weakly ordered, like
    /// [`store_nt`](Self::store_nt).
    ///
    /// # Panics
    /// Natively, where the CPU lacks it: a plan that asks for it is refused before.
    #[track_caller]
    fn store_line(&self, line: Line, words: &[u64; 8]);

    /// Loads `to.len()` words. Each word is untorn; the range as a whole is not.
    #[track_caller]
    fn read_into<T: Word>(&self, from: Ptr<T>, to: &mut [T]);

    /// Stores `from.len()` words in ascending order, with the ordering of [`store`](Self::store).
    #[track_caller]
    fn write_from<T: Word>(&self, to: Ptr<T>, from: &[T]);

    /// Stores `from.len()` words around the caches, in no particular order, with the ordering of
    /// [`store_nt`](Self::store_nt). Provided: word by word; natively wider where words fill 16
    /// bytes.
    #[track_caller]
    #[inline(always)]
    fn write_nt_from<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        for (index, &word) in from.iter().enumerate() {
            self.store_nt(to.slice(from.len()).at(index), word);
        }
    }

    /// Starts writing a dirty line back to the device (CLWB); the copy may stay, clean, and serve
    /// later loads of this host: it never helps a reader.
    ///
    /// Ordered after earlier stores to the same line; *not* with stores, flushes or loads of other
    /// lines, and not before any later load. A fence waits for it as [`fence`](Self::fence) says.
    #[track_caller]
    fn writeback(&self, line: Line);

    /// Writes the line back if dirty, **all 64 bytes**, then drops it from every cache of this
    /// host.
    ///
    /// CLFLUSH is ordered with stores, fences and other CLFLUSH; CLFLUSHOPT only with older stores
    /// to its own line, and with fences. Neither is ordered with loads: without a full fence, a
    /// later load may still be served by the copy that is being dropped. And a prefetch may bring
    /// the line back at any moment, also between the fence and the load, with whatever the device
    /// then holds: a line is observed anew for each look.
    ///
    /// Never flush a line to observe it while this host has unpublished bytes in it: the write-back
    /// would put them over a peer's newer ones.
    #[track_caller]
    fn flush(&self, line: Line, how: Flush);

    /// Orders earlier operations of this lane before later ones.
    ///
    /// | fence | orders | does not order |
    /// |---|---|---|
    /// | store (SFENCE) | stores, non-temporal stores, flushes, writebacks before later ones of these | **any later load**: flush, store fence, load may return the stale copy |
    /// | load (LFENCE) | earlier loads before everything later | it does not wait for earlier stores or flushes |
    /// | full (MFENCE) | everything before everything | a prefetch or an eviction, which nothing orders |
    ///
    /// Whether a fence also means *arrival* at the device is the pod's property: on a synchronous
    /// pod it does; on a posted one a write may be held after its fence, and only
    /// [`confirm`](Self::confirm) tells.
    #[track_caller]
    fn fence(&self, fence: Fence);

    /// One turn of a spin loop, called through [`wait_until`](crate::wait_until) only: beats this
    /// host's heart, notices a deadline, a lost host, a teardown; gives the core away where lanes
    /// outnumber cores.
    ///
    /// # Errors
    /// The reason to give up.
    #[track_caller]
    fn pause(&self) -> Result<(), Gone>;

    /// Says that this lane is alive, between two parts of a computation that waits for nobody:
    /// beats this host's heart and notices what [`pause`](Self::pause) does. A lane that computes
    /// for seconds calls it about ten times a second, outside what it times. Provided: nothing,
    /// where nobody listens.
    ///
    /// # Errors
    /// The reason to give up.
    fn check_in(&self) -> Result<(), Gone> {
        Ok(())
    }

    /// Tells whoever watches this lane something about the program. Nothing but a checker listens.
    #[track_caller]
    #[inline(always)]
    fn mark(&self, mark: Mark) {
        let _ = mark;
    }

    /// Reads the clock, after everything earlier has been done and before anything later starts.
    fn now(&self) -> Ticks;

    /// What [`now`](Self::now)'s readings mean.
    fn clock(&self) -> Clock;

    /// Computation of about `cycles` cycles on private data: charged in a simulator; natively
    /// nothing, since there the computation itself takes its time.
    fn work(&self, cycles: u32);

    /// A read-only window on a frozen range, for hot loops.
    type View<'a, T: Word>: View<T> + Copy
    where
        Self: 'a;

    /// Opens a window on a frozen range; bounds are checked once, here.
    fn view<T: Word>(&self, frozen: Frozen<T>) -> Self::View<'_, T>;

    /// Memory of this lane alone.
    type Private<'a, T: Word>: Private<T>
    where
        Self: 'a;

    /// `len` words of this lane's own DRAM: a `Vec` natively, charged in a simulator.
    fn private<T: Word>(&self, len: usize, fill: T) -> Self::Private<'_, T>;

    /// As [`private`](Self::private), on pages of a size that is asked for and verified; natively
    /// also verified to be on this lane's own NUMA node. Provided: there are no pages.
    ///
    /// # Errors
    /// What was not had, and the remedy. There is no fallback.
    fn private_on<T: Word>(
        &self,
        pages: Pages,
        len: usize,
        fill: T,
    ) -> Result<Self::Private<'_, T>, String> {
        let _ = pages;
        Ok(self.private(len, fill))
    }

    /// Whether this lane's CPU has the instruction of a way to publish.
    fn can(&self, by: PublishBy) -> bool {
        let _ = by;
        true
    }

    /// Follows `hops` links through `links`, from byte `from`, and returns where it ends. Each word
    /// on the way holds the next one's byte offset from the slice's start: the caller has checked
    /// that none leads outside. Each hop waits for the load before it.
    #[track_caller]
    #[inline(always)]
    fn chase(&self, links: Slice<u64>, from: u64, hops: u64) -> u64 {
        stream::chase(self, links, from, hops)
    }

    /// One sweep over `area`, as [`Stream`] says; `value` is what writes write. Returns the
    /// wrapping sum of what [`Stream::Read`] read, otherwise 0. Ends without a fence.
    ///
    /// # Panics
    /// If `area` does not hold the arrays ([`Stream::array_len`]).
    #[track_caller]
    #[inline(always)]
    fn stream(&self, what: Stream, area: Slice<u64>, value: u64) -> u64 {
        stream::stream(self, what, area, value)
    }

    /// Makes this host's writes to `lines` visible at the device, and orders them before whatever
    /// follows, loads included: one flush or writeback a line, by the discipline, then one full
    /// fence. Nothing where hardware keeps copies equal.
    ///
    /// On a posted pod it does not wait for arrival; see [`confirm`](Self::confirm).
    #[track_caller]
    #[inline(always)]
    fn publish(&self, lines: impl Into<Lines>) {
        maintain::publish(self, lines.into());
    }

    /// As [`publish`](Self::publish) for lines that do not follow each other: k flushes, one fence;
    /// nothing for no line.
    #[track_caller]
    #[inline(always)]
    fn publish_each(&self, lines: &[Line]) {
        maintain::publish_each(self, lines);
    }

    /// As [`publish`](Self::publish), with a store fence: enough where only later *stores* must
    /// follow, as between a payload and its flag.
    #[track_caller]
    #[inline(always)]
    fn post(&self, lines: impl Into<Lines>) {
        maintain::post(self, lines.into());
    }

    /// Publishes a line and waits until it is at the device: publish, flush, full fence, load. The
    /// fabric orders the load behind this host's held write of the same line, so it works on posted
    /// pods too. Algorithms that write one line and then decide by reading another (Dekker,
    /// Peterson, bakery) need it there. Where hardware keeps copies equal it is one full fence.
    #[track_caller]
    #[inline(always)]
    fn confirm(&self, line: Line) {
        maintain::confirm(self, line);
    }

    /// Makes the next loads of `lines` come from the device: one flush a line, then one full fence,
    /// so that k lines cost one wait. Nothing where hardware keeps copies equal.
    ///
    /// It holds for one look: a prefetch may revive a stale copy at once. Polls observe each time.
    #[track_caller]
    #[inline(always)]
    fn observe(&self, lines: impl Into<Lines>) {
        maintain::observe(self, lines.into());
    }

    /// As [`observe`](Self::observe) for lines that do not follow each other: k flushes, one fence.
    #[track_caller]
    #[inline(always)]
    fn observe_each(&self, lines: &[Line]) {
        maintain::observe_each(self, lines);
    }

    /// Runs `f` outside whatever observes this port: what belongs to the experiment, not to the
    /// algorithm, as lining up lanes does, stays out of its census.
    #[inline(always)]
    fn aside<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        f(self)
    }

    /// Stores `from` at `to` by the discipline and publishes it. With `movnti` the words go around
    /// the cache; with `movdir64b` whole lines do, and words of a partial line go by `movnti`.
    ///
    /// The words reach the device in no particular order before it returns: a reader that polls one
    /// of them must not trust the others. Post the payload, then publish the flag.
    #[track_caller]
    #[inline(always)]
    fn write_published<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        maintain::write(self, to, from, Fence::Full);
    }

    /// As [`write_published`](Self::write_published), ordered before later stores only.
    #[track_caller]
    #[inline(always)]
    fn write_posted<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        maintain::write(self, to, from, Fence::Store);
    }
}

/// Atomic instructions, where they work: on DRAM that the lanes of one host share, and on the
/// region if hardware keeps the pod coherent.
pub trait HostAtomics: Port {
    /// Loads an atomic word.
    #[track_caller]
    fn atomic_load<T: AtomicWord>(&self, at: impl Into<Cell<T>>) -> T;

    /// Stores an atomic word; earlier accesses of this lane stay before it.
    #[track_caller]
    fn atomic_store<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T);

    /// Puts `new` if the word is `current`; a full fence.
    ///
    /// # Errors
    /// The word's value where it was not `current`.
    #[track_caller]
    fn compare_exchange<T: AtomicWord>(
        &self,
        at: impl Into<Cell<T>>,
        current: T,
        new: T,
    ) -> Result<T, T>;

    /// Adds, wrapping, and returns the value before; a full fence.
    #[track_caller]
    fn fetch_add<T: AtomicWord>(&self, at: impl Into<Cell<T>>, add: T) -> T;

    /// Puts `value` and returns the one before; a full fence.
    #[track_caller]
    fn swap<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) -> T;
}

/// A read-only window on a frozen range. It offers `get`, not iterators: `#[track_caller]` does not
/// pass through iterator chains.
#[allow(clippy::len_without_is_empty)] // an empty view is legal and never special
pub trait View<T: Word> {
    /// Words in it.
    fn len(&self) -> usize;

    /// Word `index`; natively the bound is asserted in debug builds only.
    #[track_caller]
    fn get(&self, index: usize) -> T;
}

/// Memory of one lane.
#[allow(clippy::len_without_is_empty)] // as for View
pub trait Private<T: Word> {
    /// Words in it.
    fn len(&self) -> usize;

    /// Word `index`.
    fn get(&self, index: usize) -> T;

    /// Puts `value` at `index`.
    fn set(&mut self, index: usize, value: T);

    /// Drops the line of word `index`, as [`Port::flush`] does. Provided: nothing, for substrates
    /// whose private memory has no caches.
    fn flush(&self, index: usize, how: Flush) {
        let _ = (index, how);
    }

    /// As [`Port::chase`], through this memory. Natively the links are trusted likewise.
    fn chase(&self, from: u64, hops: u64) -> u64
    where
        Self: Private<u64>,
    {
        stream::chase_private(self, from, hops)
    }

    /// As [`Port::stream`], over words `area` of this memory.
    ///
    /// # Panics
    /// If `area` leaves this memory or does not hold the arrays.
    fn stream(&mut self, what: Stream, area: Range<usize>, value: u64) -> u64
    where
        Self: Private<u64>,
    {
        stream::stream_private(self, what, area, value)
    }
}
