//! Loads: hits, misses, and what travels from the device to a host.

use model::{Access, CachedLine};

use crate::lane::Done;
use crate::own::SHARED;
use crate::record::Kind;
use crate::timing::Time;
use crate::world::World;

/// Whether later instructions wait for a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A word by itself: its address may depend on the load before, the next on it.
    Chained,
    /// One of many whose addresses are known: the core overlaps them.
    Streamed,
}

/// A load that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begun {
    /// The host had it.
    Hit(u64),
    /// A request that reaches the device at this time.
    Miss(Time),
}

impl World {
    /// Serves a load from the lane's first level, if it is there and nobody may interfere.
    #[inline(always)]
    pub(crate) fn load_first_level(&mut self, at: Access, how: Use) -> Option<u64> {
        // No cache holds a line beyond any region: the slow path refuses it.
        let line = u32::try_from(at.line().0).ok()?;
        let lane = &mut self.me;
        if lane.turn() >= self.until.hits || !lane.combining.is_empty() || !lane.l1.touch(line) {
            return None;
        }
        let bit = lane.bit;
        let (holders, content) = self.region.look(line);
        let content = if holders.own & bit != 0 {
            let own = self.hosts[lane.host].own.get(line)?;
            if own.owner == SHARED {
                lane.seen = lane.floor;
            } else if own.owner != lane.id as u32 {
                return None;
            }
            own.content()?
        } else if holders.mirror & bit != 0 {
            lane.seen = lane.floor;
            content
        } else {
            return None;
        };
        let bits = content.get(at);
        self.charge_hit(self.timing.levels[0], how);
        Some(bits)
    }

    /// A hit of a level with this latency.
    #[inline(always)]
    pub(crate) fn charge_hit(&mut self, latency: Time, how: Use) {
        if how == Use::Chained {
            if self.me.ready.at > self.me.clock {
                self.settle();
            }
            self.me.clock += latency;
            return;
        }
        // Two loads a cycle; a slower level takes one of the slots for misses.
        let issue = self.timing.cycle / 2;
        if latency <= self.timing.levels[0] {
            self.me.clock += issue;
            return;
        }
        self.overlap(latency, 0);
    }

    /// Something that takes `latency`, that other loads overlap with.
    pub(crate) fn overlap(&mut self, latency: Time, not_before: Time) {
        let issue = self.timing.cycle / 2;
        let lane = &mut self.me;
        let start = Done {
            at: lane.misses.admit(lane.clock),
            queued: 0,
        };
        self.wait(start, Kind::Observe);
        let lane = &mut self.me;
        let at = (lane.clock + latency).max(not_before);
        lane.misses.occupy(at);
        lane.ready.later(Done { at, queued: 0 });
        lane.clock += issue;
    }

    /// Begins a load at this lane's turn.
    pub(crate) fn begin_load(&mut self, at: Access, how: Use) -> Begun {
        let line = at.line().0 as u32;
        self.write_out_combined(line);
        let host = self.me.host;
        let Some(content) = self.copy(host, line) else {
            return Begun::Miss(self.begin_miss(line, how));
        };
        let bits = content.get(at);
        let level = self.nearest_level(line);
        let latency = level.max(self.share_own(line));
        self.charge_hit(latency, how);
        if level > self.timing.levels[0]
            && let Some(ready) = self.me.streams.arrival(line)
        {
            self.await_fill(ready, how);
        }
        Begun::Hit(bits)
    }

    /// What it adds that another lane of this host wrote the line last: it comes from that lane's
    /// cache.
    fn share_own(&mut self, line: u32) -> Time {
        let (host, id) = (self.me.host, self.me.id as u32);
        let own = self.hosts[host].own.get_mut(line);
        if own.as_ref().is_some_and(|own| own.owner == id) {
            return 0;
        }
        self.me.seen = self.me.floor;
        match own.filter(|own| own.owner != SHARED) {
            None => 0,
            Some(own) => {
                own.owner = SHARED;
                self.timing.lane_transfer
            }
        }
    }

    /// A line that was fetched ahead may still be on its way.
    fn await_fill(&mut self, ready: Time, how: Use) {
        let ready = Done {
            at: ready,
            queued: 0,
        };
        if how == Use::Chained {
            self.wait(ready, Kind::Observe);
        } else if ready.at > self.me.clock {
            self.overlap(0, ready.at);
        }
    }

    #[inline(always)]
    fn begin_miss(&mut self, line: u32, how: Use) -> Time {
        if how == Use::Chained && !self.me.batch.holds(line) {
            self.settle();
        }
        self.issue_miss()
    }

    /// Sends a request as soon as a slot for it is free; returns when it is at the device.
    #[inline(always)]
    pub(crate) fn issue_miss(&mut self) -> Time {
        let at = self.me.misses.admit(self.me.clock);
        self.wait(Done { at, queued: 0 }, Kind::Observe);
        let lane = &self.me;
        (lane.clock + self.timing.request).max(lane.floor)
    }

