//! Szymanski's lock (ICS 1988): a waiting room with two doors, five values a member.
//!
//! `1` wants in; `3` is in the doorway; `2` waits in the room for the inner door; `4` has closed
//! the entrance behind the last one and goes on in the order of members. Linear wait: nobody is
//! passed more than once by anyone.
//!
//! Invariant: while a member is at 4, nobody passes the entrance; among those at 4 the lowest goes
//! first.
//!
//! The published text checks the others one after the other, from the lowest to the highest, and
//! needs that: a look at all of them at once has no order (`board`), and a member at the entrance
//! that looked at a waiting one early and at one that has left late would slip in behind a closed
//! door. (So it happened on a simulated pod.) One look is enough if it finds everybody outside;
//! otherwise two in a row must find nobody beyond the room. That an unordered entrance overlaps and
//! this one does not was found by exhaustive search for three and four members.
//!
//! A member that leaves the room by itself would strand those who wait for it to close the
//! entrance: a timed acquire stays queued, at the stage that its line says.

use fabric::{Arena, Gone, HostAtomics};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::{Arrival, Board, Watched};
use crate::patience::{Ended, Patience, wait};

const OUTSIDE: u64 = 0;
const WANTS_IN: u64 = 1;
const WAITS: u64 = 2;
const DOORWAY: u64 = 3;
const CLOSED: u64 = 4;

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct Szymanski {
    board: Board,
    arrival: Arrival,
}

impl Lock for Szymanski {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            board: Board::lay_out(arena, &format!("{name}.flag"), options.pod.hosts),
            arrival: options.arrival,
        }
    }

    /// Cost: 3 publishes, 3 observes of up to N-1 lines; a publish and a wait besides if somebody
    /// is at the entrance.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        if me.stage == OUTSIDE {
            self.step(port, me, WANTS_IN);
        }
        loop {
            let mut others = self.board.watch_others(me.who);
            let waited = match me.stage {
                WANTS_IN => until_open(port, &mut others, patience),
                DOORWAY => {
                    let mut entering = false;
                    others.scan(port, |_, flag| entering |= flag == WANTS_IN);
                    self.step(port, me, if entering { WAITS } else { CLOSED });
                    continue;
                }
                WAITS => until_closed(port, &mut others, patience),
                _ => {
                    others = self.board.watch(|who| who < me.who);
                    until(port, &mut others, patience, |flag| flag <= WANTS_IN)
                }
            };
            waited.map_err(|ended| ended.at(others.first(), true))?;
            match me.stage {
                WANTS_IN => self.step(port, me, DOORWAY),
                WAITS => self.step(port, me, CLOSED),
                _ => return Ok(()),
            }
        }
    }

    /// Cost: 1 observe of the lines of the higher members, a look until none of them is in the
    /// doorway or the room; 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        let mut higher = self.board.watch(|who| who > me.who);
        let passed = |flag| matches!(flag, OUTSIDE | WANTS_IN | CLOSED);
        match until(port, &mut higher, Patience::Endless, passed) {
            Err(Ended::Gone(gone)) => return Err(gone),
            Err(Ended::Impatient) => unreachable!("patience is endless"),
            Ok(()) => {}
        }
        me.stage = OUTSIDE;
        // Serves the waits of the others; behind what the holder posted.
        self.board.post(port, me.who, OUTSIDE);
        Ok(())
    }
}

impl Szymanski {
    fn step<P: HostAtomics>(&self, port: &P, me: &mut Member, stage: u64) {
        // Must be at the device before this member looks at the others.
        self.arrival.announce(port, self.board.word(me.who), stage);
        me.stage = stage;
    }
}

/// Waits at the entrance: until one look finds all others outside, or two in a row find nobody
/// beyond the room.
fn until_open<P: HostAtomics>(
    port: &P,
    others: &mut Watched<'_>,
    patience: Patience,
) -> Result<(), Ended> {
    let mut furthest = || {
        let mut furthest = OUTSIDE;
        others.scan(port, |_, flag| furthest = furthest.max(flag));
        furthest
    };
    wait(port, patience, || {
        let first = furthest();
        let passes = first == OUTSIDE || first <= WAITS && furthest() <= WAITS;
        passes.then_some(())
    })
}

/// Waits until each of `watched` has once had a flag that `passes`.
fn until<P: HostAtomics>(
    port: &P,
    watched: &mut Watched<'_>,
    patience: Patience,
    passes: impl Fn(u64) -> bool,
) -> Result<(), Ended> {
    wait(port, patience, || {
        (watched.first().is_none() || watched.look(port, |_, flag| passes(flag))).then_some(())
    })
}

/// Waits until somebody has closed the entrance.
fn until_closed<P: HostAtomics>(
    port: &P,
    others: &mut Watched<'_>,
    patience: Patience,
) -> Result<(), Ended> {
    wait(port, patience, || {
        let mut closed = false;
        others.scan(port, |_, flag| closed |= flag == CLOSED);
        closed.then_some(())
    })
}
