//! Formats with an edge a line: chunks of lines, parsed on several threads.

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::build::{Builder, Piece};
use crate::csr::{Csr, Edge, MAX_VERTICES};
use crate::error::{At, GraphError};
use crate::input::bytes::{CHUNK_BYTES, Chunks, Input};
use crate::input::cursor::Cursor;
use crate::load::Load;
use crate::parallel;

/// Vertices that every file may have, however short: their offsets take 8 MiB.
const FREE_VERTICES: u64 = 1 << 20;

/// Bytes of a line with an edge, for a guess of how many there are: two identifiers of five digits.
const EDGE_BYTES: u64 = 12;

/// A format with an edge a line, after its header.
pub(crate) trait Lines: Sync {
    /// Parses one line, its end included; appends its edge, if it has one.
    ///
    /// # Errors
    /// What is wrong with the line.
    fn line(&self, cursor: &mut Cursor<'_>, edges: &mut Vec<Edge>) -> Result<(), String>;
}

/// A file of lines whose header is parsed, or that has none.
pub(crate) struct Text {
    chunks: Chunks,
    /// The first chunk, from the header's end on.
    first: Vec<u8>,
    /// Lines of the header.
    lines: u64,
}

impl Text {
    /// A file of which nothing is parsed yet.
    pub(crate) fn open(input: Input) -> Self {
        Self::with_lines_up_to(input, CHUNK_BYTES as u64)
    }

    /// A file whose lines have up to `longest` bytes.
    pub(crate) fn with_lines_up_to(input: Input, longest: u64) -> Self {
        Self {
            chunks: input.into_chunks(longest),
            first: Vec::new(),
            lines: 0,
        }
    }

