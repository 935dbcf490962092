//! How long a lane is ready to wait, and why it did not get what it waited for.

use fabric::{Gone, Port, Ticks, wait_until};

/// When a wait gives up by itself. Whatever it says, a wait also ends with the trial ([`Gone`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Never. No clock is read.
    Endless,
    /// Once this lane's clock has reached a time; the clock is read after each look that failed.
    Until(Ticks),
}

impl Patience {
    /// `ns` nanoseconds from now.
    pub fn for_ns<P: Port>(port: &P, ns: f64) -> Self {
        let ticks = ns * port.clock().ticks_per_ns;
        Self::Until(Ticks(port.now().0.saturating_add(ticks as u64)))
    }

    fn is_over<P: Port>(self, port: &P) -> bool {
        match self {
            Self::Endless => false,
            Self::Until(end) => port.now() >= end,
        }
    }
}

/// Why a wait with patience ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The lane must give up.
    Gone(Gone),
    /// Its patience is over.
    Impatient,
}

impl From<Gone> for Ended {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

/// Polls `ready` until it has an answer or patience is over; it looks at least once.
#[inline(always)]
#[track_caller]
pub(crate) fn wait<P: Port, R>(
    port: &P,
    patience: Patience,
    mut ready: impl FnMut() -> Option<R>,
) -> Result<R, Ended> {
    wait_until(port, || match ready() {
        Some(answer) => Some(Ok(answer)),
        None if patience.is_over(port) => Some(Err(Ended::Impatient)),
        None => None,
    })?
}
