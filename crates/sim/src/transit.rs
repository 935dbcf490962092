//! Writes on their way from hosts to devices.

use std::ops::Index;

use model::Content;

use crate::agenda::NEVER;
use crate::timing::Time;

/// Where a write comes from, where it goes, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Route {
    pub arrival: Time,
    pub lane: usize,
    /// The lane's host.
    pub host: u32,
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

impl DeviceWrite {
    fn none() -> Self {
        Self {
            route: Route::default(),
            content: Content::ZERO,
            bytes: 0,
        }
    }
}

/// What orders a write, and where it is.
#[derive(Clone, Copy, Debug)]
struct Entry {
    arrival: Time,
    /// The lane, then its count: a lane sends less than 2^48 writes.
    tie: u64,
    slot: u32,
}

impl Entry {
    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        (self.arrival, self.tie) < (other.arrival, other.tie)
    }
}

/// All of them, in order of arrival. A heap orders entries of 24 bytes; the writes stay where they
/// are.
///
/// The standard library's heap puts an entry into memory and reads it back at once, in wider pieces
/// than it was written: a wait of the processor that was 2 % of all time.
#[derive(Debug)]
pub(crate) struct Transit {
    /// When the next one arrives.
    next: Time,
    /// None is before its parent: that of entry n is entry (n - 1) / 2.
    order: Vec<Entry>,
    slots: Vec<DeviceWrite>,
    free: Vec<u32>,
}

impl Default for Transit {
    fn default() -> Self {
        Self {
            next: NEVER,
            order: Vec::new(),
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
    pub(crate) fn push(&mut self, route: Route, content: &Content, bytes: u64) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(DeviceWrite::none());
            self.slots.len() as u32 - 1
        });
        let write = &mut self.slots[slot as usize];
        (write.route, write.content, write.bytes) = (route, *content, bytes);
        self.next = self.next.min(route.arrival);
        self.enter(Entry {
            arrival: route.arrival,
            tie: ((route.lane as u64) << 48) | route.number,
            slot,
        });
    }

    #[inline(always)]
    fn enter(&mut self, entry: Entry) {
        let mut place = self.order.len();
        self.order.push(entry);
        while place > 0 {
            let parent = self.order[(place - 1) / 2];
            if !entry.is_before(&parent) {
                break;
            }
            self.order[place] = parent;
            place = (place - 1) / 2;
        }
        self.order[place] = entry;
    }

    /// Takes the next one out; returns its slot, which stays as it is until the next push.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let slot = self.order.first()?.slot;
        let last = self.order.pop().expect("the first is there");
        if !self.order.is_empty() {
            self.replace_first(last);
        }
        self.next = self.order.first().map_or(NEVER, |entry| entry.arrival);
        self.free.push(slot);
        Some(slot as usize)
    }

    #[inline(always)]
    fn replace_first(&mut self, entry: Entry) {
        let mut place = 0;
        while let Some(&(mut child)) = self.order.get(2 * place + 1) {
            let mut at = 2 * place + 1;
            if let Some(&right) = self.order.get(at + 1)
                && right.is_before(&child)
            {
                (child, at) = (right, at + 1);
            }
            if entry.is_before(&child) {
                break;
            }
            self.order[place] = child;
            place = at;
        }
        self.order[place] = entry;
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
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn writes_arrive_by_time_then_lane_then_number() {
        let mut transit = Transit::default();
        for round in 0..2 {
            for (arrival, lane, number) in [(9, 0, 2), (5, 1, 1), (5, 0, 1), (5, 0, 0)] {
                let route = Route {
                    arrival,
                    lane,
                    host: 0,
                    number,
                    issued: round,
                    line: 0,
                    queued: 0,
                    awaited: true,
                };
                transit.push(route, &Content::ZERO, 0);
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

    proptest! {
        #[test]
        fn they_arrive_in_order(steps in prop::collection::vec((0u64..40, any::<bool>()), 1..300)) {
            let (mut transit, mut all) = (Transit::default(), BTreeSet::new());
            for (number, (arrival, push)) in steps.into_iter().enumerate() {
                if push {
                    let (number, lane) = (number as u64, number % 3);
                    let route = Route { arrival, lane, number, ..Route::default() };
                    transit.push(route, &Content::ZERO, 0);
                    all.insert((arrival, lane, number));
                } else {
                    let slot = transit.pop();
                    let route = slot.map(|slot| transit[slot].route);
                    let found = route.map(|route| (route.arrival, route.lane, route.number));
                    prop_assert_eq!(found, all.pop_first());
                }
                let next = all.first().map_or(NEVER, |&(arrival, ..)| arrival);
                prop_assert_eq!(transit.next_arrival(), next);
            }
        }
    }
}
