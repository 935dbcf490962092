//! Every behaviour of a program on memory that no hardware keeps coherent between hosts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ask;
mod check;
mod edit;
mod explain;
mod finding;
mod fingerprint;
pub mod litmus;
mod machine;
mod moves;
mod port;
mod runner;
mod sanitize;
mod script;
mod search;
mod sites;
mod stuck;
mod subject;
mod table;
mod token;
mod trace;

pub use ask::Recipe;
pub use check::{Checker, Options, Report, Verdict, ends, with_checker};
pub use edit::{Edits, Insertion, Site, Weakening};
pub use finding::{Finding, Kind};
pub use litmus::{Litmus, LitmusError};
pub use model::{Shape, WriteMode};
pub use search::Bounds;
pub use subject::{End, Subject, Violation, expect_equal};
pub use token::{TokenError, subject_of};
pub use trace::Event;
