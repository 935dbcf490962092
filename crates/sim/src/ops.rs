//! Operations of a lane, step by step: what each does at its turn, and where it waits for one.
//!
//! Operations queue up while the program asks for no value: stores, flushes and fences. When it
//! needs one it gives way, and they are simulated in their order, each at its turn: by one loop, on
//! one stack, for all lanes. One that has to wait leaves its lane on the agenda, with the stage to
//! go on from. So a program is resumed once for each value that it waits for, not once for each
//! step of each operation; what its host's caches serve at once it gets without.

use fabric::{Fence, Flush, Line};
use model::{Access, Place};

use crate::lane::Done;
use crate::read::{Begun, Use};
use crate::timing::Time;
use crate::world::{Until, World};
use crate::write::Owning;

/// What a lane asks for. Lines have been checked to be in the region.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Load(u32, Place, Use),
    Store(u32, Place, u64),
    StoreNt(u32, Place, u64),
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
#[repr(C, align(64))] // in few cache lines, as a lane
pub(crate) struct Ops {
    /// When the first one goes on, or went on last.
    pub at: Time,
    stage: Stage,
    first: u8,
    len: u8,
    /// What the last load brought.
    pub value: u64,
    queue: [Op; AHEAD],
    pub owned: Done,
    pub words: [u64; 8],
}

