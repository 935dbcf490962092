//! What happened, for attribution: where each lane's time went, and who waited for whom.

use std::collections::HashMap;

use fabric::{Seat, Ticks};

use crate::lane::Done;
use crate::timing::Time;
use crate::transit::Route;

/// What a span of a lane's time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Getting written lines to the device: reads for ownership, flushes, fences after them.
    Publish,
    /// Getting a line from the device.
    Observe,
    /// Anything inside the host.
    Local,
}

/// A write that reached the device, in simulated nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteTime {
    /// Who sent it.
    pub seat: Seat,
    /// Which line, by number.
    pub line: u64,
    /// When it was issued.
    pub issued: Ticks,
    /// From issue until other hosts' reads find it.
    pub visible_ns: f64,
    /// From issue until the end of the fence that waited for it; none if no fence followed.
    pub complete_ns: Option<f64>,
}

/// A span of time, split by what it was spent on along its critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Getting written lines to the device.
    pub publish_ns: f64,
    /// Getting lines from the device.
    pub observe_ns: f64,
    /// Waiting in queues of links and devices.
    pub queue_ns: f64,
    /// Everything inside hosts.
    pub local_ns: f64,
}

impl Split {
    /// The whole span.
    pub fn total_ns(&self) -> f64 {
        self.publish_ns + self.observe_ns + self.queue_ns + self.local_ns
    }

    fn add(&mut self, kind: Kind, time: Time) {
        let ns = time as f64 / 1e3;
        match kind {
            Kind::Publish => self.publish_ns += ns,
            Kind::Observe => self.observe_ns += ns,
            Kind::Local => self.local_ns += ns,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: Time,
    end: Time,
    kind: Kind,
    queued: Time,
}

/// A look that found what another lane had written since the look before, which had failed.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// When the looking lane had the value.
    at: Time,
    /// Who wrote it, when it set out, and when it could be found.
    writer: usize,
    issued: Time,
    visible: Time,
    queued: Time,
}

#[derive(Clone, Copy, Debug)]
struct LastWrite {
    lane: usize,
    issued: Time,
    visible: Time,
    queued: Time,
}

#[derive(Debug, Default)]
struct LaneLog {
    segments: Vec<Segment>,
    found: Vec<Found>,
    readings: Vec<Time>,
    open_writes: Vec<usize>,
    /// When it last paused: a look before that failed.
    paused: Option<Time>,
}

/// Region lines and host-shared lines, in one key space.
type Place = (usize, u64);

const REGION: usize = usize::MAX;

/// Collects while a trial runs.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    lanes: Vec<LaneLog>,
    lanes_a_host: usize,
    writes: Vec<WriteTime>,
    last_write: HashMap<Place, LastWrite>,
    last_look: HashMap<(usize, Place), Time>,
}

impl Recorder {
    pub(crate) fn new(lanes: usize, lanes_a_host: usize) -> Self {
        Self {
            lanes: (0..lanes).map(|_| LaneLog::default()).collect(),
            lanes_a_host,
            ..Self::default()
        }
    }

    fn seat(&self, lane: usize) -> Seat {
        Seat {
            host: (lane / self.lanes_a_host) as u32,
            lane: (lane % self.lanes_a_host) as u32,
        }
    }

    #[cold]
    pub(crate) fn segment(&mut self, lane: usize, start: Time, until: Done, kind: Kind) {
        self.lanes[lane].segments.push(Segment {
            start,
            end: until.at,
            kind,
            queued: until.queued.min(until.at - start),
        });
    }

    #[cold]
    pub(crate) fn reading(&mut self, lane: usize, at: Time) {
        self.lanes[lane].readings.push(at);
    }

    #[cold]
    pub(crate) fn paused(&mut self, lane: usize, at: Time) {
        self.lanes[lane].paused = Some(at);
    }

    /// A write is at the device.
    #[cold]
    pub(crate) fn arrived(&mut self, write: &Route, visible: Time) {
        self.lanes[write.lane].open_writes.push(self.writes.len());
        self.writes.push(WriteTime {
            seat: self.seat(write.lane),
            line: u64::from(write.line),
            issued: Ticks(write.issued),
            visible_ns: (visible - write.issued) as f64 / 1e3,
            complete_ns: None,
        });
        let last = LastWrite {
            lane: write.lane,
            issued: write.issued,
            visible: write.arrival,
            queued: write.queued,
        };
        self.last_write
            .insert((REGION, u64::from(write.line)), last);
    }

    /// A fence of the lane ended: its writes so far are complete.
    #[cold]
    pub(crate) fn fenced(&mut self, lane: usize, at: Time) {
        for index in std::mem::take(&mut self.lanes[lane].open_writes) {
            let write = &mut self.writes[index];
            write.complete_ns = Some(at.saturating_sub(write.issued.0) as f64 / 1e3);
        }
    }

