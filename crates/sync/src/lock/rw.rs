//! Many readers or one writer, over any lock.
//!
//! Writers exclude each other by the lock; then the one that has it says so in a line of its own
//! and waits until no reader is in. A reader says that it reads and looks whether a writer is
//! there: Dekker's pattern between the two. A reader that finds a writer steps back until it has
//! gone, so writers come first.
//!
//! The writer's line counts: odd while somebody writes. Whoever holds the lock writes it.

use fabric::{Arena, Gone, HostAtomics, Ptr};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::{Arrival, Board};
use crate::patience::{Patience, wait};

/// Where the lock lies; `L` is the lock among writers.
#[derive(Clone, Debug)]
pub struct ReadWrite<L> {
    writers: L,
    readers: Board,
    writing: Ptr<u64>,
    arrival: Arrival,
}

/// A participant's reading end.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    who: u32,
}

impl Reader {
    /// That of host `who`.
    pub fn new(who: u32) -> Self {
        Self { who }
    }
}

impl<L: Lock> ReadWrite<L> {
    /// Lays its lines out.
    pub fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            writers: L::lay_out(arena, &format!("{name}.writers"), options),
            readers: Board::lay_out(arena, &format!("{name}.reading"), options.pod.hosts),
            writing: arena.per_host(&format!("{name}.writing"), 1, 1)[0].start(),
            arrival: options.arrival,
        }
    }

    /// The lock among writers: what serves or tends it does so there.
    pub fn writers(&self) -> &L {
        &self.writers
    }

    /// Waits until no writer is in. Cost without one: 1 publish, 1 observe of 1 line.
    ///
    /// # Errors
    /// See [`NotAcquired`]; a reader that gives up has withdrawn.
    pub fn read<P: HostAtomics>(
        &self,
        port: &P,
        me: &Reader,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        loop {
            // Must be at the device before the look: a writer that this reader misses sees it.
            self.arrival.announce(port, self.readers.word(me.who), 1);
            if !self.somebody_writes(port) {
                return Ok(());
            }
            self.end_read(port, me);
            let left = || (!self.somebody_writes(port)).then_some(());
            wait(port, patience, left).map_err(|ended| ended.at(None, false))?;
        }
    }

    /// Ends reading. Cost: 1 publish.
    pub fn end_read<P: HostAtomics>(&self, port: &P, me: &Reader) {
        // Serves a writer's wait.
        self.readers.post(port, me.who, 0);
    }

    /// Waits until nobody else is in. Cost: that of the lock, 1 publish, 1 observe of N lines a
    /// look.
    ///
    /// # Errors
    /// See [`NotAcquired`]. A writer that gives up waiting for readers has withdrawn.
    pub fn write<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        self.writers.acquire(port, me, patience)?;
        self.count(port);
        let mut readers = self.readers.watch(|_| true);
        let left = || readers.look(port, |_, reads| reads == 0).then_some(());
        let waited = wait(port, patience, left);
        if let Err(ended) = waited {
            let error = ended.at(readers.first(), false);
            self.end_write(port, me)?;
            return Err(error);
        }
        Ok(())
    }

    /// Ends writing, behind what was posted. Cost: 1 publish, and that of the lock's release.
    ///
    /// # Errors
    /// Whatever ended a wait of the lock's release.
    pub fn end_write<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.count(port);
        self.writers.release(port, me)
    }

    fn count<P: HostAtomics>(&self, port: &P) {
        // Serves the load below: the writer before may have been another host.
        port.observe(self.writing.line());
        let count = port.load(self.writing);
        port.store(self.writing, count + 1);
        // At the start it must be at the device before the look at the readers; at the end it
        // serves the readers' waits.
        self.arrival.settle(port, self.writing.line());
    }

    fn somebody_writes<P: HostAtomics>(&self, port: &P) -> bool {
        // Serves the load below, anew for each look.
        port.observe(self.writing.line());
        port.load(self.writing) % 2 == 1
    }
}
