//! Graphs from files.
//!
//! | suffix | a line, or what the file is |
//! |---|---|
//! | `.el` | `source target`, from 0 |
//! | `.wel` | `source target weight`, from 0 |
//! | `.mtx` | Matrix Market, coordinates; pattern, integer or real; general or symmetric |
//! | `.gr` | DIMACS' ninth challenge: `p sp N M`, then `a source target weight`, from 1 |
//! | `.graph` | METIS: `N M [FMT [NCON]]`, then the neighbours of a vertex, from 1 |
//! | `.sg` | GAPBS' binary rows |
//!
//! Each also with `.gz`. Weights are checked and dropped: no kernel here uses them. Self loops and
//! doubled edges are dropped, as GAPBS does. Everything else that a format does not allow is
//! refused, with the line, or the byte in a binary file. `.el` and `.wel` name no number of
//! vertices: it is the largest identifier plus one.

mod bytes;
mod cursor;
mod dimacs;
mod edges;
mod lines;
mod matrix_market;
mod metis;
mod serialized;
mod symmetry;

use std::path::Path;

use crate::csr::Csr;
use crate::error::GraphError;
use crate::format::Format;
use crate::input::bytes::Input;
use crate::load::{Load, loaded};
use crate::source::{GraphSource, Shape};

/// Reads the graph in `path`.
pub(crate) fn read(path: &Path, how: &Load) -> Result<Csr, GraphError> {
    let (format, _) = Format::of(path)?;
    let input = Input::open(path, &how.progress)?;
    match format {
        Format::EdgeList => edges::read(input, false, how),
        Format::WeightedEdgeList => edges::read(input, true, how),
        Format::MatrixMarket => matrix_market::read(input, how),
        Format::Dimacs => dimacs::read(input, how),
        Format::Metis => metis::read(input, how),
        Format::Serialized => serialized::read(input, how),
    }
}

/// What the graph in `path` needs: from its header where that says it exactly, otherwise from the
/// graph itself, which then is there for whoever loads it.
pub(crate) fn shape(path: &Path, directed: bool) -> Result<Shape, GraphError> {
    let how = Load::on_all_cpus(directed);
    if Format::of(path)?.0 == Format::Serialized {
        return serialized::shape(Input::open(path, &how.progress)?, directed);
    }
    let source = GraphSource::File {
        path: path.to_owned(),
    };
    let csr = loaded(&source, &how)?;
    Ok(Shape {
        vertices: csr.vertices() as u64,
        arcs: csr.arcs(),
        directed,
    })
}
