//! The chores of this repository, as a library that the command and the tests share.
//!
//! [`tidy`] holds what the compiler and clippy cannot: the dependency law between crates, sizes,
//! where `unsafe` and target-specific code may stand, words, links, licences. Every check is a
//! plain function from a [`tidy::Tree`] to findings, so a test can run it on a made-up tree and see
//! it fail. [`aarch64`] checks the portable crates for a second architecture, where this machine
//! has what that takes.

#![forbid(unsafe_code)]

pub mod aarch64;
pub mod tidy;
