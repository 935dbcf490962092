//! What a lane does with the world, and when it gives way to the others.
//!
//! Nothing here is generic, so that the slow paths exist once, compiled together with the world's.

use std::cell::{RefCell, RefMut};

use corosensei::Yielder;
use fabric::{Fence, Flush, Line};
use model::Access;

use crate::lane::Done;
use crate::read::{Begun, Use};
use crate::timing::Time;
use crate::world::World;
use crate::write::Owning;

/// How a lane gives way to the others: it names the one whose turn it is.
pub(crate) type Turn = Yielder<(), usize>;

/// One lane's hold on the world.
#[derive(Clone, Copy)]
pub(crate) struct Verbs<'y> {
    pub(crate) world: &'y RefCell<World>,
    pub(crate) turn: &'y Turn,
    pub(crate) id: usize,
}

impl<'y> Verbs<'y> {
    /// Waits until nobody of this coherence domain has anything to do before this lane.
    #[inline]
    pub(crate) fn my_turn(&self) -> RefMut<'y, World> {
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
    pub(crate) fn reach(&self, mut world: RefMut<'y, World>, to: Time) -> RefMut<'y, World> {
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
        let next = world.next_turn();
        let next = next.expect("this lane itself has something to do");
        drop(world);
        if next != self.id {
            self.turn.suspend(next);
        }
        self.world.borrow_mut()
    }

    #[inline(never)]
    pub(crate) fn load_slowly(&self, at: Access, how: Use) -> u64 {
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
    pub(crate) fn prefetch(&self, world: RefMut<'y, World>) {
        if let Some(arrival) = world.stream_arrival(self.id) {
            self.reach(world, arrival).fetch_stream(self.id, arrival);
        }
    }

    #[inline(always)]
    pub(crate) fn store_word(&self, at: Access, bits: u64) {
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
    pub(crate) fn own_line(
        &self,
        mut world: RefMut<'y, World>,
        line: Line,
    ) -> (RefMut<'y, World>, Done) {
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

    pub(crate) fn fence(&self, fence: Fence) {
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

    pub(crate) fn store_nt(&self, at: Access, bits: u64) {
        self.my_turn_with(at.line()).store_nt(self.id, at, bits);
    }

    pub(crate) fn store_line(&self, line: Line, words: &[u64; 8]) {
        self.my_turn_with(line).store_line(self.id, line, words);
    }

    pub(crate) fn writeback(&self, line: Line) {
        self.my_turn_with(line).writeback(self.id, line);
    }

    pub(crate) fn flush(&self, line: Line, how: Flush) {
        self.my_turn_with(line).flush(self.id, line, how);
    }

    /// An access to this lane's own memory that its first level did not serve.
    pub(crate) fn private_access(&self, line: u32, how: Use) {
        let world = self.my_turn();
        let claimed = world.claim_by_filling(self.id, line);
        let mut world = self.reach_in_host(world, claimed);
        world.private_access(self.id, line, how);
    }

    /// Pauses; says whether it is time for a look of the watch, which is so once in `every` pauses.
    pub(crate) fn pause(&self, every: u64) -> bool {
        let mut world = self.world.borrow_mut();
        world.settle(self.id);
        let pause = world.timing.pause;
        let lane = &mut world.lanes[self.id];
        lane.clock += pause;
        lane.pauses += 1;
        let (now, look) = (lane.turn(), lane.pauses.is_multiple_of(every));
        if let Some(recorder) = &mut world.recorder {
            recorder.paused(self.id, now);
        }
        drop(self.reach(world, now));
        look
    }
}
