//! Leaving one maintenance operation out: the faulty twin of an algorithm.

use std::cell::RefCell;
use std::panic::Location;

use super::{Op, Tap, Verdict};

/// A place in the source, as `#[track_caller]` reports it.
type Site = &'static Location<'static>;

/// The tap that leaves out the operations of one site, in the order in which sites are first met.
///
/// A site is a source line and a kind of operation, so a loop is one site however often it turns.
/// With no target it only records the sites, for a first run that learns how many twins there are.
#[derive(Debug)]
pub struct Omit {
    target: Option<usize>,
    sites: RefCell<Vec<(Site, std::mem::Discriminant<Op>)>>,
}

impl Omit {
    /// Leaves out site `target`, or nothing.
    pub fn new(target: Option<usize>) -> Self {
        Self {
            target,
            sites: RefCell::default(),
        }
    }

    /// The sites met, in order.
    pub fn sites(&self) -> Vec<Site> {
        self.sites.borrow().iter().map(|&(site, _)| site).collect()
    }
}

impl Tap for Omit {
    fn before(&self, op: Op, caller: Site) -> Verdict {
        if !op.is_maintenance() {
            return Verdict::Perform;
        }
        let mut sites = self.sites.borrow_mut();
        let key = (caller, std::mem::discriminant(&op));
        let index = sites
            .iter()
            .position(|site| *site == key)
            .unwrap_or_else(|| {
                sites.push(key);
                sites.len() - 1
            });
        if self.target == Some(index) {
            Verdict::Skip
        } else {
            Verdict::Perform
        }
    }
}
