//! Reading a run's directory back, a killed run's too.
//!
//! What a crash can leave (no manifest, a last line cut short, samples without rows) is reported
//! as a problem, and everything whole is returned. What no crash can leave is an error.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::manifest::{Build, Checksum, Manifest};
use crate::row::{Label, Row, SCHEMA};

const SAMPLE_BYTES: u64 = size_of::<f64>() as u64;

/// Why a directory, or a part of it, cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not a run's directory.
    #[error("{} is no results directory: it has no trials.ndjson; name one that `run --out` made",
        path.display())]
    NotResults {
        /// The directory.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot read {}: {source}; check that it exists and may be read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A line that is no row, or a file that is not what its name says.
    #[error("{}:{line}: {reason}; restore the file or remove the line", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A row of a schema that is not known here.
    #[error("{}:{line}: schema {schema} is unknown, this reader knows {SCHEMA}; \
        read it with the dsmark that wrote it (build.json)", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The schema's number.
        schema: u64,
    },
    /// A row whose samples are not on file.
    #[error("{}: samples {first}..{end} are asked for, {held} are held; \
        restore the file or measure again", path.display())]
    Samples {
        /// `samples.bin`.
        path: PathBuf,
        /// The first sample's index.
        first: u64,
        /// The index after the last.
        end: u64,
        /// The samples on file.
        held: u64,
    },
}

/// A run's directory, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Where it was read from.
    pub path: PathBuf,
    /// The plan, as given.
    pub plan: String,
    /// The binary that measured.
    pub build: Option<Build>,
    /// The machines, by host.
    pub hosts: BTreeMap<u32, Value>,
    /// The rows, in the order of writing.
    pub rows: Vec<Row>,
    /// What closed the directory; none where the run did not end by itself.
    pub manifest: Option<Manifest>,
    /// What is wrong, in sentences: the manifest's problems, then what reading found.
    pub problems: Vec<String>,
    sample_count: u64,
}

impl Results {
    /// Rows that were kept in memory: what a table needs, without plan, machines or samples.
    pub fn in_memory(rows: Vec<Row>) -> Self {
        Self {
            path: PathBuf::new(),
            plan: String::new(),
            build: None,
            hosts: BTreeMap::new(),
            rows,
            manifest: None,
            problems: Vec::new(),
            sample_count: 0,
        }
    }

    /// Reads a directory.
    ///
    /// # Errors
    /// A path that is no results directory, a malformed line (with file, line and reason) other
    /// than a last one that was cut short, an unknown schema (with its number).
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let path = path.into();
        let trials = path.join("trials.ndjson");
        if !trials.is_file() {
            return Err(ReadError::NotResults { path });
        }
        let mut problems = Vec::new();
        let manifest: Option<Manifest> = optional_json(&path.join("manifest.json"))?;
        match &manifest {
            Some(manifest) => problems.extend(manifest.problems.iter().cloned()),
            None => problems.push("no manifest.json: the run did not end by itself".to_owned()),
        }
        let rows = parse_rows(&trials, &read(&trials)?, &mut problems)?;
        let mut results = Self {
            plan: optional(&path.join("plan.toml"))?.unwrap_or_default(),
            build: optional_json(&path.join("build.json"))?,
            hosts: read_hosts(&path.join("hosts"))?,
            rows,
            manifest,
            problems,
            sample_count: 0,
            path,
        };
        results.check_samples()?;
        results.check_manifest();
        Ok(results)
    }

    /// Whether every trial of the plan was run and nothing is wrong with the files.
    pub fn complete(&self) -> bool {
        self.problems.is_empty() && self.manifest.as_ref().is_some_and(|m| m.complete)
    }

    /// The labels of the rows, each once.
    pub fn labels(&self) -> Vec<Label> {
        let mut labels: Vec<Label> = self.rows.iter().map(|row| row.label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The samples behind a row; none where it has none.
    ///
    /// # Errors
    /// They are not on file.
    pub fn samples(&self, row: &Row) -> Result<Vec<f64>, ReadError> {
        let Some(first) = row.samples_at else {
            return Ok(Vec::new());
        };
        let path = self.path.join("samples.bin");
        let end = first.saturating_add(row.n);
        if end > self.sample_count {
            return Err(ReadError::Samples {
                path,
                first,
                end,
                held: self.sample_count,
            });
        }
        let mut bytes = vec![0; (row.n * SAMPLE_BYTES) as usize];
        File::open(&path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(first * SAMPLE_BYTES))?;
                file.read_exact(&mut bytes)
            })
            .map_err(|source| ReadError::Io { path, source })?;
        let (words, _) = bytes.as_chunks();
        Ok(words.iter().map(|word| f64::from_le_bytes(*word)).collect())
    }

    fn check_samples(&mut self) -> Result<(), ReadError> {
        let path = self.path.join("samples.bin");
        let bytes = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        self.sample_count = bytes / SAMPLE_BYTES;
        if bytes % SAMPLE_BYTES != 0 {
            self.problems
                .push("samples.bin ends within a sample: it was cut short".to_owned());
        }
        for (index, row) in self.rows.iter().enumerate() {
            let end = row
                .samples_at
                .map_or(0, |first| first.saturating_add(row.n));
            if end > self.sample_count {
                self.problems.push(format!(
                    "row {} names samples up to {end}, samples.bin holds {}",
                    index + 1,
                    self.sample_count
                ));
            }
        }
        Ok(())
    }

    fn check_manifest(&mut self) {
        let Some(manifest) = &self.manifest else {
            return;
        };
        if manifest.rows != self.rows.len() as u64 {
            let (said, found) = (manifest.rows, self.rows.len());
            self.problems.push(format!(
                "manifest.json counts {said} rows, {found} are on file"
            ));
        }
        for (name, expected) in &manifest.files {
            match Checksum::of(&self.path.join(name)) {
                Ok(found) if found == *expected => {}
                Ok(_) => self
                    .problems
                    .push(format!("{name} was changed after the run")),
                Err(error) => self
                    .problems
                    .push(format!("{name} cannot be read: {error}")),
            }
        }
    }
}

