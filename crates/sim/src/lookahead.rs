//! How far a lane may run ahead of the other lanes of its host, and what makes that right.
//!
//! Lanes of one host that hit their own caches would otherwise take turns at every load: each
//! limits the others by its own next one. But a line that a lane holds is not taken from it in no
//! time. Whatever another lane does to it (a store, a flush, a non-temporal store, a load of a line
//! that was last written here, an eviction from the level that they share) takes effect at the
//! holder one transfer between caches after it was issued. So a lane may go on with hits in lines
//! that it holds until the earliest of the others' next operations *plus that transfer*.
//!
//! Both modes honour the delay, so that the reference stays the reference. A host with one lane,
//! and a pod whose hosts are one coherence domain, have none.

use crate::agenda::NEVER;
use crate::own::SHARED;
use crate::timing::{Time, Timing};
use crate::world::World;

/// How long after its issue an operation takes a line from another lane. A request to the device
/// brings a line in, and drives another out, when it gets there: not earlier than this either.
pub(crate) fn lookahead(timing: &Timing, lanes: u32) -> Time {
    if timing.coherent || lanes == 1 {
        return 0;
    }
    timing.lane_transfer.min(timing.request)
}

impl World {
    /// Lets the lane whose turn it is go on with hits, as far as the other lanes of its host allow;
    /// false if it is not for lack of time that `line` was no hit, or if there is no more.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self, line: u32) -> bool {
        let lane = &self.me;
        let late = self.lookahead != 0 && self.run_ahead && lane.turn() >= self.until.hits;
        late && lane.l1.holds(line) && self.extend_hits()
    }

    fn extend_hits(&mut self) -> bool {
        let (id, before) = (self.me.id, self.until.hits);
        let mut until = NEVER;
        for other in self.lanes_of(self.me.host) {
            if other != id {
                // Of two lanes at one time the lower goes first.
                let tie = Time::from(id < other);
                until = until.min(self.lanes[other].takes_from.saturating_add(tie));
            }
        }
        self.until.hits = before.max(until);
        self.until.hits > before
    }

    fn lanes_of(&self, host: usize) -> std::ops::Range<usize> {
        let lanes = self.pod.lanes as usize;
        host * lanes..(host + 1) * lanes
    }

    /// When the next operation of a lane takes effect at the others, if it takes a line from them.
    #[inline]
    pub(crate) fn takes_effect(&self) -> Time {
        let lane = &self.me;
        (lane.clock + self.lookahead).max(lane.floor)
    }

    /// When an operation on `line` that changes or drops it takes effect: none at once, if no other
    /// lane of the host holds the line, nor any that this lane still has to write out.
    #[inline(always)]
    pub(crate) fn claim(&self, line: u32) -> Option<Time> {
        if self.lookahead == 0 {
            return None;
        }
        let taken = self.held_by_another(line) || self.writes_out_held();
        taken.then(|| self.takes_effect())
    }

    /// As [`claim`](Self::claim), for a load, which takes only what another lane has written, and
    /// for a fence, which takes nothing itself.
    #[inline(always)]
    pub(crate) fn claim_by_reading(&self, line: Option<u32>) -> Option<Time> {
        if self.lookahead == 0 {
            return None;
        }
        let written = line.is_some_and(|line| self.written_by_another(line));
        (written || self.writes_out_held()).then(|| self.takes_effect())
    }

    /// When a line of a lane's own memory may come in, if it drives out another line of the host.
    pub(crate) fn claim_by_filling(&self, line: u32) -> Option<Time> {
        let drives_out = || self.hosts[self.me.host].shared.is_full_for(line);
        (self.lookahead != 0 && drives_out()).then(|| self.takes_effect())
    }

    /// What is combined for a line leaves around the cache, and drops a copy that came meanwhile.
    #[inline(always)]
    fn writes_out_held(&self) -> bool {
        let mut entries = self.me.combining.iter();
        entries.any(|entry| self.held_by_another(entry.line))
    }

    fn written_by_another(&self, line: u32) -> bool {
        let own = self.hosts[self.me.host].own.get(line);
        own.is_some_and(|own| {
            own.copy().is_some() && own.owner != SHARED && own.owner != self.me.id as u32
        })
    }

    /// Whether another lane of the host may hit the line.
    fn held_by_another(&self, line: u32) -> bool {
        let (host, id) = (self.me.host, self.me.id);
        if !self.has_copy(host, line) {
            return false;
        }
        let own = self.hosts[host].own.get(line);
        if let Some(owner) = own.map(|own| own.owner).filter(|&owner| owner != SHARED) {
            return owner != id as u32;
        }
        let residents = self.hosts[host].residents.at_most(line);
        residents > 0
            && residents > u32::from(self.me.l1.holds(line))
            && self.in_another_first_level(line)
    }

    #[inline(never)]
    fn in_another_first_level(&self, line: u32) -> bool {
        let others = self.lanes_of(self.me.host).filter(|&id| id != self.me.id);
        others
            .map(|id| &self.lanes[id])
            .any(|lane| lane.l1.holds(line))
    }
}
