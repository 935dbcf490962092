//! What is refused: status 2, a message with operand and remedy, nothing measured.

use std::path::Path;

use super::{Bench, Said};

/// Arguments that measure a little.
pub(crate) const MEASURE: [&str; 11] = [
    "measure",
    "visibility",
    "--on",
    "native",
    "--hosts",
    "2",
    "--smoke",
    "--set",
    "rounds=10",
    "--json",
    "--quiet",
];

/// Measures a little, with `more` arguments.
pub(crate) fn measure(more: &[&str]) -> Said {
    Bench::new().run(&[&MEASURE, more].concat())
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are ASCII")
}

/// Refused with status 2: nothing was measured.
#[track_caller]
pub(crate) fn refused(said: &Said, needles: &[&str]) {
    said.expect(2, needles);
    assert_eq!(said.out, "");
    assert!(!said.err.contains("panicked"), "{}", said.err);
}
