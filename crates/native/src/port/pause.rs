//! What a lane does between two polls.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fabric::{Gone, Ticks};

use crate::instr;

/// Polls between two looks at deadline and watch. A poll of a peer's line costs 0.2-2 us, so a lost
/// host is noticed within some milliseconds and the look costs less than a thousandth.
const POLLS_PER_LOOK: u32 = 1024;
/// Polls before a lane that shares its core gives it away.
const POLLS_PER_GIFT: u32 = 64;
/// Yields before it sleeps: a peer that is merely waiting its turn has had it by then.
const YIELDS: u32 = 48;
const FIRST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// When a trial must end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: Ticks,
    pub(crate) after_ms: u64,
}

/// What all lanes of a host look at: whether one of them panicked, and the time.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) deadline: Option<Deadline>,
    pub(crate) lane_panicked: AtomicBool,
}

impl Ending {
    pub(crate) fn look(&self) -> Result<(), Gone> {
        if self.lane_panicked.load(Ordering::Relaxed) {
            return Err(Gone::Teardown {
                why: "another lane of this host panicked",
            });
        }
        match self.deadline {
            Some(Deadline { at, after_ms }) if instr::rdtscp() > at.0 => {
                Err(Gone::Deadline { after_ms })
            }
            _ => Ok(()),
        }
    }
}

/// One lane's spinning. It lives beside the port, not in it: a port without interior mutability
/// lets the compiler keep its fields in registers across the loads and flushes of a loop.
#[derive(Debug)]
pub(crate) struct Spin {
    /// Fast turns until the next slow one.
    left: Cell<u32>,
    /// Fast turns that the last slow one granted.
    granted: Cell<u32>,
    shares_core: bool,
    /// Times in a row that the core was given away in this wait.
    gifts: Cell<u32>,
    /// When the last slow turn ended.
    last: Cell<u64>,
    /// Ticks of the quickest poll so far.
    quickest: Cell<u64>,
}

impl Spin {
    pub(crate) fn new(shares_core: bool) -> Self {
        let granted = if shares_core {
            POLLS_PER_GIFT
        } else {
            POLLS_PER_LOOK
        };
        Self {
            left: Cell::new(granted),
            granted: Cell::new(granted),
            shares_core,
            gifts: Cell::new(0),
            last: Cell::new(instr::rdtscp()),
            quickest: Cell::new(u64::MAX),
        }
    }

    /// Counts a turn; true if it is a slow one.
    #[inline(always)]
    pub(crate) fn turn(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left == 0
    }

    /// The slow turn: gives the core away where lanes share it, then looks for reasons to give up.
    pub(crate) fn slow(
        &self,
        ending: &Ending,
        look: impl FnOnce() -> Result<(), Gone>,
    ) -> Result<(), Gone> {
        if self.shares_core {
            self.give_core_away();
        }
        let answer = ending.look().and_then(|()| look());
        self.grant(if self.shares_core { 1 } else { POLLS_PER_LOOK });
        answer
    }

    fn grant(&self, turns: u32) {
        self.left.set(turns);
        self.granted.set(turns);
        self.last.set(instr::rdtscp());
    }

    /// A yield, and after dozens of them in one wait a sleep.
    ///
    /// Nobody tells a port that a wait succeeded and another began. But then more happened since
    /// the last turn than polling, so it took longer than polls do; the count starts over. A wrong
    /// guess (an interrupt in between) costs a few yields instead of sleeps.
    fn give_core_away(&self) {
        let ticks = instr::rdtscp().saturating_sub(self.last.get());
        let per_poll = ticks / u64::from(self.granted.get());
        self.quickest.set(self.quickest.get().min(per_poll));
        if per_poll > self.quickest.get().saturating_mul(2) {
            self.gifts.set(0);
        }
        let gifts = self.gifts.get().saturating_add(1);
        self.gifts.set(gifts);
        match gifts.checked_sub(YIELDS + 1) {
            None => rustix::thread::sched_yield(),
            Some(sleeps) => std::thread::sleep(sleep_of(sleeps)),
        }
    }
}

/// How long the sleep after `sleeps` others lasts.
fn sleep_of(sleeps: u32) -> Duration {
    // Beyond 2^5 the limit holds.
    (FIRST_SLEEP * (1 << sleeps.min(5))).min(LONGEST_SLEEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_turns(spin: &Spin, turns: u32) -> u32 {
        let mut slow = 0;
        for _ in 0..turns {
            if spin.turn() {
                slow += 1;
                spin.slow(&Ending::default(), || Ok(())).unwrap();
            }
        }
        slow
    }

    #[test]
    fn a_lane_with_a_core_to_itself_looks_now_and_then() {
        assert_eq!(slow_turns(&Spin::new(false), 10 * POLLS_PER_LOOK), 10);
    }

    #[test]
    fn a_lane_that_shares_its_core_gives_it_away_at_each_poll_after_a_spin() {
        let spin = Spin::new(true);
        assert_eq!(slow_turns(&spin, POLLS_PER_GIFT - 1), 0);
        assert_eq!(slow_turns(&spin, 5), 5);
    }

    #[test]
    fn sleeps_double_to_the_limit() {
        let ms: Vec<_> = (0..8).map(|n| sleep_of(n).as_micros()).collect();
        assert_eq!(ms, [50, 100, 200, 400, 800, 1000, 1000, 1000]);
        assert_eq!(sleep_of(u32::MAX), LONGEST_SLEEP);
    }

    #[test]
    fn a_passed_deadline_and_a_panicked_lane_end_the_wait() {
        let spin = Spin::new(false);
        let deadline = Some(Deadline {
            at: Ticks(0),
            after_ms: 7,
        });
        let ending = Ending {
            deadline,
            ..Ending::default()
        };
        assert_eq!(
            spin.slow(&ending, || Ok(())),
            Err(Gone::Deadline { after_ms: 7 })
        );
        let ending = Ending {
            lane_panicked: AtomicBool::new(true),
            deadline: None,
        };
        let gone = spin.slow(&ending, || unreachable!("gives up before the watch looks"));
        assert!(matches!(gone, Err(Gone::Teardown { .. })));
    }
}
