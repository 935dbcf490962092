//! What a lock server keeps in its own memory.

use std::collections::VecDeque;

use fabric::{HostAtomics, MAX_HOSTS};

use crate::board::Board;

/// A server's private state: who has asked, who waits, who has the lock. One lane owns it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Desk {
    /// The last acquisition that each client was seen to ask for.
    pub(crate) asked: [u64; MAX_HOSTS as usize],
    /// Clients that wait, in the order in which they were seen.
    pub(crate) queue: VecDeque<u32>,
    /// The last client in line, or inside, and the number of its acquisition.
    pub(crate) last: Option<(u32, u64)>,
}

impl Default for Desk {
    /// That of a lock whose lines are zero: nobody has ever asked.
    fn default() -> Self {
        Self {
            asked: [0; MAX_HOSTS as usize],
            queue: VecDeque::new(),
            last: None,
        }
    }
}

impl Desk {
    /// The desk of a server that takes over clients with a past. Cost: 1 observe of N lines.
    #[track_caller]
    pub(crate) fn of<P: HostAtomics>(port: &P, requests: &Board) -> Self {
        let mut desk = Self::default();
        requests.watch(|_| true).scan(port, |who, word| {
            desk.asked[who as usize] = Turn(word).asked();
        });
        desk
    }

    /// Takes new requests into the queue and notes whether the last client has gone. Cost: 1
    /// observe of N lines.
    #[track_caller]
    pub(crate) fn take_in<P: HostAtomics>(&mut self, port: &P, requests: &Board) {
        requests.watch(|_| true).scan(port, |who, word| {
            let (turn, asked) = (Turn(word), &mut self.asked[who as usize]);
            if self.last == Some((who, turn.given_up())) {
                self.last = None;
            }
            if turn.asked() > *asked {
                *asked = turn.asked();
                self.queue.push_back(who);
            }
        });
    }
}

/// What a client's line says: `2k - 1` asks for its k-th acquisition, `2k` has given it up. One
/// word, one writer, and it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn(pub u64);

impl Turn {
    pub(crate) fn asking(acquisition: u64) -> Self {
        Self(2 * acquisition - 1)
    }

    pub(crate) fn released(acquisition: u64) -> Self {
        Self(2 * acquisition)
    }

    /// The last acquisition that was asked for.
    pub(crate) fn asked(self) -> u64 {
        self.0.div_ceil(2)
    }

    /// The last acquisition that was given up.
    pub(crate) fn given_up(self) -> u64 {
        self.0 / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_says_what_was_asked_and_what_was_given_up() {
        assert_eq!((Turn(0).asked(), Turn(0).given_up()), (0, 0));
        for k in 1..5 {
            assert_eq!(
                (Turn::asking(k).asked(), Turn::asking(k).given_up()),
                (k, k - 1)
            );
            assert_eq!(
                (Turn::released(k).asked(), Turn::released(k).given_up()),
                (k, k)
            );
        }
    }
}
