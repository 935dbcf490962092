//! What each step costs: the micro-benchmarks.
//!
//! * [`visibility`]: how long until one host's update is seen by another.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod visibility;

pub use visibility::Visibility;
