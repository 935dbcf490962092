//! How a lane waits, and why it stops waiting.

use thiserror::Error;

use crate::mark::Mark;
use crate::port::Port;

/// Why a lane must give up: nothing in the suite spins for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Gone {
    /// The trial's deadline passed.
    #[error("the trial's deadline of {after_ms} ms passed")]
    Deadline {
        /// The limit that was exceeded.
        after_ms: u64,
    },
    /// A host stopped beating.
    #[error("host {host} was lost: it has been silent for {silent_ms} ms")]
    LostHost {
        /// Which one.
        host: u32,
        /// How long its heartbeat has not moved.
        silent_ms: u64,
    },
    /// The run is being torn down.
    #[error("the run is being torn down: {why}")]
    Teardown {
        /// What asked for it.
        why: &'static str,
    },
}

/// Polls `ready` until it has an answer, pausing in between.
///
/// Every spin loop of the suite goes through here, so that each of them notices deadlines, lost
/// hosts and teardown. `ready` must observe again at each call: a copy that was observed once and
/// then polled may stay stale for ever.
///
/// # Errors
/// Whatever [`Port::pause`] reports.
#[inline(always)]
#[track_caller]
pub fn wait_until<P: Port, R>(port: &P, mut ready: impl FnMut() -> Option<R>) -> Result<R, Gone> {
    port.mark(Mark::Wait);
    loop {
        if let Some(answer) = ready() {
            return Ok(answer);
        }
        port.pause()?;
    }
}
