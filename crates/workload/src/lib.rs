//! The contract between what is measured and what measures it.
//!
//! A [`Workload`] says where its words lie, what one repetition does, and how to check what it left
//! behind. It is generic over the port and never names a substrate. The trial protocol (crate
//! `harness`) repeats it, times nothing itself, and turns its [`Series`] into records.
//!
//! ```text
//! layout(arena, pod, params)   pure: the same offsets on every host
//! prepare(worker, ..)          once a trial, before the warm-up: inputs that repetitions only read
//! run(worker, layout, params)  once a repetition, on every lane of every host
//! verify(worker, ..)           after the last repetition, another algorithm, outside the clock
//! ```
//!
//! When a trial starts, the workload's part of the region is zero at the device and no host holds a
//! stale line of it. When a repetition starts, every lane has passed a pod barrier.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod contract;
mod gather;
mod params;
mod worker;

pub use contract::{Mismatch, Outcome, Series, Unready, Verified, Workload};
pub use gather::Gather;
pub use params::{ParamError, Params, read_params, words_of};
pub use worker::Worker;
