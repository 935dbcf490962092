//! Every behaviour of a program on memory that no hardware keeps coherent between hosts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ask;
mod check;
mod checkable;
mod diff;
mod edit;
mod explain;
mod finding;
mod fingerprint;
mod infer;
pub mod litmus;
mod machine;
mod moves;
mod omissions;
mod port;
mod record;
mod runner;
mod sanitize;
mod script;
mod search;
mod sites;
mod stuck;
mod subject;
mod survey;
mod table;
mod token;
mod trace;
mod walk;
pub mod zoo;

pub use ask::Recipe;
pub use check::{Checker, Options, Report, Verdict, ends, with_checker};
pub use checkable::Checkable;
pub use diff::diff;
pub use edit::{Edits, Insertion, Site, Weakening};
pub use finding::{Finding, Kind};
pub use infer::Inferred;
pub use litmus::{Litmus, LitmusError};
pub use model::{Shape, WriteMode};
pub use omissions::{Fate, Tally, Twin};
pub use record::Record;
pub use search::Bounds;
pub use subject::{End, Subject, Violation, expect_equal};
pub use survey::{Budget, Survey, survey};
pub use token::{TokenError, subject_of};
pub use trace::Event;
pub use walk::Strategy;
