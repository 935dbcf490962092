//! Writes on their way from hosts to devices.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use model::Content;

use crate::agenda::NEVER;
use crate::timing::Time;

/// A write on its way to the device.
#[derive(Clone, Debug)]
pub(crate) struct DeviceWrite {
    pub arrival: Time,
    pub lane: usize,
    /// The lane's count: tells writes of one moment apart, whatever order they were sent in.
    pub number: u64,
    pub issued: Time,
    pub line: u32,
    pub content: Content,
    pub bytes: u64,
    pub queued: Time,
    /// Whether the lane's next fence waits for it: not for an eviction.
    pub awaited: bool,
}

/// What orders a write, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    arrival: Time,
    number: u64,
    lane: u32,
    slot: u32,
}

impl PartialOrd for Entry {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest: heaps give the greatest first.
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (entry.arrival, entry.lane, entry.number);
        key(other).cmp(&key(self))
    }
}

/// All of them, in order of arrival. The heap orders entries of 24 bytes; the writes stay where
/// they are.
#[derive(Debug, Default)]
pub(crate) struct Transit {
    order: BinaryHeap<Entry>,
    slots: Vec<DeviceWrite>,
    free: Vec<u32>,
}

impl Transit {
    /// When the next one arrives.
    #[inline(always)]
    pub(crate) fn next_arrival(&self) -> Time {
        self.order.peek().map_or(NEVER, |entry| entry.arrival)
    }

    #[inline]
    pub(crate) fn push(&mut self, write: DeviceWrite) {
        let (arrival, number, lane) = (write.arrival, write.number, write.lane as u32);
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = write;
            slot
        } else {
            self.slots.push(write);
            self.slots.len() as u32 - 1
        };
        self.order.push(Entry {
            arrival,
            number,
            lane,
            slot,
        });
    }

    /// Takes the next one out: its slot, which stays as it is until the next push.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<DeviceWrite> {
        let slot = self.order.pop()?.slot;
        self.free.push(slot);
        Some(self.slots[slot as usize].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_arrive_by_time_then_lane_then_number() {
        let mut transit = Transit::default();
        for round in 0..2 {
            for (arrival, lane, number) in [(9, 0, 2), (5, 1, 1), (5, 0, 1), (5, 0, 0)] {
                transit.push(DeviceWrite {
                    arrival,
                    lane,
                    number,
                    issued: round,
                    line: 0,
                    content: Content::ZERO,
                    bytes: 0,
                    queued: 0,
                    awaited: true,
                });
            }
            assert_eq!(transit.next_arrival(), 5);
            let order: Vec<_> = std::iter::from_fn(|| transit.pop())
                .map(|write| (write.arrival, write.lane, write.number, write.issued))
                .collect();
            let expected = [(5, 0, 0), (5, 0, 1), (5, 1, 1), (9, 0, 2)];
            assert_eq!(order, expected.map(|(at, lane, number)| (at, lane, number, round)));
        }
        assert_eq!(transit.next_arrival(), NEVER);
    }
}
