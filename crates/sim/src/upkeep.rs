//! Line maintenance and fences.

use fabric::{Fence, Flush};
use model::WriteMode;

use crate::lane::Done;
use crate::own::OwnLine;
use crate::record::Kind;
use crate::timing::Time;
use crate::world::World;
use crate::write::Bytes;

impl World {
    /// CLFLUSH or CLFLUSHOPT, at this lane's turn.
    #[inline(always)]
    pub(crate) fn flush(&mut self, line: u32, how: Flush) -> bool {
        self.decide();
        self.write_out_combined(line);
        let host = self.me.host;
        let spacing = match how {
            Flush::ClFlush => self.timing.serial_line,
            Flush::ClFlushOpt => self.timing.burst_line,
        };
        // The tags stay: who holds a line decides whether it is found, and whoever flushes a line
        // mostly fetches it again at once.
        let dirty = self.drop_copy(host, line);
        let complete = self.space_flush(dirty, spacing);
        if dirty {
            let arrival = complete.saturating_sub(self.timing.response);
            self.send(line, Bytes::Own, arrival, true);
        } else {
            self.me.batch.flush(line);
            self.adopt(line);
        }
        true
    }

    /// CLWB, at this lane's turn: the copy stays, clean.
    pub(crate) fn writeback(&mut self, line: u32) -> bool {
        self.decide();
        self.write_out_combined(line);
        let host = self.me.host;
        let own = self.hosts[host].own.get_mut(line);
        let dirty = own.is_some_and(OwnLine::write_back);
        let complete = self.space_flush(dirty, self.timing.burst_line);
        if dirty {
            let arrival = complete.saturating_sub(self.timing.response);
            self.send(line, Bytes::Own, arrival, true);
        } else {
            self.adopt(line);
        }
        true
    }

    /// When this flush is done by itself: after its own cost, and not closer to the one before than
    /// lines of a burst are.
    #[inline(always)]
    fn space_flush(&mut self, dirty: bool, spacing: Time) -> Time {
        let lane = &mut self.me;
        // A flush is ordered after older stores to its line: the line must have come first.
        let (issued, cost) = if dirty {
            (lane.clock.max(lane.stored.at), self.timing.flush_dirty)
        } else {
            (lane.clock, self.timing.flush_clean)
        };
        let complete = (issued + cost).max(lane.last_flush + spacing);
        lane.last_flush = complete;
        if !dirty || self.timing.writes != WriteMode::Synchronous {
            lane.flushed = lane.flushed.max(complete);
        }
        lane.clock += self.timing.cycle;
        complete
    }

    /// The line's last bytes are already on their way: the fence of whoever flushes it now waits
    /// for them.
    #[inline(always)]
    fn adopt(&mut self, line: u32) {
        let host = self.me.host;
        if self.region.holders(line).own & (1 << host) == 0 {
            return;
        }
        let turn = self.me.turn();
        let own = self.hosts[host].own.get(line);
        // By time, not by count: a lane that runs ahead may not have seen the last arrivals.
        let own = own.filter(|own| own.pending > 0 && own.pending_until > turn);
        if let Some(until) = own.map(|own| own.pending_until) {
            let device = self.timing.device_of(line);
            let lane = &mut self.me;
            lane.await_arrival(device, until);
            let at = until + self.timing.response;
            lane.written.later(Done { at, queued: 0 });
        }
    }

    /// Whether a fence concerns nobody but its lane, and so needs no turn: nothing leaves the host
    /// by it, and no later write of another lane has to stay behind it.
    #[inline(always)]
    pub(crate) fn fences_alone(&self, fence: Fence) -> bool {
        let waits = self.timing.writes == WriteMode::Synchronous;
        fence == Fence::Load || (waits && self.me.combining.is_empty())
    }

    /// Begins a fence, at this lane's turn; returns when the writes that it waits for arrive.
    #[inline(always)]
    pub(crate) fn begin_fence(&mut self, fence: Fence) -> Option<Time> {
        if fence == Fence::Load {
            return None;
        }
        self.decide();
        self.write_out_all();
        let last = self.me.last_arrival;
        let awaits = last > 0 && self.timing.writes == WriteMode::Synchronous;
        awaits.then_some(last)
    }

    /// Ends a fence: what it waits for has been simulated.
    #[inline(always)]
    pub(crate) fn end_fence(&mut self, fence: Fence) {
        let own_cost = match fence {
            Fence::Full => self.timing.fence_full,
            Fence::Store => self.timing.fence_store,
            Fence::Load => self.timing.fence_load,
        };
        let lane = &self.me;
        let start = lane.clock;
        let (ready, stored, written) = (lane.ready, lane.stored, lane.written);
        let flushed = Done {
            at: lane.flushed,
            queued: 0,
        };
        if fence != Fence::Store {
            self.wait(ready, Kind::Observe);
        }
        if fence != Fence::Load {
            self.wait(stored, Kind::Publish);
            let posted = self.timing.writes != WriteMode::Synchronous;
            self.wait(flushed, if posted { Kind::Publish } else { Kind::Observe });
            if !posted {
                self.wait(written, Kind::Publish);
            }
            self.end_ordering();
        }
        let at = start + own_cost;
        self.wait(Done { at, queued: 0 }, Kind::Local);
        if fence == Fence::Full {
            self.me.batch.fence();
        }
    }

    /// What this lane has written is before whatever leaves its host from now on.
    fn end_ordering(&mut self) {
        let lane = &mut self.me;
        let (host, clock) = (lane.host, lane.clock);
        let arrival = std::mem::take(&mut lane.last_arrival);
        if self.timing.writes != WriteMode::Synchronous {
            let ordered = self.timing.writes == WriteMode::Posted;
            let floors = self.hosts[host].posted_floor.iter_mut();
            for (floor, posted) in floors.zip(&mut lane.posted_arrivals) {
                // Unordered pods keep the order of each device by itself.
                let own = std::mem::take(posted);
                *floor = (*floor).max(if ordered { arrival } else { own });
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.fenced(self.me.id, clock);
        }
    }
}
