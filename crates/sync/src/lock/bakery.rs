//! Lamport's bakery (CACM 17(8), 1974): take a number greater than all, wait for the smaller ones.
//!
//! A member's line holds `2 * number + choosing` in one word, so that one publish says both. The
//! bakery asks for no more than safe registers; these are atomic. Numbers grow with contention
//! only, and 64 bits last.
//!
//! Invariant: while a member is in, every other one is idle, has a greater (number, member), or is
//! choosing and will get a greater number.

use fabric::{Arena, Gone, HostAtomics};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::{Arrival, Board};
use crate::patience::{Patience, wait};

/// The word of a member that is about to choose.
const CHOOSING: u64 = 1;

/// Where a bakery lies.
#[derive(Clone, Debug)]
pub struct Bakery {
    pub(super) board: Board,
    pub(super) arrival: Arrival,
}

impl Lock for Bakery {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            board: Board::lay_out(arena, &format!("{name}.number"), options.pod.hosts),
            arrival: options.arrival,
        }
    }

    /// Cost: 2 publishes, 2 observes of N-1 lines.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let line = self.board.word(me.who);
        // Must be at the device before the scan: whoever takes a number that the scan misses sees
        // in its own last wait that this one is choosing.
        self.arrival.announce(port, line, CHOOSING);
        let mut greatest = 0;
        let mut others = self.board.watch_others(me.who);
        others.scan(port, |_, word| greatest = greatest.max(number(word)));
        self.queue(port, me, greatest, patience)
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        leave(port, &self.board, me);
        Ok(())
    }
}

impl Bakery {
    /// Takes a number above the greatest that the doorway's scan found, and waits for its turn.
    /// Cost: 1 publish, and that of the wait.
    pub(super) fn queue<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        greatest: u64,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        me.number = greatest + 1;
        let line = self.board.word(me.who);
        // Must be at the device before the wait: of two that take numbers at once, one sees both.
        self.arrival.announce(port, line, me.number << 1);
        wait_for_smaller(port, &self.board, me, patience)
    }
}

pub(super) fn number(word: u64) -> u64 {
    word >> 1
}

/// The last wait of a bakery: until nobody chooses and nobody has a smaller number. A member that
/// gives up withdraws: to the others it is as if it had come and gone.
///
/// Cost: 1 observe of the lines of those still before this one, a look.
fn wait_for_smaller<P: HostAtomics>(
    port: &P,
    board: &Board,
    me: &mut Member,
    patience: Patience,
) -> Result<(), NotAcquired> {
    let mine = (me.number, me.who);
    let mut before = board.watch_others(me.who);
    let waited = wait(port, patience, || {
        before
            .look(port, |who, word| {
                let behind = number(word) == 0 || (number(word), who) > mine;
                word & CHOOSING == 0 && behind
            })
            .then_some(())
    });
    waited.map_err(|ended| {
        leave(port, board, me);
        ended.at(before.first(), false)
    })
}

fn leave<P: HostAtomics>(port: &P, board: &Board, me: &mut Member) {
    // Serves the waits of the others; behind what the holder posted.
    board.post(port, me.who, 0);
}