    /// The request of a load is at the device. An error is the time to come back at: a write of
    /// this host's own is in the way.
    #[inline(always)]
    pub(crate) fn end_load(&mut self, at: Access, how: Use, arrival: Time) -> Result<u64, Time> {
        let line = at.line().0 as u32;
        let host = self.me.host;
        let done = self.fetch(line, arrival)?;
        let bits = self.copy(host, line).map(|content| content.get(at));
        self.fill_private_levels(line);
        let lane = &mut self.me;
        lane.streams.access(line, lane.clock);
        lane.misses.occupy(done.at);
        lane.ready.later(done);
        if how == Use::Streamed {
            lane.clock += self.timing.cycle / 2;
        } else {
            lane.decided = lane.decided.max(done.at);
            if lane.batch.holds(line) {
                lane.clock += self.timing.cycle;
            } else {
                self.settle();
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.looked(self.me.id, line, arrival, done.at);
        }
        Ok(bits.expect("the line was fetched just above"))
    }

    /// Reads a line at the device for a host without a copy; returns when it is there. An error is
    /// the time to come back at: a write of this host's own is in the way. Another lane of the host
    /// may have brought the line meanwhile: then that copy stays, being what they all see.
    #[inline(always)]
    pub(crate) fn fetch(&mut self, line: u32, arrival: Time) -> Result<Done, Time> {
        let (host, bit) = (self.me.host, self.me.bit);
        let recalled = self.look_up(host, line, arrival);
        let holders = self.region.holders_mut(line);
        let unread = holders.unread & bit != 0;
        let mut absent = holders.mirror & bit == 0;
        if holders.own & bit != 0
            && let Some(own) = self.hosts[host].own.get(line)
        {
            if own.copy().is_none() && own.pending > 0 {
                return Err(own.pending_until);
            }
            absent &= own.copy().is_none();
        }
        if absent {
            holders.mirror |= bit;
            holders.unread &= !bit;
        }
        let done = self.device_read(line, arrival, unread, recalled);
        if absent {
            self.keep(line);
        }
        if self.timing.adjacent_line {
            self.fetch_ahead(line ^ 1, arrival);
        }
        Ok(done)
    }

    /// Brings a line in that nobody asked for, if nothing speaks against it.
    fn fetch_ahead(&mut self, line: u32, arrival: Time) {
        let lane = &self.me;
        let bit = lane.bit;
        let holders = self.region.holders(line);
        if line >= self.region_lines || (holders.mirror | holders.own) & bit != 0 {
            return;
        }
        let unread = holders.unread & bit != 0;
        let recalled = self.look_up(self.me.host, line, arrival);
        let done = self.device_read(line, arrival, unread, recalled);
        let holders = self.region.holders_mut(line);
        holders.mirror |= bit;
        holders.unread &= !bit;
        let lane = &mut self.me;
        lane.l2.insert(line);
        lane.streams.fill(line, done.at);
        self.keep(line);
    }

    /// When the request of the lane's prefetcher reaches the device, if it wants lines.
    #[inline]
    pub(crate) fn stream_arrival(&self) -> Option<Time> {
        let lane = &self.me;
        let arrival = (lane.clock + self.timing.request).max(lane.floor);
        lane.streams.wants().then_some(arrival)
    }

    /// The prefetcher's request is at the device.
    pub(crate) fn fetch_stream(&mut self, arrival: Time) {
        if let Some((from, to)) = self.me.streams.take_wanted() {
            for line in from..to.min(self.region_lines) {
                self.fetch_ahead(line, arrival);
            }
        }
    }

    /// On a coherent pod the directory is asked first: what that adds to a read.
    #[inline(always)]
    fn look_up(&mut self, host: usize, line: u32, arrival: Time) -> Time {
        if !self.timing.coherent {
            return 0;
        }
        self.timing.lookup + self.recall(host, line, arrival, false)
    }

    /// One line travels from the device to a lane's host; `unread` if a peer has written it since
    /// the host last read it, `extra` for what the directory takes.
    #[inline(always)]
    fn device_read(&mut self, line: u32, arrival: Time, unread: bool, extra: Time) -> Done {
        let mut service = self.timing.response + extra;
        let lane = &mut self.me;
        let host = lane.host;
        if self.timing.tail_probability > 0.0 && lane.random.unit() < self.timing.tail_probability {
            let idle = (self.timing.request + self.timing.response) as f64;
            service += (idle * (self.timing.tail_factor - 1.0)) as Time;
        }
        if unread {
            service += self.timing.peer_written;
        }
        let device = self.timing.device_of(line);
        let mut queued = self.devices[device].admit(arrival, &self.timing);
        let at = arrival + queued + service;
        queued += self.hosts[host].read_link.admit(at, &self.timing);
        Done {
            at: arrival + queued + service,
            queued,
        }
    }

    /// The directory of a coherent pod takes other hosts' copies back: the dirty one for a reader,
    /// every one for a writer. Returns what that costs.
    pub(crate) fn recall(&mut self, host: usize, line: u32, at: Time, all: bool) -> Time {
        let holders = self.region.holders(line);
        let others = if all {
            (holders.mirror | holders.own) & !(1 << host)
        } else {
            holders.own & !(1 << host)
        };
        if others == 0 {
            return 0;
        }
        let mut left = others;
        while left != 0 {
            let other = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.drop_copy(other, line) {
                let own = self.hosts[other].own.get(line);
                let out = own.expect("its bytes are left").out();
                self.region.merge(line, out, u64::MAX);
                self.forget_own(other, line);
                let device = self.timing.device_of(line);
                self.hosts[other].write_link.admit(at, &self.timing);
                self.devices[device].admit(at, &self.timing);
            }
            if !all {
                // The former owner keeps a clean copy.
                self.region.holders_mut(line).mirror |= 1 << other;
            }
        }
        self.timing.snoop
    }

    /// Makes bytes of its own out of a host's copy, for a store.
    #[inline(always)]
    pub(crate) fn own_copy(&mut self, host: usize, line: u32, owner: u32) -> &mut CachedLine {
        let page = self.region.page_mut(line);
        let holders = page.holders_mut(line);
        let lines = &mut self.hosts[host].own;
        let own = if holders.own & (1 << host) == 0 {
            holders.own |= 1 << host;
            holders.mirror &= !(1 << host);
            lines.insert_copy(line, page.content(line), owner)
        } else {
            let own = lines.get_mut(line);
            own.expect("a host with the own bit has bytes of the line")
        };
        own.owner = owner;
        own.copy_mut().expect("the caller saw a copy")
    }
}
