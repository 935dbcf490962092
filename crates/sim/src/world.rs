//! The state of a simulated pod, and what every operation on it shares.

use fabric::{Discipline, Pod};
use model::Content;

use crate::agenda::{Agenda, NEVER};
use crate::host_memory::HostMemory;
use crate::lane::{Done, Lane};
use crate::lookahead::lookahead;
use crate::own::OwnLines;
use crate::pod::PodFile;
use crate::record::{Kind, Recorder};
use crate::region::Region;
use crate::server::Server;
use crate::tags::{Residents, Tags};
use crate::timing::{Time, Timing};
use crate::transit::Transit;
use crate::write::Bytes;

/// Line numbers from here on are lanes' own memory: they share the caches with the region.
pub(crate) const PRIVATE_LINES: u32 = 1 << 31;

/// A lane that never has a turn.
const NOBODY: usize = usize::MAX;

/// What the lanes of one host share; first what most turns need, in few cache lines as a lane.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Host {
    pub own: OwnLines,
    pub read_link: Server,
    pub write_link: Server,
    pub shared: Tags,
    /// Of the lanes' first levels; no count where no lane runs ahead of another.
    pub residents: Residents,
    pub memory: HostMemory,
    /// Before which no write that leaves this host now may arrive, by device: posted pods keep
    /// fence order.
    pub posted_floor: Vec<Time>,
}

/// Until when the lane whose turn it is may go on by itself: until any other lane of its coherence
/// domain has something to do. What reaches the device always waits for its turn in the whole pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// For hits in lines that it holds.
    pub hits: Time,
    pub domain: Time,
}

impl Until {
    pub(crate) fn always(at: Time) -> Self {
        Self {
            hits: at,
            domain: at,
        }
    }
}

/// A simulated pod.
#[derive(Debug)]
pub(crate) struct World {
    pub timing: Timing,
    pub pod: Pod,
    pub discipline: Discipline,
    pub region_lines: u32,
    pub region: Region,
    pub hosts: Vec<Host>,
    /// The lane whose turn it is: nearly everything is about that one, so it is at hand.
    pub me: Box<Lane>,
    /// The others; in the place of that one, a lane that never has a turn.
    #[allow(clippy::vec_box)] // boxed, so that a turn swaps pointers and no lane moves
    pub lanes: Vec<Box<Lane>>,
    pub devices: Vec<Server>,
    pub agenda: Agenda,
    pub until: Until,
    /// See [`lookahead`].
    pub lookahead: Time,
    pub writes: Transit,
    /// Lanes go on by themselves while nobody can interfere; otherwise every operation waits for
    /// its turn.
    pub run_ahead: bool,
    /// Suspended lanes are being unwound: nobody waits any more.
    pub down: bool,
    /// When anything last changed that a waiting lane could see.
    pub progress: Time,
    /// Waiting this long without any progress is a deadlock.
    pub stall_limit: Time,
    pub recorder: Option<Box<Recorder>>,
}

impl World {
    pub(crate) fn new(file: &PodFile, pod: Pod, discipline: Discipline, seed: u64) -> Self {
        let timing = Timing::of(file);
        let shared = &file.cache[2];
        let lookahead = lookahead(&timing, pod.lanes);
        let counted = if lookahead == 0 {
            0
        } else {
            pod.lanes as usize
        };
        let first = Tags::new(file.cache[0].size_bytes, file.cache[0].ways).capacity();
        let host = || Host {
            own: OwnLines::default(),
            shared: Tags::new(shared.size_bytes, shared.ways),
            read_link: Server::new(timing.read_line),
            write_link: Server::new(timing.write_line),
            residents: Residents::new(counted * first),
            memory: HostMemory::new(timing.dram_line),
            posted_floor: vec![0; timing.devices as usize],
        };
        let lane = |id, host| {
            let lane = Lane::new(id, host, file, &timing, seed);
            Box::new(Lane {
                takes_from: lookahead,
                ..lane
            })
        };
        let mut nobody = lane(0, 0);
        nobody.id = NOBODY;
        let seats = pod.seats().enumerate();
        let lanes = seats
            .map(|(id, seat)| lane(id, seat.host as usize))
            .collect();
        Self {
            me: nobody,
            lookahead,
            pod,
            discipline,
            region_lines: PRIVATE_LINES,
            region: Region::default(),
            hosts: (0..pod.hosts).map(|_| host()).collect(),
            lanes,
            devices: vec![Server::new(timing.device_line); timing.devices as usize],
            agenda: Agenda::new(pod.hosts as usize, pod.lanes as usize, timing.coherent),
            until: Until::always(0),
            writes: Transit::default(),
            run_ahead: true,
            down: false,
            progress: 0,
            stall_limit: NEVER,
            recorder: None,
            timing,
        }
    }

    /// Whose turn it is now, after that of the lane that has just given way: everything before has
    /// been simulated. None when all lanes have ended.
    #[inline(always)]
    pub(crate) fn next_turn(&mut self) -> Option<usize> {
        let next = self.agenda.next_after(self.me.ops.at)?;
        self.arrive_until(next.time);
        self.seat(next.lane);
        // Hardware coherence makes the pod one domain: any lane may take a line away.
        self.until = Until::always(if self.run_ahead { next.until } else { 0 });
        Some(next.lane)
    }

    /// Puts the lane whose turn it was back, and takes another's place.
    #[inline(always)]
    fn seat(&mut self, id: usize) {
        if self.me.id != id {
            self.unseat();
            std::mem::swap(&mut self.me, &mut self.lanes[id]);
        }
    }

    /// It is nobody's turn.
    #[inline(always)]
    pub(crate) fn unseat(&mut self) {
        // Only the lane that never has a turn is beyond all places.
        if let Some(place) = self.lanes.get_mut(self.me.id) {
            std::mem::swap(&mut self.me, place);
        }
    }

