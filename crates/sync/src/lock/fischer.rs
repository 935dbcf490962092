//! Fischer's timed lock (in Lamport's "A fast mutual exclusion algorithm", TOCS 5(1), 1987).
//!
//! One word that everyone writes: found free, write your name, wait until whoever found it free
//! with you must have written its own, look whether yours is still there.
//!
//! **Safe only by time.** Between the load that found the word free and the moment at which the
//! write is at the device, no more than the delay may pass: with a host that is descheduled in
//! between, or a fabric that holds a write longer, two members are in. So it is a lower bound to
//! compare with, not a lock to use; a checker without time catches it at once.

use fabric::{Arena, Gone, HostAtomics, Ptr};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::Arrival;
use crate::patience::{Ended, Patience, wait};

const NOBODY: u64 = 0;

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct Fischer {
    x: Ptr<u64>,
    arrival: Arrival,
    delay_ns: f64,
}

impl Lock for Fischer {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            x: arena.per_host(&format!("{name}.x"), 1, 1)[0].start(),
            arrival: options.arrival,
            delay_ns: options.delay_ns,
        }
    }

    /// Cost: 1 publish, 2 observes of 1 line, the delay; again whenever somebody was faster.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let id = u64::from(me.who) + 1;
        loop {
            let mut holder = NOBODY;
            let waited = wait(port, patience, || {
                // Serves the load below, anew for each look.
                port.observe(self.x.line());
                holder = port.load(self.x);
                (holder == NOBODY).then_some(())
            });
            waited.map_err(|ended| ended.at(holder.checked_sub(1).map(|who| who as u32), false))?;
            port.store(self.x, id);
            // Serves the others' looks: it is at the device before the delay begins.
            self.arrival.settle(port, self.x.line());
            let until = Patience::for_ns(port, self.delay_ns);
            // Nothing is looked at meanwhile; running out of patience is the point.
            if let Err(Ended::Gone(gone)) = wait(port, until, || None::<()>) {
                return Err(gone.into());
            }
            // Serves the load below: the last of those that found the word free has written it.
            port.observe(self.x.line());
            if port.load(self.x) == id {
                return Ok(());
            }
        }
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, _: &mut Member) -> Result<(), Gone> {
        port.store(self.x, NOBODY);
        // Serves the others' looks; behind what the holder posted.
        port.post(self.x.line());
        Ok(())
    }
}
