//! The text formats.

use std::io::Write;

use crate::csr::Csr;
use crate::error::GraphError;
use crate::output::{Output, digits};

/// Bytes of lines that are gathered before they are handed on.
const BATCH_BYTES: usize = 1 << 16;

/// Calls `line` for each vertex with its row, to append what it becomes.
fn each_row<W: Write>(
    graph: &Csr,
    out: &mut Output<'_, W>,
    line: impl Fn(u32, &[u32], &mut Vec<u8>),
) -> Result<(), GraphError> {
    let mut batch = Vec::with_capacity(2 * BATCH_BYTES);
    let mut told = 0;
    for (vertex, row) in (0..).zip(graph.outgoing().rows()) {
        line(vertex, row, &mut batch);
        if batch.len() >= BATCH_BYTES {
            out.put(&batch)?;
            batch.clear();
            let done = u64::from(vertex) + 1;
            out.progress.advance(done - told)?;
            told = done;
        }
    }
    out.put(&batch)?;
    out.progress.advance(graph.vertices() as u64 - told)
}

/// One line for each arc: `before`, source and target counted from `first`, `after`.
fn arc_lines(
    before: &'static [u8],
    first: u64,
    after: &'static [u8],
    keep: impl Fn(u32, u32) -> bool,
) -> impl Fn(u32, &[u32], &mut Vec<u8>) {
    move |from, row, to_bytes| {
        for &to in row.iter().filter(|&&to| keep(from, to)) {
            to_bytes.extend_from_slice(before);
            digits::push(u64::from(from) + first, to_bytes);
            to_bytes.push(b' ');
            digits::push(u64::from(to) + first, to_bytes);
            to_bytes.extend_from_slice(after);
            to_bytes.push(b'\n');
        }
    }
}

/// `.el`, and `.wel` with something after each edge.
pub(crate) fn edge_list<W: Write>(
    graph: &Csr,
    out: &mut Output<'_, W>,
    after: &'static [u8],
) -> Result<(), GraphError> {
    each_row(graph, out, arc_lines(b"", 0, after, |_, _| true))
}

/// `.mtx`: the lower triangle, where edges have no direction.
pub(crate) fn matrix_market<W: Write>(
    graph: &Csr,
    out: &mut Output<'_, W>,
) -> Result<(), GraphError> {
    let (vertices, entries, directed) = (graph.vertices(), graph.edges(), graph.is_directed());
    let symmetry = if directed { "general" } else { "symmetric" };
    let header = format!(
        "%%MatrixMarket matrix coordinate pattern {symmetry}\n{vertices} {vertices} {entries}\n"
    );
    out.put(header.as_bytes())?;
    each_row(
        graph,
        out,
        arc_lines(b"", 1, b"", |from, to| directed || to < from),
    )
}

/// `.gr`.
pub(crate) fn dimacs<W: Write>(graph: &Csr, out: &mut Output<'_, W>) -> Result<(), GraphError> {
    let header = format!("p sp {} {}\n", graph.vertices(), graph.arcs());
    out.put(header.as_bytes())?;
    each_row(graph, out, arc_lines(b"a ", 1, b" 1", |_, _| true))
}

/// `.graph`. A blank follows each neighbour, the last one too: GAPBS (b5e3e19, `reader.h`) loses a
/// number that ends with its line.
pub(crate) fn metis<W: Write>(graph: &Csr, out: &mut Output<'_, W>) -> Result<(), GraphError> {
    out.put(format!("{} {}\n", graph.vertices(), graph.edges()).as_bytes())?;
    each_row(graph, out, |_, row, bytes| {
        for &to in row {
            digits::push(u64::from(to) + 1, bytes);
            bytes.push(b' ');
        }
        bytes.push(b'\n');
    })
}
