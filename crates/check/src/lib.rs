//! Every behaviour of a program on memory that no hardware keeps coherent between hosts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod litmus;

pub use litmus::{Litmus, LitmusError};
