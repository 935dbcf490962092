//! Stores, and what travels from a host to the device.

use model::{Access, CachedLine, Content, WriteMode};

use crate::lane::{Combining, Done};
use crate::own::{OwnLine, SHARED};
use crate::record::Kind;
use crate::region::Page;
use crate::timing::Time;
use crate::transit::Route;
use crate::world::{Host, World};

/// How a lane comes to own a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owning {
    /// It does, after this long.
    Here(Time),
    /// When its read for ownership is at the device.
    Miss(Time),
}

/// What a write takes to the device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes<'a> {
    /// The whole line, as the host's entry for it holds.
    Own,
    /// What was combined, one bit for each byte that was.
    Combined(&'a Content, u64),
}

impl World {
    /// Stores into a line that this lane already owns, if nobody may interfere.
    #[inline(always)]
    pub(crate) fn store_first_level(&mut self, at: Access, bits: u64) -> bool {
        let Ok(line) = u32::try_from(at.line().0) else {
            return false;
        };
        let lane = &mut self.me;
        let turn = lane.turn() < self.until.hits;
        let idle = turn && lane.combining.is_empty() && lane.decided <= lane.clock;
        if !idle || !lane.l1.touch(line) {
            return false;
        }
        if self.region.holders(line).own & lane.bit == 0 {
            return false;
        }
        let own = self.hosts[lane.host].own.get_mut(line);
        let Some(own) = own.filter(|own| own.owner == lane.id as u32) else {
            return false;
        };
        let Some(cached) = own.copy_mut().filter(|copy| copy.dirty) else {
            return false;
        };
        cached.store(at, bits);
        let at = lane.clock + self.timing.levels[0];
        lane.charge_store(Done { at, queued: 0 }, self.timing.cycle);
        self.progress = self.progress.max(lane.clock);
        true
    }

    /// Begins to make this lane the owner of a line, at its turn; `claimed` if another lane of the
    /// host held it.
    #[inline(always)]
    pub(crate) fn begin_owning(&mut self, line: u32, claimed: bool) -> Owning {
        self.decide();
        self.write_out_combined(line);
        let (host, id) = (self.me.host, self.me.id as u32);
        if !self.has_copy(host, line) || self.others_hold(host, line) {
            let at = self.me.stores.admit(self.me.clock);
            self.wait(Done { at, queued: 0 }, Kind::Publish);
            return Owning::Miss(self.issue_miss());
        }
        let mut latency = self.nearest_level(line);
        let own = self.hosts[host].own.get(line);
        if claimed || own.is_some_and(|own| own.owner != id && own.owner != SHARED) {
            latency = latency.max(self.timing.lane_transfer);
        }
        self.own_copy(host, line, id);
        Owning::Here(latency)
    }

    /// On a coherent pod a store first takes other hosts' copies away.
    #[inline]
    fn others_hold(&self, host: usize, line: u32) -> bool {
        let holders = self.region.holders(line);
        self.timing.coherent && (holders.mirror | holders.own) & !(1 << host) != 0
    }

    /// The read for ownership is at the device; returns when the line is here. An error is the time
    /// to come back at.
    #[inline(always)]
    pub(crate) fn end_owning(&mut self, line: u32, arrival: Time) -> Result<Done, Time> {
        let host = self.me.host;
        let mut extra = 0;
        if self.timing.coherent {
            extra = self.recall(host, line, arrival, true);
        }
        let mut done = self.fetch(line, arrival)?;
        done.at += extra;
        self.own_copy(host, line, self.me.id as u32);
        self.fill_private_levels(line);
        let lane = &mut self.me;
        // Reads for ownership make streams as loads do.
        lane.streams.access(line, lane.clock);
        lane.misses.occupy(done.at);
        Ok(done)
    }

    /// A store drains into a line that this lane owns since `done`.
    #[inline(always)]
    pub(crate) fn store_owned(&mut self, at: Access, bits: u64, done: Done) {
        self.owned(at).store(at, bits);
        let lane = &mut self.me;
        lane.charge_store(done, self.timing.cycle);
        self.progress = self.progress.max(lane.turn());
    }

