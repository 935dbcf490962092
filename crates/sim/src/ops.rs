//! Operations of a lane, step by step: what each does at its turn, and where it waits for one.
//!
//! An operation that has to wait leaves its lane on the agenda, with the stage to go on from. The
//! program goes on meanwhile while it asks for no value: stores, flushes and fences queue up, and
//! are simulated in their order, each at its turn. So a program is resumed once for each value that
//! it waits for, not once for each step of each operation.

use fabric::{Fence, Flush};
use model::Access;

use crate::lane::Done;
use crate::read::{Begun, Use};
use crate::timing::Time;
use crate::world::{Until, World};
use crate::write::Owning;

/// What a lane asks for. Lines have been checked to be in the region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Load(Access, Use),
    Store(Access, u64),
    StoreNt(Access, u64),
    /// Of the words in [`Ops::words`].
    StoreLine(u32),
    Writeback(u32),
    Flush(u32, Flush),
    Fence(Fence),
    /// Cycles on private data.
    Work(u32),
    /// A line of the lane's own memory.
    Private(u32, Use),
    PrivateFlush(u32),
    /// Waits for the lane's turn in the whole pod.
    Turn,
    /// Makes the lane the owner of a line, at its turn in the pod; when is in [`Ops::owned`].
    Own(u32),
    /// Lets the lane's prefetcher ask for what it wants.
    Prefetch,
}

/// How far an operation has come, in the order of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It has waited behind others.
    Queued,
    /// The program has issued it, and its first level did not serve it.
    Issued,
    /// It is its turn in the host.
    Turn,
    /// It may take the line from other lanes of the host.
    Taken,
    /// Its request is at the device, or what it waits for is.
    Arrived,
    /// The request of the prefetcher is at the device.
    Prefetch,
}

/// Operations that a program may be ahead of what has been simulated: a publish and an observe of
/// a few lines each.
const AHEAD: usize = 16;

/// A lane's operations under way.
#[derive(Debug)]
pub(crate) struct Ops {
    queue: [Op; AHEAD],
    first: u8,
    len: u8,
    /// Where the first one goes on, and the time that it waited for.
    stage: Stage,
    at: Time,
    /// What the last load brought.
    pub value: u64,
    pub owned: Done,
    pub words: [u64; 8],
}

impl Ops {
    pub(crate) fn new() -> Self {
        Self {
            queue: [Op::Turn; AHEAD],
            first: 0,
            len: 0,
            stage: Stage::Queued,
            at: 0,
            value: 0,
            owned: Done::default(),
            words: [0; 8],
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len as usize == AHEAD
    }

    pub(crate) fn clear(&mut self) {
        (self.first, self.len) = (0, 0);
    }

    #[inline(always)]
    fn push(&mut self, op: Op) {
        self.queue[self.len as usize] = op;
        self.len += 1;
    }

    /// The first one, and where it goes on.
    #[inline(always)]
    fn first(&self) -> Option<(Op, Stage)> {
        (self.len != 0).then(|| (self.queue[self.first as usize], self.stage))
    }

    /// The first one is done. Places are used again when all are: programs wait for that.
    #[inline(always)]
    fn pop(&mut self) {
        self.stage = Stage::Queued;
        self.first += 1;
        if self.first == self.len {
            self.clear();
        }
    }
}

impl World {
    /// A lane's program issues an operation: it is done now, or queued. The queue is not full.
    #[inline(always)]
    pub(crate) fn issue(&mut self, id: usize, op: Op) -> bool {
        let done = self.lanes[id].ops.is_empty() && self.advance(id, op, Stage::Issued);
        if !done {
            self.lanes[id].ops.push(op);
        }
        done
    }

    /// Simulates until the program of a lane has to go on: which one, or none if all have ended.
    #[inline]
    pub(crate) fn next_program(&mut self) -> Option<usize> {
        loop {
            let id = self.next_turn()?;
            if self.work_off(id) {
                return Some(id);
            }
        }
    }

    /// Whether all that the lane has queued is done.
    #[inline(always)]
    fn work_off(&mut self, id: usize) -> bool {
        while let Some((op, stage)) = self.lanes[id].ops.first() {
            if !self.advance(id, op, stage) {
                return false;
            }
            self.lanes[id].ops.pop();
        }
        true
    }

