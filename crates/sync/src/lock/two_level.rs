//! A lock between hosts, and a ticket lock of atomic instructions inside each.
//!
//! A lane first gets its host's lock, so that the contenders of the lock between hosts are hosts. A
//! holder that leaves passes both on to a waiting lane of its own host, at most `local_passes`
//! times in a row; then it lets the other hosts in. Lock cohorting (Dice, Marathe and Shavit,
//! `PPoPP` 2012), with lines in place of caches.
//!
//! What a member of the lock between hosts remembers belongs to its host; it lies in the DRAM that
//! the host's lanes share, and the holder of the host's lock owns it.

use fabric::{Arena, Gone, HostAtomics, HostShared, HostSlice};

use super::{Lock, Member, NotAcquired, Options};
use crate::desk::Desk;
use crate::patience::{Ended, Patience, wait};

/// Words between those that lanes wait on and those that they draw from.
const STRIDE: usize = 16;

/// Where the lock lies; `L` is the lock between hosts.
#[derive(Clone, Debug)]
pub struct TwoLevel<L> {
    between: L,
    words: HostSlice<u64>,
    lanes: u32,
    local_passes: u64,
}

impl<L: Lock> Lock for TwoLevel<L> {
    const SERVED: bool = L::SERVED;
    const TENDED: bool = L::TENDED;

    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            between: L::lay_out(arena, name, options),
            words: arena.host_shared(format!("{name}.local"), 3 * STRIDE),
            lanes: options.pod.lanes,
            local_passes: options.local_passes,
        }
    }

    /// Cost: a local atomic instruction, where the host has several lanes; that of the lock between
    /// hosts, unless it was passed on.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        if self.lanes > 1 {
            self.enter_host(port, me, patience)?;
            if port.atomic_load(self.passed()) != 0 {
                return Ok(());
            }
        }
        let mut host = self.recall(port, me);
        let acquired = self.between.acquire(port, &mut host, patience);
        self.remember(port, &host);
        if acquired.is_err() {
            self.leave_host(port, me);
        }
        acquired
    }

    /// Cost: local stores; that of the lock between hosts, unless it is passed on.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        let passed = port.atomic_load(self.passed());
        let waited_for = self.lanes > 1 && port.atomic_load(self.next()) > me.number + 1;
        if waited_for && passed < self.local_passes {
            port.atomic_store(self.passed(), passed + 1);
        } else {
            let mut host = self.recall(port, me);
            self.between.release(port, &mut host)?;
            self.remember(port, &host);
            port.atomic_store(self.passed(), 0);
        }
        self.leave_host(port, me);
        Ok(())
    }

    fn tend<P: HostAtomics>(&self, port: &P, me: &mut Member) {
        // A lane of this host that holds or acquires does what is to be done.
        if self.lanes == 1 || self.try_enter_host(port, me) {
            let mut host = self.recall(port, me);
            self.between.tend(port, &mut host);
            self.remember(port, &host);
            self.leave_host(port, me);
        }
    }

    fn desk<P: HostAtomics>(&self, port: &P) -> Desk {
        self.between.desk(port)
    }

    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut Desk) {
        self.between.serve(port, desk);
    }
}

impl<L> TwoLevel<L> {
    fn next(&self) -> HostShared<u64> {
        self.words.at(0)
    }

    fn serving(&self) -> HostShared<u64> {
        self.words.at(STRIDE)
    }

    /// How often in a row the lock between hosts has been passed on; not 0: the holder of the
    /// host's lock has it too.
    fn passed(&self) -> HostShared<u64> {
        self.words.at(2 * STRIDE)
    }

    fn recall<P: HostAtomics>(&self, port: &P, me: &Member) -> Member {
        Member {
            who: me.who / self.lanes,
            number: port.atomic_load(self.words.at(2 * STRIDE + 1)),
            stage: port.atomic_load(self.words.at(2 * STRIDE + 2)),
        }
    }

    fn remember<P: HostAtomics>(&self, port: &P, host: &Member) {
        port.atomic_store(self.words.at(2 * STRIDE + 1), host.number);
        port.atomic_store(self.words.at(2 * STRIDE + 2), host.stage);
    }

    fn enter_host<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        if patience != Patience::Endless {
            // A number drawn cannot be given back: an impatient lane draws one only if it is
            // served at once.
            let lane = me.who;
            let entered = || self.try_enter_host(port, me).then_some(());
            return wait(port, patience, entered).map_err(|ended| ended.at(Some(lane), false));
        }
        me.number = port.fetch_add(self.next(), 1);
        let served = || (port.atomic_load(self.serving()) == me.number).then_some(());
        match wait(port, patience, served) {
            Ok(()) => Ok(()),
            Err(Ended::Gone(gone)) => Err(gone.into()),
            Err(Ended::Impatient) => unreachable!("patience is endless"),
        }
    }

    fn try_enter_host<P: HostAtomics>(&self, port: &P, me: &mut Member) -> bool {
        let serving = port.atomic_load(self.serving());
        let drawn = port.compare_exchange(self.next(), serving, serving + 1);
        if drawn.is_ok() {
            me.number = serving;
        }
        drawn.is_ok()
    }

    fn leave_host<P: HostAtomics>(&self, port: &P, me: &Member) {
        if self.lanes > 1 {
            port.atomic_store(self.serving(), me.number + 1);
        }
    }
}
