//! How a lane's program reaches the world, and gives way to the others.
//!
//! Nothing here is generic, so that the slow paths exist once, compiled together with the world's.

use std::cell::{RefCell, RefMut};

use corosensei::Yielder;
use fabric::{Fence, Flush, Line};
use model::Access;

use crate::ops::Op;
use crate::read::Use;
use crate::world::World;

/// How a lane gives way to the others.
pub(crate) type Turn = Yielder<(), ()>;

/// One lane's hold on the world.
#[derive(Clone, Copy)]
pub(crate) struct Verbs<'y> {
    pub(crate) world: &'y RefCell<World>,
    pub(crate) turn: &'y Turn,
    pub(crate) id: usize,
}

impl<'y> Verbs<'y> {
    /// The world, with everything simulated that this lane has asked for.
    #[inline(always)]
    pub(crate) fn done(&self) -> RefMut<'y, World> {
        let world = self.world.borrow_mut();
        if world.me.ops.is_empty() {
            world
        } else {
            self.catch_up(world)
        }
    }

    /// Lets the pod be simulated until this lane's program may go on.
    #[inline(never)]
    fn catch_up(&self, world: RefMut<'y, World>) -> RefMut<'y, World> {
        drop(world);
        self.turn.suspend(());
        self.world.borrow_mut()
    }

    /// An operation that the program does not wait for.
    #[inline(always)]
    pub(crate) fn issue(&self, op: Op) {
        self.issue_in(self.world.borrow_mut(), op);
    }

    #[inline(always)]
    fn issue_in(&self, mut world: RefMut<'y, World>, op: Op) {
        if world.me.ops.is_full() {
            world = self.catch_up(world);
        }
        world.issue(op);
    }

    /// An operation that the program waits for.
    #[inline(always)]
    pub(crate) fn perform(&self, mut world: RefMut<'y, World>, op: Op) -> RefMut<'y, World> {
        if world.me.ops.is_full() {
            world = self.catch_up(world);
        }
        if world.issue(op) {
            return world;
        }
        self.catch_up(world)
    }

    /// A load that the first level did not serve at once.
    ///
    /// A program is resumed with one return address fewer on its stack than the processor has
    /// predicted for each call that it gave way in: so it does that here, inlined into the program,
    /// and not in what is called.
    #[inline(always)]
    pub(crate) fn load_slowly(&self, at: Access, how: Use) -> u64 {
        if !self.begin_load(at, how) {
            self.turn.suspend(());
        }
        self.world.borrow().me.ops.value
    }

    /// Issues a load; whether it has its value.
    #[inline(never)]
    fn begin_load(&self, at: Access, how: Use) -> bool {
        let mut world = self.world.borrow_mut();
        let line = world.check_line(at.line().0);
        if world.me.ops.is_full() {
            world = self.catch_up(world);
        }
        world.issue(Op::Load(line, at.place(), how))
    }

    #[inline(always)]
    pub(crate) fn store_word(&self, at: Access, bits: u64) {
        let stored = self.world.borrow_mut().store_first_level(at, bits);
        if !stored {
            self.store_slowly(at, bits);
        }
    }

    #[inline(never)]
    fn store_slowly(&self, at: Access, bits: u64) {
        let world = self.world.borrow_mut();
        let line = world.check_line(at.line().0);
        self.issue_in(world, Op::Store(line, at.place(), bits));
    }

    #[inline(never)]
    pub(crate) fn store_nt(&self, at: Access, bits: u64) {
        let world = self.world.borrow_mut();
        let line = world.check_line(at.line().0);
        self.issue_in(world, Op::StoreNt(line, at.place(), bits));
    }

    #[inline(never)]
    pub(crate) fn store_line(&self, line: Line, words: &[u64; 8]) {
        // There is one place for such words.
        let mut world = self.done();
        let line = world.check_line(line.0);
        world.me.ops.words = *words;
        self.issue_in(world, Op::StoreLine(line));
    }

    #[inline(never)]
    pub(crate) fn writeback(&self, line: Line) {
        let world = self.world.borrow_mut();
        let line = world.check_line(line.0);
        self.issue_in(world, Op::Writeback(line));
    }

    #[inline(never)]
    pub(crate) fn flush(&self, line: Line, how: Flush) {
        let world = self.world.borrow_mut();
        let line = world.check_line(line.0);
        self.issue_in(world, Op::Flush(line, how));
    }

    #[inline(never)]
    pub(crate) fn fence(&self, fence: Fence) {
        self.issue(Op::Fence(fence));
    }

    /// An access to this lane's own memory that its first level did not serve at once.
    #[inline(never)]
    pub(crate) fn private_access(&self, line: u32, how: Use) {
        self.issue(Op::Private(line, how));
    }

    /// Pauses; says whether it is time for a look of the watch, which is so once in `every` pauses.
    pub(crate) fn pause(&self, every: u64) -> bool {
        let mut world = self.done();
        world.settle();
        let pause = world.timing.pause;
        let lane = &mut world.me;
        lane.clock += pause;
        lane.pauses += 1;
        let (now, look) = (lane.turn(), lane.pauses.is_multiple_of(every));
        if let Some(recorder) = &mut world.recorder {
            recorder.paused(self.id, now);
        }
        drop(self.perform(world, Op::Turn));
        look
    }
}
