//! What lanes saw of a key, and whether one copy of it, changed at one moment by each operation,
//! could have shown it to them (Herlihy and Wing, "Linearizability", TOPLAS 1990).
//!
//! Linearizability is local: a history is linearizable if that of each key is. For one key it is a
//! search for an order (Wing and Gong, "Testing and verifying concurrent objects", JPDC 1993) that
//! remembers where it has been (Lowe, "Testing for linearizability", CCPE 2017). An operation may
//! be next if none that is left ended before it began. Since each client does one operation at a
//! time, where the search stands is how many of each client's operations are placed, and the value.
//!
//! Clocks differ: each interval is widened by their error, also between lanes of one host. Where
//! clocks of hosts cannot be compared at all, order in time binds clients of one host only.

use std::collections::HashSet;

use fabric::{Across, Clock};

/// What an operation did, and said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// Read the key: its value, if it was there.
    Get(Option<u64>),
    /// Put this value, if the key was absent; whether that was so.
    Insert {
        /// Its value.
        value: u64,
        /// Whether it was put.
        done: bool,
    },
    /// Replaced the value by this, if the key was there; whether it was.
    Update {
        /// Its value.
        value: u64,
        /// Whether the key was there.
        was_there: bool,
    },
    /// Put this value; whether the key was there.
    Upsert {
        /// Its value.
        value: u64,
        /// Whether the key was there.
        was_there: bool,
    },
    /// Took the key away; whether it was there.
    Remove {
        /// Whether the key was there.
        was_there: bool,
    },
}

/// One operation of one client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Who: clients do one operation at a time.
    pub client: u32,
    /// Where that client runs.
    pub host: u32,
    /// When it began, in nanoseconds of that host's clock.
    pub from_ns: f64,
    /// When it ended. Infinite: nobody knows; it may have been done, or not.
    pub to_ns: f64,
    /// What it did.
    pub did: Did,
}

/// How far two lanes' clocks may be apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Skew {
    /// By so many nanoseconds at most.
    Within(f64),
    /// By nothing on one host; between hosts nobody knows.
    Unknown,
}

impl Skew {
    /// That of a clock.
    pub fn of(clock: &Clock) -> Self {
        match clock.across_hosts {
            Across::Comparable { error_ns } => Self::Within(error_ns),
            Across::Incomparable(_) => Self::Unknown,
        }
    }
}

/// A history that no order explains.
#[derive(Clone, Debug, PartialEq)]
pub struct NotLinearizable {
    /// How many of its operations could be placed at most.
    pub placed: usize,
    /// Those that could have come next, none of which fits.
    pub stuck: Vec<Event>,
}

/// The value of the key while the search goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// Nothing has been learnt yet.
    Unknown,
    Is(Option<u64>),
}

impl State {
    /// The state after an operation, if it could have said what it said.
    fn after(self, did: Did) -> Option<Self> {
        let there = |was_there: bool| match self {
            Self::Unknown => true,
            Self::Is(value) => value.is_some() == was_there,
        };
        let changed = |fits: bool, done: bool, value| {
            let next = if done {
                Self::Is(value)
            } else if let (Self::Unknown, None) = (self, value) {
                Self::Is(None)
            } else {
                self
            };
            fits.then_some(next)
        };
        match did {
            Did::Get(seen) => {
                (self == Self::Unknown || self == Self::Is(seen)).then_some(Self::Is(seen))
            }
            Did::Insert { value, done } => changed(there(!done), done, Some(value)),
            Did::Update { value, was_there } if was_there => {
                changed(there(true), true, Some(value))
            }
            Did::Update { .. } => changed(there(false), true, None),
            Did::Upsert { value, was_there } => changed(there(was_there), true, Some(value)),
            Did::Remove { was_there } => changed(there(was_there), true, None),
        }
    }
}

/// Whether the operations of one key, by any clients, are linearizable. What the key held before
/// the first of them is open.
///
/// # Errors
/// How far an explanation gets.
pub fn check(events: &[Event], skew: Skew) -> Result<(), NotLinearizable> {
    Search::new(events, skew).run()
}

struct Search {
    /// Each client's operations, in order.
    clients: Vec<Vec<Event>>,
    skew: Skew,
}

