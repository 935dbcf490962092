//! The kernels against known answers: every variant, on one to four hosts, on both substrates.
//!
//! Graphs and answers are those of `data/`: made by GAPBS, `SciPy` and networkx, whose programs
//! share nothing with the kernels here or with the verifiers that check each trial besides.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod large;
mod small;
mod trial;
