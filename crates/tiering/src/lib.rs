//! What a tiering policy makes of CXL memory used as a capacity tier.
//!
//! A host has a small *fast tier* of local DRAM and a large *capacity tier* of NVM or CXL memory.
//! A policy *promotes* and *demotes* pages between them, and *splits* and *collapses* huge pages.
//! This crate is a deterministic model of such a host: applications touch pages, the hardware and
//! the kernel charge for it, a policy decides, and whatever it decides is charged too.
//!
//! ```
//! use tiering::experiment::{Experiment, Ratio};
//!
//! let experiment = Experiment {
//!     workload: "gups-hot".into(),
//!     ratio: Ratio::new(1, 8),
//!     scale: Some("32768:64".parse().unwrap()),
//!     ..Experiment::default()
//! };
//! let bounds = experiment.reference(1).unwrap();
//! let outcome = experiment.run("first-touch", 1, &bounds).unwrap();
//! assert!(outcome.tally.fast_hit_ratio() > 0.0);
//! ```
//!
//! Invariants: a policy sees the machine only through [`machine::Mechanism`], which charges every
//! move to the one who waits for it; pages are conserved, which is checked at every tick; the same
//! seed gives the same outcome. All is scaled down by one law ([`scale`]). Absent: other sockets,
//! file pages, swap, and everything that a real kernel does besides. `docs/TIERING.md` gives the
//! model, its sources, and what it cannot say.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod application;
pub mod experiment;
pub mod law;
pub mod machine;
pub mod policy;
pub mod preset;
pub mod random;
pub mod run;
pub mod scale;
pub mod truth;
pub mod world;