/// Every whole row. Only what follows the last newline can have been cut short: rows are appended
/// with their newline in one write.
fn parse_rows(
    path: &Path,
    content: &[u8],
    problems: &mut Vec<String>,
) -> Result<Vec<Row>, ReadError> {
    let mut rows = Vec::new();
    for (index, line) in content.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let number = index + 1;
        match parse_row(path, number, line) {
            Ok(row) => {
                if row.digest != row.comparability_digest() {
                    problems.push(format!(
                        "row {number}: its digest is not that of its fields"
                    ));
                }
                rows.push(row);
            }
            Err(ReadError::Malformed { .. }) if !line.ends_with(b"\n") => problems.push(format!(
                "trials.ndjson:{number} was cut short after {} bytes and is left out",
                line.len()
            )),
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

fn parse_row(path: &Path, line: usize, text: &[u8]) -> Result<Row, ReadError> {
    /// Read first: a row of another schema would fail on some field instead.
    #[derive(Deserialize)]
    struct Version {
        schema: u64,
    }
    let malformed = |error: serde_json::Error| ReadError::Malformed {
        path: path.to_owned(),
        line,
        reason: error.to_string(),
    };
    let Version { schema } = serde_json::from_slice(text).map_err(malformed)?;
    if schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema {
            path: path.to_owned(),
            line,
            schema,
        });
    }
    let row: Row = serde_json::from_slice(text).map_err(malformed)?;
    match row.bad_figure() {
        None => Ok(row),
        Some((field, value)) => Err(ReadError::Malformed {
            path: path.to_owned(),
            line,
            reason: format!("{field} is {value}, below zero"),
        }),
    }
}

fn read_hosts(directory: &Path) -> Result<BTreeMap<u32, Value>, ReadError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => {
            return Err(ReadError::Io {
                path: directory.to_owned(),
                source,
            });
        }
    };
    let mut hosts = BTreeMap::new();
    for entry in entries {
        let path = entry
            .map_err(|source| ReadError::Io {
                path: directory.to_owned(),
                source,
            })?
            .path();
        let id = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let (Some(id), Some(description)) = (id, optional_json(&path)?) {
            hosts.insert(id, description);
        }
    }
    Ok(hosts)
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })
}

fn optional(path: &Path) -> Result<Option<String>, ReadError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ReadError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

fn optional_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReadError> {
    let Some(text) = optional(path)? else {
        return Ok(None);
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| ReadError::Malformed {
            path: path.to_owned(),
            line: error.line(),
            reason: error.to_string(),
        })
}
