//! Hosts that die: idle, waiting for the lock, or holding it.
//!
//! Any host may stop at any step, with each of its dirty lines lost or written back. Those that
//! live have patience, and it is long: it is over only when nobody can go on otherwise. So a host
//! that gives up had no other choice, and one that enters was not harmed.

use std::collections::BTreeSet;

use check::{End, Timeouts, Violation};
use fabric::{Gone, HostAtomics, Mark};
use sync::Patience;
use sync::lock::{Lock, Member, NotAcquired};

use super::asking::{Asking, Out, Way};
use super::count;

/// The section of a host that has something to do with the lock: asks, waits, holds, releases.
const BUSY: u32 = 1;

/// The section of a host that has released.
const THROUGH: u32 = 100;

/// Every host counts once, if it gets the lock.
pub type Dying<L> = Asking<L, Dies>;

/// Any host may die at any step.
#[derive(Debug)]
pub struct Dies;

/// Where a host was when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Between its first step of acquiring and its entry, or releasing.
    Waiting,
    /// Inside.
    Holding,
    /// It had released: what it posted last may have been lost with it.
    Released,
    /// It was the server's host.
    Serving,
}

/// What became of a host that lived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It got the lock.
    Acquired,
    /// It gave up, as if it had never asked.
    Withdrawn,
    /// It gave up, and stands in the queue.
    Queued,
    /// A wait of its release never ended.
    Stuck,
}

impl<L: Lock> Dying<L> {
    /// Where those that died were, and what became of each that lived.
    pub fn outcome(&self, end: &End<'_, Result<Fate, NotAcquired>>) -> Outcome {
        let stage = |(host, inside): (usize, &Option<Vec<u32>>)| {
            let inside = inside.as_ref()?;
            Some(if host as u32 == self.hosts() {
                Stage::Serving
            } else if inside.contains(&0) {
                Stage::Holding
            } else if inside.contains(&(THROUGH + host as u32)) {
                Stage::Released
            } else {
                Stage::Waiting
            })
        };
        let fates = end.outs.iter().flatten();
        Outcome {
            died: end.died.iter().enumerate().filter_map(stage).collect(),
            lived: fates.filter_map(|out| out.as_ref().ok().copied()).collect(),
        }
    }
}

/// One end, as far as deaths are concerned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// Where each host that died was.
    pub died: BTreeSet<Stage>,
    /// What became of the others.
    pub lived: BTreeSet<Fate>,
}

impl Way for Dies {
    const NAME: &'static str = "dying";
    const TIMEOUTS: Timeouts = Timeouts::Last;
    const CRASHES: bool = true;

    type Out = Fate;

    fn contend<L: Lock, P: HostAtomics>(
        it: &Dying<L>,
        host: u32,
        port: &P,
    ) -> Result<Fate, NotAcquired> {
        let mut me = Member::new(host);
        let busy = BUSY + host;
        port.mark(Mark::Enter(busy));
        match it.lock.acquire(port, &mut me, Patience::for_ns(port, 1.0)) {
            Ok(()) => {}
            Err(NotAcquired::TimedOut { queued: true, .. }) => return Ok(Fate::Queued),
            Err(NotAcquired::TimedOut { queued: false, .. }) => return Ok(Fate::Withdrawn),
            Err(gone) => return Err(gone),
        }
        port.mark(Mark::Enter(0));
        count(port, it.counter);
        port.mark(Mark::Leave(0));
        match it.lock.release(port, &mut me) {
            Ok(()) => {}
            Err(Gone::LostHost { .. }) => return Ok(Fate::Stuck),
            Err(gone) => return Err(gone.into()),
        }
        port.mark(Mark::Leave(busy));
        port.mark(Mark::Enter(THROUGH + host));
        Ok(Fate::Acquired)
    }

    fn judge(end: &End<'_, Out<Self>>) -> Result<(), Violation> {
        let lived: Vec<&Out<Self>> = end.outs.iter().flatten().copied().collect();
        if lived.iter().all(|out| **out == Ok(Fate::Acquired)) {
            return Ok(());
        }
        Err(Violation::wrong(format!(
            "nobody died, and the hosts ended with {lived:?}"
        )))
    }
}
