//! Subjects of any type, behind one.

use crate::check::{Checker, Options, with_checker};
use crate::finding::Kind;
use crate::subject::Subject;

/// A subject whose type does not matter: what a registry holds.
pub trait Checkable {
    /// `lock/mine`.
    fn name(&self) -> String;
    /// Hosts of its pod.
    fn hosts(&self) -> u32;
    /// What must be found, if anything: see [`Subject::expects`].
    fn expects(&self) -> Vec<Kind>;
    /// Whether its twins are to be tried: see [`Subject::has_twins`].
    fn has_twins(&self) -> bool;
    /// Calls `f` with a checker that has learned nothing yet.
    fn with(&self, options: Options, f: &mut dyn FnMut(&mut Checker<'_>));
}

impl<S: Subject> Checkable for S {
    fn name(&self) -> String {
        Subject::name(self)
    }

    fn hosts(&self) -> u32 {
        self.shape().hosts
    }

    fn expects(&self) -> Vec<Kind> {
        Subject::expects(self)
    }

    fn has_twins(&self) -> bool {
        Subject::has_twins(self)
    }

    fn with(&self, options: Options, f: &mut dyn FnMut(&mut Checker<'_>)) {
        with_checker(self, options, f);
    }
}
