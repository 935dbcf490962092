//! A simulated lane's port.

use std::cell::{RefCell, RefMut};

use corosensei::Yielder;
use fabric::{
    Across, AtomicWord, Cell, Clock, Coherence, Discipline, Fence, Flush, Frozen, Gone,
    HostAtomics, Line, NoWatch, Port, Private, Ptr, Seat, Slice, Stream, TRIAD_SCALAR, Ticks, View,
    Watch, Word,
};
use model::Access;

use crate::lane::Done;
use crate::read::{Begun, Use};
use crate::record::Kind;
use crate::timing::Time;
use crate::world::World;
use crate::write::Owning;

/// How a lane gives way to the others.
pub(crate) type Turn = Yielder<(), ()>;

/// Pauses between two looks of the watch: heartbeats are milliseconds apart, pauses tens of
/// nanoseconds.
const PAUSES_A_LOOK: u64 = 1024;

/// One lane's way into a simulated region.
pub struct SimPort<'y, W> {
    world: &'y RefCell<World>,
    turn: &'y Turn,
    watch: &'y W,
    id: usize,
    seat: Seat,
}

impl<'y, W: Watch> SimPort<'y, W> {
    pub(crate) fn new(
        world: &'y RefCell<World>,
        turn: &'y Turn,
        watch: &'y W,
        id: usize,
        seat: Seat,
    ) -> Self {
        Self {
            world,
            turn,
            watch,
            id,
            seat,
        }
    }