    /// The copy of a line that this lane owns.
    #[inline(always)]
    pub(crate) fn owned(&mut self, at: Access) -> &mut CachedLine {
        let own = self.hosts[self.me.host].own.get_mut(at.line().0 as u32);
        let copy = own.and_then(OwnLine::copy_mut);
        copy.expect("owning a line brought it here, and nobody ran since")
    }

    /// A non-temporal store, at this lane's turn: the likely way, around the cache.
    pub(crate) fn store_nt(&mut self, at: Access, bits: u64) -> bool {
        let line = at.line().0 as u32;
        self.decide();
        self.leave_cache(line);
        let lane = &mut self.me;
        lane.clock += self.timing.cycle;
        if !lane.combining.iter().any(|entry| entry.line == line) {
            if lane.combining.len() == self.timing.write_combining {
                let oldest = self.me.combining.remove(0);
                self.send_nt(&oldest);
            }
            self.me.combining.push(Combining {
                line,
                content: Content::ZERO,
                bytes: 0,
            });
        }
        let mut entries = self.me.combining.iter_mut();
        let entry = entries.find(|entry| entry.line == line).expect("just made");
        entry.content.put(at, bits);
        entry.bytes |= at.byte_mask();
        if entry.bytes == u64::MAX {
            self.write_out_combined(line);
        }
        true
    }

    /// A whole line in one transaction, at this lane's turn: the words that it has set apart.
    pub(crate) fn store_line(&mut self, line: u32) -> bool {
        self.decide();
        let host = self.me.host;
        // All 64 bytes are overwritten, so a dirty copy has nothing left to write back.
        if self.drop_copy(host, line)
            && self.hosts[host]
                .own
                .get(line)
                .is_some_and(|own| own.pending == 0)
        {
            self.forget_own(host, line);
        }
        self.me.combining.retain(|entry| entry.line != line);
        self.me.clock += self.timing.cycle;
        let content = Content::of_words(self.me.ops.words);
        let whole = Combining {
            line,
            content,
            bytes: u64::MAX,
        };
        self.send_nt(&whole);
        true
    }

    /// What is written around the cache leaves it first.
    fn leave_cache(&mut self, line: u32) {
        let host = self.me.host;
        if self.drop_copy(host, line) {
            let out = self.timing.flush_dirty.saturating_sub(self.timing.response);
            let arrival = self.me.turn() + out;
            self.send(line, Bytes::Own, arrival, true);
        }
    }

    /// Sends what this lane has combined for `line`, if anything.
    #[inline(always)]
    pub(crate) fn write_out_combined(&mut self, line: u32) {
        if !self.me.combining.is_empty() {
            self.write_out_line(line);
        }
    }

    #[cold]
    fn write_out_line(&mut self, line: u32) {
        let combining = &mut self.me.combining;
        if let Some(place) = combining.iter().position(|entry| entry.line == line) {
            let entry = combining.remove(place);
            self.send_nt(&entry);
        }
    }

    /// Sends everything that this lane has combined, oldest first.
    #[inline(always)]
    pub(crate) fn write_out_all(&mut self) {
        if !self.me.combining.is_empty() {
            self.write_out_each();
        }
    }

    #[cold]
    fn write_out_each(&mut self) {
        for entry in std::mem::take(&mut self.me.combining) {
            self.send_nt(&entry);
        }
    }

    fn send_nt(&mut self, entry: &Combining) {
        // A prefetch may have brought the line since the store.
        self.leave_cache(entry.line);
        let lane = &mut self.me;
        let alone = lane.clock + self.timing.publish_nt;
        let complete = alone.max(lane.last_nt + self.timing.nt_line);
        lane.last_nt = complete;
        let arrival = complete.saturating_sub(self.timing.response);
        let bytes = Bytes::Combined(&entry.content, entry.bytes);
        self.send(entry.line, bytes, arrival, true);
    }

