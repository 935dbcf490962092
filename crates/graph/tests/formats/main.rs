//! Files: what is read is what was meant, and what is wrong is named.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod mutations;
mod reference;
mod refused;
mod roundtrip;

use std::path::{Path, PathBuf};

use graph::{Csr, GraphError, GraphSource, Load};
use tempfile::TempDir;

/// A directory in memory, where there is such: thousands of files are written for certain, each
/// with the latency of a disk.
fn scratch() -> TempDir {
    TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap()
}

fn load(path: &Path, directed: bool, threads: usize) -> Result<Csr, GraphError> {
    let how = Load {
        directed,
        threads,
        ..Load::default()
    };
    let path = path.to_owned();
    GraphSource::File { path }.load(&how)
}

/// A file of these bytes.
fn file(directory: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Every edge of a directed graph; of an undirected one, every edge in both directions.
fn arcs(graph: &Csr) -> Vec<(u32, u32)> {
    let vertices = 0..graph.vertices() as u32;
    let row = |from: u32| graph.neighbours(from).iter().map(move |&to| (from, to));
    vertices.flat_map(row).collect()
}

/// What every graph promises.
fn is_sound(graph: &Csr) {
    let arcs = arcs(graph);
    assert!(arcs.is_sorted_by(|one, next| one < next));
    assert!(arcs.iter().all(|(from, to)| from != to));
    let back = |&(from, to): &(u32, u32)| graph.sources(to).binary_search(&from).is_ok();
    assert!(arcs.iter().all(back));
}
