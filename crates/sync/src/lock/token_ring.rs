//! A token that goes around (Le Lann, IFIP Congress 1977): whoever has it is in, or passes it on.
//!
//! A member's line counts how often it has passed the token. It has the token when its predecessor
//! has passed it once more than it has itself; member 0, which has it first, when as often. Counts
//! only grow, so a stale line delays and never makes a second token.
//!
//! When all contend, a hand-over is one one-way trip and one polled line: no lock is cheaper. When
//! few do, the token still visits everyone, and members that do not contend must pass it on
//! ([`tend`](Lock::tend)).
//!
//! To give up costs nothing, but the token will come and must be passed.

use fabric::{Arena, Gone, HostAtomics};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::Board;
use crate::patience::{Patience, wait};

/// Where the ring lies.
#[derive(Clone, Debug)]
pub struct TokenRing {
    passed: Board,
}

impl Lock for TokenRing {
    const TENDED: bool = true;

    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            passed: Board::lay_out(arena, &format!("{name}.passed"), options.pod.hosts),
        }
    }

    /// Cost: 1 observe of 1 line, a look.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let waited = wait(port, patience, || self.holds(port, me).then_some(()));
        waited.map_err(|ended| ended.at(Some(self.predecessor(me)), false))
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.pass(port, me);
        Ok(())
    }

    /// Cost: 1 observe of 1 line; a publish besides if the token is here.
    fn tend<P: HostAtomics>(&self, port: &P, me: &mut Member) {
        if self.holds(port, me) {
            self.pass(port, me);
        }
    }
}

impl TokenRing {
    fn predecessor(&self, me: &Member) -> u32 {
        let members = self.passed.participants();
        (me.who + members - 1) % members
    }

    /// Whether the token is here. `me.number` is how often this member has passed it.
    fn holds<P: HostAtomics>(&self, port: &P, me: &Member) -> bool {
        if self.passed.participants() == 1 {
            return true;
        }
        let passed = self.passed.look(port, self.predecessor(me));
        passed + u64::from(me.who == 0) > me.number
    }

    fn pass<P: HostAtomics>(&self, port: &P, me: &mut Member) {
        me.number += 1;
        // Serves the successor's look; behind what the holder posted.
        self.passed.post(port, me.who, me.number);
    }
}
