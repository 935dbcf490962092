//! A port seen through an observer: counting, leaving out, tracing.
//!
//! One adaptor, [`Tapped`], forwards every verb and asks a [`Tap`] first. What differs is the tap.

mod count;
mod omit;
mod tapped;
mod trace;

use std::panic::Location;

pub use count::{Census, Count, Fences};
pub use omit::{Omit, Site};
pub use tapped::Tapped;
pub use trace::{Trace, Traced};

use crate::discipline::{Fence, Flush};
use crate::place::{Line, Lines};

/// One verb about to be performed.
///
/// `Publish`, `PublishEach`, `Post`, `Confirm`, `Observe` and `ObserveEach` announce a recipe; its
/// flushes and fences follow, with the same caller. They are not announced where the discipline makes them
/// nothing.
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
    PublishEach { lines: u64 },
    Post(Lines),
    Confirm(Line),
    Observe(Lines),
    ObserveEach { lines: u64 },
    Atomic,
    Pause,
}

impl Op {
    /// Which kind of maintenance it is, if any. Leaving maintenance out can only make values stale,
    /// late or torn: these are the operations that a checker omits one by one.
    pub fn maintenance(self) -> Option<Maintenance> {
        match self {
            Self::Writeback(_) => Some(Maintenance::Writeback),
            Self::Flush(..) => Some(Maintenance::Flush),
            Self::Fence(_) => Some(Maintenance::Fence),
            _ => None,
        }
    }
}

/// A kind of maintenance operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the verbs of `Port`
pub enum Maintenance {
    Writeback,
    Flush,
    Fence,
}

impl Maintenance {
    /// Its name in findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writeback => "writeback",
            Self::Flush => "flush",
            Self::Fence => "fence",
        }
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
