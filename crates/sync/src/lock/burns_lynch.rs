//! One bit a member: Burns and Lynch (Information and Computation 107, 1993), in the form of
//! Lamport's one-bit algorithm (JACM 33(2), 1986).
//!
//! Raise the flag; if a lower member has raised its own, lower it again and wait; then wait for the
//! higher ones. The published text checks the lower members before, between and after; here one
//! look serves for both, since safety needs only that each member raised its flag before it read
//! the other's as lowered.
//!
//! Invariant: a member is in only if it found every other flag lowered after its own was at the
//! device. Of two members the one whose flag arrived last saw the other's.
//!
//! Not fair: the lowest member never gives way, so a higher one may starve.

use fabric::{Arena, Gone, HostAtomics};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::{Arrival, Board, Watched};
use crate::patience::{Ended, Patience, wait};

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct BurnsLynch {
    board: Board,
    arrival: Arrival,
}

impl Lock for BurnsLynch {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            board: Board::lay_out(arena, &format!("{name}.flag"), options.pod.hosts),
            arrival: options.arrival,
        }
    }

    /// Cost: 1 publish, 1 observe of N-1 lines; a publish to step back, a wait, and both again
    /// whenever a lower member is there.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        loop {
            // Must be at the device before the look: of two flags raised at once, one is seen.
            self.arrival.announce(port, self.board.word(me.who), 1);
            let mut raised = self.board.watch_others(me.who);
            raised.look(port, |_, flag| flag == 0);
            let Some(first) = raised.first() else {
                return Ok(());
            };
            // Members are listed in order: if the first is higher, all are.
            let gives_way = first < me.who;
            if gives_way {
                self.lower(port, me);
                raised = self.board.watch(|who| who < me.who);
            }
            let waited = until_lowered(port, &mut raised, patience);
            match waited {
                Ok(()) if gives_way => {}
                Ok(()) => return Ok(()),
                Err(ended) => {
                    self.lower(port, me);
                    return Err(ended.at(raised.first(), false));
                }
            }
        }
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.lower(port, me);
        Ok(())
    }
}

impl BurnsLynch {
    fn lower<P: HostAtomics>(&self, port: &P, me: &Member) {
        // Serves the waits of the others; behind what the holder posted.
        self.board.post(port, me.who, 0);
    }
}

fn until_lowered<P: HostAtomics>(
    port: &P,
    raised: &mut Watched<'_>,
    patience: Patience,
) -> Result<(), Ended> {
    wait(port, patience, || {
        raised.look(port, |_, flag| flag == 0).then_some(())
    })
}