    /// Goes on with an operation from `stage`; false if it has to wait.
    #[inline]
    fn advance(&mut self, id: usize, op: Op, stage: Stage) -> bool {
        match op {
            Op::Load(at, how) => self.advance_load(id, at, how, stage),
            Op::Store(at, bits) => self.advance_store(id, at, bits, stage),
            Op::Flush(line, how) => {
                let now = self.may_change(id, line, stage);
                if now {
                    self.flush(id, line, how);
                }
                now
            }
            Op::Writeback(line) => {
                let now = self.may_change(id, line, stage);
                if now {
                    self.writeback(id, line);
                }
                now
            }
            Op::Fence(fence) => self.advance_fence(id, fence, stage),
            _ => self.advance_other(id, op, stage),
        }
    }

    #[inline(never)]
    fn advance_other(&mut self, id: usize, op: Op, stage: Stage) -> bool {
        match op {
            Op::StoreNt(at, bits) => {
                let now = self.may_change(id, at.line().0 as u32, stage);
                if now {
                    self.store_nt(id, at, bits);
                }
                now
            }
            Op::StoreLine(line) => {
                let now = self.may_change(id, line, stage);
                if now {
                    self.store_line(id, line);
                }
                now
            }
            Op::Work(cycles) => {
                self.lanes[id].clock += u64::from(cycles) * self.timing.cycle;
                true
            }
            Op::Private(line, how) => self.advance_private(id, line, how, stage),
            Op::PrivateFlush(line) => {
                let now = stage >= Stage::Turn || self.my_turn(id);
                if now {
                    self.private_flush(id, line);
                }
                now
            }
            Op::Turn => {
                let now = self.lanes[id].turn();
                stage == Stage::Arrived || self.reach(id, now, Stage::Arrived)
            }
            Op::Own(line) => {
                let owned = self.advance_owning(id, line, stage);
                owned.map(|done| self.lanes[id].ops.owned = done).is_some()
            }
            Op::Prefetch => self.prefetch(id, stage),
            Op::Load(..) | Op::Store(..) | Op::Flush(..) | Op::Writeback(..) | Op::Fence(_) => {
                unreachable!("advance() took these")
            }
        }
    }

    fn advance_load(&mut self, id: usize, at: Access, how: Use, mut stage: Stage) -> bool {
        let line = at.line().0 as u32;
        if stage <= Stage::Issued {
            let fast = stage == Stage::Queued || self.look_ahead(id, line);
            if let Some(bits) = fast.then(|| self.load_first_level(id, at, how)).flatten() {
                self.lanes[id].ops.value = bits;
                return true;
            }
            if !self.my_turn(id) {
                return false;
            }
        }
        if stage <= Stage::Turn && !self.take(id, self.claim_by_reading(id, Some(line))) {
            return false;
        }
        if stage <= Stage::Taken {
            match self.begin_load(id, at, how) {
                Begun::Hit(bits) => self.lanes[id].ops.value = bits,
                Begun::Miss(arrival) if self.reach(id, arrival, Stage::Arrived) => {
                    stage = Stage::Arrived;
                }
                Begun::Miss(_) => return false,
            }
        }
        if stage == Stage::Arrived {
            match self.until_clear(id, |world, arrival| world.end_load(id, at, how, arrival)) {
                Some(bits) => self.lanes[id].ops.value = bits,
                None => return false,
            }
        }
        self.prefetch(id, stage)
    }

    fn advance_store(&mut self, id: usize, at: Access, bits: u64, stage: Stage) -> bool {
        let line = at.line().0 as u32;
        if stage <= Stage::Issued {
            let fast = stage == Stage::Queued || self.look_ahead(id, line);
            if fast && self.store_first_level(id, at, bits) {
                return true;
            }
            if !self.my_turn(id) {
                return false;
            }
        }
        if stage <= Stage::Arrived {
            let Some(done) = self.advance_owning(id, line, stage) else {
                return false;
            };
            self.store_owned(id, at, bits, done);
        }
        self.prefetch(id, stage)
    }

    /// Makes the lane the owner of a line, from its turn on; says when it is, or nothing if it has
    /// to wait.
    #[inline(always)]
    fn advance_owning(&mut self, id: usize, line: u32, stage: Stage) -> Option<Done> {
        // Whoever has waited at this stage had something to claim.
        let mut claimed = true;
        if stage <= Stage::Turn {
            let claim = self.claim(id, line);
            claimed = claim.is_some();
            if !self.take(id, claim) {
                return None;
            }
        }
        if stage <= Stage::Taken {
            match self.begin_owning(id, line, claimed) {
                Owning::Here(latency) => {
                    let at = self.lanes[id].clock + latency;
                    return Some(Done { at, queued: 0 });
                }
                Owning::Miss(arrival) => {
                    if !self.reach(id, arrival, Stage::Arrived) {
                        return None;
                    }
                }
            }
        }
        self.until_clear(id, |world, arrival| world.end_owning(id, line, arrival))
    }

