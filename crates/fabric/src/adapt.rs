//! A port seen through an observer: counting, leaving out, tracing.
//!
//! One adaptor, [`Tapped`], forwards every verb and asks a [`Tap`] first. What differs is the tap.

mod count;
mod omit;
mod tapped;
mod trace;

use std::panic::Location;

pub use count::{Census, Count, Fences};
pub use omit::Omit;
pub use tapped::Tapped;
pub use trace::{Trace, Traced};

use crate::discipline::{Fence, Flush};
use crate::place::{Line, Lines};

/// One verb about to be performed.
///
/// `Publish`, `Post`, `Confirm`, `Observe` and `ObserveEach` announce a recipe; its flushes and fences follow, with
/// the same caller. They are not announced where the discipline makes them nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are the verbs' operands
pub enum Op {
    Load { offset: u64, bytes: u64 },
    Store { offset: u64, bytes: u64 },
    StoreNt { offset: u64, bytes: u64 },
    StoreLine(Line),
    Writeback(Line),
    Flush(Line, Flush),
    Fence(Fence),
    Publish(Lines),
    Post(Lines),
    Confirm(Line),
    Observe(Lines),
    ObserveEach { lines: u64 },
    Atomic,
    Pause,
}

impl Op {
    /// Whether leaving it out can only make values stale, late or torn: the operations that a
    /// checker omits one by one.
    pub fn is_maintenance(self) -> bool {
        matches!(self, Self::Writeback(_) | Self::Flush(..) | Self::Fence(_))
    }
}

/// What a tap wants done with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Perform it.
    Perform,
    /// Leave it out; honoured for maintenance and for announced recipes.
    Skip,
}

/// An observer of one port.
pub trait Tap {
    /// Called before each verb, with the source line that asked for it.
    fn before(&self, op: Op, caller: &'static Location<'static>) -> Verdict;
}