    /// A write leaves the lane's host, to be at the device at `arrival` if nothing delays it.
    /// `awaited` says whether the lane's next fence waits for it.
    pub(crate) fn send(&mut self, line: u32, bytes: Bytes, arrival: Time, awaited: bool) {
        let (host, issued) = (self.me.host, self.me.clock);
        let queued = self.hosts[host].write_link.admit(issued, &self.timing);
        let device = self.timing.device_of(line);
        if self.timing.coherent {
            self.devices[device].admit(arrival, &self.timing);
            self.merge_at_once(line, bytes);
            self.me.written.later(Done {
                at: arrival + queued + self.timing.response,
                queued,
            });
            return;
        }
        // Never into the past of what the others have seen, and two writes of one host to one line
        // arrive in their order.
        let mut arrival = (arrival + queued).max(self.me.turn() + 1);
        if self.timing.writes != WriteMode::Synchronous {
            arrival =
                (arrival + self.timing.posted_hold).max(self.hosts[host].posted_floor[device]);
        }
        let lines = &mut self.hosts[host].own;
        let slot = if let Some(slot) = lines.slot(line) {
            slot
        } else {
            let holders = self.region.holders_mut(line);
            holders.own |= 1 << host;
            holders.mirror &= !(1 << host);
            lines.insert(line, SHARED)
        };
        let own = lines.at(slot);
        let arrival = arrival.max(own.pending_until + 1);
        own.pending += 1;
        own.pending_until = arrival;
        let lane = &mut self.me;
        lane.sent += 1;
        if awaited {
            lane.await_arrival(device, arrival);
        }
        let route = Route {
            arrival,
            lane: lane.id,
            host: host as u32,
            number: lane.sent,
            issued,
            line,
            queued,
            awaited,
        };
        let (content, bytes) = match bytes {
            Bytes::Own => (own.out(), u64::MAX),
            Bytes::Combined(content, bytes) => (content, bytes),
        };
        self.writes.push(route, content, bytes);
    }

    /// One coherence domain has no moment at which a write is on its way: the directory answers for
    /// it.
    fn merge_at_once(&mut self, line: u32, bytes: Bytes) {
        let host = self.me.host;
        match bytes {
            Bytes::Own => {
                let own = self.hosts[host].own.get(line);
                let out = own.expect("its bytes are left").out();
                self.region.merge(line, out, u64::MAX);
            }
            Bytes::Combined(content, bytes) => self.region.merge(line, content, bytes),
        }
        self.forget_own(host, line);
    }

    /// Every write that has arrived by `now` takes effect, in order of arrival.
    #[inline(always)]
    pub(crate) fn arrive_until(&mut self, now: Time) {
        if self.writes.next_arrival() <= now {
            self.arrive_all_until(now);
        }
    }

    #[inline(never)]
    fn arrive_all_until(&mut self, now: Time) {
        while self.writes.next_arrival() <= now
            && let Some(slot) = self.writes.pop()
        {
            self.arrive(slot);
        }
    }

    #[inline(always)]
    fn arrive(&mut self, slot: usize) {
        let sent = &self.writes[slot];
        let (write, line) = (&sent.route, sent.route.line);
        let host = write.host as usize;
        let bit = 1u64 << host;
        let device = self.timing.device_of(line);
        let waited = self.devices[device].admit(write.arrival, &self.timing);
        let page = self.region.page_mut(line);
        leave_stale(page, &mut self.hosts, bit, line);
        page.merge(line, &sent.content, sent.bytes);
        let holders = page.holders_mut(line);
        holders.unread = !bit;
        let lines = &mut self.hosts[host].own;
        let own = lines.get_mut(line);
        let own = own.expect("a write on its way keeps its line's entry");
        own.pending -= 1;
        if own.pending == 0 && own.copy().is_none() {
            lines.remove(line);
            holders.own &= !bit;
        }
        if write.awaited {
            let lane = if self.me.id == write.lane {
                &mut self.me
            } else {
                &mut self.lanes[write.lane]
            };
            lane.written.later(Done {
                at: write.arrival + waited + self.timing.response,
                queued: write.queued + waited,
            });
        }
        self.progress = self.progress.max(write.arrival);
        if let Some(recorder) = &mut self.recorder {
            recorder.arrived(write, write.arrival + waited);
        }
    }
}

/// Hosts whose copies equalled the device's old content keep that: now they are stale.
#[inline(always)]
fn leave_stale(page: &mut Page, hosts: &mut [Host], writer: u64, line: u32) {
    let holders = page.holders_mut(line);
    let mut left = holders.mirror & !writer;
    holders.mirror &= writer;
    holders.own |= left;
    while left != 0 {
        let host = left.trailing_zeros() as usize;
        left &= left - 1;
        hosts[host]
            .own
            .insert_copy(line, page.content(line), SHARED);
    }
}
