//! A simulated lane's port.

use std::cell::RefMut;

use fabric::{
    Across, AtomicWord, Cell, Clock, Coherence, Discipline, Fence, Flush, Frozen, Gone,
    HostAtomics, Line, NoWatch, Port, Private, Ptr, Seat, Slice, Stream, TRIAD_SCALAR, Ticks, View,
    Watch, Word,
};
use model::Access;

use crate::lane::Done;
use crate::ops::Op;
use crate::read::Use;
use crate::record::Kind;
use crate::verbs::Verbs;
use crate::world::World;

/// Pauses between two looks of the watch: heartbeats are milliseconds apart, pauses tens of
/// nanoseconds.
const PAUSES_A_LOOK: u64 = 1024;

/// One lane's way into a simulated region.
pub struct SimPort<'y, W> {
    verbs: Verbs<'y>,
    watch: &'y W,
    seat: Seat,
}

impl<'y, W: Watch> SimPort<'y, W> {
    pub(crate) fn new(verbs: Verbs<'y>, watch: &'y W, seat: Seat) -> Self {
        Self { verbs, watch, seat }
    }

    #[inline(always)]
    fn world(&self) -> RefMut<'y, World> {
        self.verbs.world.borrow_mut()
    }

    #[inline(always)]
    fn load_word<T: Word>(&self, at: Ptr<T>, how: Use) -> T {
        let access = Access::of(at);
        let served = self.world().load_first_level(access, how);
        T::from_bits(served.unwrap_or_else(|| self.verbs.load_slowly(access, how)))
    }

    /// An atomic instruction that changes a word, or only reads it.
    fn atomic<T: AtomicWord>(
        &self,
        at: Cell<T>,
        locked: bool,
        change: impl FnOnce(T) -> Option<T>,
    ) -> T {
        if locked {
            self.verbs.fence(Fence::Full);
        }
        let mut world = self.verbs.done();
        world.settle();
        if locked {
            let cost = world.timing.atomic;
            let at = world.me.clock + cost;
            world.wait(Done { at, queued: 0 }, Kind::Local);
        }
        let mut world = self.verbs.perform(world, Op::Turn);
        world.me.seen = world.me.floor;
        let change = |bits| change(T::from_bits(bits)).map(T::to_bits);
        let bits = match at {
            Cell::Host(word) => world.host_word(word.offset(), T::BYTES, change),
            Cell::Pool(word) => self.atomic_in_pool(world, Access::of(word), change),
        };
        T::from_bits(bits)
    }

    fn atomic_in_pool(
        &self,
        world: RefMut<'y, World>,
        at: Access,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> u64 {
        assert!(
            world.timing.coherent || world.pod.hosts == 1,
            "an atomic instruction on the region at {:#x}: on this pod each host's cache would do \
             its own on its own copy; use a lock or an atomic of crate sync",
            at.offset()
        );
        let line = world.check_line(at.line().0);
        let mut world = self.verbs.perform(world, Op::Own(line));
        let done = world.me.ops.owned;
        let before = world.owned(at).content.get(at);
        if let Some(after) = change(before) {
            world.owned(at).store(at, after);
            world.progress = world.progress.max(world.me.turn());
        }
        world.wait(done, Kind::Observe);
        drop(self.verbs.perform(world, Op::Prefetch));
        before
    }

    fn look(&self) -> Result<(), Gone> {
        let bare = SimPort::new(self.verbs, &NoWatch, self.seat);
        self.watch.look(self.seat, &bare)
    }

    fn check_stall(&self) -> Result<(), Gone> {
        let world = self.verbs.done();
        if world.down {
            return Err(Gone::Teardown {
                why: "another lane failed",
            });
        }
        let waited = world.me.turn().saturating_sub(world.progress);
        if waited > world.stall_limit {
            return Err(Gone::Deadline {
                after_ms: world.stall_limit / 1_000_000_000,
            });
        }
        Ok(())
    }
}

