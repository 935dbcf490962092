//! What stands beside the rows: the build that measured and the manifest that closes a directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;

use fnv::FnvHasher;
use serde::{Deserialize, Serialize};

/// The binary that measured. Captured when it was built; null where the build could not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The package's version.
    pub version: String,
    /// The revision of the sources.
    pub git_revision: Option<String>,
    /// Whether the sources differed from that revision.
    pub git_dirty: Option<bool>,
    /// The compiler, as it names itself.
    pub rustc: Option<String>,
    /// The target triple.
    pub target: Option<String>,
    /// The cargo profile.
    pub profile: Option<String>,
    /// Compiler flags beyond the profile's.
    pub flags: Option<String>,
}

/// A file's length and hash. FNV-1a of 64 bits finds accidents and edits, not forgeries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// Its length.
    pub bytes: u64,
    /// Its hash, as 16 hexadecimal digits.
    pub fnv1a64: String,
}

impl Checksum {
    /// Reads a whole file.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut hasher = FnvHasher::default();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.write(&buffer[..read]);
            bytes += read as u64;
        }
        Ok(Self {
            bytes,
            fnv1a64: format!("{:016x}", hasher.finish()),
        })
    }
}

/// Closes a directory. Its absence says that the run did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The rows' schema.
    pub schema: u32,
    /// The command that made the directory.
    pub command: String,
    /// Rows in `trials.ndjson`.
    pub rows: u64,
    /// Samples in `samples.bin`.
    pub samples: u64,
    /// Whether every trial of the plan was run.
    pub complete: bool,
    /// What went wrong, in sentences.
    pub problems: Vec<String>,
    /// The other files, by path within the directory. `README.md` is prose and not among them.
    pub files: BTreeMap<String, Checksum>,
}
