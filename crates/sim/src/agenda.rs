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
    /// Bits of an entry that name host and lane: rounds altogether.
    seat_bits: u32,
    /// All of these bits.
    seats: Entry,
    /// Rounds that a coherence domain plays by itself.
    domain_rounds: u32,
    /// Later than any lane may get: with 4,096 lanes an hour and a quarter of simulated time.
    end: Time,
    /// The number of the lane that sits in each seat.
    lanes: Box<[u32]>,
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
    /// The time before which it goes first against every other lane of its coherence domain.
    pub until: Time,
}

impl Agenda {
    /// Every lane at time 0. One coherence domain is a host, or all of them.
    pub(crate) fn new(hosts: usize, lanes: usize, coherent: bool) -> Self {
        let lane_bits = lanes.next_power_of_two().ilog2();
        let seat_bits = lane_bits + hosts.next_power_of_two().ilog2();
        let all = 1 << seat_bits;
        let mut winners = vec![NONE; 2 * all];
        let mut lane_in = vec![0; all];
        for id in 0..hosts * lanes {
            let seat = ((id / lanes) << lane_bits) | (id % lanes);
            winners[all + seat] = seat as Entry;
            lane_in[seat] = id as u32;
        }
        let mut losers = vec![NONE; all];
        for game in (1..all).rev() {
            let (left, right) = (winners[2 * game], winners[2 * game + 1]);
            (winners[game], losers[game]) = (left.min(right), left.max(right));
        }
        losers[0] = winners[1];
        Self {
            losers: losers.into(),
            seat_bits,
            seats: all as Entry - 1,
            domain_rounds: if coherent { seat_bits } else { lane_bits },
            end: NONE >> seat_bits,
            lanes: lane_in.into(),
        }
    }

    /// Whose turn it is once the lane whose turn it was goes on at `time`: the earliest, the lowest
    /// of several, none if all have ended.
    #[inline(always)]
    pub(crate) fn next_after(&mut self, time: Time) -> Option<Next> {
        let first = self.put_off(time);
        if first == NONE {
            return None;
        }
        let seat = self.seat_of(first);
        Some(Next {
            lane: self.lanes[seat] as usize,
            time: first >> self.seat_bits,
            until: self.until(seat),
        })
    }

    /// Who wins once the winner so far goes on at `time`.
    #[inline(always)]
    fn put_off(&mut self, time: Time) -> Entry {
        let seat = self.seat_of(self.losers[0]);
        let mut winner = (time << self.seat_bits) | seat as Entry;
        if time >= self.end {
            assert!(time == NEVER, "a run is too long: {time} ps");
            winner = NONE;
        }
        let mut game = self.first_game(seat);
        while game > 0 {
            let loser = &mut self.losers[game];
            (winner, *loser) = (winner.min(*loser), winner.max(*loser));
            game /= 2;
        }
        self.losers[0] = winner;
        winner
    }

    /// Before which the winner goes first against its domain: a higher rival at the same time
    /// leaves room for it.
    #[inline(always)]
    fn until(&self, seat: usize) -> Time {
        let mut game = self.first_game(seat);
        let mut rival = NONE;
        for _ in 0..self.domain_rounds {
            rival = rival.min(self.losers[game]);
            game /= 2;
        }
        if rival == NONE {
            return NEVER;
        }
        // A higher seat carries into the time.
        (rival + (self.seats - seat as Entry)) >> self.seat_bits
    }

    #[inline(always)]
    fn first_game(&self, seat: usize) -> usize {
        (self.losers.len() | seat) / 2
    }

    #[inline(always)]
    fn seat_of(&self, entry: Entry) -> usize {
        (entry & self.seats) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Who is next of lanes at these times.
    fn next(lanes: usize, coherent: bool, times: &[Time]) -> Option<(usize, Time, Time)> {
        let mut agenda = Agenda::new(times.len() / lanes, lanes, coherent);
        let mut next = agenda.next_after(0);
        for _ in times {
            let lane = next.expect("not all have been put off").lane;
            next = agenda.next_after(times[lane]);
        }
        next.map(|next| (next.lane, next.time, next.until))
    }

    #[test]
    fn the_earliest_lane_is_found_and_ties_go_to_the_lower() {
        // Lane 1 may go on at 20, its tie with lane 2 included.
        let times = [50, 20, 20, 40, 90, NEVER];
        assert_eq!(next(2, false, &times), Some((1, 20, 50)));
        assert_eq!(next(2, true, &times), Some((1, 20, 21)));
        // Lane 2 may not go on at 60, where the lower lane 1 is: ties are the lower's.
        let times = [61, 60, 20, 90, 70, NEVER];
        assert_eq!(next(3, false, &times), Some((2, 20, 60)));
        assert_eq!(next(3, true, &times), Some((2, 20, 60)));
        let times = [NEVER, NEVER, NEVER, NEVER, 7, NEVER];
        assert_eq!(next(2, true, &times), Some((4, 7, NEVER)));
        assert_eq!(next(1, true, &[NEVER; 3]), None);
        assert_eq!(next(1, false, &[5, 6]), Some((0, 5, NEVER)));
    }

    proptest! {
        #[test]
        fn turns_are_in_order(
            delays in prop::collection::vec(0u64..50, 1..300),
            lanes in 1usize..7,
        ) {
            let mut agenda = Agenda::new(5, lanes, false);
            let mut times = vec![0; 5 * lanes];
            let mut next = agenda.next_after(0);
            for delay in delays {
                let Next { lane, time, .. } = next.expect("nobody ends here");
                let earliest = (0..times.len()).min_by_key(|&lane| (times[lane], lane));
                prop_assert_eq!(Some(lane), earliest);
                prop_assert_eq!(time, times[lane]);
                times[lane] += delay;
                next = agenda.next_after(times[lane]);
            }
        }
    }
}