impl<W: Watch> Port for SimPort<'_, W> {
    fn coherence(&self) -> Coherence {
        if self.world().timing.coherent {
            Coherence::Hardware
        } else {
            Coherence::Software
        }
    }

    fn discipline(&self) -> Discipline {
        self.world().discipline
    }

    #[inline(always)]
    fn load<T: Word>(&self, at: Ptr<T>) -> T {
        self.load_word(at, Use::Chained)
    }

    #[inline(always)]
    fn load_overlapped<T: Word>(&self, at: Ptr<T>) -> T {
        self.load_word(at, Use::Streamed)
    }

    #[inline(always)]
    fn store<T: Word>(&self, at: Ptr<T>, value: T) {
        self.verbs.store_word(Access::of(at), value.to_bits());
    }

    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T) {
        self.verbs.store_nt(Access::of(at), value.to_bits());
    }

    fn store_line(&self, line: Line, words: &[u64; 8]) {
        self.verbs.store_line(line, words);
    }

    fn read_into<T: Word>(&self, from: Ptr<T>, to: &mut [T]) {
        let words = from.slice(to.len());
        for (index, word) in to.iter_mut().enumerate() {
            *word = self.load_word(words.at(index), Use::Streamed);
        }
    }

    fn write_from<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        let words = to.slice(from.len());
        for (index, &word) in from.iter().enumerate() {
            self.verbs
                .store_word(Access::of(words.at(index)), word.to_bits());
        }
    }

    fn writeback(&self, line: Line) {
        self.verbs.writeback(line);
    }

    fn flush(&self, line: Line, how: Flush) {
        self.verbs.flush(line, how);
    }

    fn fence(&self, fence: Fence) {
        self.verbs.fence(fence);
    }

    fn pause(&self) -> Result<(), Gone> {
        self.check_stall()?;
        if self.verbs.pause(PAUSES_A_LOOK) {
            self.look()?;
        }
        Ok(())
    }

    /// Takes no simulated time.
    fn check_in(&self) -> Result<(), Gone> {
        self.look()
    }

    fn now(&self) -> Ticks {
        let mut world = self.verbs.done();
        let now = world.reading();
        if let Some(recorder) = &mut world.recorder {
            recorder.reading(self.verbs.id, now);
        }
        Ticks(now)
    }

    fn clock(&self) -> Clock {
        // What a lane does to a line takes effect in its host's other lanes one transfer between
        // caches after it began: by so much a lane may seem to know something before it happened.
        let error_ns = self.world().lookahead as f64 / 1e3;
        Clock {
            ticks_per_ns: 1e3,
            read_overhead: Ticks(0),
            across_hosts: Across::Comparable { error_ns },
        }
    }

    #[inline(always)]
    fn work(&self, cycles: u32) {
        self.verbs.work(cycles);
    }

    /// As the generic one, but the loads overlap: their addresses do not depend on each other.
    fn stream(&self, what: Stream, area: Slice<u64>, value: u64) -> u64 {
        let len = what.array_len(area.len());
        let load = |index| self.load_word(area.at(index), Use::Streamed);
        let mut sum = 0u64;
        for index in 0..len {
            let word = match what {
                Stream::Read => {
                    sum = sum.wrapping_add(load(index));
                    continue;
                }
                Stream::NtWrite => {
                    self.store_nt(area.at(index), value);
                    continue;
                }
                Stream::Write => value,
                Stream::Copy => load(len + index),
                Stream::Triad => {
                    let (b, c) = (load(len + index), load(2 * len + index));
                    (f64::from_bits(b) + TRIAD_SCALAR * f64::from_bits(c)).to_bits()
                }
            };
            self.verbs.store_word(Access::of(area.at(index)), word);
        }
        sum
    }

    type View<'a, T: Word>
        = SimView<'a, 'a, W, T>
    where
        Self: 'a;

    fn view<T: Word>(&self, frozen: Frozen<T>) -> Self::View<'_, T> {
        SimView {
            port: self,
            slice: frozen.slice(),
        }
    }

    type Private<'a, T: Word>
        = SimPrivate<'a, 'a, W, T>
    where
        Self: 'a;

    fn private<T: Word>(&self, len: usize, fill: T) -> Self::Private<'_, T> {
        let bytes = (len * T::BYTES) as u64;
        SimPrivate {
            port: self,
            first: self.world().private_lines(bytes),
            words: vec![fill; len],
        }
    }
}

