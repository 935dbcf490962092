//! A `Frozen` range comes from the collective freeze alone.
//!
//! The type promises that nobody writes the range and nobody holds a stale line of it. Rust's
//! visibility cannot say "only that crate", so a test does.

use super::{Finding, Tree};

const CONSTRUCTOR: &str = "after_collective_freeze";

/// The crate that defines it and the one that holds the collective.
const GRANTED: [&str; 2] = ["fabric", "workload"];

/// Finds calls of `Frozen`'s constructor outside `workload`.
pub fn frozen_comes_from_freeze(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        if source.crate_name().is_some_and(|it| GRANTED.contains(&it)) {
            continue;
        }
        let code = source.code();
        for at in code.find(&[CONSTRUCTOR]) {
            let what = "only the collective freeze of `workload` makes a range Frozen";
            found.push(Finding::new(&source.path, code.tokens()[at].line, what));
        }
    }
    found
}
