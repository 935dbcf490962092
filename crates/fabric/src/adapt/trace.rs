//! Tracing: every operation with the source line that asked for it.

use std::cell::RefCell;
use std::panic::Location;

use super::{Op, Tap, Verdict};

/// One traced operation.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    /// What was done.
    pub op: Op,
    /// Who asked for it.
    pub caller: &'static Location<'static>,
}

/// The tap that remembers.
#[derive(Debug, Default)]
pub struct Trace {
    ops: RefCell<Vec<Traced>>,
}

impl Trace {
    /// Everything so far, emptied.
    pub fn take(&self) -> Vec<Traced> {
        self.ops.take()
    }
}

impl Tap for Trace {
    fn before(&self, op: Op, caller: &'static Location<'static>) -> Verdict {
        self.ops.borrow_mut().push(Traced { op, caller });
        Verdict::Perform
    }
}
