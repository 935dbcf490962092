//! One lane: its clock, what it has in flight, its private caches.

use fabric::SplitMix64;
use model::{Content, WriteMode};

use crate::ops::Ops;
use crate::pod::PodFile;
use crate::stream::Streams;
use crate::tags::Tags;
use crate::timing::{Time, Timing};

/// A fixed number of slots for things in flight, reused in the order in which they were taken.
#[derive(Debug)]
pub(crate) struct Window {
    /// When all of them are free.
    free: Time,
    next: usize,
    /// The first slot, at hand: mostly no other is in use.
    first: Time,
    others: Box<[Time]>,
}

impl Window {
    fn new(slots: usize) -> Self {
        Self {
            free: 0,
            next: 0,
            first: 0,
            others: vec![0; slots - 1].into(),
        }
    }

    #[inline(always)]
    fn slot(&mut self) -> &mut Time {
        match self.next.checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[other],
        }
    }

    /// When something that could start at `at` gets a slot. A lane asks at its clock, which never
    /// goes back.
    #[inline(always)]
    pub(crate) fn admit(&mut self, at: Time) -> Time {
        if self.free > at {
            return at.max(*self.slot());
        }
        // None is in use, so any may be the next.
        self.next = 0;
        at
    }

    /// Takes the slot until `until`.
    #[inline(always)]
    pub(crate) fn occupy(&mut self, until: Time) {
        *self.slot() = until;
        self.free = self.free.max(until);
        self.next += 1;
        if self.next > self.others.len() {
            self.next = 0;
        }
    }
}

/// A time, and how much of the way there was waiting in queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub at: Time,
    pub queued: Time,
}

impl Done {
    /// The later of the two.
    pub(crate) fn later(&mut self, other: Done) {
        if other.at > self.at {
            *self = other;
        }
    }
}

/// Bytes of one line collected from non-temporal stores.
#[derive(Clone, Debug)]
pub(crate) struct Combining {
    pub line: u32,
    pub content: Content,
    pub bytes: u64,
}

/// The most lines of one observe whose loads are known to be independent.
const LONGEST_BATCH: usize = 64;

/// Lines that this lane flushed clean: the addresses of their loads were known before the fence, so
/// those loads overlap.
#[derive(Debug)]
#[repr(C, align(64))] // in few cache lines, as a lane
pub(crate) struct Batch {
    fenced: u8,
    flushed: u8,
    /// Those before the last fence, then those since.
    lines: [u32; 2 * LONGEST_BATCH],
}

impl Batch {
    const EMPTY: Self = Self {
        fenced: 0,
        flushed: 0,
        lines: [0; 2 * LONGEST_BATCH],
    };

