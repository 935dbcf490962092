//! A timed acquire that gives up leaves the lock as its documentation says: withdrawn, or queued.
//!
//! Each host asks once with patience, which may be over at any moment, and then without. If the
//! first try left anything behind that it should not, both are in, or nobody ever is again.

use check::{Bounds, Shape, Subject, Timeouts, Violation};
use fabric::{Arena, HostAtomics, Lines, Mark, Program, Ptr, Seat};
use sync::lock::{Lock, Member, NotAcquired};
use sync::{Desk, Patience};

use super::count;
use crate::setting::Setting;

/// Every host counts once, after it may have given up once.
#[derive(Debug)]
pub struct Timed<L> {
    name: &'static str,
    arena: Arena,
    lock: L,
    counter: Ptr<u64>,
    setting: Setting,
}

impl<L: Lock> Timed<L> {
    /// `lock/NAME-timed` on this pod.
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
}

impl<L: Lock> Program for Timed<L> {
    type Out = Result<(), NotAcquired>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if seat.host == self.setting.hosts {
            let desk = Desk::default();
            crate::serve(port, desk, |desk| self.lock.serve(port, desk))?;
        }
        let mut me = Member::new(seat.host);
        // How long does not matter: time passes when the checker says so.
        let patience = Patience::for_ns(port, 1.0);
        match self.lock.acquire(port, &mut me, patience) {
            Err(NotAcquired::TimedOut { .. }) => {
                self.lock.acquire(port, &mut me, Patience::Endless)?;
            }
            tried => tried?,
        }
        port.mark(Mark::Enter(0));
        count(port, self.counter);
        port.mark(Mark::Leave(0));
        self.lock.release(port, &mut me)?;
        Ok(())
    }
}

impl<L: Lock> Subject for Timed<L> {
    fn name(&self) -> String {
        format!("lock/{}-timed{}", self.name, self.setting.suffix())
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

    fn timeouts(&self) -> Timeouts {
        Timeouts::Anytime
    }

    fn has_twins(&self) -> bool {
        false
    }

    fn judge(&self, end: &check::End<'_, Self::Out>) -> Result<(), Violation> {
        let (count, expected) = (end.word(self.counter), u64::from(self.setting.hosts));
        if count == expected {
            return Ok(());
        }
        Err(Violation::lost_update(format!(
            "the counter is {count} after {expected} increments under the lock"
        )))
    }
}
