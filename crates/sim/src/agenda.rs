//! Whose turn it is: lanes by time.

use crate::timing::Time;

/// When each lane goes on: a tournament, whose winner is the lane whose turn it is.
///
/// The earlier player wins a game, and the runner-up is remembered with it: the winner's earliest
/// rival so far. The lanes of a host play among themselves before they play those of others. A turn
/// plays one game a round, always as many: a heap would stop early, where this machine's processor
/// cannot guess.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The players of each game: those of game n are who came out of games 2 n and 2 n + 1, or, in
    /// the last half, two lanes. The second of "game 0" is who came out of all.
    games: Box<[[Player; 2]]>,
    lanes: usize,
    /// Bits of an entry that name the lane within its host: rounds that a host plays by itself.
    lane_bits: u32,
    /// Bits of an entry that name host and lane: rounds altogether.
    seat_bits: u32,
}

/// A time, and below it the host and the lane: of two lanes at one time the lower goes first.
type Entry = u64;

/// Who has won all games so far, and the second of those who took part.
type Player = [Entry; 2];

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
        let mut agenda = Self {
            games: vec![[[NONE; 2]; 2]; 1 << seat_bits].into(),
            lanes,
            lane_bits,
            seat_bits,
        };
        for host in 0..hosts {
            for lane in 0..lanes {
                let seat = (host << lane_bits) | lane;
                agenda.play(seat, seat as Entry);
            }
        }
        agenda
    }

    /// A lane plays its games again with another entry.
    #[inline(always)]
    fn play(&mut self, seat: usize, entry: Entry) {
        let mut place = (1 << self.seat_bits) | seat;
        let mut player = [entry, NONE];
        while place > 1 {
            let game = &mut self.games[place / 2];
            let other = game[1 - place % 2];
            game[place % 2] = player;
            let seconds = player[1].min(other[1]);
            player = [
                player[0].min(other[0]),
                player[0].max(other[0]).min(seconds),
            ];
            place /= 2;
        }
        self.games[0][1] = player;
    }

    /// The lane whose turn it is goes on at `time`.
    #[inline]
    pub(crate) fn put_off(&mut self, time: Time) {
        let seat = self.seat_of(self.games[0][1][0]);
        let moved = if time == NEVER {
            NONE
        } else {
            // With 4,096 lanes that is an hour and a quarter of simulated time.
            assert!(
                time < NONE >> self.seat_bits,
                "a run is too long: {time} ps"
            );
            (time << self.seat_bits) | seat as Entry
        };
        self.play(seat, moved);
    }

    /// The earliest lane, the lowest of several; none if all have ended. It has the turn until it
    /// is put off.
    #[inline]
    pub(crate) fn next(&self) -> Option<Next> {
        let [first, in_pod] = self.games[0][1];
        if first == NONE {
            return None;
        }
        let seat = self.seat_of(first);
        let host = seat >> self.lane_bits;
        let place = ((1 << self.seat_bits) | seat) >> self.lane_bits;
        let [_, in_host] = self.games[place / 2][place % 2];
        Some(Next {
            lane: host * self.lanes + (seat & ((1 << self.lane_bits) - 1)),
            time: first >> self.seat_bits,
            host: self.limit(seat, in_host),
            pod: self.limit(seat, in_pod),
        })
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
        (rival >> self.seat_bits) + Time::from(seat < self.seat_of(rival))
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
