//! Right and wrong answers, counted by each lane while it measures, demanded at the end.
//!
//! What a lane measured may be gone by then (its DRAM) or overwritten by the next turn; the counts
//! stay in memory that the lanes of its host share, and every lane reads its own.

use fabric::{Arena, HostAtomics, HostSlice, Pod, Seat};
use workload::{Mismatch, Verified, Worker};

/// Words between two lanes' counts: two lines.
const STRIDE: usize = 16;

/// The counts of all lanes of a host.
#[derive(Debug)]
pub(crate) struct Tally {
    words: HostSlice<u64>,
}

impl Tally {
    pub(crate) fn lay_out(arena: &mut Arena, name: &str, pod: Pod) -> Self {
        let words = arena.host_shared(name, pod.lanes as usize * STRIDE);
        Self { words }
    }

    /// Notes one answer.
    pub(crate) fn note<P: HostAtomics>(&self, port: &P, seat: Seat, right: bool) {
        let first = seat.lane as usize * STRIDE;
        port.fetch_add(self.words.at(first), 1);
        port.fetch_add(self.words.at(first + 1), u64::from(!right));
    }

    /// Demands that this lane noted `answers`, all of them right, if it is one of the `active`
    /// lanes of its host, and none otherwise.
    pub(crate) fn demand<P: HostAtomics>(
        &self,
        worker: &Worker<'_, P>,
        active: u32,
        what: &str,
        answers: u64,
    ) -> Result<Verified, Mismatch> {
        let (port, seat) = (worker.port(), worker.seat());
        let expected = if seat.lane < active { answers } else { 0 };
        let first = seat.lane as usize * STRIDE;
        let noted = port.atomic_load(self.words.at(first));
        let wrong = port.atomic_load(self.words.at(first + 1));
        if noted == expected && wrong == 0 {
            return Ok(if expected == 0 {
                Verified::Nothing
            } else {
                Verified::Right
            });
        }
        Err(Mismatch {
            what: format!("{what} at host {} lane {}", seat.host, seat.lane),
            expected: format!("{expected} right"),
            found: format!("{noted}, of which {wrong} wrong"),
        })
    }
}
