//! A file as a stream of bytes, or as chunks of whole lines, plain or gzip.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

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
    file_bytes: u64,
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
            file_bytes: metadata.len(),
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

    /// Appends up to `count` bytes; fewer only at the end of the file.
    pub(crate) fn append(&mut self, count: usize, to: &mut Vec<u8>) -> Result<usize, GraphError> {
        self.progress.check()?;
        let before = to.len();
        to.resize(before + count, 0);
        let mut read = 0;
        while read < count {
            match self.reader.read(&mut to[before + read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(self.unreadable(why)),
            }
        }
        to.truncate(before + read);
        self.at += read as u64;
        Ok(read)
    }

    fn unreadable(&self, why: io::Error) -> GraphError {
        match why.kind() {
            // What the decoder says of data that no compressor wrote, or that was cut short.
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                let why = format!("the compressed data is damaged or cut short ({why})");
                self.malformed(At::Byte(self.at), format!("{why}: fetch it anew"))
            }
            _ => read_failed(&self.path, why),
        }
    }

    /// The file as chunks of whole lines, none longer than `longest` bytes. The last line gets an
    /// end if it has none.
    pub(crate) fn into_chunks(self, longest: u64) -> Chunks {
        Chunks {
            input: self,
            longest,
            spare: Spare::default(),
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

/// Buffers to use again: fresh ones cost a page fault every 4 KiB.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spare(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spare {
    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.0.lock().expect("pushing does not panic").push(buffer);
    }

    fn take(&self) -> Vec<u8> {
        let spare = self.0.lock().expect("popping does not panic").pop();
        spare.unwrap_or_else(|| Vec::with_capacity(2 * CHUNK_BYTES + 1))
    }
}

/// Chunks of whole lines.
pub(crate) struct Chunks {
    input: Input,
    longest: u64,
    spare: Spare,
    /// The beginning of a line that goes on.
    rest: Vec<u8>,
    ended: bool,
}

impl Chunks {
    /// Which file.
    pub(crate) fn path(&self) -> &Path {
        &self.input.path
    }

    /// Bytes of the file, as it is.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.input.file_bytes
    }

    /// Where chunks go that nobody needs any more.
    pub(crate) fn spare(&self) -> Spare {
        self.spare.clone()
    }

    fn take(&mut self) -> Result<Option<Vec<u8>>, GraphError> {
        if self.ended {
            return Ok(None);
        }
        let mut chunk = self.spare.take();
        chunk.append(&mut self.rest);
        loop {
            let before = chunk.len();
            if self.input.append(CHUNK_BYTES, &mut chunk)? < CHUNK_BYTES {
                self.ended = true;
                if chunk.last().is_some_and(|&last| last != b'\n') {
                    chunk.push(b'\n');
                }
                return Ok(Some(chunk));
            }
            if let Some(end) = chunk[before..].iter().rposition(|&byte| byte == b'\n') {
                self.rest.extend_from_slice(&chunk[before + end + 1..]);
                chunk.truncate(before + end + 1);
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
