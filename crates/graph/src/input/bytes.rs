//! A file as a stream of bytes, or as chunks of whole lines, plain or gzip.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::error::{At, GraphError};
use crate::format::Format;
use crate::progress::{Phase, Progress};

/// Bytes of a chunk: it lies in a core's cache while it is parsed, and taking one costs nothing
/// beside that.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// An open file.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    reader: Box<dyn Read + Send>,
    /// Bytes of the file, if it is not compressed.
    pub(crate) plain_bytes: Option<u64>,
    /// Bytes read so far, after decompression.
    at: u64,
    progress: Arc<Progress>,
}

/// The file below decompression, for progress.
struct Counted {
    file: File,
    progress: Arc<Progress>,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(to)?;
        self.progress.count(count as u64);
        Ok(count)
    }
}

impl Input {
    pub(crate) fn open(path: &Path, progress: &Arc<Progress>) -> Result<Self, GraphError> {
        let (_, gzip) = Format::of(path)?;
        let failed = |why| read_failed(path, why);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(ErrorKind::IsADirectory)));
        }
        progress.start(Phase::Read, metadata.len());
        let counted = Counted {
            file,
            progress: progress.clone(),
        };
        let reader: Box<dyn Read + Send> = if gzip {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
                CHUNK_BYTES,
                counted,
            )))
        } else {
            Box::new(counted)
        };
        Ok(Self {
            path: path.to_owned(),
            reader,
            plain_bytes: (!gzip && metadata.is_file()).then_some(metadata.len()),
            at: 0,
            progress: progress.clone(),
        })
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn malformed(&self, at: At, why: impl Into<String>) -> GraphError {
        GraphError::Malformed {
            path: self.path.clone(),
            at,
            why: why.into(),
        }
    }

    /// Appends up to `count` bytes; fewer only at the end of the file. Memory grows with what comes,
    /// not with what is asked for.
    pub(crate) fn append(&mut self, count: u64, to: &mut Vec<u8>) -> Result<usize, GraphError> {
        self.progress.check()?;
        let result = self.reader.by_ref().take(count).read_to_end(to);
        let read = result.map_err(|why| match why.kind() {
            // What the decoder says of data that no compressor wrote, or that was cut short.
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                let why =
                    format!("the compressed data is damaged or cut short ({why}): fetch it anew");
                self.malformed(At::Byte(self.at), why)
            }
            _ => read_failed(&self.path, why),
        })?;
        self.at += read as u64;
        Ok(read)
    }

    /// The file as chunks of whole lines, none longer than `longest` bytes. The last line gets an
    /// end if it has none.
    pub(crate) fn into_chunks(self, longest: u64) -> Chunks {
        Chunks {
            input: self,
            longest,
            rest: Vec::new(),
            ended: false,
        }
    }
}

pub(crate) fn read_failed(path: &Path, why: io::Error) -> GraphError {
    GraphError::Read {
        path: path.to_owned(),
        why: Arc::new(why),
    }
}

/// Chunks of whole lines.
pub(crate) struct Chunks {
    input: Input,
    longest: u64,
    /// The beginning of a line that goes on.
    rest: Vec<u8>,
    ended: bool,
}

impl Chunks {
    /// Which file.
    pub(crate) fn path(&self) -> &Path {
        &self.input.path
    }

    fn take(&mut self) -> Result<Option<Vec<u8>>, GraphError> {
        if self.ended {
            return Ok(None);
        }
        let mut chunk = std::mem::take(&mut self.rest);
        loop {
            let before = chunk.len();
            chunk.reserve(CHUNK_BYTES + 1);
            if self.input.append(CHUNK_BYTES as u64, &mut chunk)? < CHUNK_BYTES {
                self.ended = true;
                if chunk.last().is_some_and(|&last| last != b'\n') {
                    chunk.push(b'\n');
                }
                return Ok(Some(chunk));
            }
            if let Some(end) = chunk[before..].iter().rposition(|&byte| byte == b'\n') {
                self.rest = chunk.split_off(before + end + 1);
                return Ok(Some(chunk));
            }
            if chunk.len() as u64 > self.longest {
                let at = At::Byte(self.input.at - chunk.len() as u64);
                let why = format!(
                    "a line of more than {} bytes; none can be so long",
                    self.longest
                );
                return Err(self.input.malformed(at, why));
            }
        }
    }
}

impl Iterator for Chunks {
    type Item = Result<Vec<u8>, GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.take().transpose();
        self.ended |= matches!(chunk, Some(Err(_)));
        chunk
    }
}
