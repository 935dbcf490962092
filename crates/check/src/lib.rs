//! Every behaviour of a program on memory that no hardware keeps coherent between hosts.
//!
//! An algorithm written against [`fabric::Port`] is run against everything that the memory may
//! legally do: every order in which stores, flushes and write-backs take effect, every eviction,
//! every fetch that nobody asked for, in every schedule of the lanes. What is found is a sentence,
//! the source line at fault, the maintenance that cures it, and a trace that can be replayed.
//!
//! ```
//! use check::{Bounds, Kind, Options, Shape, Subject, WriteMode, with_checker};
//! use fabric::{Arena, Gone, HostAtomics, Program, Ptr, Seat, wait_until};
//!
//! /// Host 0 sends a word, host 1 waits for it. Something is missing.
//! struct Word {
//!     arena: Arena,
//!     at: Ptr<u64>,
//! }
//!
//! impl Program for Word {
//!     type Out = Result<(), Gone>;
//!     fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
//!         if seat.host == 0 {
//!             port.write_published(self.at, &[1]);
//!             return Ok(());
//!         }
//!         wait_until(port, || (port.load(self.at) == 1).then_some(()))
//!     }
//! }
//!
//! impl Subject for Word {
//!     fn name(&self) -> String {
//!         "word".into()
//!     }
//!     fn shape(&self) -> Shape {
//!         Shape::software(2, 1, WriteMode::Synchronous)
//!     }
//!     fn arena(&self) -> &Arena {
//!         &self.arena
//!     }
//! }
//!
//! let mut arena = Arena::new();
//! let word = Word { at: arena.word("word"), arena };
//! let finding = with_checker(&word, Options::default(), |checker| {
//!     checker.check(Bounds::SATURATED).finding.expect("the poll observes nothing")
//! });
//! assert_eq!(finding.kind, Kind::Deadlock);
//! assert!(finding.cure.expect("one operation cures it").starts_with("observe the line before"));
//! ```
//!
//! # How it works
//!
//! 1. A lane is learned once, as a tree of operations by their results (`script`): its code runs
//!    only where a search comes to something new, and any edit of the program, a flush left out or
//!    put in (`edit`), costs no run at all.
//! 2. A state is the pod's memory and a node a lane (`machine`); a search visits each once
//!    (`search`), cheapest first, leaving out steps that lead nowhere else (`moves`).
//! 3. A sanitizer knows who knows of which store (`sanitize`), so that a stale read is found on a
//!    schedule on which it does no harm.
//! 4. A fault becomes a finding (`explain`): cures are found by trying them.
//! 5. Twins with one operation missing (`omissions`), and the cheapest maintenance for a program
//!    that has none (`infer`). Where there are too many states, runs by chance (`walk`).
//!
//! # Limits
//!
//! *Pass* means: exhausted, for this program, this many hosts, lanes and rounds. Time does not
//! exist: [`now`](fabric::Port::now) is constant. A wait whose closure asks for something else in
//! later turns is unrolled, and takes at most two turns more while it sees the same; one whose
//! closure changes only after three such turns is not noticed. States are told apart by 128 bits.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adversary;
mod ask;
mod check;
mod checkable;
mod columns;
mod diff;
mod edit;
mod execute;
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
mod state;
mod stuck;
mod subject;
mod survey;
mod token;
mod trace;
mod waiting;
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
pub use subject::{End, Subject, Timeouts, Violation, expect_equal};
pub use survey::{Budget, Survey, survey};
pub use token::{TokenError, subject_of};
pub use trace::Event;
pub use walk::Strategy;
