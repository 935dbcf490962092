//! GAPBS' `.sg`: rows as they lie in memory.
use std::path::Path;
use std::sync::Arc;

use crate::csr::{Csr, Edge};
use crate::error::GraphError;
use crate::load::Load;

pub(crate) fn read(path: &Path, how: &Load) -> Result<Csr, GraphError> {
    let bytes = std::fs::read(path).map_err(|why| GraphError::Read {
        path: path.to_owned(),
        why: Arc::new(why),
    })?;
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let vertices = u64_at(9) as usize;
    let mut edges: Vec<Edge> = Vec::new();
    let targets = 17 + 8 * (vertices + 1);
    for v in 0..vertices {
        for e in u64_at(17 + 8 * v)..u64_at(25 + 8 * v) {
            let at = targets + 4 * e as usize;
            edges.push((
                v as u32,
                u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four")),
            ));
        }
    }
    Csr::assemble(vertices, &[edges], how.directed, how.threads, &how.progress)
}
