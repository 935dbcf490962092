//! Graphs from files.

mod serialized;

use std::path::Path;

use crate::csr::Csr;
use crate::error::GraphError;
use crate::load::Load;
use crate::source::Shape;

/// Reads the graph in `path`.
pub(crate) fn read(path: &Path, how: &Load) -> Result<Csr, GraphError> {
    serialized::read(path, how)
}

/// What `path` needs.
pub(crate) fn shape(path: &Path, directed: bool) -> Result<Shape, GraphError> {
    let how = Load {
        directed,
        ..Load::default()
    };
    let source = crate::GraphSource::File {
        path: path.to_owned(),
    };
    let csr = crate::load::loaded(&source, &how)?;
    Ok(Shape {
        vertices: csr.vertices() as u64,
        arcs: csr.arcs(),
        directed,
    })
}
