//! Kernels over a graph in the region, in variants that differ in what hosts republish.
//!
//! Each is a workload: [`Bfs`], [`PageRank`], [`Spmv`], [`Triangles`]. The lanes of a host share its
//! cache and work through a phase together ([`crew`]); hosts meet only in what they publish and
//! observe and at barriers. Every line has one writing host ([`split`]).
//!
//! With one host the same source runs without maintenance: the baseline of every speedup.

pub mod bfs;
pub mod rank;
pub mod toy;
pub mod triangles;

mod bits;
mod crew;
mod split;
mod verify;

pub use bfs::Bfs;
pub use rank::{PageRank, Spmv};
pub use triangles::Triangles;
