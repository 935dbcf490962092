//! Writes on their way from hosts to devices.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Index;

use model::Content;

use crate::agenda::NEVER;
use crate::timing::Time;

/// Where a write comes from, where it goes, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub arrival: Time,
    pub lane: usize,
    /// The lane's count: tells writes of one moment apart, whatever order they were sent in.
    pub number: u64,
    pub issued: Time,
    pub line: u32,
    pub queued: Time,
    /// Whether the lane's next fence waits for it: not for an eviction.
    pub awaited: bool,
}

/// A write on its way to the device.
#[derive(Clone, Debug)]
#[repr(align(64))] // two cache lines of this machine, not three
pub(crate) struct DeviceWrite {
    pub route: Route,
    pub content: Content,
    /// Bytes of the line that it carries, one bit each.
    pub bytes: u64,
}

/// What orders a write, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    arrival: Time,
    /// The lane, then its count: a lane sends less than 2^48 writes.
    tie: u64,
    slot: u32,
}

impl Entry {
    #[inline(always)]
    fn key(&self) -> u128 {
        (u128::from(self.arrival) << 64) | u128::from(self.tie)
    }
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
        other.key().cmp(&self.key())
    }
}

/// All of them, in order of arrival. The heap orders entries of 24 bytes; the writes stay where
/// they are.
#[derive(Debug)]
pub(crate) struct Transit {
    /// When the next one arrives.
    next: Time,
    order: BinaryHeap<Entry>,
    slots: Vec<DeviceWrite>,
    free: Vec<u32>,
}

impl Default for Transit {
    fn default() -> Self {
        Self {
            next: NEVER,
            order: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl Transit {
    /// When the next one arrives.
    #[inline(always)]
    pub(crate) fn next_arrival(&self) -> Time {
        self.next
    }

    #[inline]
    pub(crate) fn push(&mut self, write: DeviceWrite) {
        let route = &write.route;
        let (arrival, tie) = (route.arrival, ((route.lane as u64) << 48) | route.number);
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = write;
            slot
        } else {
            self.slots.push(write);
            self.slots.len() as u32 - 1
        };
        self.next = self.next.min(arrival);
        self.order.push(Entry { arrival, tie, slot });
    }

    /// Takes the next one out; returns its slot, which stays as it is until the next push.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let slot = self.order.pop()?.slot;
        self.next = self.order.peek().map_or(NEVER, |entry| entry.arrival);
        self.free.push(slot);
        Some(slot as usize)
    }
}

impl Index<usize> for Transit {
    type Output = DeviceWrite;

    #[inline(always)]
    fn index(&self, slot: usize) -> &DeviceWrite {
        &self.slots[slot]
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
                let route = Route {
                    arrival,
                    lane,
                    number,
                    issued: round,
                    line: 0,
                    queued: 0,
                    awaited: true,
                };
                transit.push(DeviceWrite {
                    route,
                    content: Content::ZERO,
                    bytes: 0,
                });
            }
            assert_eq!(transit.next_arrival(), 5);
            let mut order = Vec::new();
            while let Some(slot) = transit.pop() {
                let route = transit[slot].route;
                order.push((route.arrival, route.lane, route.number, route.issued));
            }
            let expected = [(5, 0, 0), (5, 0, 1), (5, 1, 1), (9, 0, 2)];
            assert_eq!(
                order,
                expected.map(|(at, lane, number)| (at, lane, number, round))
            );
        }
        assert_eq!(transit.next_arrival(), NEVER);
    }
}
