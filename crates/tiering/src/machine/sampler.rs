//! The hardware sampler: one record every so many retired demand misses, or stores.

use crate::random::Random;

/// Parts of an event in which periods are counted: at a scale they are no whole numbers, and
/// rounding 1.55 to 2 would sample a quarter less.
pub const EVENT_PARTS: u64 = 256;

/// How many events make a record, in parts of an event, at least one; `None` switches it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Periods {
    /// Retired loads that missed the cache.
    pub load: Option<u64>,
    /// Retired stores.
    pub store: Option<u64>,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The base page.
    pub vpn: u32,
    /// Whether a store was sampled.
    pub store: bool,
}

/// A countdown that never ends.
const OFF: u64 = u64::MAX;

/// Counters and rings of all threads.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    pub(super) periods: Periods,
    left: Vec<[u64; 2]>,
    rings: Vec<[Vec<u32>; 2]>,
    ring_records: usize,
}

impl Sampler {
    pub(super) fn new(threads: usize, ring_records: usize) -> Self {
        Self {
            periods: Periods::default(),
            left: vec![[OFF; 2]; threads],
            rings: vec![[Vec::new(), Vec::new()]; threads],
            ring_records,
        }
    }

    /// Changes the periods. A counter that was off starts at a phase of its own, so that seeds
    /// differ in what is sampled; one that runs ends its old period first.
    pub(super) fn set(&mut self, periods: Periods, random: &mut Random) {
        for left in &mut self.left {
            for (left, (old, new)) in left.iter_mut().zip([
                (self.periods.load, periods.load),
                (self.periods.store, periods.store),
            ]) {
                *left = match (old, new) {
                    (_, None) => OFF,
                    (None, Some(period)) => EVENT_PARTS + random.below(period),
                    (Some(_), Some(_)) => *left,
                };
            }
        }
        self.periods = periods;
    }

    /// Counts a demand miss of a load; whether it makes a record.
    #[inline]
    pub(super) fn load(&mut self, thread: usize) -> bool {
        due(&mut self.left[thread][0])
    }

    /// Counts a store; whether it makes a record.
    #[inline]
    pub(super) fn store(&mut self, thread: usize) -> bool {
        due(&mut self.left[thread][1])
    }

    /// Makes a record and starts the next period; false if the ring was full.
    pub(super) fn record(&mut self, thread: usize, sample: Sample) -> bool {
        let event = usize::from(sample.store);
        let period = if sample.store {
            self.periods.store
        } else {
            self.periods.load
        };
        let left = &mut self.left[thread][event];
        // What is left of the last event counts towards the next record.
        *left = period.map_or(OFF, |period| *left + period - EVENT_PARTS);
        let ring = &mut self.rings[thread][event];
        let room = ring.len() < self.ring_records;
        if room {
            ring.push(sample.vpn);
        }
        room
    }

    /// Takes a ring's records if there are more than the first number, all but the second, from
    /// the first `cpus`.
    pub(super) fn drain(&mut self, into: &mut Vec<Sample>, shares: (usize, usize), cpus: usize) {
        let (high, low) = shares;
        for rings in self.rings.iter_mut().take(cpus) {
            for (event, ring) in rings.iter_mut().enumerate() {
                if ring.len() <= high {
                    continue;
                }
                let taken = ring.drain(..ring.len() - low.min(ring.len()));
                into.extend(taken.map(|vpn| Sample {
                    vpn,
                    store: event == 1,
                }));
            }
        }
    }

    pub(super) fn ring_records(&self) -> usize {
        self.ring_records
    }
}

/// Counts an event; whether it makes a record, which then starts the next period.
#[inline]
fn due(left: &mut u64) -> bool {
    let due = *left <= EVENT_PARTS;
    if !due {
        *left -= EVENT_PARTS;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_in_a_period_makes_a_record() {
        let mut sampler = Sampler::new(1, 1_000);
        let periods = Periods {
            load: Some(7 * EVENT_PARTS),
            store: None,
        };
        sampler.set(periods, &mut Random::new(1, 1));
        let sample = Sample {
            vpn: 3,
            store: false,
        };
        for _ in 0..700 {
            if sampler.load(0) {
                assert!(sampler.record(0, sample));
            }
            assert!(!sampler.store(0));
        }
        let mut taken = Vec::new();
        sampler.drain(&mut taken, (0, 0), 1);
        assert_eq!(taken.len(), 100);
        assert!(taken.iter().all(|&record| record == sample));
    }

    #[test]
    fn a_period_that_is_no_whole_number_is_kept_on_average() {
        let mut sampler = Sampler::new(1, 1_000_000);
        let periods = Periods {
            load: Some(398), // 1.555 events
            store: None,
        };
        sampler.set(periods, &mut Random::new(3, 1));
        let events = 100_000_u64;
        let sample = Sample {
            vpn: 0,
            store: false,
        };
        let records = (0..events).filter(|_| sampler.load(0) && sampler.record(0, sample));
        assert!((records.count() as u64).abs_diff(events * 256 / 398) <= 1);
    }

    #[test]
    fn rings_of_cpus_that_are_not_read_stay_full() {
        let mut sampler = Sampler::new(3, 8);
        for thread in 0..3 {
            let vpn = thread as u32;
            assert!(sampler.record(thread, Sample { vpn, store: false }));
        }
        let mut taken = Vec::new();
        sampler.drain(&mut taken, (0, 0), 2);
        assert_eq!(taken.iter().map(|s| s.vpn).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_full_ring_drops() {
        let mut sampler = Sampler::new(1, 2);
        let sample = Sample {
            vpn: 0,
            store: true,
        };
        assert!(sampler.record(0, sample) && sampler.record(0, sample));
        assert!(!sampler.record(0, sample));
    }
}