type Place = (Vec<u32>, State);

impl Search {
    fn new(events: &[Event], skew: Skew) -> Self {
        let mut ids: Vec<u32> = events.iter().map(|event| event.client).collect();
        ids.sort_unstable();
        ids.dedup();
        let of = |&id: &u32| {
            let mut own: Vec<Event> = events.iter().filter(|e| e.client == id).copied().collect();
            own.sort_by(|a, b| a.from_ns.total_cmp(&b.from_ns));
            own
        };
        Self {
            clients: ids.iter().map(of).collect(),
            skew,
        }
    }

    fn run(&self) -> Result<(), NotLinearizable> {
        let start = (vec![0; self.clients.len()], State::Unknown);
        let mut seen: HashSet<Place> = HashSet::new();
        let mut open = vec![start];
        let (mut placed, mut deepest) = (0, None);
        while let Some((at, state)) = open.pop() {
            if self.is_end(&at) {
                return Ok(());
            }
            let depth = at.iter().map(|&count| count as usize).sum();
            if depth >= placed {
                (placed, deepest) = (depth, Some(at.clone()));
            }
            for next in self.steps(&at, state) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        let at = deepest.unwrap_or_else(|| vec![0; self.clients.len()]);
        let stuck = (0..at.len()).filter_map(|client| self.next(&at, client));
        Err(NotLinearizable {
            placed,
            stuck: stuck.collect(),
        })
    }

    fn next(&self, at: &[u32], client: usize) -> Option<Event> {
        self.clients[client].get(at[client] as usize).copied()
    }

    /// Nothing is left, or only what may never have been done.
    fn is_end(&self, at: &[u32]) -> bool {
        (0..at.len()).all(|client| self.next(at, client).is_none_or(|e| e.to_ns.is_infinite()))
    }

    fn steps(&self, at: &[u32], state: State) -> Vec<Place> {
        let mut steps = Vec::new();
        for client in 0..at.len() {
            let Some(event) = self.next(at, client) else {
                continue;
            };
            let late = |other| {
                other != client
                    && self
                        .next(at, other)
                        .is_some_and(|other| self.precedes(&other, &event))
            };
            if (0..at.len()).any(late) {
                continue;
            }
            let Some(after) = state.after(event.did) else {
                continue;
            };
            let mut next = at.to_vec();
            next[client] += 1;
            if after == state {
                // It changes nothing and fits here: nothing is lost by placing it now.
                return vec![(next, after)];
            }
            steps.push((next, after));
        }
        steps
    }

    /// Whether `a` was over for sure before `b` began.
    fn precedes(&self, a: &Event, b: &Event) -> bool {
        let error = match self.skew {
            Skew::Within(error_ns) => error_ns,
            Skew::Unknown if a.host == b.host => 0.0,
            Skew::Unknown => return false,
        };
        a.to_ns + error < b.from_ns
    }
}

/// Words of an event in a region.
pub(crate) const EVENT_WORDS: usize = 6;

impl Event {
    /// As words, with its key.
    pub(crate) fn pack(&self, key: u64) -> [u64; EVENT_WORDS] {
        let (kind, flag, value) = match self.did {
            Did::Get(seen) => (0, seen.is_some(), seen.unwrap_or(0)),
            Did::Insert { value, done } => (1, done, value),
            Did::Update { value, was_there } => (2, was_there, value),
            Did::Upsert { value, was_there } => (3, was_there, value),
            Did::Remove { was_there } => (4, was_there, 0),
        };
        let head =
            kind | u64::from(flag) << 8 | u64::from(self.client) << 16 | u64::from(self.host) << 48;
        [
            key,
            head,
            value,
            self.from_ns.to_bits(),
            self.to_ns.to_bits(),
            0,
        ]
    }