impl Ops {
    pub(crate) fn new() -> Self {
        Self {
            at: 0,
            stage: Stage::Queued,
            first: 0,
            len: 0,
            value: 0,
            queue: [Op::Turn; AHEAD],
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

    /// All of them are done: only then places are used again, programs wait for that.
    pub(crate) fn clear(&mut self) {
        (self.first, self.len, self.stage) = (0, 0, Stage::Queued);
    }

    /// Whether there are any, and nothing has been done for them yet.
    #[inline(always)]
    fn has_new(&self) -> bool {
        self.len > 0 && self.stage == Stage::Issued
    }

    /// Queues an operation. The queue is not full.
    #[inline(always)]
    fn push(&mut self, op: Op) {
        let place = self.len as usize % AHEAD;
        self.queue[place] = op;
        self.len += 1;
        if place == 0 {
            self.stage = Stage::Issued;
        }
    }
}

#[inline(always)]
fn word(line: u32, place: Place) -> Access {
    Access::of_line(Line(u64::from(line)), place)
}

impl World {
    /// A lane's program issues an operation. The queue is not full.
    #[inline(always)]
    pub(crate) fn issue(&mut self, op: Op) {
        self.me.ops.push(op);
        // Whatever the program does next is behind it, hits included.
        self.until.hits = 0;
    }

    /// Simulates until the program of a lane has to go on: which one, or none if all have ended.
    #[inline(never)]
    pub(crate) fn next_program(&mut self) -> Option<usize> {
        let mut id = self.me.id;
        // It is still the turn of a lane that has not begun with what it has issued.
        let mut its_turn = self.me.ops.has_new();
        self.until.hits = self.until.domain;
        loop {
            if !its_turn {
                id = self.next_turn()?;
            }
            its_turn = false;
            if self.me.ops.is_empty() || self.work_off() {
                return Some(id);
            }
        }
    }

    /// Goes on with what the lane has queued, which is something; whether all of it is done.
    #[inline(always)]
    fn work_off(&mut self) -> bool {
        let (mut stage, len) = (self.me.ops.stage, self.me.ops.len);
        let mut first = self.me.ops.first;
        while self.advance(first, stage) {
            stage = Stage::Queued;
            first += 1;
            if first == len {
                self.me.ops.clear();
                return true;
            }
        }
        self.me.ops.first = first;
        false
    }

    /// Goes on with an operation; false if it has to wait.
    #[inline(always)]
    fn advance(&mut self, place: u8, stage: Stage) -> bool {
        // Field by field, as it was written: read back as a whole it would wait for that.
        match self.me.ops.queue[place as usize % AHEAD] {
            Op::Load(line, place, how) => self.advance_load(word(line, place), how, stage),
            Op::Store(line, place, bits) => self.advance_store(word(line, place), bits, stage),
            Op::Flush(line, how) => self.may_change(line, stage) && self.flush(line, how),
            Op::Fence(fence) => self.advance_fence(fence, stage),
            _ => self.advance_other(place, stage),
        }
    }

    #[inline(never)]
    fn advance_other(&mut self, place: u8, stage: Stage) -> bool {
        match self.me.ops.queue[place as usize % AHEAD] {
            Op::Writeback(line) => self.may_change(line, stage) && self.writeback(line),
            Op::StoreNt(line, place, bits) => {
                self.may_change(line, stage) && self.store_nt(word(line, place), bits)
            }
            Op::StoreLine(line) => self.may_change(line, stage) && self.store_line(line),
            Op::Work(cycles) => {
                self.work(cycles);
                true
            }
            Op::Private(line, how) => self.advance_private(line, how, stage),
            Op::PrivateFlush(line) => {
                (stage >= Stage::Turn || self.my_turn()) && self.private_flush(line)
            }
            Op::Turn => {
                let now = self.me.turn();
                stage == Stage::Arrived || self.reach(now, Stage::Arrived)
            }
            Op::Own(line) => {
                let owned = self.advance_owning(line, stage);
                owned.map(|done| self.me.ops.owned = done).is_some()
            }
            Op::Prefetch => self.prefetch(stage),
            Op::Load(..) | Op::Store(..) | Op::Flush(..) | Op::Fence(_) => {
                unreachable!("advance() took these")
            }
        }
    }

    #[inline(always)]
    fn advance_load(&mut self, at: Access, how: Use, mut stage: Stage) -> bool {
        let line = at.line().0 as u32;
        if stage <= Stage::Issued {
            let fast = stage == Stage::Queued || self.look_ahead(line);
            if let Some(bits) = fast.then(|| self.load_first_level(at, how)).flatten() {
                self.me.ops.value = bits;
                return true;
            }
            if !self.my_turn() {
                return false;
            }
        }
        if stage <= Stage::Turn && !self.take(self.claim_by_reading(Some(line))) {
            return false;
        }
        if stage <= Stage::Taken {
            match self.begin_load(at, how) {
                Begun::Hit(bits) => self.me.ops.value = bits,
                Begun::Miss(arrival) if self.reach(arrival, Stage::Arrived) => {
                    stage = Stage::Arrived;
                }
                Begun::Miss(_) => return false,
            }
        }
        if stage == Stage::Arrived {
            match self.until_clear(|world, arrival| world.end_load(at, how, arrival)) {
                Some(bits) => self.me.ops.value = bits,
                None => return false,
            }
        }
        self.prefetch(stage)
    }

    #[inline(always)]
    fn advance_store(&mut self, at: Access, bits: u64, stage: Stage) -> bool {
        let line = at.line().0 as u32;
        if stage <= Stage::Issued {
            let fast = stage == Stage::Queued || self.look_ahead(line);
            if fast && self.store_first_level(at, bits) {
                return true;
            }
            if !self.my_turn() {
                return false;
            }
        }
        if stage <= Stage::Arrived {
            let Some(done) = self.advance_owning(line, stage) else {
                return false;
            };
            self.store_owned(at, bits, done);
        }
        self.prefetch(stage)
    }

    /// Makes the lane the owner of a line, from its turn on; says when it is, or nothing if it has
    /// to wait.
    #[inline(always)]
    fn advance_owning(&mut self, line: u32, stage: Stage) -> Option<Done> {
        // Whoever has waited at this stage had something to claim.
        let mut claimed = true;
        if stage <= Stage::Turn {
            let claim = self.claim(line);
            claimed = claim.is_some();
            if !self.take(claim) {
                return None;
            }
        }
        if stage <= Stage::Taken {
            match self.begin_owning(line, claimed) {
                Owning::Here(latency) => {
                    let at = self.me.clock + latency;
                    return Some(Done { at, queued: 0 });
                }
                Owning::Miss(arrival) => {
                    if !self.reach(arrival, Stage::Arrived) {
                        return None;
                    }
                }
            }
        }
        self.until_clear(|world, arrival| world.end_owning(line, arrival))
    }

    #[inline(always)]
    fn advance_fence(&mut self, fence: Fence, stage: Stage) -> bool {
        if stage <= Stage::Turn && !self.fences_alone(fence) {
            if stage <= Stage::Issued && !self.my_turn() {
                return false;
            }
            if !self.take(self.claim_by_reading(None)) {
                return false;
            }
        }
        if stage <= Stage::Taken
            && let Some(arrival) = self.begin_fence(fence)
            && !self.reach(arrival, Stage::Arrived)
        {
            return false;
        }
        self.end_fence(fence);
        true
    }

    /// A load that caches of the host serve, if nobody may interfere, and the lane has asked for
    /// nothing before.
    pub(crate) fn load_in_host(&mut self, at: Access, how: Use) -> Option<u64> {
        let line = at.line().0 as u32;
        let lane = &self.me;
        let idle = lane.ops.is_empty() && lane.combining.is_empty();
        let alone = idle && lane.turn() < self.until.domain;
        if !alone
            || !self.has_copy(self.me.host, line)
            || self.claim_by_reading(Some(line)).is_some()
        {
            return None;
        }
        let Begun::Hit(bits) = self.begin_load(at, how) else {
            unreachable!("the host has a copy")
        };
        if self.stream_arrival().is_some() {
            self.issue(Op::Prefetch);
        }
        Some(bits)
    }

    /// The same for an access to the lane's own memory; whether it has been served.
    pub(crate) fn private_in_host(&mut self, line: u32, how: Use) -> bool {
        let idle = self.me.ops.is_empty() && self.me.turn() < self.until.domain;
        let served = idle && self.claim_by_filling(line).is_none();
        if served {
            self.private_access(line, how);
        }
        served
    }

    /// Cycles on private data.
    #[inline(always)]
    pub(crate) fn work(&mut self, cycles: u32) {
        self.me.clock += u64::from(cycles) * self.timing.cycle;
    }

    fn advance_private(&mut self, line: u32, how: Use, stage: Stage) -> bool {
        if stage == Stage::Queued && self.private_first_level(line, how) {
            return true;
        }
        if stage <= Stage::Issued && !self.my_turn() {
            return false;
        }
        if stage <= Stage::Turn && !self.take(self.claim_by_filling(line)) {
            return false;
        }
        self.private_access(line, how);
        true
    }

    /// Whether it is the moment at which what changes or drops a line takes effect on the other
    /// lanes of the host.
    #[inline(always)]
    fn may_change(&mut self, line: u32, stage: Stage) -> bool {
        if stage <= Stage::Issued && !self.my_turn() {
            return false;
        }
        stage > Stage::Turn || self.take(self.claim(line))
    }

    /// The lane's prefetcher asks the device for lines of a stream.
    #[inline(always)]
    fn prefetch(&mut self, stage: Stage) -> bool {
        if stage == Stage::Prefetch {
            let arrival = self.me.ops.at;
            self.fetch_stream(arrival);
        } else if let Some(arrival) = self.stream_arrival() {
            if !self.reach(arrival, Stage::Prefetch) {
                return false;
            }
            self.fetch_stream(arrival);
        }
        true
    }

    /// Tries `end` where the request has arrived, again at whatever later time it names. When lanes
    /// are being unwound nobody waits, so a lane does not insist either.
    #[inline(always)]
    fn until_clear<R>(&mut self, end: impl Fn(&mut Self, Time) -> Result<R, Time>) -> Option<R> {
        loop {
            if self.down {
                self.arrive_until(Time::MAX);
            }
            match end(self, self.me.ops.at) {
                Ok(done) => return Some(done),
                Err(later) => {
                    if !self.reach(later, Stage::Arrived) {
                        return None;
                    }
                }
            }
        }
    }

    /// Whether nobody of the lane's coherence domain has anything to do before it.
    #[inline(always)]
    fn my_turn(&mut self) -> bool {
        let now = self.me.turn();
        if now < self.until.domain {
            return true;
        }
        let takes_from = self.takes_effect();
        self.give_way(now, takes_from, Stage::Turn)
    }

    /// Whether everything in the lane's host before `to` has been simulated, if there is such a
    /// time.
    #[inline(always)]
    fn take(&mut self, to: Option<Time>) -> bool {
        match to {
            None => true,
            Some(to) if to < self.until.domain => {
                let lane = &mut self.me;
                lane.floor = lane.floor.max(to);
                true
            }
            Some(to) => self.give_way(to, to, Stage::Taken),
        }
    }

    /// Whether everything in the pod before `to` has been simulated; otherwise the operation goes
    /// on at `stage` when it has.
    #[inline(always)]
    fn reach(&mut self, to: Time, stage: Stage) -> bool {
        if !self.down {
            // Mostly another lane has something to do before, and if not it is its turn again.
            return self.give_way(to, to, stage);
        }
        self.arrive_until(to);
        let lane = &mut self.me;
        lane.floor = lane.floor.max(to);
        lane.ops.at = to;
        true
    }

    /// Lets others go on until it is this lane's turn at `to`; it takes no line from another lane
    /// before `takes_from`. Never true, as the answer to whether it may go on.
    #[inline(always)]
    fn give_way(&mut self, to: Time, takes_from: Time, stage: Stage) -> bool {
        let lane = &mut self.me;
        lane.takes_from = takes_from;
        lane.floor = lane.floor.max(to);
        (lane.ops.at, lane.ops.stage) = (to, stage);
        // Its program may go on, and hits nothing by itself.
        self.until = Until::always(0);
        false
    }
}
