//! The word lies in the pool; whoever has the lock operates on it.

use fabric::{Arena, Gone, HostAtomics, Ptr};

use super::{Atomic64, Rmw};
use crate::lock::{BakeryFastPath, Lock, Member, NotAcquired, Options, TwoLevel};
use crate::patience::Patience;

/// A word under the cheapest fair lock, [`BakeryFastPath`]. No lane is spent on a server.
#[derive(Clone, Debug)]
pub struct LockedAtomic {
    lock: TwoLevel<BakeryFastPath>,
    word: Ptr<u64>,
}

impl Atomic64 for LockedAtomic {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            lock: TwoLevel::lay_out(arena, &format!("{name}.lock"), options),
            word: arena.per_host(&format!("{name}.word"), 1, 1)[0].start(),
        }
    }

    /// Cost: acquire, 1 observe of 1 line, 1 publish, release.
    fn apply<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<Option<u64>, Gone> {
        let mut me = Member::new(who);
        let acquired = self.lock.acquire(port, &mut me, Patience::Endless);
        acquired.map_err(NotAcquired::gone)?;
        // Serves the load below: the last holder may have been another host.
        port.observe(self.word.line());
        let old = port.load(self.word);
        let new = op.apply(old);
        if new != old {
            port.store(self.word, new);
            // Serves the next holder's look, and reads; before the release.
            port.post(self.word.line());
        }
        self.lock.release(port, &mut me)?;
        Ok(Some(old))
    }

    /// Cost: 1 observe of 1 line. The word is never torn, so no lock is needed.
    fn load<P: HostAtomics>(&self, port: &P, _: u32) -> Result<u64, Gone> {
        // Serves the load below.
        port.observe(self.word.line());
        Ok(port.load(self.word))
    }
}