    #[inline(always)]
    pub(crate) fn flush(&mut self, line: u32) {
        if usize::from(self.flushed) < LONGEST_BATCH {
            self.lines[usize::from(self.fenced + self.flushed) % (2 * LONGEST_BATCH)] = line;
            self.flushed += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn fence(&mut self) {
        if self.fenced != 0 && self.flushed != 0 {
            let (from, count) = (usize::from(self.fenced), usize::from(self.flushed));
            self.lines.copy_within(from..from + count, 0);
        }
        self.fenced = std::mem::take(&mut self.flushed);
    }

    #[inline(always)]
    pub(crate) fn holds(&self, line: u32) -> bool {
        // Mostly there is one.
        self.fenced > 0 && (self.lines[0] == line || self.holds_beside(line))
    }

    #[inline(never)]
    fn holds_beside(&self, line: u32) -> bool {
        self.lines[..usize::from(self.fenced)].contains(&line)
    }
}

/// One lane.
///
/// `clock` is when its next instruction issues. It may lag behind `floor`, the time up to which the
/// rest of the pod has been simulated when this lane last synchronized: a load that nothing waits
/// for yet has been looked up at the device, while the lane goes on at the time of its issue.
///
/// Laid out by cache lines of this machine: with hundreds of lanes each turn finds its lane gone
/// from the nearest caches, and what most turns need is fetched line by line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Lane {
    pub id: usize,
    pub host: usize,
    /// The bit of its host among the holders of a line.
    pub bit: u64,
    pub clock: Time,
    pub floor: Time,
    /// While it is suspended: before which it takes no line from another lane of its host.
    pub takes_from: Time,
    /// When the loads that the program may have branched on have their values.
    pub decided: Time,
    /// When its flushes of clean lines are done.
    pub flushed: Time,
    /// Up to when it may have seen what other lanes of its host did: a hit behind a store in flight
    /// finds what is there when that store's request is at the device.
    pub seen: Time,
    // Second line.
    /// When its loads so far have their values.
    pub ready: Done,
    /// When its stores so far are in the host's cache.
    pub stored: Done,
    /// When its writes so far are known to be at the device.
    pub written: Done,
    /// When the latest flush is done: bursts are spaced.
    pub last_flush: Time,
    /// When the last of its writes that a fence waits for arrives at the device.
    pub last_arrival: Time,
    // Third line.
    pub misses: Window,
    pub combining: Vec<Combining>,
    // Fourth line.
    pub stores: Window,
    /// Writes sent, to tell those of one moment apart.
    pub sent: u64,
    /// As `last_arrival` by device, where fences keep order and do not wait; empty elsewhere.
    pub posted_arrivals: Box<[Time]>,
    // These begin lines of their own.
    pub ops: Ops,
    pub l1: Tags,
    pub l2: Tags,
    pub streams: Streams,
    pub batch: Batch,
    // Seldom used.
    /// When the latest write around the cache is done: bursts are spaced.
    pub last_nt: Time,
    /// Versions of host-shared lines that it holds, by line modulo their number.
    pub host_lines: [(u32, u32); 16],
    pub random: SplitMix64,
    pub private_end: u32,
    pub pauses: u64,
}

impl Lane {
    pub(crate) fn new(id: usize, host: usize, pod: &PodFile, timing: &Timing, seed: u64) -> Self {
        let waits = timing.writes == WriteMode::Synchronous;
        let posted = if waits { 0 } else { timing.devices as usize };
        let tags = |level: usize| Tags::new(pod.cache[level].size_bytes, pod.cache[level].ways);
        Self {
            id,
            host,
            bit: 1 << host,
            clock: 0,
            floor: 0,
            takes_from: 0,
            ready: Done::default(),
            decided: 0,
            stored: Done::default(),
            flushed: 0,
            seen: 0,
            written: Done::default(),
            last_flush: 0,
            last_nt: 0,
            last_arrival: 0,
            posted_arrivals: vec![0; posted].into(),
            sent: 0,
            misses: Window::new(timing.misses),
            stores: Window::new(timing.store_buffer),
            l1: tags(0),
            l2: tags(1),
            streams: Streams::new(timing.stream_distance),
            batch: Batch::EMPTY,
            combining: Vec::new(),
            host_lines: [(u32::MAX, 0); 16],
            // The lane that is nobody's has the greatest number there is: none comes after it.
            random: SplitMix64::of_lane(seed, (id as u64).min(u64::MAX - 1)),
            private_end: 0,
            pauses: 0,
            ops: Ops::new(),
        }
    }

    /// When this lane's next operation takes its turn.
    #[inline(always)]
    pub(crate) fn turn(&self) -> Time {
        self.clock.max(self.floor)
    }

    /// A write that the next fence is about arrives at `device` at `arrival`.
    #[inline(always)]
    pub(crate) fn await_arrival(&mut self, device: usize, arrival: Time) {
        self.last_arrival = self.last_arrival.max(arrival);
        if let Some(posted) = self.posted_arrivals.get_mut(device) {
            *posted = (*posted).max(arrival);
        }
    }

    /// A store drains at `done`, behind those before it.
    #[inline(always)]
    pub(crate) fn charge_store(&mut self, done: Done, cycle: Time) {
        self.clock += cycle;
        self.stored.later(done);
        self.stores.occupy(self.stored.at);
    }
}
