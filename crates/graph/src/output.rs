//! Graphs into files, in the format of the suffix.
//!
//! The text formats get every stored arc, as GAPBS writes them: an undirected edge twice. Matrix
//! Market has a word for symmetric matrices, and gets the lower triangle. The weighted formats get
//! weight 1.
//!
//! A file appears under its name once it is whole. Until then it lies beside, under a name of its
//! own, which goes away if the writing fails.

mod digits;
mod serialized;
mod text;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::csr::Csr;
use crate::error::GraphError;
use crate::format::Format;
use crate::progress::{Phase, Progress};

/// Bytes that are gathered for one write.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a graph; the suffix of `path` says in which format, and `.gz` that it is compressed. A
/// file that is there already is replaced.
///
/// # Errors
/// The suffix, the file system, a graph that the format cannot hold, or somebody stopped it.
pub fn write(graph: &Csr, path: &Path, progress: &Progress) -> Result<(), GraphError> {
    let (format, gzip) = Format::of(path)?;
    if format == Format::Metis && graph.is_directed() {
        return Err(GraphError::Direction {
            path: path.to_owned(),
        });
    }
    progress.start(Phase::Write, graph.vertices() as u64);
    let unfinished = Unfinished::beside(path);
    let file = File::create(&unfinished.path).map_err(|why| failed(path, why))?;
    let written = if gzip {
        let encoder = GzEncoder::new(file, Compression::default());
        let out = write_to(graph, format, encoder, path, progress)?;
        out.finish().map_err(|why| failed(path, why))?
    } else {
        write_to(graph, format, file, path, progress)?
    };
    // So that a full disk is told of now, and a crash leaves the old file or the new one.
    written.sync_all().map_err(|why| failed(path, why))?;
    unfinished.name(path)
}

fn write_to<W: Write>(
    graph: &Csr,
    format: Format,
    out: W,
    path: &Path,
    progress: &Progress,
) -> Result<W, GraphError> {
    let mut out = Output {
        out: BufWriter::with_capacity(BUFFER_BYTES, out),
        path,
        progress,
    };
    match format {
        Format::EdgeList => text::edge_list(graph, &mut out, b"")?,
        Format::WeightedEdgeList => text::edge_list(graph, &mut out, b" 1")?,
        Format::MatrixMarket => text::matrix_market(graph, &mut out)?,
        Format::Dimacs => text::dimacs(graph, &mut out)?,
        Format::Metis => text::metis(graph, &mut out)?,
        Format::Serialized => serialized::rows(graph, &mut out)?,
    }
    let flushed = out.out.into_inner();
    flushed.map_err(|why| failed(path, why.into_error()))
}

/// Where bytes go, and who is told.
struct Output<'a, W: Write> {
    out: BufWriter<W>,
    path: &'a Path,
    progress: &'a Progress,
}

impl<W: Write> Output<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), GraphError> {
        let written = self.out.write_all(bytes);
        written.map_err(|why| failed(self.path, why))
    }
}

fn failed(path: &Path, why: io::Error) -> GraphError {
    GraphError::Write {
        path: path.to_owned(),
        why: Arc::new(why),
    }
}

/// A file that is being written, removed unless it gets its name.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn beside(path: &Path) -> Self {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        Self {
            path: path.with_file_name(name),
        }
    }

    fn name(self, path: &Path) -> Result<(), GraphError> {
        fs::rename(&self.path, path).map_err(|why| failed(path, why))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a rename it is not there any more. A failure here has nobody to be told to.
        let _ = fs::remove_file(&self.path);
    }
}
