//! Whose turn it is: lanes by time.

use crate::timing::Time;

/// When each lane goes on: a tournament, whose winner is the lane whose turn it is.
///
/// The earlier of two wins a game. A lane gives way at its own turn only, so that who plays again
/// is always who has won every game, and meets whom it beat; and its earliest rival is one of
/// those. The lanes of a host play among themselves before they play those of others. A turn plays
/// one game a round, always as many: a heap would stop early, where the processor cannot guess.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// Who lost each game: game n is between who has won games 2 n and 2 n + 1, or, in the last
    /// half, between two lanes. "Game 0" is lost by who has won all.
    losers: Box<[Entry]>,
    lanes: usize,
    /// Bits of an entry that name the lane within its host: rounds that a host plays by itself.
    lane_bits: u32,
    /// Bits of an entry that name host and lane: rounds altogether.
    seat_bits: u32,
}

/// A time, and below it the host and the lane: of two lanes at one time the lower goes first.
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
        let lane_bits = lanes.next_power_of_two().ilog2();
        let seat_bits = lane_bits + hosts.next_power_of_two().ilog2();
        let all = 1 << seat_bits;
        let mut winners = vec![NONE; 2 * all];
        for host in 0..hosts {
            for lane in 0..lanes {
                let seat = (host << lane_bits) | lane;
                winners[all + seat] = seat as Entry;
            }
        }
        let mut losers = vec![NONE; all];
        for game in (1..all).rev() {
            let (left, right) = (winners[2 * game], winners[2 * game + 1]);
            (winners[game], losers[game]) = (left.min(right), left.max(right));
        }
        losers[0] = winners[1];
        Self {
            losers: losers.into(),
            lanes,
            lane_bits,
            seat_bits,
        }
    }

    /// Whose turn it is once the lane whose turn it was goes on at `time`: the earliest, the lowest
    /// of several, none if all have ended.
    #[inline(always)]
    pub(crate) fn next_after(&mut self, time: Time) -> Option<Next> {
        self.put_off(time);
        let first = self.losers[0];
        if first == NONE {
            return None;
        }
        let seat = self.seat_of(first);
        let (in_host, in_pod) = self.rivals(seat);
        let (host, lane) = (seat >> self.lane_bits, seat & ((1 << self.lane_bits) - 1));
        Some(Next {
            lane: host * self.lanes + lane,
            time: first >> self.seat_bits,
            host: self.limit(seat, in_host),
            pod: self.limit(seat, in_pod),
        })
    }

    #[inline(always)]
    fn put_off(&mut self, time: Time) {
        let seat = self.seat_of(self.losers[0]);
        let mut winner = if time == NEVER {
            NONE
        } else {
            // With 4,096 lanes that is an hour and a quarter of simulated time.
            assert!(
                time < NONE >> self.seat_bits,
                "a run is too long: {time} ps"
            );
            (time << self.seat_bits) | seat as Entry
        };
        let mut game = self.first_game(seat);
        while game > 0 {
            let loser = &mut self.losers[game];
            (winner, *loser) = (winner.min(*loser), winner.max(*loser));
            game /= 2;
        }
        self.losers[0] = winner;
    }

    /// The earliest of the other lanes of the winner's host, and of all others.
    #[inline(always)]
    fn rivals(&self, seat: usize) -> (Entry, Entry) {
        let mut game = self.first_game(seat);
        let mut rival = NONE;
        for _ in 0..self.lane_bits {
            rival = rival.min(self.losers[game]);
            game /= 2;
        }
        let in_host = rival;
        while game > 0 {
            rival = rival.min(self.losers[game]);
            game /= 2;
        }
        (in_host, rival)
    }

    #[inline(always)]
    fn first_game(&self, seat: usize) -> usize {
        ((1 << self.seat_bits) | seat) / 2
    }

    #[inline(always)]
    fn seat_of(&self, entry: Entry) -> usize {
        (entry & ((1 << self.seat_bits) - 1)) as usize
    }

    /// Before which a lane goes first against a rival: a higher one at the same time leaves room
    /// for it.
    #[inline(always)]
    fn limit(&self, seat: usize, rival: Entry) -> Time {
        if rival == NONE {
            return NEVER;
        }
        // A higher seat carries into the time.
        (rival + ((1 << self.seat_bits) - 1 - seat as Entry)) >> self.seat_bits
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `next` says of these times.
    fn next(lanes: usize, times: &[Time]) -> Option<Next> {
        let mut agenda = Agenda::new(times.len() / lanes, lanes);
        let mut next = agenda.next_after(0);
        for _ in times {
            let lane = next.expect("not all have been put off").lane;
            next = agenda.next_after(times[lane]);
        }
        next
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
            let mut next = agenda.next_after(0);
            for delay in delays {
                let next_lane = next.expect("nobody ends here");
                let earliest = (0..times.len()).min_by_key(|&lane| (times[lane], lane));
                prop_assert_eq!(Some(next_lane.lane), earliest);
                prop_assert_eq!(next_lane.time, times[next_lane.lane]);
                times[next_lane.lane] += delay;
                next = agenda.next_after(times[next_lane.lane]);
            }
        }
    }
}
