//! How far a long piece of work is, told across threads, and how it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::error::GraphError;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Bytes of a file are parsed.
    Read,
    /// Edges are generated.
    Generate,
    /// Arcs are sorted into rows.
    Sort,
    /// Rows are written.
    Write,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Read, Self::Generate, Self::Sort, Self::Write];

    /// Its name, and what is counted in it.
    pub fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Read => ("read", "bytes"),
            Self::Generate => ("generate", "edges"),
            Self::Sort => ("sort", "arcs"),
            Self::Write => ("write", "vertices"),
        }
    }
}

/// Written by those who work, read by whoever watches; all by plain counters, so that nobody waits.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Progress of work that ends early, with [`GraphError::Interrupted`], once `stop` is set.
    pub fn until(stop: Arc<AtomicBool>) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    /// What is being done, how much of it is done, and of how much; 0 where nobody knows.
    pub fn look(&self) -> (Phase, u64, u64) {
        let phase = Phase::ALL[self.phase.load(Relaxed) as usize];
        (phase, self.done.load(Relaxed), self.total.load(Relaxed))
    }

    pub(crate) fn start(&self, phase: Phase, total: u64) {
        self.phase.store(phase as u8, Relaxed);
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }

    pub(crate) fn count(&self, done: u64) {
        self.done.fetch_add(done, Relaxed);
    }

    /// Asked at each piece of work.
    ///
    /// # Errors
    /// Whoever watches wants an end.
    pub(crate) fn check(&self) -> Result<(), GraphError> {
        if self.stop.load(Relaxed) {
            return Err(GraphError::Interrupted);
        }
        Ok(())
    }

    pub(crate) fn advance(&self, done: u64) -> Result<(), GraphError> {
        self.count(done);
        self.check()
    }
}
