//! Hosts that die: idle, waiting for the lock, or holding it.
//!
//! Any host may stop at any step, with each of its dirty lines lost or written back. Those that
//! live have patience, and it is long: it is over only when nobody can go on otherwise. So a host
//! that gives up had no other choice, and one that enters was not harmed.

use std::collections::BTreeSet;

use check::{Bounds, End, Shape, Subject, Timeouts, Violation};
use fabric::{Arena, Gone, HostAtomics, Lines, Mark, Program, Ptr, Seat};
use sync::lock::{Lock, Member, NotAcquired};
use sync::{Desk, Patience};

use super::count;
use crate::setting::Setting;

/// The section of a host that has something to do with the lock: asks, waits, holds, releases.
const BUSY: u32 = 1;

/// The section of a host that has released.
const THROUGH: u32 = 100;

/// Every host counts once, if it gets the lock.
#[derive(Debug)]
pub struct Dying<L> {
    name: &'static str,
    arena: Arena,
    lock: L,
    counter: Ptr<u64>,
    setting: Setting,
}

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
    /// `lock/NAME-dying` on this pod.
    pub fn new(name: &'static str, setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            name,
            lock: L::lay_out(&mut arena, "lock", &setting.options()),
            counter: arena.per_host("counter", 1, 1)[0].start(),
            arena,
            setting,
        }
    }

    /// Where those that died were, and what became of each that lived.
    pub fn outcome(&self, end: &End<'_, Result<Fate, NotAcquired>>) -> Outcome {
        let stage = |(host, inside): (usize, &Option<Vec<u32>>)| {
            let inside = inside.as_ref()?;
            Some(if host as u32 == self.setting.hosts {
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

impl<L: Lock> Program for Dying<L> {
    type Out = Result<Fate, NotAcquired>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if seat.host == self.setting.hosts {
            let desk = Desk::default();
            crate::serve(port, desk, |desk| self.lock.serve(port, desk))?;
        }
        let mut me = Member::new(seat.host);
        let busy = BUSY + seat.host;
        port.mark(Mark::Enter(busy));
        match self
            .lock
            .acquire(port, &mut me, Patience::for_ns(port, 1.0))
        {
            Ok(()) => {}
            Err(NotAcquired::TimedOut { queued: true, .. }) => return Ok(Fate::Queued),
            Err(NotAcquired::TimedOut { queued: false, .. }) => return Ok(Fate::Withdrawn),
            Err(gone) => return Err(gone),
        }
        port.mark(Mark::Enter(0));
        count(port, self.counter);
        port.mark(Mark::Leave(0));
        match self.lock.release(port, &mut me) {
            Ok(()) => {}
            Err(Gone::LostHost { .. }) => return Ok(Fate::Stuck),
            Err(gone) => return Err(gone.into()),
        }
        port.mark(Mark::Leave(busy));
        port.mark(Mark::Enter(THROUGH + seat.host));
        Ok(Fate::Acquired)
    }
}

impl<L: Lock> Subject for Dying<L> {
    fn name(&self) -> String {
        format!("lock/{}-dying{}", self.name, self.setting.suffix())
    }

    fn shape(&self) -> Shape {
        self.setting.shape(u32::from(L::SERVED))
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn validated(&self) -> Vec<Lines> {
        self.setting
            .registers(&self.arena, "lock", u32::from(L::SERVED))
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn serves(&self, seat: Seat) -> bool {
        seat.host == self.setting.hosts
    }

    fn survives_crashes(&self) -> bool {
        true
    }

    fn timeouts(&self) -> Timeouts {
        Timeouts::Last
    }

    fn has_twins(&self) -> bool {
        false
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        let died = end.died.iter().any(Option::is_some);
        let acquired = |out: &&Self::Out| **out == Ok(Fate::Acquired);
        let lived: Vec<&Self::Out> = end.outs.iter().flatten().copied().collect();
        if !died && !lived.iter().all(acquired) {
            return Err(Violation::wrong(format!(
                "nobody died, and the hosts ended with {lived:?}"
            )));
        }
        let (count, expected) = (end.word(self.counter), u64::from(self.setting.hosts));
        if died || count == expected {
            return Ok(());
        }
        Err(Violation::lost_update(format!(
            "the counter is {count} after {expected} increments under the lock"
        )))
    }
}
