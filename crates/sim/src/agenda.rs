//! Whose turn it is: lanes by time.

use crate::timing::Time;

/// When each lane goes on: a heap, whose top is the lane whose turn it is.
///
/// A lane gives way at its own turn only, so that nothing is ever taken out of the middle; and the
/// top's earliest rival is one of the two below it.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The children of entry n are entries 2 n + 1 and 2 n + 2. Behind the lanes there are as many
    /// entries again that are later than any lane, so that all have children.
    heap: Vec<Entry>,
    /// The same by lane, so that those of one host are side by side; none for the lane whose turn
    /// it is.
    by_lane: Vec<Entry>,
    lanes: usize,
    /// Bits of an entry that name the lane.
    lane_bits: u32,
}

/// A time, and below it the lane: of two lanes at one time the lower goes first.
type Entry = u64;

/// Later than any lane.
const NONE: Entry = Entry::MAX;

/// A lane that has ended.
pub(crate) const NEVER: Time = Time::MAX;

/// Whose turn it is, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub lane: usize,
    pub time: Time,
    /// The time before which it goes first against every other lane of its host.
    pub host: Time,
    /// The same against every other lane.
    pub pod: Time,
}

impl Agenda {
    /// Every lane at time 0.
    pub(crate) fn new(hosts: usize, lanes: usize) -> Self {
        let all = hosts * lanes;
        let entries = 0..all as Entry;
        let mut heap: Vec<Entry> = entries.clone().collect();
        heap.resize(2 * all + 1, NONE);
        Self {
            heap,
            by_lane: entries.collect(),
            lanes,
            lane_bits: all.next_power_of_two().ilog2(),
        }
    }

    /// The lane whose turn it is goes on at `time`.
    #[inline]
    pub(crate) fn put_off(&mut self, time: Time) {
        let lane = self.lane_of(self.heap[0]);
        let moved = if time == NEVER {
            NONE
        } else {
            // With 4,096 lanes that is an hour and a quarter of simulated time.
            assert!(
                time < NONE >> self.lane_bits,
                "a run is too long: {time} ps"
            );
            (time << self.lane_bits) | lane as Entry
        };
        self.by_lane[lane] = moved;
        let mut hole = 0;
        while let Some(&[left, right]) = self.heap[2 * hole + 1..].first_chunk()
            && left.min(right) < moved
        {
            self.heap[hole] = left.min(right);
            hole = 2 * hole + 1 + usize::from(right < left);
        }
        self.heap[hole] = moved;
    }

    /// The earliest lane, the lowest of several; none if all have ended. It has the turn until it
    /// is put off.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Next> {
        let top = self.heap[0];
        if top == NONE {
            return None;
        }
        let lane = self.lane_of(top);
        self.by_lane[lane] = NONE;
        Some(Next {
            lane,
            time: top >> self.lane_bits,
            host: self.limit(lane, self.earliest_in_host(lane)),
            pod: self.limit(lane, self.heap[1].min(self.heap[2])),
        })
    }

    #[inline(always)]
    fn lane_of(&self, entry: Entry) -> usize {
        (entry & ((1 << self.lane_bits) - 1)) as usize
    }

    /// The earliest of the lane's host but for the lane whose turn it is.
    #[inline(always)]
    fn earliest_in_host(&self, lane: usize) -> Entry {
        if self.lanes == 1 {
            return NONE;
        }
        let first = lane / self.lanes * self.lanes;
        let host = &self.by_lane[first..first + self.lanes];
        host.iter()
            .fold(NONE, |earliest, &entry| earliest.min(entry))
    }

    /// Before which a lane goes first against a rival: a higher one at the same time leaves room
    /// for it.
    #[inline(always)]
    fn limit(&self, lane: usize, rival: Entry) -> Time {
        if rival == NONE {
            return NEVER;
        }
        (rival >> self.lane_bits) + Time::from(lane < self.lane_of(rival))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `next` says of these times.
    fn next(lanes: usize, times: &[Time]) -> Option<Next> {
        let mut agenda = Agenda::new(times.len() / lanes, lanes);
        for _ in times {
            let lane = agenda.next().expect("not all have been put off").lane;
            agenda.put_off(times[lane]);
        }
        agenda.next()
    }

    #[test]
    fn the_earliest_lane_is_found_and_ties_go_to_the_lower() {
        let at = |lane, time, host, pod| Next {
            lane,
            time,
            host,
            pod,
        };
        // Lane 1 may go on at 20, its tie with lane 2 included.
        let found = next(2, &[50, 20, 20, 40, 90, NEVER]);
        assert_eq!(found, Some(at(1, 20, 50, 21)));
        // Lane 2 may not go on at 60, where the lower lane 1 is: ties are the lower's.
        let found = next(3, &[61, 60, 20, 90, 70, NEVER]);
        assert_eq!(found, Some(at(2, 20, 60, 60)));
        let found = next(2, &[NEVER, NEVER, NEVER, NEVER, 7, NEVER]);
        assert_eq!(found, Some(at(4, 7, NEVER, NEVER)));
        assert_eq!(next(1, &[NEVER; 3]), None);
        assert_eq!(next(1, &[5]), Some(at(0, 5, NEVER, NEVER)));
    }

    proptest! {
        #[test]
        fn turns_are_in_order(
            delays in prop::collection::vec(0u64..50, 1..300),
            lanes in 1usize..7,
        ) {
            let mut agenda = Agenda::new(5, lanes);
            let mut times = vec![0; 5 * lanes];
            for delay in delays {
                let next = agenda.next().expect("nobody ends here");
                let earliest = (0..times.len()).min_by_key(|&lane| (times[lane], lane));
                prop_assert_eq!(Some(next.lane), earliest);
                prop_assert_eq!(next.time, times[next.lane]);
                times[next.lane] += delay;
                agenda.put_off(times[next.lane]);
            }
        }
    }
}
