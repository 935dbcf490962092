//! Locks: one lane at a time, and what it does inside is not lost.

use check::{Shape, Subject, Violation, WriteMode};
use fabric::{Arena, Gone, HostAtomics, Mark, Program, Ptr, Seat};
use sync::peterson::{Contender, Peterson};

/// A lock, as a section asks for it.
pub trait Gate: Sync {
    /// One lane's end.
    type End;

    /// Lays the lock out; called once.
    fn lay_out(&mut self, arena: &mut Arena, hosts: u32);

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
}

/// Every host adds one to a counter, under a lock, several times.
#[derive(Debug)]
pub struct Section<G> {
    name: &'static str,
    arena: Arena,
    gate: G,
    counter: Ptr<u64>,
    hosts: u32,
    rounds: u64,
    writes: WriteMode,
}

impl<G: Gate> Section<G> {
    /// `lock/NAME` on two hosts, this many increments each.
    pub fn new(name: &'static str, mut gate: G, rounds: u64, writes: WriteMode) -> Self {
        let (mut arena, hosts) = (Arena::new(), 2);
        gate.lay_out(&mut arena, hosts);
        Self {
            name,
            counter: arena.word("counter"),
            arena,
            gate,
            hosts,
            rounds,
            writes,
        }
    }
}

impl<G: Gate> Program for Section<G> {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut end = self.gate.end(seat);
        for _ in 0..self.rounds {
            self.gate.acquire(port, &mut end)?;
            port.mark(Mark::Enter(0));
            // Serves the load below: the other host has counted since.
            port.observe(self.counter.line());
            let count = port.load(self.counter);
            // Before the release: the next holder finds it at the device.
            port.write_posted(self.counter, &[count + 1]);
            port.mark(Mark::Leave(0));
            self.gate.release(port, &mut end)?;
        }
        Ok(())
    }
}

impl<G: Gate> Subject for Section<G> {
    fn name(&self) -> String {
        format!("lock/{}{}", self.name, crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(self.hosts, 1, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn rounds(&self) -> u32 {
        self.rounds as u32
    }

    fn judge(&self, end: &check::End<'_, Self::Out>) -> Result<(), Violation> {
        let (count, expected) = (end.word(self.counter), u64::from(self.hosts) * self.rounds);
        if count == expected {
            return Ok(());
        }
        Err(Violation::lost_update(format!(
            "the counter is {count} after {expected} increments under the lock"
        )))
    }
}

/// [`Peterson`]'s lock between two hosts.
#[derive(Debug, Default)]
pub struct OfPeterson(Option<Peterson>);

/// A gate of Peterson's lock.
pub fn of_peterson() -> OfPeterson {
    OfPeterson::default()
}

impl Gate for OfPeterson {
    type End = Contender;

    fn lay_out(&mut self, arena: &mut Arena, _: u32) {
        self.0 = Some(Peterson::lay_out(arena, "lock"));
    }

    fn end(&self, seat: Seat) -> Contender {
        Contender::new(self.0.expect("it was laid out"), seat.host)
    }

    fn acquire<P: HostAtomics>(&self, port: &P, end: &mut Contender) -> Result<(), Gone> {
        end.acquire(port)
    }

    fn release<P: HostAtomics>(&self, port: &P, end: &mut Contender) -> Result<(), Gone> {
        end.release(port);
        Ok(())
    }
}