    /// A lane looked at a line of the region, found at the device at `sampled`, here at `at`.
    #[cold]
    pub(crate) fn looked(&mut self, lane: usize, line: u32, sampled: Time, at: Time) {
        self.look(lane, (REGION, u64::from(line)), sampled, at);
    }

    /// A lane looked at a line that the lanes of its host share.
    #[cold]
    pub(crate) fn host_looked(&mut self, lane: usize, line: u64, at: Time) {
        self.look(lane, (lane / self.lanes_a_host, line), at, at);
    }

    /// A lane wrote such a line.
    #[cold]
    pub(crate) fn host_written(&mut self, lane: usize, line: u64, at: Time) {
        let write = LastWrite {
            lane,
            issued: at,
            visible: at,
            queued: 0,
        };
        self.last_write
            .insert((lane / self.lanes_a_host, line), write);
    }

    fn look(&mut self, lane: usize, place: Place, sampled: Time, at: Time) {
        let before = self.last_look.insert((lane, place), sampled);
        let (Some(before), Some(write)) = (before, self.last_write.get(&place)) else {
            return;
        };
        // The look before failed if the lane paused after it, and this one is the first since.
        let failed = self.lanes[lane]
            .paused
            .is_some_and(|paused| paused >= before);
        if failed && write.visible > before && write.visible <= sampled && write.lane != lane {
            self.lanes[lane].found.push(Found {
                at,
                writer: write.lane,
                issued: write.issued,
                visible: write.visible,
                queued: write.queued,
            });
        }
    }

    pub(crate) fn finish(self) -> Attribution {
        Attribution {
            lanes: self.lanes,
            lanes_a_host: self.lanes_a_host,
            writes: self.writes,
        }
    }
}

/// Where the time of a recorded run went.
#[derive(Debug)]
pub struct Attribution {
    lanes: Vec<LaneLog>,
    lanes_a_host: usize,
    writes: Vec<WriteTime>,
}

impl Attribution {
    /// Every write that reached the device, in order of arrival.
    pub fn writes(&self) -> &[WriteTime] {
        &self.writes
    }

    /// The spans between consecutive clock readings of a lane, split. A metric that a workload
    /// takes as a difference of two readings is one of these, or a sum of some: so every reported
    /// time can be split without the workload's help.
    pub fn spans(&self, seat: Seat) -> impl Iterator<Item = (Ticks, Ticks, Split)> {
        let readings = &self.lanes[self.index(seat)].readings;
        readings.windows(2).map(move |pair| {
            let (from, to) = (Ticks(pair[0]), Ticks(pair[1]));
            (from, to, self.split(seat, from, to))
        })
    }

    fn index(&self, seat: Seat) -> usize {
        seat.host as usize * self.lanes_a_host + seat.lane as usize
    }

    /// What the lane's time from `from` to `to` was spent on, along the critical path: where the
    /// lane had waited for another's write, the path goes on at the writer. The parts add up to
    /// the span exactly.
    pub fn split(&self, seat: Seat, from: Ticks, to: Ticks) -> Split {
        let mut split = Split::default();
        let (mut lane, mut at) = (self.index(seat), to.0);
        while at > from.0 {
            match self.found_before(lane, at, from.0) {
                None => {
                    self.local_path(lane, from.0, at, &mut split);
                    break;
                }
                Some(found) => {
                    self.local_path(lane, found.at, at, &mut split);
                    // From being at the device to being seen: the look, and the rest of the poll
                    // before it.
                    let visible = found.visible.max(from.0);
                    split.add(Kind::Observe, found.at - visible);
                    let issued = found.issued.clamp(from.0, visible);
                    let queued = found.queued.min(visible - issued);
                    split.add(Kind::Publish, visible - issued - queued);
                    split.queue_ns += queued as f64 / 1e3;
                    (lane, at) = (found.writer, issued);
                }
            }
        }
        split
    }

    /// The latest look of `lane` that ended by `at`, after `from`, and had been waited for.
    fn found_before(&self, lane: usize, at: Time, from: Time) -> Option<Found> {
        let found = &self.lanes[lane].found;
        let index = found.partition_point(|found| found.at <= at);
        let last = found[..index].last().copied();
        last.filter(|last| last.at > from && last.issued < at)
    }

    /// Adds a lane's own time from `from` to `to`.
    fn local_path(&self, lane: usize, from: Time, to: Time, split: &mut Split) {
        let segments = &self.lanes[lane].segments;
        let first = segments.partition_point(|segment| segment.end <= from);
        let mut covered = 0;
        for segment in segments[first..]
            .iter()
            .take_while(|segment| segment.start < to)
        {
            let length = segment.end.min(to) - segment.start.max(from);
            let queued = segment.queued.min(length);
            split.add(segment.kind, length - queued);
            split.queue_ns += queued as f64 / 1e3;
            covered += length;
        }
        split.add(Kind::Local, (to - from) - covered);
    }
}