    /// A lane has ended.
    pub(crate) fn leave(&mut self) {
        self.me.ops.at = NEVER;
        self.me.takes_from = NEVER;
    }

    /// A lane has failed: the others are unwound, and nobody waits for anybody any more.
    pub(crate) fn tear_down(&mut self) {
        self.down = true;
        self.me.ops.clear();
        self.lanes.iter_mut().for_each(|lane| lane.ops.clear());
        self.until = Until::always(NEVER);
    }

    /// The lane does nothing until `until`.
    #[inline(always)]
    pub(crate) fn wait(&mut self, until: Done, kind: Kind) {
        let lane = &mut self.me;
        if until.at > lane.clock {
            if let Some(recorder) = &mut self.recorder {
                recorder.segment(lane.id, lane.clock, until, kind);
            }
            lane.clock = until.at;
        }
    }

    /// Loads that the program may have branched on have their values: what follows depends on them.
    #[inline(always)]
    pub(crate) fn decide(&mut self) {
        let lane = &self.me;
        if lane.decided > lane.clock {
            let at = lane.decided;
            let queued = lane.ready.queued;
            self.wait(Done { at, queued }, Kind::Observe);
        }
    }

    /// All loads so far have their values.
    #[inline(always)]
    pub(crate) fn settle(&mut self) {
        let ready = self.me.ready;
        self.wait(ready, Kind::Observe);
    }

    /// What a clock reads once all loads so far have their values. It is not before anything that
    /// the lane has seen of its host's other lanes, though its next instruction may issue before.
    pub(crate) fn reading(&mut self) -> Time {
        self.settle();
        if self.pod.lanes > 1 {
            self.me.clock.max(self.me.seen)
        } else {
            self.me.clock
        }
    }

    /// The content that lanes of `host` see, if the host has a copy.
    #[inline(always)]
    pub(crate) fn copy(&self, host: usize, line: u32) -> Option<&Content> {
        let holders = self.region.holders(line);
        let bit = 1u64 << host;
        if holders.own & bit != 0 {
            return self.hosts[host].own.get(line)?.content();
        }
        (holders.mirror & bit != 0).then(|| self.region.content(line))
    }

    /// Whether the host has a copy.
    #[inline(always)]
    pub(crate) fn has_copy(&self, host: usize, line: u32) -> bool {
        let holders = self.region.holders(line);
        (holders.mirror | holders.own) & (1 << host) != 0 && self.copy(host, line).is_some()
    }

    /// Where a line is found from a lane of its host, and what that costs; it moves nearer.
    pub(crate) fn nearest_level(&mut self, line: u32) -> Time {
        let lane = &mut self.me;
        if lane.l1.touch(line) {
            return self.timing.levels[0];
        }
        lane.streams.access(line, lane.clock);
        self.fill_first_level(line);
        let lane = &mut self.me;
        if lane.l2.touch(line) {
            return self.timing.levels[1];
        }
        lane.l2.insert_new(line);
        self.keep(line);
        self.timing.levels[2]
    }

    /// The lane's private levels take a line in, which they may have.
    #[inline(always)]
    pub(crate) fn fill_private_levels(&mut self, line: u32) {
        if !self.me.l1.touch(line) {
            self.fill_first_level(line);
        }
        self.me.l2.insert(line);
    }

    /// The lane's first level takes a line in, which it does not have.
    fn fill_first_level(&mut self, line: u32) {
        let victim = self.me.l1.insert_new(line);
        let residents = &mut self.hosts[self.me.host].residents;
        if line < PRIVATE_LINES {
            residents.add(line);
        }
        if let Some(victim) = victim.filter(|&victim| victim < PRIVATE_LINES) {
            residents.remove(victim);
        }
    }

    /// The host's shared level takes a line in, and loses another.
    #[inline(always)]
    pub(crate) fn keep(&mut self, line: u32) {
        let host = self.me.host;
        if let Some(victim) = self.hosts[host].shared.insert(line) {
            self.evict(victim);
        }
    }

    /// The lane made `line` leave its host's caches: a dirty one is written back, whole.
    fn evict(&mut self, line: u32) {
        if line >= PRIVATE_LINES {
            return;
        }
        let turn = self.me.turn();
        if self.drop_copy(self.me.host, line) {
            let arrival = turn + self.timing.flush_dirty.saturating_sub(self.timing.response);
            self.send(line, Bytes::Own, arrival, false);
        }
    }

    /// Drops a host's copy; whether it was dirty: then its bytes are left to be sent.
    #[inline]
    pub(crate) fn drop_copy(&mut self, host: usize, line: u32) -> bool {
        let bit = 1u64 << host;
        let holders = self.region.holders_mut(line);
        holders.mirror &= !bit;
        if holders.own & bit == 0 {
            return false;
        }
        let lines = &mut self.hosts[host].own;
        let own = lines.get_mut(line);
        let own = own.expect("a host with the own bit has bytes of the line");
        let dirty = own.drop_copy();
        if own.pending == 0 && !dirty {
            lines.remove(line);
            holders.own &= !bit;
        }
        dirty
    }

    /// The host has no bytes of its own for the line any more.
    #[inline]
    pub(crate) fn forget_own(&mut self, host: usize, line: u32) {
        self.hosts[host].own.remove(line);
        self.region.holders_mut(line).own &= !(1 << host);
    }

    #[inline]
    pub(crate) fn check_line(&self, line: u64) -> u32 {
        assert!(
            line < u64::from(self.region_lines),
            "offset {:#x} is outside the region of {} bytes: a pointer that no arena gave",
            line * 64,
            u64::from(self.region_lines) * 64
        );
        line as u32
    }
}