    /// From such words.
    pub(crate) fn unpack(words: &[u64]) -> (u64, Self) {
        let (head, value) = (words[1], words[2]);
        let flag = head >> 8 & 1 == 1;
        let did = match head & 0xff {
            0 => Did::Get(flag.then_some(value)),
            1 => Did::Insert { value, done: flag },
            2 => Did::Update {
                value,
                was_there: flag,
            },
            3 => Did::Upsert {
                value,
                was_there: flag,
            },
            _ => Did::Remove { was_there: flag },
        };
        let event = Self {
            client: (head >> 16) as u32,
            host: (head >> 48) as u32,
            from_ns: f64::from_bits(words[3]),
            to_ns: f64::from_bits(words[4]),
            did,
        };
        (words[0], event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(client: u32, from: u32, to: u32, did: Did) -> Event {
        Event {
            client,
            host: client,
            from_ns: f64::from(from),
            to_ns: f64::from(to),
            did,
        }
    }

    const W1: Did = Did::Upsert {
        value: 1,
        was_there: true,
    };
    const R0: Did = Did::Get(Some(0));
    const R1: Did = Did::Get(Some(1));

    #[test]
    fn a_read_that_goes_back_is_caught() {
        // The register of Herlihy and Wing's figure 1: a new value, then the old one again.
        let events = [
            event(0, 0, 1, R0),
            event(0, 2, 9, W1),
            event(1, 3, 4, R1),
            event(2, 5, 6, R0),
        ];
        let found = check(&events, Skew::Within(0.0)).expect_err("1, then 0");
        assert_eq!(found.placed, 3);
        // With clocks that may be off by 2 ns the two reads may have overlapped.
        assert_eq!(check(&events, Skew::Within(2.0)), Ok(()));
        assert_eq!(check(&events, Skew::Unknown), Ok(()));
    }

    #[test]
    fn what_never_ended_may_have_been_done_or_not() {
        let lost = Event {
            to_ns: f64::INFINITY,
            ..event(0, 2, 0, W1)
        };
        for seen in [R0, R1] {
            let events = [event(1, 0, 1, R0), lost, event(1, 5, 6, seen)];
            assert_eq!(check(&events, Skew::Within(0.0)), Ok(()));
        }
    }

    #[test]
    fn two_inserts_cannot_both_succeed() {
        let insert = |value| Did::Insert { value, done: true };
        let both = [event(0, 0, 5, insert(1)), event(1, 1, 6, insert(2))];
        assert!(check(&both, Skew::Within(0.0)).is_err());
        let between = event(2, 2, 4, Did::Remove { was_there: true });
        assert_eq!(
            check(&[both[0], both[1], between], Skew::Within(0.0)),
            Ok(())
        );
    }

    /// Every order, tried.
    fn by_hand(left: &[Event], state: State) -> bool {
        left.iter().enumerate().any(|(index, event)| {
            let first = left.iter().all(|other| {
                std::ptr::eq(other, event)
                    || other.to_ns >= event.from_ns
                        && (other.client != event.client || other.from_ns >= event.from_ns)
            });
            let mut rest = left.to_vec();
            rest.remove(index);
            first
                && state
                    .after(event.did)
                    .is_some_and(|after| by_hand(&rest, after))
        }) || left.is_empty()
    }

    fn did() -> impl Strategy<Value = Did> {
        let (value, flag) = (0..3u64, any::<bool>());
        prop_oneof![
            prop::option::of(value.clone()).prop_map(Did::Get),
            (value.clone(), flag).prop_map(|(value, done)| Did::Insert { value, done }),
            (value.clone(), flag).prop_map(|(value, was_there)| Did::Update { value, was_there }),
            (value, flag).prop_map(|(value, was_there)| Did::Upsert { value, was_there }),
            flag.prop_map(|was_there| Did::Remove { was_there }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn the_search_agrees_with_every_order_tried(
            parts in prop::collection::vec((0..3u32, 0..4u32, 0..6u32, did()), 1..6),
        ) {
            let mut clocks = [0; 3];
            let mut events = Vec::new();
            for (client, gap, length, did) in parts {
                let from = clocks[client as usize] + gap + 1;
                clocks[client as usize] = from + length;
                events.push(event(client, from, from + length, did));
            }
            let linearizable = check(&events, Skew::Within(0.0)).is_ok();
            prop_assert_eq!(linearizable, by_hand(&events, State::Unknown));
        }

        #[test]
        fn events_survive_packing(did in did(), client in 0..9u32) {
            let event = event(client, 3, 4, did);
            prop_assert_eq!(Event::unpack(&event.pack(77)), (77, event));
        }
    }
}