impl<W: Watch> HostAtomics for SimPort<'_, W> {
    fn atomic_load<T: AtomicWord>(&self, at: impl Into<Cell<T>>) -> T {
        self.atomic(at.into(), false, |_| None)
    }

    fn atomic_store<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) {
        self.atomic(at.into(), false, |_| Some(value));
    }

    fn compare_exchange<T: AtomicWord>(
        &self,
        at: impl Into<Cell<T>>,
        current: T,
        new: T,
    ) -> Result<T, T> {
        let found = self.atomic(at.into(), true, |word| (word == current).then_some(new));
        if found == current {
            Ok(found)
        } else {
            Err(found)
        }
    }

    fn fetch_add<T: AtomicWord>(&self, at: impl Into<Cell<T>>, add: T) -> T {
        self.atomic(at.into(), true, |word| Some(word.wrapping_add(add)))
    }

    fn swap<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) -> T {
        self.atomic(at.into(), true, |_| Some(value))
    }
}

/// A window on a frozen range of a simulated region: its loads overlap.
pub struct SimView<'a, 'y, W, T> {
    port: &'a SimPort<'y, W>,
    slice: fabric::Slice<T>,
}

impl<W, T> Clone for SimView<'_, '_, W, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W, T> Copy for SimView<'_, '_, W, T> {}

impl<W: Watch, T: Word> View<T> for SimView<'_, '_, W, T> {
    fn len(&self) -> usize {
        self.slice.len()
    }

    #[inline(always)]
    fn get(&self, index: usize) -> T {
        assert!(
            index < self.slice.len(),
            "word {index} of a view of {}",
            self.slice.len()
        );
        self.port.load_word(self.slice.at(index), Use::Streamed)
    }
}

/// Memory of one simulated lane.
pub struct SimPrivate<'a, 'y, W, T> {
    port: &'a SimPort<'y, W>,
    first: u32,
    words: Vec<T>,
}

impl<W: Watch, T: Word> SimPrivate<'_, '_, W, T> {
    fn line(&self, index: usize) -> u32 {
        self.first + (index * T::BYTES / 64) as u32
    }

    #[inline(always)]
    fn charge(&self, index: usize, how: Use) {
        let line = self.line(index);
        let mut world = self.port.world();
        let idle = world.me.ops.is_empty();
        let served = idle && world.private_first_level(line, how);
        drop(world);
        if !served {
            self.port.verbs.private_access(line, how);
        }
    }
}

impl<W: Watch, T: Word> Private<T> for SimPrivate<'_, '_, W, T> {
    fn len(&self) -> usize {
        self.words.len()
    }

    #[inline(always)]
    fn get(&self, index: usize) -> T {
        self.charge(index, Use::Streamed);
        self.words[index]
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: T) {
        self.charge(index, Use::Streamed);
        self.words[index] = value;
    }

    fn flush(&self, index: usize, _: Flush) {
        let line = self.line(index);
        self.port.verbs.issue(Op::PrivateFlush(line));
    }

    /// Each hop waits for the load before it.
    fn chase(&self, from: u64, hops: u64) -> u64
    where
        Self: Private<u64>,
    {
        let mut at = from;
        for _ in 0..hops {
            let index = (at / 8) as usize;
            self.charge(index, Use::Chained);
            at = self.words[index].to_bits();
        }
        at
    }
}
