//! Writing a run's directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::journal::{Journal, Log, WriteError};
use crate::manifest::{Build, Checksum, Manifest};
use crate::row::{Label, Row, SCHEMA};

/// Where a directory comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The command that makes it, as it could be typed again.
    pub command: &'a str,
    /// The plan, as given.
    pub plan: &'a str,
    /// The binary.
    pub build: &'a Build,
}

/// A run's directory, being written.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    command: String,
    journal: Journal<File>,
    hosts: BTreeSet<u32>,
    labels: BTreeSet<Label>,
}

impl Directory {
    /// Makes the directory, its parents too, and writes all that is known before the first
    /// measurement: `plan.toml`, `build.json` and a `README.md` that calls the run unfinished.
    ///
    /// # Errors
    /// The directory holds something already, cannot be made, or is on a full file system.
    pub fn create(path: impl Into<PathBuf>, origin: &Origin<'_>) -> Result<Self, WriteError> {
        let path = path.into();
        make_empty(&path)?;
        let hosts = path.join("hosts");
        fs::create_dir(&hosts).map_err(|source| WriteError::NotWritable {
            path: path.clone(),
            source,
        })?;
        write_atomically(&path.join("plan.toml"), origin.plan.as_bytes())?;
        write_atomically(&path.join("build.json"), &json_text(origin.build))?;
        let journal = Journal::new(
            open_log(&path, "trials.ndjson")?,
            open_log(&path, "samples.bin")?,
        );
        let directory = Self {
            path,
            command: origin.command.to_owned(),
            journal,
            hosts: BTreeSet::new(),
            labels: BTreeSet::new(),
        };
        directory
            .write_readme("unfinished: without a manifest.json the run did not end by itself")?;
        Ok(directory)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a machine's description to `hosts/<id>.json`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_host(&mut self, id: u32, description: &Value) -> Result<(), WriteError> {
        write_atomically(&self.path.join(host_file(id)), &json_text(description))?;
        self.hosts.insert(id);
        Ok(())
    }

    /// Appends a row and its samples (none where the trial failed or the value is absent), and
    /// sets the row's `digest` and `samples_at`.
    ///
    /// # Errors
    /// A figure that is not finite or is negative, a row that does not count its samples, or a
    /// failed write. Nothing of the row is on file then, and the caller still has it.
    pub fn append(&mut self, row: &mut Row, samples: &[f64]) -> Result<(), WriteError> {
        self.journal.append(row, samples)?;
        self.labels.insert(row.label);
        Ok(())
    }

    /// Closes the directory: everything is on the device before `manifest.json` appears, whole.
    ///
    /// # Errors
    /// A failed write. What was appended stays readable, as an unfinished run.
    pub fn finish(mut self, complete: bool, problems: &[String]) -> Result<Manifest, WriteError> {
        self.journal.sync()?;
        let manifest = Manifest {
            schema: SCHEMA,
            command: self.command.clone(),
            rows: self.journal.row_count(),
            samples: self.journal.sample_count(),
            complete,
            problems: problems.to_vec(),
            files: self.checksums()?,
        };
        self.write_readme(if complete {
            "complete: every trial of the plan was run"
        } else {
            "incomplete: manifest.json names what is missing"
        })?;
        write_atomically(&self.path.join("manifest.json"), &json_text(&manifest))?;
        Ok(manifest)
    }

    fn checksums(&self) -> Result<BTreeMap<String, Checksum>, WriteError> {
        let fixed = ["plan.toml", "build.json", "trials.ndjson", "samples.bin"].map(str::to_owned);
        let mut files = BTreeMap::new();
        for name in fixed
            .into_iter()
            .chain(self.hosts.iter().map(|&id| host_file(id)))
        {
            let path = self.path.join(&name);
            let checksum = Checksum::of(&path)
                .map_err(|source| WriteError::io(&path, "its checksum", source))?;
            files.insert(name, checksum);
        }
        Ok(files)
    }

    fn write_readme(&self, state: &str) -> Result<(), WriteError> {
        let text = readme(&self.command, state, self.journal.row_count(), &self.labels);
        write_atomically(&self.path.join("README.md"), text.as_bytes())
    }
}

fn host_file(id: u32) -> String {
    format!("hosts/{id}.json")
}

/// The directory's own explanation.
fn readme(command: &str, state: &str, rows: u64, labels: &BTreeSet<Label>) -> String {
    let labels: Vec<&str> = labels.iter().map(|label| label.as_str()).collect();
    let labels = if labels.is_empty() {
        "none yet".to_owned()
    } else {
        labels.join("; ")
    };
    format!(
        "# Results of a dsmark run\n\n\
         Made by:\n\n    {command}\n\n\
         - State: {state}.\n\
         - Rows: {rows}. Labels: {labels}.\n\n\
         | file | holds |\n|---|---|\n\
         | `plan.toml` | what was asked for |\n\
         | `build.json` | the binary: revision, compiler, flags |\n\
         | `hosts/<id>.json` | each machine; `unreadable` gives the reason for every null |\n\
         | `trials.ndjson` | one JSON row for each trial and metric; null means absent |\n\
         | `samples.bin` | every sample, f64 little endian; a row owns `n` from `samples_at` |\n\
         | `manifest.json` | counts, problems and checksums, written last |\n\n\
         Rows may be compared where their `digest` is equal. Only rows labelled `real` were\n\
         measured on memory that several hosts share without hardware coherence.\n\n\
         `dsmark report DIR` draws the figures and `dsmark verify DIR` evaluates the claims.\n"
    )
}

fn make_empty(path: &Path) -> Result<(), WriteError> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(WriteError::Exists {
            path: path.to_owned(),
        }),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(WriteError::Exists {
            path: path.to_owned(),
        }),
        Err(_) => fs::create_dir_all(path).map_err(|source| match source.kind() {
            ErrorKind::StorageFull => WriteError::io(path, "a directory", source),
            _ => WriteError::NotWritable {
                path: nearest_existing(path),
                source,
            },
        }),
    }
}

/// The ancestor that refused: the one to name, rather than a path that does not exist.
fn nearest_existing(path: &Path) -> PathBuf {
    let found = path.ancestors().skip(1).find(|ancestor| ancestor.exists());
    match found {
        Some(ancestor) => ancestor.to_owned(),
        None => PathBuf::from("."),
    }
}

fn open_log(directory: &Path, name: &str) -> Result<Log<File>, WriteError> {
    let path = directory.join(name);
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(&path)
        .map_err(|source| WriteError::io(&path, "a new file", source))?;
    Ok(Log::new(path, file))
}

fn json_text(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("string keys and finite numbers");
    text.push(b'\n');
    text
}

/// Replaces a file so that a reader, or a crash, meets the old content or the new, never a part:
/// the content is on the device before the name is, and the name before this returns.
fn write_atomically(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let temporary = path.with_extension("partial");
    let parent = path.parent().unwrap_or(Path::new("."));
    File::create(&temporary)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| File::open(parent)?.sync_all())
        .map_err(|source| {
            // Half a file under another name helps nobody, least of all where there is no space.
            let _ = fs::remove_file(&temporary);
            WriteError::io(path, "the file", source)
        })
}