    /// Waits until nobody of this coherence domain has anything to do before this lane.
    #[inline]
    fn my_turn(&self) -> RefMut<'y, World> {
        let world = self.world.borrow_mut();
        let now = world.lanes[self.id].turn();
        if now < world.until.host {
            return world;
        }
        let takes_from = world.takes_effect(self.id);
        self.give_way(world, now, takes_from)
    }

    /// As [`my_turn`](Self::my_turn), for what changes or drops a line: at the moment of its effect
    /// on other lanes of this host.
    #[inline]
    fn my_turn_with(&self, line: Line) -> RefMut<'y, World> {
        let world = self.my_turn();
        let claimed = world.claim(self.id, line.0 as u32);
        self.reach_in_host(world, claimed)
    }

    /// Waits until everything in this host before `to` has been simulated, if there is such a time.
    #[inline(always)]
    fn reach_in_host(&self, mut world: RefMut<'y, World>, to: Option<Time>) -> RefMut<'y, World> {
        match to {
            None => world,
            Some(to) if to < world.until.host => {
                let lane = &mut world.lanes[self.id];
                lane.floor = lane.floor.max(to);
                world
            }
            Some(to) => self.give_way(world, to, to),
        }
    }

    /// Waits until everything in the pod before `to` has been simulated.
    #[inline]
    fn reach(&self, mut world: RefMut<'y, World>, to: Time) -> RefMut<'y, World> {
        if to < world.until.pod {
            world.arrive_until(to);
            let lane = &mut world.lanes[self.id];
            lane.floor = lane.floor.max(to);
            return world;
        }
        self.give_way(world, to, to)
    }

    /// Lets others go on until it is this lane's turn at `to`; it takes no line from another lane
    /// before `takes_from`.
    #[inline(never)]
    fn give_way(
        &self,
        mut world: RefMut<'y, World>,
        to: Time,
        takes_from: Time,
    ) -> RefMut<'y, World> {
        let lane = &mut world.lanes[self.id];
        lane.takes_from = takes_from;
        lane.floor = lane.floor.max(to);
        world.agenda.set(self.id, to);
        drop(world);
        self.turn.suspend(());
        self.world.borrow_mut()
    }

    #[inline(always)]
    fn load_word<T: Word>(&self, at: Ptr<T>, how: Use) -> T {
        let access = Access::of(at);
        let served = self
            .world
            .borrow_mut()
            .load_first_level(self.id, access, how);
        T::from_bits(served.unwrap_or_else(|| self.load_slowly(access, how)))
    }

    #[inline(never)]
    fn load_slowly(&self, at: Access, how: Use) -> u64 {
        let mut world = self.world.borrow_mut();
        if world.look_ahead(self.id, at.line().0 as u32)
            && let Some(bits) = world.load_first_level(self.id, at, how)
        {
            return bits;
        }
        drop(world);
        world = self.my_turn();
        let claimed = world.claim_by_reading(self.id, Some(at.line().0 as u32));
        world = self.reach_in_host(world, claimed);
        let (world, bits) = match world.begin_load(self.id, at, how) {
            Begun::Hit(bits) => (world, bits),
            Begun::Miss(arrival) => self.until_clear(world, arrival, |world, arrival| {
                world.end_load(self.id, at, how, arrival)
            }),
        };
        self.prefetch(world);
        bits
    }

    /// Reaches `arrival` and tries `end` there, again at whatever later time it names. When lanes
    /// are being unwound nobody waits, so a lane does not insist either.
    #[inline(always)]
    fn until_clear<R>(
        &self,
        mut world: RefMut<'y, World>,
        mut arrival: Time,
        end: impl Fn(&mut World, Time) -> Result<R, Time>,
    ) -> (RefMut<'y, World>, R) {
        loop {
            world = self.reach(world, arrival);
            if world.down {
                world.arrive_until(Time::MAX);
            }
            match end(&mut world, arrival) {
                Ok(done) => return (world, done),
                Err(later) => arrival = later,
            }
        }
    }

    /// The lane's prefetcher asks the device for lines of a stream.
    #[inline(always)]
    fn prefetch(&self, world: RefMut<'y, World>) {
        if let Some(arrival) = world.stream_arrival(self.id) {
            self.reach(world, arrival).fetch_stream(self.id, arrival);
        }
    }

    #[inline(always)]
    fn store_word(&self, at: Access, bits: u64) {
        let stored = self.world.borrow_mut().store_first_level(self.id, at, bits);
        if !stored {
            self.store_slowly(at, bits);
        }
    }

    #[inline(never)]
    fn store_slowly(&self, at: Access, bits: u64) {
        let mut world = self.world.borrow_mut();
        let ahead = world.look_ahead(self.id, at.line().0 as u32);
        if ahead && world.store_first_level(self.id, at, bits) {
            return;
        }
        drop(world);
        let (mut world, done) = self.own_line(self.my_turn(), at.line());
        world.store_owned(self.id, at, bits, done);
        self.prefetch(world);
    }

    /// Makes this lane the owner of a line; returns when it is.
    #[inline(always)]
    fn own_line(&self, mut world: RefMut<'y, World>, line: Line) -> (RefMut<'y, World>, Done) {
        let claimed = world.claim(self.id, line.0 as u32);
        world = self.reach_in_host(world, claimed);
        match world.begin_owning(self.id, line, claimed.is_some()) {
            Owning::Here(latency) => {
                let at = world.lanes[self.id].clock + latency;
                (world, Done { at, queued: 0 })
            }
            Owning::Miss(arrival) => self.until_clear(world, arrival, |world, arrival| {
                world.end_owning(self.id, line, arrival)
            }),
        }
    }

    fn fence_now(&self, fence: Fence) {
        let mut world = self.world.borrow_mut();
        if !world.fences_alone(self.id, fence) {
            drop(world);
            world = self.my_turn();
            let claimed = world.claim_by_reading(self.id, None);
            world = self.reach_in_host(world, claimed);
        }
        if let Some(arrival) = world.begin_fence(self.id, fence) {
            world = self.reach(world, arrival);
        }
        world.end_fence(self.id, fence);
    }

    /// An atomic instruction that changes a word, or only reads it.
    fn atomic<T: AtomicWord>(
        &self,
        at: Cell<T>,
        locked: bool,
        change: impl FnOnce(T) -> Option<T>,
    ) -> T {
        if locked {
            self.fence_now(Fence::Full);
        }
        let mut world = self.world.borrow_mut();
        world.settle(self.id);
        if locked {
            let cost = world.timing.atomic;
            let at = world.lanes[self.id].clock + cost;
            world.wait(self.id, Done { at, queued: 0 }, Kind::Local);
        }
        let now = world.lanes[self.id].turn();
        let mut world = self.reach(world, now);
        let change = |bits| change(T::from_bits(bits)).map(T::to_bits);
        let bits = match at {
            Cell::Host(word) => world.host_word(self.id, word.offset(), T::BYTES, change),
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
        let (mut world, done) = self.own_line(world, at.line());
        let before = world.owned(self.id, at).content.get(at);
        if let Some(after) = change(before) {
            world.owned(self.id, at).store(at, after);
            world.progress = world.progress.max(world.lanes[self.id].turn());
        }
        world.wait(self.id, done, Kind::Observe);
        self.prefetch(world);
        before
    }

    fn check_stall(&self) -> Result<(), Gone> {
        let world = self.world.borrow();
        if world.down {
            return Err(Gone::Teardown {
                why: "another lane failed",
            });
        }
        let waited = world.lanes[self.id].turn().saturating_sub(world.progress);
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
        if self.world.borrow().timing.coherent {
            Coherence::Hardware
        } else {
            Coherence::Software
        }
    }

    fn discipline(&self) -> Discipline {
        self.world.borrow().discipline
    }

    #[inline(always)]
    fn load<T: Word>(&self, at: Ptr<T>) -> T {
        self.load_word(at, Use::Chained)
    }

    #[inline(always)]
    fn store<T: Word>(&self, at: Ptr<T>, value: T) {
        self.store_word(Access::of(at), value.to_bits());
    }

    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T) {
        let access = Access::of(at);
        self.my_turn_with(access.line())
            .store_nt(self.id, access, value.to_bits());
    }

    fn store_line(&self, line: Line, words: &[u64; 8]) {
        self.my_turn_with(line)
            .store_line(self.id, line, words);
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
            self.store_word(Access::of(words.at(index)), word.to_bits());
        }
    }

    fn writeback(&self, line: Line) {
        self.my_turn_with(line).writeback(self.id, line);
    }

    fn flush(&self, line: Line, how: Flush) {
        self.my_turn_with(line).flush(self.id, line, how);
    }

    fn fence(&self, fence: Fence) {
        self.fence_now(fence);
    }

    fn pause(&self) -> Result<(), Gone> {
        self.check_stall()?;
        let mut world = self.world.borrow_mut();
        world.settle(self.id);
        let pause = world.timing.pause;
        let lane = &mut world.lanes[self.id];
        lane.clock += pause;
        lane.pauses += 1;
        let (now, look) = (lane.turn(), lane.pauses.is_multiple_of(PAUSES_A_LOOK));
        if let Some(recorder) = &mut world.recorder {
            recorder.paused(self.id, now);
        }
        drop(self.reach(world, now));
        if look {
            let bare = SimPort::new(self.world, self.turn, &NoWatch, self.id, self.seat);
            self.watch.look(self.seat, &bare)?;
        }
        Ok(())
    }

    fn now(&self) -> Ticks {
        let mut world = self.world.borrow_mut();
        world.settle(self.id);
        let now = world.lanes[self.id].clock;
        if let Some(recorder) = &mut world.recorder {
            recorder.reading(self.id, now);
        }
        Ticks(now)
    }

    fn clock(&self) -> Clock {
        Clock {
            ticks_per_ns: 1e3,
            read_overhead: Ticks(0),
            across_hosts: Across::Comparable { error_ns: 0.0 },
        }
    }

    #[inline(always)]
    fn work(&self, cycles: u32) {
        let mut world = self.world.borrow_mut();
        let time = u64::from(cycles) * world.timing.cycle;
        world.lanes[self.id].clock += time;
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
            self.store_word(Access::of(area.at(index)), word);
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
            first: self.world.borrow_mut().private_lines(self.id, bytes),
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
        let id = self.port.id;
        let served = self
            .port
            .world
            .borrow_mut()
            .private_first_level(id, line, how);
        if !served {
            let world = self.port.my_turn();
            let claimed = world.claim_by_filling(id, line);
            let mut world = self.port.reach_in_host(world, claimed);
            world.private_access(id, line, how);
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
        self.port.my_turn().private_flush(self.port.id, line);
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