    /// Reads the header: `parse` is called with one line after the other until it returns
    /// something.
    ///
    /// # Errors
    /// What is wrong with the header.
    pub(crate) fn header<T>(
        &mut self,
        mut parse: impl FnMut(&mut Cursor<'_>) -> Result<Option<T>, String>,
    ) -> Result<T, GraphError> {
        self.first = self.chunks.next().transpose()?.unwrap_or_default();
        let mut cursor = Cursor::new(&self.first);
        let mut found = Ok(None);
        while !cursor.is_at_end() && matches!(found, Ok(None)) {
            self.lines += 1;
            found = parse(&mut cursor);
        }
        let passed = cursor.passed();
        self.first.drain(..passed);
        match found {
            Ok(Some(header)) => Ok(header),
            Ok(None) => {
                let why = match (self.lines, self.chunks.next()) {
                    (0, _) => "the file is empty; its format begins with a header",
                    (_, None) => "the file ends before its header does",
                    (_, Some(_)) => "no header in the first 1 MiB of the file",
                };
                Err(self.malformed(why))
            }
            Err(why) => Err(self.malformed(why)),
        }
    }

    /// In the last line that was looked at.
    fn malformed(&self, why: impl Into<String>) -> GraphError {
        GraphError::Malformed {
            path: self.chunks.path().to_owned(),
            at: At::Line(self.lines.max(1)),
            why: why.into(),
        }
    }

    /// Which file.
    pub(crate) fn path(&self) -> &Path {
        self.chunks.path()
    }

    /// Calls `parse` with every other line, in order; how many lines the file has.
    ///
    /// # Errors
    /// What is wrong with the first wrong line.
    pub(crate) fn each_line(
        mut self,
        how: &Load,
        mut parse: impl FnMut(&mut Cursor<'_>) -> Result<(), String>,
    ) -> Result<u64, GraphError> {
        let mut chunk = Some(std::mem::take(&mut self.first));
        while let Some(bytes) = chunk {
            how.progress.check()?;
            let mut cursor = Cursor::new(&bytes);
            while !cursor.is_at_end() {
                self.lines += 1;
                parse(&mut cursor).map_err(|why| self.malformed(why))?;
            }
            chunk = self.chunks.next().transpose()?;
        }
        Ok(self.lines)
    }

    /// Parses every other line, on several threads.
    ///
    /// # Errors
    /// What is wrong with the first wrong line.
    pub(crate) fn parse(
        self,
        format: &impl Lines,
        directed: bool,
        how: &Load,
    ) -> Result<Parsed, GraphError> {
        let path = self.chunks.path().to_owned();
        let spare = self.chunks.spare();
        let builder = Builder::expecting(self.chunks.file_bytes() / EDGE_BYTES, directed);
        // What each chunk has, so that an error can say which line of the file it is in.
        let counts = Mutex::new(Vec::new());
        let chunks = iter::once(Ok(self.first)).chain(self.chunks).enumerate();
        let parsed = parallel::each_with(how.threads, chunks, Vec::new, |edges, (index, chunk)| {
            let chunk = chunk.map_err(Trouble::Elsewhere)?;
            how.progress.check().map_err(Trouble::Elsewhere)?;
            let parsed = Chunk::parse(&chunk, format, edges);
            spare.give(chunk);
            let mut counts = counts.lock().expect("pushing does not panic");
            counts.push((index, parsed.lines));
            drop(counts);
            parsed.into_piece(index, edges, builder)
        });
        let counts = counts.into_inner().expect("pushing does not panic");
        let lines_before = |index| -> u64 {
            let before = counts.iter().filter(|&&(known, _)| known < index);
            self.lines + before.map(|&(_, lines)| lines).sum::<u64>()
        };
        let chunks = parsed.map_err(|trouble| match trouble {
            Trouble::Elsewhere(error) => error,
            Trouble::Line { chunk, line, why } => GraphError::Malformed {
                path: path.clone(),
                at: At::Line(lines_before(chunk) + line),
                why,
            },
        })?;
        let lines = lines_before(usize::MAX);
        Ok(Parsed::of(path, chunks, lines, builder))
    }
}

enum Trouble {
    /// Line `line` of a chunk, from 1.
    Line {
        chunk: usize,
        line: u64,
        why: String,
    },
    Elsewhere(GraphError),
}

/// What stands in a chunk, up to its end or its first wrong line, which is counted.
struct Chunk {
    largest: Option<u32>,
    lines: u64,
    bytes: u64,
    wrong: Option<String>,
}

impl Chunk {
    /// Puts the chunk's edges into `edges`, in place of what was there.
    fn parse(bytes: &[u8], format: &impl Lines, edges: &mut Vec<Edge>) -> Self {
        edges.clear();
        let mut cursor = Cursor::new(bytes);
        let (mut lines, mut wrong) = (0, None);
        while !cursor.is_at_end() && wrong.is_none() {
            lines += 1;
            wrong = format.line(&mut cursor, edges).err();
        }
        let largest = edges.iter().map(|&(from, to)| from.max(to)).max();
        Self {
            largest,
            lines,
            bytes: bytes.len() as u64,
            wrong,
        }
    }

    fn into_piece(
        mut self,
        chunk: usize,
        edges: &[Edge],
        builder: Builder,
    ) -> Result<Partitioned, Trouble> {
        match self.wrong.take() {
            None => Ok(Partitioned {
                chunk: self,
                edges: edges.len() as u64,
                piece: builder.piece(edges),
            }),
            Some(why) => Err(Trouble::Line {
                chunk,
                line: self.lines,
                why,
            }),
        }
    }
}

struct Partitioned {
    chunk: Chunk,
    edges: u64,
    piece: Piece,
}

/// All edges of a file.
pub(crate) struct Parsed {
    path: PathBuf,
    builder: Builder,
    pieces: Vec<Piece>,
    /// Lines with an edge.
    pub(crate) edges: u64,
    /// One more than the largest that has an edge.
    pub(crate) vertices: u64,
    lines: u64,
    bytes: u64,
}

impl Parsed {
    fn of(path: PathBuf, parsed: Vec<Partitioned>, lines: u64, builder: Builder) -> Self {
        let largest = parsed.iter().filter_map(|part| part.chunk.largest).max();
        Self {
            path,
            builder,
            vertices: largest.map_or(0, |largest| u64::from(largest) + 1),
            edges: parsed.iter().map(|part| part.edges).sum(),
            bytes: parsed.iter().map(|part| part.chunk.bytes).sum(),
            pieces: parsed.into_iter().map(|part| part.piece).collect(),
            lines,
        }
    }

    /// In the last line.
    pub(crate) fn malformed(&self, why: impl Into<String>) -> GraphError {
        GraphError::Malformed {
            path: self.path.clone(),
            at: At::Line(self.lines.max(1)),
            why: why.into(),
        }
    }

    /// The graph, of `vertices` vertices.
    ///
    /// # Errors
    /// More vertices than the file has bytes: a wrong number somewhere, or labels so sparse that
    /// nearly all memory would go to vertices without edges.
    pub(crate) fn graph(self, vertices: u64, how: &Load) -> Result<Csr, GraphError> {
        let most = FREE_VERTICES.max(self.bytes).min(MAX_VERTICES);
        if vertices > most {
            return Err(self.malformed(format!(
                "{vertices} vertices in {} bytes, at most {most} are believed: number those that \
                 have edges 0, 1, 2 ..",
                self.bytes
            )));
        }
        let (vertices, threads) = (vertices as usize, how.threads);
        self.builder
            .finish(vertices, self.pieces, threads, &how.progress)
    }
}
