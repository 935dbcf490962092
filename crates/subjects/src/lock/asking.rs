//! Hosts that ask for a lock once, with patience.
//!
//! What happens to them meanwhile, and what they do when patience is over, is a [`Way`]'s.

use std::fmt::Debug;
use std::marker::PhantomData;

use check::{Bounds, End, Shape, Subject, Timeouts, Violation};
use fabric::{Arena, HostAtomics, Lines, Program, Ptr, Seat};
use sync::Desk;
use sync::lock::{Lock, NotAcquired};

use super::counted;
use crate::setting::Setting;

/// Every host adds one to a counter under the lock, if it gets it.
#[derive(Debug)]
pub struct Asking<L, W> {
    pub(super) lock: L,
    pub(super) counter: Ptr<u64>,
    name: &'static str,
    arena: Arena,
    setting: Setting,
    way: PhantomData<W>,
}

/// What one host brings back, or why it could not go on.
pub(super) type Out<W> = Result<<W as Way>::Out, NotAcquired>;

/// What may happen, what a host does, and when that is right.
pub trait Way: Send + Sync + Sized {
    /// What it adds to the lock's name.
    const NAME: &'static str;
    /// When patience may be over.
    const TIMEOUTS: Timeouts;
    /// Whether any host may crash at any step.
    const CRASHES: bool = false;

    /// What a host brings back.
    type Out: PartialEq + Debug + Send;

    /// What a host does that is not the server's.
    ///
    /// # Errors
    /// Whatever ended a wait that it has no answer to.
    fn contend<L: Lock, P: HostAtomics>(
        it: &Asking<L, Self>,
        host: u32,
        port: &P,
    ) -> Result<Self::Out, NotAcquired>;

    /// Whether the end is right where everybody lives: the counter apart.
    ///
    /// # Errors
    /// What is wrong.
    fn judge(end: &End<'_, Result<Self::Out, NotAcquired>>) -> Result<(), Violation> {
        let _ = end;
        Ok(())
    }
}

impl<L: Lock, W: Way> Asking<L, W> {
    /// `lock/NAME-WAY` on this pod.
    pub fn new(name: &'static str, setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            lock: L::lay_out(&mut arena, "lock", &setting.options()),
            counter: arena.per_host("counter", 1, 1)[0].start(),
            name,
            arena,
            setting,
            way: PhantomData,
        }
    }

    /// Hosts that use the lock; one more serves it, where it is served.
    pub(super) fn hosts(&self) -> u32 {
        self.setting.hosts
    }
}

impl<L: Lock, W: Way> Program for Asking<L, W> {
    type Out = Out<W>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if self.serves(seat) {
            let desk = Desk::default();
            crate::serve(port, desk, |desk| self.lock.serve(port, desk))?;
        }
        W::contend(self, seat.host, port)
    }
}

impl<L: Lock, W: Way> Subject for Asking<L, W> {
    fn name(&self) -> String {
        format!("lock/{}-{}{}", self.name, W::NAME, self.setting.suffix())
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
        W::CRASHES
    }

    fn timeouts(&self) -> Timeouts {
        W::TIMEOUTS
    }

    fn has_twins(&self) -> bool {
        false
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        if end.died.iter().any(Option::is_some) {
            return Ok(());
        }
        W::judge(end)?;
        counted(end, self.counter, u64::from(self.setting.hosts))
    }
}
