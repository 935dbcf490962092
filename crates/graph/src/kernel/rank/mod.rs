//! PageRank, as `pagerank` and as `spmv`.
//!
//! *Kernel.* Scores start at 1/V; a step gives each vertex (1 - damping)/V and `damping` times what
//! its in-neighbours have divided by their out-degrees. It ends when a step moves the scores by
//! less than `tolerance` in sum, or after `iterations`. Single precision; mass that reaches a
//! vertex without out-edges is lost: all as in GAPBS. Every step uses the scores of the step before
//! (Jacobi), so that the answer is the same on any number of hosts and lanes.
//!
//! *Sharing and maintenance.* By variant: `pull`, `push`, `residual`, `product`.
//! Vertices are divided among hosts by edges; a host computes the scores of its own.
//!
//! *Metrics.* `time_ns` of all steps; `edges_per_s`: arcs times steps by it. Phases, see
//! `crew`.
//!
//! *Verified.* One more step in double precision on the graph in the verifier's own memory must
//! move the scores by no more than a step after the last may.

mod arrays;
mod ordered;
mod pagerank;
mod product;
mod pull;
mod push;
mod residual;
mod rows;
mod spmv;
mod step;

pub(crate) use arrays::{Arrays, Ask};
pub(crate) use pagerank::compute;
pub use pagerank::{Ordering, PageRank, Params, Variant};
pub(crate) use spmv::compute as multiply;
pub use spmv::{Params as SpmvParams, Spmv, Variant as SpmvVariant};
pub(crate) use step::Rank;
