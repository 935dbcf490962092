//! Appending rows and their samples so that a reader never meets half of either.
//!
//! Samples go first, then the row that names them: a run killed between the two leaves samples
//! nobody names, which costs space only. A write that fails is undone by truncation, so that a row
//! after it does not continue a torn line; where even that fails, the journal refuses more.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::row::{Row, SCHEMA};

/// Why something was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The directory holds something already.
    #[error("{} exists and is not empty; choose another --out or remove it", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be made or written to.
    #[error("cannot write in {}: {source}; choose an --out you may write to", path.display())]
    NotWritable {
        /// The directory in which nothing can be made.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file system is full.
    #[error(
        "no space for {what} in {}; free space on its file system; rows not saved are printed",
        path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        what: String,
    },
    /// Any other failure of the system.
    #[error(
        "cannot write {what} to {}: {source}; check the file system; rows not saved are printed",
        path.display()
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A figure that no record may hold.
    #[error(
        "{workload}/{metric}: {field} is {value}; a figure is finite and not negative, \
         an absent one null with a reason"
    )]
    Figure {
        /// The row's workload.
        workload: String,
        /// The row's metric.
        metric: String,
        /// The field, or `samples[INDEX]`.
        field: String,
        /// Its value.
        value: f64,
    },
    /// A row that does not describe its samples.
    #[error(
        "{workload}/{metric}: the row says n = {n}, {samples} samples were given; \
         summarize the samples that are appended"
    )]
    SampleCount {
        /// The row's workload.
        workload: String,
        /// The row's metric.
        metric: String,
        /// The row's count.
        n: u64,
        /// The samples given.
        samples: usize,
    },
    /// A row of another schema.
    #[error("the row says schema {schema}, this writer writes {SCHEMA}; set Row::schema to SCHEMA")]
    Schema {
        /// The row's schema.
        schema: u32,
    },
    /// An earlier failure could not be undone.
    #[error(
        "{} ends in a row that was cut short and could not be removed; start a new --out",
        path.display()
    )]
    Torn {
        /// The file.
        path: PathBuf,
    },
}

impl WriteError {
    pub(crate) fn io(path: &Path, what: impl Into<String>, source: io::Error) -> Self {
        let (path, what) = (path.to_owned(), what.into());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::NoSpace { path, what }
            }
            _ => Self::Io { path, what, source },
        }
    }
}

/// A file that can take back what was appended last.
pub(crate) trait Storage: Write {
    /// Shortens the file to `bytes` and continues there.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
    /// Returns once the file is on the device.
    fn sync(&mut self) -> io::Result<()>;
}

/// Opened for appending, so that writing continues at the end after a truncation.
impl Storage for File {
    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// One append-only file and how much of it is good.
#[derive(Debug)]
pub(crate) struct Log<S> {
    path: PathBuf,
    storage: S,
    bytes: u64,
    torn: bool,
}

impl<S: Storage> Log<S> {
    pub(crate) fn new(path: PathBuf, storage: S) -> Self {
        Self {
            path,
            storage,
            bytes: 0,
            torn: false,
        }
    }

    fn append(&mut self, content: &[u8], what: &str) -> Result<(), WriteError> {
        if self.torn {
            return Err(WriteError::Torn {
                path: self.path.clone(),
            });
        }
        let written = self
            .storage
            .write_all(content)
            .and_then(|()| self.storage.flush());
        if let Err(source) = written {
            self.torn = self.storage.truncate(self.bytes).is_err();
            return Err(WriteError::io(&self.path, what, source));
        }
        self.bytes += content.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), WriteError> {
        self.storage
            .sync()
            .map_err(|source| WriteError::io(&self.path, "what is buffered", source))
    }
}

/// `trials.ndjson` and `samples.bin`, appended to in step.
#[derive(Debug)]
pub(crate) struct Journal<S> {
    rows: Log<S>,
    samples: Log<S>,
    row_count: u64,
}

impl<S: Storage> Journal<S> {
    pub(crate) fn new(rows: Log<S>, samples: Log<S>) -> Self {
        Self {
            rows,
            samples,
            row_count: 0,
        }
    }

    /// Appends the samples, then the row, whose `digest` and `samples_at` it sets. After an error
    /// neither file holds anything of them.
    pub(crate) fn append(&mut self, row: &mut Row, samples: &[f64]) -> Result<(), WriteError> {
        check(row, samples)?;
        let samples_before = self.samples.bytes;
        row.digest = row.comparability_digest();
        row.samples_at = (!samples.is_empty()).then_some(self.sample_count());
        let what = format!(
            "the {} of {}, trial {}",
            row.metric, row.workload, row.trial
        );
        let bytes: Vec<u8> = samples
            .iter()
            .flat_map(|sample| sample.to_le_bytes())
            .collect();
        let appended = self
            .samples
            .append(&bytes, &format!("the samples of {what}"))
            .and_then(|()| self.rows.append(&line(row), &format!("the row of {what}")));
        if appended.is_err() {
            row.samples_at = None;
            // Samples without a row are legal, so only a failure to know their end matters.
            let samples = &mut self.samples;
            if samples.bytes > samples_before {
                samples.torn |= samples.storage.truncate(samples_before).is_err();
                samples.bytes = samples_before;
            }
        } else {
            self.row_count += 1;
        }
        appended
    }

    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    pub(crate) fn sample_count(&self) -> u64 {
        self.samples.bytes / size_of::<f64>() as u64
    }

