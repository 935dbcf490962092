//! `.sg`, as [`crate::input`] reads it.

use std::io::Write;

use crate::csr::{Adjacency, Csr};
use crate::error::GraphError;
use crate::output::Output;

/// Words that are converted at a time.
const BLOCK_WORDS: usize = 1 << 14;

pub(crate) fn rows<W: Write>(graph: &Csr, out: &mut Output<'_, W>) -> Result<(), GraphError> {
    out.put(&[u8::from(graph.is_directed())])?;
    out.put(&graph.arcs().to_le_bytes())?;
    out.put(&(graph.vertices() as u64).to_le_bytes())?;
    direction(graph.outgoing(), out)?;
    if graph.is_directed() {
        direction(graph.incoming(), out)?;
    }
    out.progress.advance(graph.vertices() as u64)
}

fn direction<W: Write>(rows: &Adjacency, out: &mut Output<'_, W>) -> Result<(), GraphError> {
    words(rows.offsets(), u64::to_le_bytes, out)?;
    words(rows.targets(), u32::to_le_bytes, out)
}

fn words<const N: usize, T: Copy, W: Write>(
    words: &[T],
    bytes: impl Fn(T) -> [u8; N],
    out: &mut Output<'_, W>,
) -> Result<(), GraphError> {
    for block in words.chunks(BLOCK_WORDS) {
        let block: Vec<[u8; N]> = block.iter().map(|&word| bytes(word)).collect();
        out.put(block.as_flattened())?;
        out.progress.check()?;
    }
    Ok(())
}
