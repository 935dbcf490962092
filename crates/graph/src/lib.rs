//! Graphs: read, made, written, laid out in the region, and traversed there.
//!
//! A [`GraphSource`] names a graph: one that is generated, or a file. [`GraphSource::load`] makes a
//! [`Csr`] of it in this process's memory, with threads of this machine. A workload lays a
//! [`RegionGraph`] out, in whose `prepare` all lanes of all hosts copy the graph into the region,
//! each its share, and freeze it; kernels then read a [`FrozenCsr`].
//!
//! ```
//! use graph::{GraphSource, Load};
//!
//! let source: GraphSource = "kron:6".parse()?;
//! let graph = source.load(&Load::default())?;
//! assert_eq!(graph.vertices(), 64);
//! assert!(graph.neighbours(0).is_sorted());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! * A [`Csr`] has sorted rows, without self loops and without doubled edges, whatever it was made
//!   from. An undirected one is symmetric.
//! * What is made from a seed is the same on any number of threads, lanes and hosts.
//! * A file is believed nothing: what it claims is held against its bytes before it is allocated.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod build;
mod csr;
mod error;
mod format;
mod generate;
mod input;
mod kernel;
mod load;
mod output;
mod parallel;
mod progress;
mod region;
mod source;
mod statistics;

pub use csr::{Adjacency, Csr, Edge, MAX_VERTICES};
pub use error::{At, GraphError};
pub use format::Format;
pub use generate::{DEGREE, Generator, Model};
pub use kernel::{Bfs, PageRank, Spmv, Triangles, bfs, rank, toy, triangles};
pub use load::{Load, Share, loaded};
pub use output::write;
pub use progress::{Phase, Progress};
pub use region::{FrozenCsr, FrozenRows, RegionGraph};
pub use source::{GraphSource, Loaded, Shape};
pub use statistics::{Bin, Degrees, components};
