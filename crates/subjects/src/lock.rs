//! Locks: one lane at a time, and what it does inside is not lost.
//!
//! Every lane adds one to a counter, under the lock, several times. Where the lock has a server, a
//! host more serves it. [`asking`] with patience: [`timed`] gives up waiting, [`dying`] lets hosts
//! die.

pub mod asking;
pub mod dying;
pub mod timed;

use check::{Bounds, End, Kind, Shape, Subject, Timeouts, Violation};
use fabric::{Arena, Discipline, Gone, HostAtomics, Lines, Mark, Program, Ptr, Seat};
use sync::lock::{Lock, Member, NotAcquired};
use sync::peterson::{Contender, Peterson};
use sync::{Desk, Patience};

use crate::setting::Setting;

/// A lock, as a lane that counts asks for it.
pub trait Gate: Sync + Sized {
    /// One lane's end.
    type End;

    /// Whether a lane has to serve it.
    const SERVED: bool = false;

    /// Lays the lock out.
    fn lay_out(arena: &mut Arena, setting: &Setting) -> Self;

    /// The end of a lane.
    fn end(&self, seat: Seat) -> Self::End;

    /// Enters.
    ///
    /// # Errors
    /// Whatever ended the wait.
    fn acquire<P: HostAtomics>(&self, port: &P, end: &mut Self::End) -> Result<(), Gone>;

    /// Leaves.
    ///
    /// # Errors
    /// Whatever ended a wait.
    fn release<P: HostAtomics>(&self, port: &P, end: &mut Self::End) -> Result<(), Gone>;

    /// One round of the server.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut Desk) {
        let _ = (port, desk);
    }
}

/// Every lane adds one to a counter, under a lock, several times.
#[derive(Debug)]
pub struct Section<G> {
    name: &'static str,
    arena: Arena,
    gate: G,
    counter: Ptr<u64>,
    setting: Setting,
    expects: Vec<Kind>,
    time: Time,
}

/// What a timed lock may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Nothing: a delay may be over at once. Locks without a clock do not care.
    Free,
    /// A delay outlasts every lane's way to its next wait.
    Bounded,
}

impl<G: Gate> Section<G> {
    /// `lock/NAME` on this pod.
    pub fn new(name: &'static str, setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            name,
            gate: G::lay_out(&mut arena, &setting),
            counter: arena.per_host("counter", 1, 1)[0].start(),
            arena,
            setting,
            expects: Vec::new(),
            time: Time::Free,
        }
    }

    /// It must fail in one of these ways.
    #[must_use]
    pub fn expecting(self, kinds: &[Kind]) -> Self {
        Self {
            expects: kinds.to_vec(),
            ..self
        }
    }

    /// Where delays outlast every lane's way to its next wait.
    #[must_use]
    pub fn with_bounded_delays(self) -> Self {
        Self {
            time: Time::Bounded,
            ..self
        }
    }

    /// Hosts that only serve.
    fn servers() -> u32 {
        u32::from(G::SERVED)
    }
}

/// Adds one to what the lock protects.
pub(crate) fn count<P: HostAtomics>(port: &P, counter: Ptr<u64>) {
    // Serves the load below: another host has counted since.
    port.observe(counter.line());
    let count = port.load(counter);
    port.store(counter, count + 1);
    // Before the release: the next holder finds it at the device.
    port.post(counter.line());
}

/// Whether nothing of what was [`count`]ed is lost.
#[track_caller]
pub(crate) fn counted<Out>(
    end: &End<'_, Out>,
    counter: Ptr<u64>,
    expected: u64,
) -> Result<(), Violation> {
    let count = end.word(counter);
    if count == expected {
        return Ok(());
    }
    Err(Violation::lost_update(format!(
        "the counter is {count} after {expected} increments under the lock"
    )))
}

impl<G: Gate> Program for Section<G> {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if seat.host == self.setting.hosts {
            let desk = Desk::default();
            return crate::serve(port, desk, |desk| self.gate.serve(port, desk));
        }
        let mut end = self.gate.end(seat);
        for _ in 0..self.setting.rounds {
            self.gate.acquire(port, &mut end)?;
            port.mark(Mark::Enter(0));
            count(port, self.counter);
            port.mark(Mark::Leave(0));
            self.gate.release(port, &mut end)?;
        }
        Ok(())
    }
}

impl<G: Gate> Subject for Section<G> {
    fn name(&self) -> String {
        let timely = match self.time {
            Time::Free => "",
            Time::Bounded => "@bounded-delay",
        };
        let unconfirmed = self.setting == self.setting.unconfirmed();
        let unconfirmed = if unconfirmed { "-unconfirmed" } else { "" };
        let suffix = self.setting.suffix();
        format!("lock/{}{suffix}{unconfirmed}{timely}", self.name)
    }

    fn shape(&self) -> Shape {
        self.setting.shape(Self::servers())
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn discipline(&self) -> Discipline {
        self.setting.discipline()
    }

    fn validated(&self) -> Vec<Lines> {
        self.setting.registers(&self.arena, "lock", Self::servers())
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn rounds(&self) -> u32 {
        self.setting.rounds as u32
    }

    fn serves(&self, seat: Seat) -> bool {
        seat.host == self.setting.hosts
    }

    fn timeouts(&self) -> Timeouts {
        Timeouts::Anytime
    }

    fn is_timely(&self) -> bool {
        self.time == Time::Bounded
    }

    fn expects(&self) -> Vec<Kind> {
        self.expects.clone()
    }

    fn has_twins(&self) -> bool {
        self.setting.has_twins() && self.expects.is_empty()
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        let lanes = u64::from(self.setting.hosts * self.setting.lanes);
        counted(end, self.counter, lanes * self.setting.rounds)
    }
}

/// [`Peterson`]'s lock between two hosts.
#[derive(Debug)]
pub struct OfPeterson(Peterson);

impl Gate for OfPeterson {
    type End = Contender;

    fn lay_out(arena: &mut Arena, _: &Setting) -> Self {
        Self(Peterson::lay_out(arena, "lock"))
    }

    fn end(&self, seat: Seat) -> Contender {
        Contender::new(self.0, seat.host)
    }

    fn acquire<P: HostAtomics>(&self, port: &P, end: &mut Contender) -> Result<(), Gone> {
        end.acquire(port)
    }

    fn release<P: HostAtomics>(&self, port: &P, end: &mut Contender) -> Result<(), Gone> {
        end.release(port);
        Ok(())
    }
}

/// Any lock of `sync::lock`, without patience.
#[derive(Debug)]
pub struct Of<L> {
    lock: L,
    lanes: u32,
}

impl<L: Lock> Gate for Of<L> {
    type End = Member;

    const SERVED: bool = L::SERVED;

    fn lay_out(arena: &mut Arena, setting: &Setting) -> Self {
        Self {
            lock: L::lay_out(arena, "lock", &setting.options()),
            lanes: setting.lanes,
        }
    }

    fn end(&self, seat: Seat) -> Member {
        Member::new(seat.host * self.lanes + seat.lane)
    }

    fn acquire<P: HostAtomics>(&self, port: &P, end: &mut Member) -> Result<(), Gone> {
        match self.lock.acquire(port, end, Patience::Endless) {
            Ok(()) => Ok(()),
            Err(NotAcquired::Gone(gone)) => Err(gone),
            Err(NotAcquired::TimedOut { .. }) => unreachable!("patience is endless"),
        }
    }

    fn release<P: HostAtomics>(&self, port: &P, end: &mut Member) -> Result<(), Gone> {
        self.lock.release(port, end)
    }

    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut Desk) {
        self.lock.serve(port, desk);
    }
}
