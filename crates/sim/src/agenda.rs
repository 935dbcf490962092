//! Whose turn it is: lanes by time.

use crate::timing::Time;

/// When each lane goes on, as a tournament: the earliest lane, and the earliest rival of a lane,
/// are found in as many steps as the tree is high.
///
/// Lanes of one host fill one subtree, so that rivals of the same host are found without looking
/// at the others.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The earliest times below each pair of siblings: the children of node n are pair n, node 1
    /// is the root, leaves follow from `leaves`.
    pairs: Vec<[Time; 2]>,
    leaves: usize,
    /// Leaves of one host, as a power of two.
    host_bits: u32,
    /// The leaf of each lane.
    leaf_of: Vec<u32>,
    lanes: usize,
}

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
        let host_bits = lanes.next_power_of_two().ilog2();
        let leaves = hosts.next_power_of_two() << host_bits;
        let leaf = |lane: usize| leaves + ((lane / lanes) << host_bits) + lane % lanes;
        let mut agenda = Self {
            pairs: vec![[NEVER; 2]; leaves.max(2)],
            leaves,
            host_bits,
            leaf_of: (0..hosts * lanes).map(|lane| leaf(lane) as u32).collect(),
            lanes,
        };
        for lane in 0..hosts * lanes {
            agenda.set(lane, 0);
        }
        agenda
    }

    /// Puts a lane at `time`.
    #[inline]
    pub(crate) fn set(&mut self, lane: usize, time: Time) {
        let mut node = self.leaf_of[lane] as usize;
        let mut time = time;
        // Up to the root without a look whether anything changes there: nobody could predict it.
        while node > 0 {
            let pair = &mut self.pairs[node / 2];
            pair[node % 2] = time;
            time = pair[0].min(pair[1]);
            node /= 2;
        }
    }

    /// The earliest lane, the lowest of several; none if all have ended. On the way down from the
    /// root, whoever is not chosen is a rival.
    #[inline]
    pub(crate) fn next(&self) -> Option<Next> {
        let time = self.pairs[0][1];
        if time == NEVER {
            return None;
        }
        let (mut node, mut pod) = (1, NEVER);
        while node < self.leaves >> self.host_bits {
            node = self.descend(node, time, &mut pod);
        }
        let mut host = NEVER;
        while node < self.leaves {
            node = self.descend(node, time, &mut host);
        }
        let leaf = node - self.leaves;
        let own = leaf & ((1 << self.host_bits) - 1);
        Some(Next {
            lane: (leaf >> self.host_bits) * self.lanes + own,
            time,
            host,
            pod: pod.min(host),
        })
    }

    /// The child of `node` that is at `time`; the other one limits it.
    #[inline(always)]
    fn descend(&self, node: usize, time: Time, limit: &mut Time) -> usize {
        let pair = &self.pairs[node];
        let right = usize::from(pair[0] != time);
        // Of two lanes at one time the lower goes first, so a higher rival leaves room for it.
        let rival = pair[1 - right].saturating_add(1 - right as Time);
        *limit = (*limit).min(rival);
        2 * node + right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_lane_is_found_and_ties_go_to_the_lower() {
        let mut agenda = Agenda::new(3, 2);
        assert_eq!(
            agenda.next().map(|next| (next.lane, next.time)),
            Some((0, 0))
        );
        for (lane, time) in [(0, 50), (1, 20), (2, 20), (3, 40), (4, 90), (5, NEVER)] {
            agenda.set(lane, time);
        }
        // Lane 1 may go on at 20, its tie with lane 2 included.
        let next = Next {
            lane: 1,
            time: 20,
            host: 50,
            pod: 21,
        };
        assert_eq!(agenda.next(), Some(next));
        // Lane 2 may not go on at 60, where the lower lane 1 is: ties are the lower's.
        agenda.set(1, 60);
        agenda.set(0, 60);
        let next = Next {
            lane: 2,
            time: 20,
            host: 41,
            pod: 41,
        };
        assert_eq!(agenda.next(), Some(next));
        for lane in 0..4 {
            agenda.set(lane, NEVER);
        }
        assert_eq!(
            agenda.next().map(|next| (next.lane, next.host)),
            Some((4, NEVER))
        );
        agenda.set(4, NEVER);
        assert_eq!(agenda.next(), None);
    }
}