    pub(crate) fn sync(&mut self) -> Result<(), WriteError> {
        self.samples.sync()?;
        self.rows.sync()
    }
}

fn check(row: &Row, samples: &[f64]) -> Result<(), WriteError> {
    let subject = || (row.workload.clone(), row.metric.clone());
    if row.schema != SCHEMA {
        return Err(WriteError::Schema { schema: row.schema });
    }
    let bad_sample = samples
        .iter()
        .position(|sample| !sample.is_finite() || *sample < 0.0);
    let bad = row
        .bad_figure()
        .map(|(field, value)| (field.to_owned(), value))
        .or_else(|| bad_sample.map(|index| (format!("samples[{index}]"), samples[index])));
    if let Some((field, value)) = bad {
        let (workload, metric) = subject();
        return Err(WriteError::Figure {
            workload,
            metric,
            field,
            value,
        });
    }
    if !samples.is_empty() && row.n != samples.len() as u64 {
        let (workload, metric) = subject();
        return Err(WriteError::SampleCount {
            workload,
            metric,
            n: row.n,
            samples: samples.len(),
        });
    }
    Ok(())
}

fn line(row: &Row) -> Vec<u8> {
    let mut line = serde_json::to_vec(row).expect("a row has string keys and checked numbers");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::row::tests::example;

    /// A file on a device of limited size.
    #[derive(Debug, Default)]
    struct Small {
        content: Vec<u8>,
        capacity: usize,
        truncates: bool,
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.capacity - self.content.len());
            self.content.extend_from_slice(&bytes[..fits]);
            if fits == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Storage for Small {
        fn truncate(&mut self, bytes: u64) -> io::Result<()> {
            if !self.truncates {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            self.content.truncate(bytes as usize);
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn journal(row_bytes: usize, sample_bytes: usize, truncates: bool) -> Journal<Small> {
        let log = |name: &str, capacity| {
            Log::new(
                name.into(),
                Small {
                    content: Vec::new(),
                    capacity,
                    truncates,
                },
            )
        };
        Journal::new(
            log("trials.ndjson", row_bytes),
            log("samples.bin", sample_bytes),
        )
    }

    fn row_of(samples: &[f64]) -> Row {
        let mut row = example();
        row.summarize(&crate::Summary::of(samples).unwrap());
        row
    }

    proptest! {
        #[test]
        fn a_full_device_leaves_only_whole_rows(
            row_bytes in 0_usize..4000, sample_bytes in 0_usize..200,
        ) {
            let mut journal = journal(row_bytes, sample_bytes, true);
            let samples = [4.0, 5.0, 6.0];
            let mut saved = 0;
            for _ in 0..6 {
                match journal.append(&mut row_of(&samples), &samples) {
                    Ok(()) => saved += 1,
                    Err(error) => {
                        let said = error.to_string();
                        prop_assert!(said.starts_with("no space"), "{}", said);
                    }
                }
            }
            let rows: Vec<Row> = std::str::from_utf8(&journal.rows.storage.content).unwrap()
                .lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(rows.len(), saved);
            prop_assert_eq!(journal.samples.storage.content.len(), saved * 24);
            for (index, row) in rows.iter().enumerate() {
                prop_assert_eq!(row.samples_at, Some(index as u64 * 3));
            }
        }
    }

    #[test]
    fn rows_continue_once_there_is_space_again() {
        let mut journal = journal(100, 1000, true);
        let mut row = row_of(&[1.0]);
        let error = journal.append(&mut row, &[1.0]).unwrap_err();
        assert!(error.to_string().contains("free space"), "{error}");
        assert_eq!((row.p50, row.samples_at), (Some(1.0), None));
        journal.rows.storage.capacity = 10_000;
        journal.append(&mut row, &[1.0]).unwrap();
        assert_eq!((journal.row_count(), journal.sample_count()), (1, 1));
    }

    #[test]
    fn a_tear_that_cannot_be_undone_ends_the_journal() {
        let mut journal = journal(100, 1000, false);
        let mut row = row_of(&[1.0]);
        assert!(matches!(
            journal.append(&mut row, &[]),
            Err(WriteError::NoSpace { .. })
        ));
        assert!(matches!(
            journal.append(&mut row, &[]),
            Err(WriteError::Torn { .. })
        ));
    }

    #[test]
    fn the_system_s_full_device_is_told_from_other_failures() {
        let full = std::fs::OpenOptions::new()
            .append(true)
            .open("/dev/full")
            .unwrap();
        let mut log = Log::new("/dev/full".into(), full);
        let said = log.append(b"row", "a row").unwrap_err().to_string();
        assert_eq!(
            said,
            "no space for a row in /dev/full; free space on its file system; \
             rows not saved are printed"
        );
    }

    #[test]
    fn what_no_record_may_hold_is_refused_by_name() {
        let mut journal = journal(10_000, 1000, true);
        let mut row = row_of(&[1.0]);
        let error = journal.append(&mut row, &[f64::NAN]).unwrap_err();
        assert!(error.to_string().contains("samples[0] is NaN"), "{error}");
        let error = journal.append(&mut row, &[1.0, 2.0]).unwrap_err();
        assert!(error.to_string().contains("n = 1, 2 samples"), "{error}");
        row.p99 = Some(-1.0);
        let error = journal.append(&mut row, &[1.0]).unwrap_err();
        assert!(error.to_string().contains("p99 is -1"), "{error}");
        row.schema = 2;
        assert!(matches!(
            journal.append(&mut row, &[]),
            Err(WriteError::Schema { schema: 2 })
        ));
        assert_eq!(journal.row_count(), 0);
    }
}
