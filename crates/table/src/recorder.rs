//! What one lane keeps of its operations: times by operation, and the history of checked keys.

use std::collections::{BTreeMap, HashSet};

use fabric::{Clock, Ticks};
use workload::Series;

use crate::client::Op;
use crate::history::{Did, EVENT_WORDS, Event, Skew, check};

/// Start and end.
type Span = (Ticks, Ticks);

pub(crate) struct Recorder {
    clock: Clock,
    checked: HashSet<u64>,
    host: u32,
    first_client: u32,
    room: usize,
    /// One in so many operations is timed.
    stride: usize,
    times: [Vec<f64>; 4],
    /// Events, packed.
    events: Vec<u64>,
    /// When the room for events was full, in ticks.
    full: f64,
    pub(crate) strange: u64,
}

const METRICS: [&str; 4] = ["read_ns", "update_ns", "insert_ns", "modify_ns"];

impl Recorder {
    pub(crate) fn new(
        clock: Clock,
        checked: HashSet<u64>,
        (host, first_client): (u32, u32),
        room: usize,
        stride: usize,
    ) -> Self {
        Self {
            clock,
            checked: if room == 0 { HashSet::new() } else { checked },
            host,
            first_client,
            room,
            stride,
            times: Default::default(),
            events: Vec::new(),
            full: f64::INFINITY,
            strange: 0,
        }
    }

    /// Whether operation `number`, of `key`, has to be timed.
    #[inline]
    pub(crate) fn times(&self, number: usize, key: u64) -> bool {
        number.is_multiple_of(self.stride) || self.checked.contains(&key)
    }

    pub(crate) fn read(
        &mut self,
        number: usize,
        (slot, op): (u32, Op),
        seen: Option<u64>,
        span: Span,
    ) {
        if let Op::Read(_) = op {
            self.time(number, 0, span);
        }
        self.record(op.key(), slot, Did::Get(seen), span);
    }

    pub(crate) fn changed(
        &mut self,
        number: usize,
        (slot, op): (u32, Op),
        value: u64,
        was_there: bool,
        span: Span,
    ) {
        let did = match op {
            Op::Insert(_) => {
                self.time(number, 2, span);
                Did::Insert { value, done: true }
            }
            _ => Did::Update { value, was_there },
        };
        if let Op::Update(_) = op {
            self.time(number, 1, span);
        }
        self.record(op.key(), slot, did, span);
    }

    /// A read and the update of what it read.
    pub(crate) fn modified(&mut self, number: usize, span: Span) {
        self.time(number, 3, span);
    }

    fn time(&mut self, number: usize, metric: usize, (start, end): Span) {
        if number.is_multiple_of(self.stride) {
            self.times[metric].push(self.clock.span_ns(start, end));
        }
    }

    fn record(&mut self, key: u64, slot: u32, did: Did, (start, end): Span) {
        if self.full.is_finite() || !self.checked.contains(&key) {
            return;
        }
        if self.events.len() / EVENT_WORDS == self.room {
            self.full = start.0 as f64;
            return;
        }
        let event = Event {
            client: self.first_client + slot,
            host: self.host,
            // Ticks still: each host has calibrated its clock's rate for itself, and one part in a
            // million of the time since boot is milliseconds.
            from_ns: start.0 as f64,
            to_ns: end.0 as f64,
            did,
        };
        self.events.extend(event.pack(key));
    }

    /// Everything for whoever brings it together.
    pub(crate) fn words(&self, span: u64) -> Vec<u64> {
        let events = (self.events.len() / EVENT_WORDS) as u64;
        let mut words = vec![span, self.strange, events, self.full.to_bits()];
        words.extend(&self.events);
        words
    }

    pub(crate) fn series(self) -> Vec<Series> {
        let all: Vec<f64> = self.times.iter().flatten().copied().collect();
        let mut series = vec![Series::of("op_ns", "ns", all)];
        for (metric, times) in METRICS.into_iter().zip(self.times) {
            if !times.is_empty() {
                series.push(Series::of(metric, "ns", times));
            }
        }
        series
    }
}

/// Whether the histories of all checked keys are linearizable, from what each lane has put.
///
/// Lanes may have stopped to record at different times. Up to the first of these everything that
/// began is known; of what began before it and ended after it, a change may or may not have come
/// before whatever was seen last, and a read may have seen what nobody recorded.
pub(crate) fn linearizable(lanes: &[Vec<u64>], clock: &Clock) -> bool {
    let until = lanes.iter().map(|words| f64::from_bits(words[3]));
    let until = until.fold(f64::INFINITY, f64::min);
    let mut keys: BTreeMap<u64, Vec<Event>> = BTreeMap::new();
    for words in lanes {
        let events = words[4..].chunks(EVENT_WORDS).take(words[2] as usize);
        for (key, mut event) in events.map(Event::unpack) {
            let reads = matches!(event.did, Did::Get(_));
            if event.from_ns >= until || reads && event.to_ns >= until {
                continue;
            }
            if event.to_ns >= until {
                event.to_ns = f64::INFINITY;
            }
            // All by one rate.
            event.from_ns /= clock.ticks_per_ns;
            event.to_ns /= clock.ticks_per_ns;
            keys.entry(key).or_default().push(event);
        }
    }
    let skew = Skew::of(clock);
    keys.values().all(|events| check(events, skew).is_ok())
}
