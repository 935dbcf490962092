//! What is wrong with a graph, with where and with what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Line, from 1.
    Line(u64),
    /// Byte, from 0, of a binary file; after decompression.
    Byte(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// A graph that cannot be had.
#[derive(Clone, Debug, Error)]
pub enum GraphError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {why}; check the path and its permissions")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        why: Arc<io::Error>,
    },
    /// The file cannot be written.
    #[error("cannot write {path}: {why}; free space there, or choose another directory")]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        why: Arc<io::Error>,
    },
    /// What the file holds is not what its suffix promises.
    #[error("{path}, {at}: {why}")]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        at: At,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The format has no edges with a direction.
    #[error(
        "{path}: METIS has no edges with a direction, and the graph has: choose another suffix, or \
         make the graph undirected"
    )]
    Direction {
        /// Which file.
        path: PathBuf,
    },
    /// The suffix names no format.
    #[error(
        "{path}: the suffix names no format{}; known are {known}, each also with .gz",
        fabric::suggestion(.near.as_deref())
    )]
    Suffix {
        /// Which file.
        path: PathBuf,
        /// The nearest that exists.
        near: Option<String>,
        /// All that exist.
        known: String,
    },
    /// A source that is none.
    #[error(
        "`{given}` names no graph{}; use kron:SCALE, uniform:SCALE or file:PATH",
        fabric::suggestion(.near.as_deref())
    )]
    Source {
        /// As written.
        given: String,
        /// The nearest that exists.
        near: Option<String>,
    },
    /// More than a graph here can have.
    #[error("{what} of {given}: use {least} to {most}")]
    Range {
        /// Which number.
        what: &'static str,
        /// As asked for.
        given: u64,
        /// The smallest that works.
        least: u64,
        /// The largest that works.
        most: u64,
    },
    /// Somebody stopped it.
    #[error("interrupted: nothing was kept; run it again")]
    Interrupted,
    /// A thread that loads gave up.
    #[error("the thread that loads {graph} panicked: {what}; please report it with that graph")]
    Panicked {
        /// The graph.
        graph: String,
        /// What it said.
        what: String,
    },
}