    fn advance_fence(&mut self, id: usize, fence: Fence, stage: Stage) -> bool {
        if stage <= Stage::Turn && !self.fences_alone(id, fence) {
            if stage <= Stage::Issued && !self.my_turn(id) {
                return false;
            }
            if !self.take(id, self.claim_by_reading(id, None)) {
                return false;
            }
        }
        if stage <= Stage::Taken
            && let Some(arrival) = self.begin_fence(id, fence)
            && !self.reach(id, arrival, Stage::Arrived)
        {
            return false;
        }
        self.end_fence(id, fence);
        true
    }

    fn advance_private(&mut self, id: usize, line: u32, how: Use, stage: Stage) -> bool {
        if stage == Stage::Queued && self.private_first_level(id, line, how) {
            return true;
        }
        if stage <= Stage::Issued && !self.my_turn(id) {
            return false;
        }
        if stage <= Stage::Turn && !self.take(id, self.claim_by_filling(id, line)) {
            return false;
        }
        self.private_access(id, line, how);
        true
    }

    /// Whether it is the moment at which what changes or drops a line takes effect on the other
    /// lanes of the host.
    #[inline(always)]
    fn may_change(&mut self, id: usize, line: u32, stage: Stage) -> bool {
        if stage <= Stage::Issued && !self.my_turn(id) {
            return false;
        }
        stage > Stage::Turn || self.take(id, self.claim(id, line))
    }

    /// The lane's prefetcher asks the device for lines of a stream.
    #[inline(always)]
    fn prefetch(&mut self, id: usize, stage: Stage) -> bool {
        if stage == Stage::Prefetch {
            let arrival = self.lanes[id].ops.at;
            self.fetch_stream(id, arrival);
        } else if let Some(arrival) = self.stream_arrival(id) {
            if !self.reach(id, arrival, Stage::Prefetch) {
                return false;
            }
            self.fetch_stream(id, arrival);
        }
        true
    }

    /// Tries `end` where the request has arrived, again at whatever later time it names. When lanes
    /// are being unwound nobody waits, so a lane does not insist either.
    #[inline(always)]
    fn until_clear<R>(
        &mut self,
        id: usize,
        end: impl Fn(&mut Self, Time) -> Result<R, Time>,
    ) -> Option<R> {
        loop {
            if self.down {
                self.arrive_until(Time::MAX);
            }
            match end(self, self.lanes[id].ops.at) {
                Ok(done) => return Some(done),
                Err(later) => {
                    if !self.reach(id, later, Stage::Arrived) {
                        return None;
                    }
                }
            }
        }
    }

    /// Whether nobody of the lane's coherence domain has anything to do before it.
    #[inline(always)]
    fn my_turn(&mut self, id: usize) -> bool {
        let now = self.lanes[id].turn();
        if now < self.until.host {
            return true;
        }
        let takes_from = self.takes_effect(id);
        self.give_way(id, now, takes_from, Stage::Turn)
    }

    /// Whether everything in the lane's host before `to` has been simulated, if there is such a
    /// time.
    #[inline(always)]
    fn take(&mut self, id: usize, to: Option<Time>) -> bool {
        match to {
            None => true,
            Some(to) if to < self.until.host => {
                let lane = &mut self.lanes[id];
                lane.floor = lane.floor.max(to);
                true
            }
            Some(to) => self.give_way(id, to, to, Stage::Taken),
        }
    }

    /// Whether everything in the pod before `to` has been simulated; otherwise the operation goes
    /// on at `stage` when it has.
    #[inline(always)]
    fn reach(&mut self, id: usize, to: Time, stage: Stage) -> bool {
        if to >= self.until.pod {
            return self.give_way(id, to, to, stage);
        }
        self.arrive_until(to);
        let lane = &mut self.lanes[id];
        lane.floor = lane.floor.max(to);
        lane.ops.at = to;
        true
    }

    /// Lets others go on until it is this lane's turn at `to`; it takes no line from another lane
    /// before `takes_from`. Never true, as the answer to whether it may go on.
    #[inline]
    fn give_way(&mut self, id: usize, to: Time, takes_from: Time, stage: Stage) -> bool {
        let lane = &mut self.lanes[id];
        lane.takes_from = takes_from;
        lane.floor = lane.floor.max(to);
        (lane.ops.at, lane.ops.stage) = (to, stage);
        self.agenda.set(id, to);
        // Its program may go on, and hits nothing by itself.
        self.until = Until::always(0);
        false
    }
}
