//! From a plan to records: what runs, where, how often, and what is kept.
//!
//! ```text
//! Plan --expand--> TrialSpec ...            plan.rs, spec.rs
//!                      |
//!        Registry<S>: a name to code        registry.rs
//!                      |
//!   on every lane: the trial protocol       trial.rs    clear, warm up, repeat, census, verify
//!                      |                    timekeeper.rs    one time for all hosts
//!                      |
//!   on every host: join, trials, leave      host.rs     one process a host
//!                      | frames             frame.rs, post.rs
//!          +-----------+------------+
//!        local                     env      local.rs: this process starts them;
//!        a pipe each     over the region    job.rs, agree.rs, courier.rs, wire.rs: MPI or ssh did
//!          +-----------+------------+
//!                      |
//!   supervise, collect                      hosts.rs, session.rs    a lost host is named
//!                      |
//!   rows and samples                        collect.rs  into a record::Directory
//! ```
//!
//! Invariants: configuration travels in the plan, never in the environment; every host computes the
//! same layout or the rendezvous refuses it; a trial that fails is a row with its error; what was
//! measured is on disk before the next trial starts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod agree;
pub mod collect;
pub mod courier;
pub mod frame;
pub mod host;
pub mod hosts;
pub mod job;
pub mod local;
pub mod plan;
pub mod post;
pub mod progress;
pub mod registry;
pub mod session;
pub mod spec;
pub mod timekeeper;
pub mod trial;
pub mod wire;

pub use collect::{Place, Recorder};
pub use plan::{Plan, PlanError};
pub use registry::{Registry, SpecError};
pub use session::{Ended, Session};
pub use spec::{Limits, TrialSpec};
