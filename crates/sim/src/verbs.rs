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

/// A load that has been asked for.
enum Begin {
    /// The host had the line, and nobody could interfere.
    Served(u64),
    /// The program has to give way; `down` if nobody would resume it.
    Queued { down: bool },
}

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
        let down = world.down;
        drop(world);
        self.give_way(down);
        self.world.borrow_mut()
    }

    #[inline(always)]
    fn give_way(&self, down: bool) {
        if down {
            // This lane is being unwound: nobody would resume it.
            self.world.borrow_mut().next_program();
        } else {
            self.turn.suspend(());
        }
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
        world.issue(op);
        self.catch_up(world)
    }

    /// A load that the first level did not serve.
    ///
    /// A processor predicts returns by the calls before, on whatever stack: a program that gives
    /// way inside a call finds itself returning elsewhere. So it gives way here, where it is
    /// inlined, and what is called returns first.
    #[inline(always)]
    pub(crate) fn load_slowly(&self, at: Access, how: Use) -> u64 {
        match self.begin_load(at, how) {
            Begin::Served(bits) => bits,
            Begin::Queued { down } => {
                self.give_way(down);
                self.world.borrow().me.ops.value
            }
        }
    }

    #[inline(never)]
    fn begin_load(&self, at: Access, how: Use) -> Begin {
        let mut world = self.world.borrow_mut();
        let line = world.check_line(at.line().0);
        if let Some(bits) = world.load_in_host(at, how) {
            return Begin::Served(bits);
        }
        if world.me.ops.is_full() {
            world = self.catch_up(world);
        }
        world.issue(Op::Load(line, at.place(), how));
        Begin::Queued { down: world.down }
    }

    #[inline(always)]
    pub(crate) fn store_word(&self, at: Access, bits: u64) {
        let stored = self.world.borrow_mut().store_first_level(at, bits);
        if !stored {
            self.store_slowly(at, bits);
        }
    }

    #[inline(always)]
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

    #[inline(always)]
    pub(crate) fn writeback(&self, line: Line) {
        let world = self.world.borrow_mut();
        let line = world.check_line(line.0);
        self.issue_in(world, Op::Writeback(line));
    }

    #[inline(always)]
    pub(crate) fn flush(&self, line: Line, how: Flush) {
        let world = self.world.borrow_mut();
        let line = world.check_line(line.0);
        self.issue_in(world, Op::Flush(line, how));
    }

    #[inline(always)]
    pub(crate) fn fence(&self, fence: Fence) {
        self.issue(Op::Fence(fence));
    }

    /// An access to this lane's own memory that its first level did not serve at once.
    #[inline(never)]
    pub(crate) fn private_access(&self, line: u32, how: Use) {
        let mut world = self.world.borrow_mut();
        if !world.private_in_host(line, how) {
            self.issue_in(world, Op::Private(line, how));
        }
    }

    /// Cycles on private data.
    #[inline(always)]
    pub(crate) fn work(&self, cycles: u32) {
        let mut world = self.world.borrow_mut();
        if world.me.ops.is_empty() {
            world.work(cycles);
        } else {
            self.issue_in(world, Op::Work(cycles));
        }
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
