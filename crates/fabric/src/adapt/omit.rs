//! Leaving one maintenance operation out: the faulty twin of an algorithm.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

use super::{Maintenance, Op, Tap, Verdict};

/// A maintenance operation in the source: what [`Omit`] leaves out.
///
/// It is a source line and a kind of operation, so a loop is one site however often it turns, and
/// lanes that run the same source share its sites. A recipe of its caller's line has one site for
/// its flushes and one for its fences; `confirm`, which has two of each, is one site of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Who asked for it, as `#[track_caller]` reports.
    pub caller: &'static Location<'static>,
    /// What was asked for.
    pub kind: Maintenance,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind.name(), self.caller)
    }
}

/// The tap that leaves out the operations of one site.
///
/// With no target it only records the sites, for a first run that learns which twins there are. A
/// tap belongs to one lane; the target is a site rather than a position in one lane's order, so
/// that the taps of all lanes leave out the same.
#[derive(Debug)]
pub struct Omit {
    target: Option<Site>,
    sites: RefCell<Vec<Site>>,
}

impl Omit {
    /// Leaves out `target`, or nothing.
    pub fn new(target: Option<Site>) -> Self {
        Self {
            target,
            sites: RefCell::default(),
        }
    }

    /// The sites met, in the order in which they were first met.
    pub fn sites(&self) -> Vec<Site> {
        self.sites.borrow().clone()
    }
}

impl Tap for Omit {
    fn before(&self, op: Op, caller: &'static Location<'static>) -> Verdict {
        let Some(kind) = op.maintenance() else {
            return Verdict::Perform;
        };
        let site = Site { caller, kind };
        let mut sites = self.sites.borrow_mut();
        if !sites.contains(&site) {
            sites.push(site);
        }
        if self.target == Some(site) {
            Verdict::Skip
        } else {
            Verdict::Perform
        }
    }
}
