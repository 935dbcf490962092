//! The tidy checks: what holds in this repository and neither compiler nor clippy can hold.
//!
//! Reading order: [`Tree`] is what is checked, [`Code`] is one Rust source as a flat list of
//! tokens, [`CHECKS`] is the list of checks, one module each.

mod code;
mod documents;
mod freeze;
mod heads;
mod law;
mod licences;
mod portable;
mod reach;
mod size;
mod substrates;
mod tree;
mod unsafety;
mod words;

use std::fmt;

pub use code::{Code, Kind, Token};
pub use documents::{links_resolve, no_path_outside};
pub use freeze::frozen_comes_from_freeze;
pub use heads::crate_heads;
pub use law::dependency_law;
pub use licences::licences_allowed;
pub use portable::target_specific_code;
pub use reach::dead_files;
pub use size::sizes;
pub use substrates::names_of_substrates;
pub use tree::{Package, Source, Tree};
pub use unsafety::unsafe_code;
pub use words::{file_names, unfinished_code};

/// What a check found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 if it concerns the file as a whole.
    pub line: usize,
    /// What is wrong and what would be right.
    pub what: String,
}

impl Finding {
    /// A finding in `path` at `line`.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// One check of a tree.
#[derive(Clone, Copy)]
pub struct Check {
    /// How reports call it.
    pub name: &'static str,
    /// Finds every violation.
    pub run: fn(&Tree) -> Vec<Finding>,
}

/// Every check, in the order in which they are reported.
pub const CHECKS: [Check; 13] = [
    check("dependency-law", dependency_law),
    check("sizes", sizes),
    check("unsafe-code", unsafe_code),
    check("frozen-comes-from-freeze", frozen_comes_from_freeze),
    check("target-specific-code", target_specific_code),
    check("unfinished-code", unfinished_code),
    check("file-names", file_names),
    check("names-of-substrates", names_of_substrates),
    check("links-resolve", links_resolve),
    check("no-path-outside", no_path_outside),
    check("crate-heads", crate_heads),
    check("dead-files", dead_files),
    check("licences-allowed", licences_allowed),
];

const fn check(name: &'static str, run: fn(&Tree) -> Vec<Finding>) -> Check {
    Check { name, run }
}
