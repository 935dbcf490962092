//! What is checked: every primitive of crate `sync`, and the hash table, as small programs with a
//! judge.
//!
//! A subject is a program that uses a primitive as its documentation says, twice at least, so that
//! lines are used again, and that notices when what it was promised does not hold. It is generic
//! over [`fabric::Port`] like any other program; the checker is only named where its verdicts are.
//!
//! [`all`] lists them. A lock is added by implementing [`section::Gate`] for it, some ten lines.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod barrier;
pub mod mail;
pub mod record;
pub mod rendezvous;
pub mod section;
pub mod table;

use check::{Checkable, WriteMode};

/// Everything, in the order of the listing.
pub fn all() -> Vec<Box<dyn Checkable>> {
    use WriteMode::{Posted, Synchronous};
    vec![
        Box::new(mail::Mail::new(2, 2, Synchronous)),
        Box::new(mail::Mail::new(2, 2, Posted)),
        Box::new(barrier::Epoch::new(2, 1, 2, Synchronous)),
        Box::new(barrier::Epoch::new(2, 1, 2, Posted)),
        Box::new(barrier::Epoch::new(1, 2, 2, Synchronous)),
        Box::new(rendezvous::Join::new(Synchronous)),
        Box::new(section::Section::new(
            "peterson",
            section::of_peterson(),
            2,
            Synchronous,
        )),
        Box::new(section::Section::new(
            "peterson",
            section::of_peterson(),
            2,
            Posted,
        )),
        Box::new(record::Record::new(2, 1, Synchronous)),
        Box::new(record::Record::new(2, 1, Posted)),
        Box::new(record::Record::new(2, 2, Synchronous)),
        Box::new(record::Record::new(2, 2, Posted)),
        Box::new(table::Owned::new(2, 1, Synchronous)),
        Box::new(table::Owned::new(2, 2, Synchronous)),
        Box::new(table::Locked::new(Synchronous)),
    ]
}

/// What a pod's write mode adds to a name: nothing for the default.
fn suffix(writes: WriteMode) -> String {
    match writes {
        WriteMode::Synchronous => String::new(),
        other => format!("@{other}"),
    }
}
