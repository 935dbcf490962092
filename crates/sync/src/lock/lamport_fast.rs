//! Lamport's fast mutual exclusion (ACM TOCS 5(1), 1987): constant time without contention.
//!
//! Two words that everyone writes, `x` and `y`, each alone in its line, and a flag a member. Who
//! finds `y` free, takes it, and finds `x` still its own has met nobody. Otherwise it waits until
//! all flags are down and looks who got `y`.
//!
//! Invariant: a member that is in keeps `y` taken; one that found `x` changed enters only after
//! every member that may have found `y` free has lowered its flag.
//!
//! Deadlock-free, not fair.

use fabric::{Arena, Gone, HostAtomics, Ptr};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::{Arrival, Board};
use crate::patience::{Patience, wait};

/// Nobody, in `x` and `y`; member `who` is `who + 1`.
const NOBODY: u64 = 0;

/// At the gate: this member may own `y`, and waits for the flags.
const AT_GATE: u64 = 1;

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct LamportFast {
    flags: Board,
    x: Ptr<u64>,
    y: Ptr<u64>,
    arrival: Arrival,
}

impl Lock for LamportFast {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            flags: Board::lay_out(arena, &format!("{name}.flag"), options.pod.hosts),
            x: arena.per_host(&format!("{name}.x"), 1, 1)[0].start(),
            y: arena.per_host(&format!("{name}.y"), 1, 1)[0].start(),
            arrival: options.arrival,
        }
    }

    /// Cost: 3 publishes, 2 observes of 1 line if nobody else is there; otherwise a publish and an
    /// observe of N-1 lines a look besides, or all of it again.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let id = u64::from(me.who) + 1;
        loop {
            if me.stage != AT_GATE {
                // Before x: serves the gate of whoever finds x changed.
                self.flags.post(port, me.who, 1);
                self.write_shared(port, self.x, id);
                if look(port, self.y) != NOBODY {
                    self.flags.post(port, me.who, 0);
                    self.wait_for_free(port, patience)?;
                    continue;
                }
                self.write_shared(port, self.y, id);
                if look(port, self.x) == id {
                    return Ok(());
                }
                self.flags.post(port, me.who, 0);
            }
            self.pass_gate(port, me, patience)?;
            if look(port, self.y) == id {
                return Ok(());
            }
            self.wait_for_free(port, patience)?;
        }
    }

    /// Cost: 2 publishes.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        port.store(self.y, NOBODY);
        // Serves whoever waits for y; behind what the holder posted.
        port.post(self.y.line());
        // After y: a gate that finds this flag down also finds y free.
        self.flags.post(port, me.who, 0);
        Ok(())
    }
}

impl LamportFast {
    /// A word that several write is never written around the cache: its writers also load it.
    #[track_caller]
    fn write_shared<P: HostAtomics>(&self, port: &P, at: Ptr<u64>, value: u64) {
        port.store(at, value);
        // Serves the others' looks, and this lane's next look at the other word.
        self.arrival.settle(port, at.line());
    }

    /// Waits at the gate. Nobody else can take `y` back for a member that owns it, so one that
    /// gives up here stays queued.
    fn pass_gate<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        me.stage = AT_GATE;
        let mut raised = self.flags.watch_others(me.who);
        let waited = wait(port, patience, || {
            raised.look(port, |_, flag| flag == 0).then_some(())
        });
        waited.map_err(|ended| ended.at(raised.first(), true))?;
        me.stage = 0;
        Ok(())
    }

    fn wait_for_free<P: HostAtomics>(
        &self,
        port: &P,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let mut holder = NOBODY;
        let waited = wait(port, patience, || {
            holder = look(port, self.y);
            (holder == NOBODY).then_some(())
        });
        waited.map_err(|ended| ended.at(holder.checked_sub(1).map(|who| who as u32), false))
    }
}

#[track_caller]
fn look<P: HostAtomics>(port: &P, at: Ptr<u64>) -> u64 {
    // Serves the load below. Whatever this host wrote there has been published.
    port.observe(at.line());
    port.load(at)
}
