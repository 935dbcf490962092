//! Whose turn it is: lanes by time.

use crate::timing::Time;

/// When each lane goes on, as a tournament: the earliest lane, and the earliest rival of a lane,
/// are found in as many steps as the tree is high.
///
/// Lanes of one host fill one subtree, so that rivals of the same host are found without looking
/// at the others.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// Node 1 is the root; leaves follow from `leaves`. Each holds the earliest time below it.
    times: Vec<Time>,
    leaves: usize,
    /// Leaves of one host, a power of two.
    host_leaves: usize,
    lanes: usize,
}

/// A lane that has ended.
pub(crate) const NEVER: Time = Time::MAX;

impl Agenda {
    /// Every lane at time 0.
    pub(crate) fn new(hosts: usize, lanes: usize) -> Self {
        let host_leaves = lanes.next_power_of_two();
        let leaves = hosts.next_power_of_two() * host_leaves;
        let mut agenda = Self {
            times: vec![NEVER; 2 * leaves],
            leaves,
            host_leaves,
            lanes,
        };
        for lane in 0..hosts * lanes {
            agenda.set(lane, 0);
        }
        agenda
    }

    #[inline(always)]
    fn leaf(&self, lane: usize) -> usize {
        let (host, own) = if self.lanes == 1 {
            (lane, 0)
        } else {
            (lane / self.lanes, lane % self.lanes)
        };
        self.leaves + host * self.host_leaves + own
    }

    /// Puts a lane at `time`.
    #[inline]
    pub(crate) fn set(&mut self, lane: usize, time: Time) {
        let mut node = self.leaf(lane);
        self.times[node] = time;
        while node > 1 {
            node /= 2;
            let earliest = self.times[2 * node].min(self.times[2 * node + 1]);
            if self.times[node] == earliest {
                break;
            }
            self.times[node] = earliest;
        }
    }

    /// The earliest lane, the lowest of several, and its time; none if all have ended.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<(usize, Time)> {
        let time = self.times[1];
        if time == NEVER {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.times[node] != time {
                node += 1;
            }
        }
        let leaf = node - self.leaves;
        let lane = leaf / self.host_leaves * self.lanes + leaf % self.host_leaves;
        Some((lane, time))
    }

    /// The time before which `lane` goes first against every other lane.
    #[inline]
    pub(crate) fn rivals(&self, lane: usize) -> Time {
        self.rivals_below(lane, self.leaves)
    }

    /// The same, against lanes of the same host only.
    #[inline]
    pub(crate) fn host_rivals(&self, lane: usize) -> Time {
        self.rivals_below(lane, self.host_leaves)
    }

    #[inline]
    fn rivals_below(&self, lane: usize, leaves: usize) -> Time {
        let mut node = self.leaf(lane);
        let mut limit = NEVER;
        let mut span = leaves;
        while span > 1 {
            let sibling = self.times[node ^ 1];
            // Of two lanes at one time the lower goes first, so a higher rival leaves room for it.
            let tie = Time::from(node.is_multiple_of(2));
            limit = limit.min(sibling.saturating_add(tie));
            node /= 2;
            span /= 2;
        }
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_lane_is_found_and_ties_go_to_the_lower() {
        let mut agenda = Agenda::new(3, 2);
        assert_eq!(agenda.earliest(), Some((0, 0)));
        for (lane, time) in [(0, 50), (1, 20), (2, 20), (3, 40), (4, 90), (5, NEVER)] {
            agenda.set(lane, time);
        }
        assert_eq!(agenda.earliest(), Some((1, 20)));
        // Lane 1 may go on at 20, its tie with lane 2 included; lane 2 not before 20.
        assert_eq!((agenda.rivals(1), agenda.rivals(2)), (21, 20));
        assert_eq!((agenda.host_rivals(1), agenda.host_rivals(0)), (50, 21));
        assert_eq!(agenda.host_rivals(4), NEVER);
        for lane in 0..5 {
            agenda.set(lane, NEVER);
        }
        assert_eq!(agenda.earliest(), None);
    }
}
