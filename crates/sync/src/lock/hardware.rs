//! Baselines: locks of atomic instructions, where those work.
//!
//! Members are lanes. With one host the words lie in the DRAM that its lanes share; with more they
//! lie in the pool, which is right only where hardware keeps the pod coherent. A checker reports
//! anything else, registries refuse it.
//!
//! * [`HardwareSpin`]: test-and-test-and-set. Cheapest alone, unfair.
//! * [`HardwareTicket`]: first come, first served; all waiters share a line.
//! * [`HardwareMcs`]: a queue in which each waiter spins on its own line (Mellor-Crummey and Scott,
//!   TOCS 9(1), 1991).

use fabric::{Arena, Cell, Gone, HostAtomics, wait_until};

use super::{Lock, Member, NotAcquired, Options};
use crate::cells::cells;
use crate::patience::{Patience, wait};

/// Standing in the queue.
const QUEUED: u64 = 1;

/// Test-and-test-and-set.
#[derive(Clone, Debug)]
pub struct HardwareSpin {
    held: Cell<u64>,
}

impl Lock for HardwareSpin {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            held: cells(arena, &format!("{name}.held"), options, 1)[0],
        }
    }

    /// Cost: 1 atomic instruction; no publish, no observe.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        _: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        // Looking before trying keeps the line shared while somebody is in.
        let free = || port.atomic_load(self.held) == 0 && port.swap(self.held, 1) == 0;
        let waited = wait(port, patience, || free().then_some(()));
        waited.map_err(|ended| ended.at(None, false))
    }

    /// Cost: 1 store.
    fn release<P: HostAtomics>(&self, port: &P, _: &mut Member) -> Result<(), Gone> {
        port.atomic_store(self.held, 0);
        Ok(())
    }
}

/// Numbers drawn and served.
#[derive(Clone, Debug)]
pub struct HardwareTicket {
    next: Cell<u64>,
    serving: Cell<u64>,
}

impl Lock for HardwareTicket {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let words = cells(arena, &format!("{name}.ticket"), options, 2);
        Self {
            next: words[0],
            serving: words[1],
        }
    }

    /// Cost: 1 atomic instruction, loads until served. A drawn number cannot be given back.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        if me.stage == 0 {
            me.number = port.fetch_add(self.next, 1);
            me.stage = QUEUED;
        }
        let served = || (port.atomic_load(self.serving) == me.number).then_some(());
        wait(port, patience, served).map_err(|ended| ended.at(None, true))?;
        me.stage = 0;
        Ok(())
    }

    /// Cost: 1 store.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        port.atomic_store(self.serving, me.number + 1);
        Ok(())
    }
}

/// A queue of lanes.
#[derive(Clone, Debug)]
pub struct HardwareMcs {
    /// The last in line, `member + 1`; 0: the lock is free.
    tail: Cell<u64>,
    /// Each member's successor, `member + 1`.
    next: Vec<Cell<u64>>,
    /// Whether a member must wait.
    waits: Vec<Cell<u64>>,
}

impl Lock for HardwareMcs {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let members = options.pod.hosts * options.pod.lanes;
        Self {
            tail: cells(arena, &format!("{name}.tail"), options, 1)[0],
            next: cells(arena, &format!("{name}.next"), options, members),
            waits: cells(arena, &format!("{name}.waits"), options, members),
        }
    }

    /// Cost: 1 atomic instruction, 1 to 3 stores, loads of the own line until let in.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let (who, id) = (me.who as usize, u64::from(me.who) + 1);
        if me.stage == 0 {
            port.atomic_store(self.next[who], 0);
            port.atomic_store(self.waits[who], 1);
            let before = port.swap(self.tail, id);
            if before == 0 {
                return Ok(());
            }
            me.stage = QUEUED;
            me.number = before;
            port.atomic_store(self.next[(before - 1) as usize], id);
        }
        let let_in = || (port.atomic_load(self.waits[who]) == 0).then_some(());
        let waited = wait(port, patience, let_in);
        waited.map_err(|ended| ended.at(Some((me.number - 1) as u32), true))?;
        me.stage = 0;
        Ok(())
    }

    /// Cost: 1 atomic instruction if nobody waits, else 1 store.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        let (who, id) = (me.who as usize, u64::from(me.who) + 1);
        let mut next = port.atomic_load(self.next[who]);
        if next == 0 {
            if port.compare_exchange(self.tail, id, 0).is_ok() {
                return Ok(());
            }
            // Somebody has joined behind and is about to say so.
            next = wait_until(port, || {
                Some(port.atomic_load(self.next[who])).filter(|&next| next != 0)
            })?;
        }
        port.atomic_store(self.waits[(next - 1) as usize], 0);
        Ok(())
    }
}
