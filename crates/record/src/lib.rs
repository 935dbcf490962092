//! What a run leaves behind, and how it is read back.
//!
//! A run is a directory. One JSON line ([`Row`]) stands for each trial and metric, every sample
//! behind a row is kept beside it, and the machine, the build and the plan are written before the
//! first measurement, so that a number can be questioned years later.
//!
//! ```text
//! results/<name>/
//!   plan.toml       what was asked for, as given
//!   build.json      the binary: revision, dirty flag, compiler, flags       (Build)
//!   hosts/<id>.json each machine, with a reason for whatever was unreadable (machine::Host)
//!   trials.ndjson   one row a line                                          (Row)
//!   samples.bin     every sample, f64 little endian, in the order of the rows
//!   manifest.json   written last: counts, problems, checksums               (Manifest)
//!   README.md       what this directory is and how to read it
//! ```
//!
//! ```
//! use record::{Build, Directory, Origin, Results, Summary};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parent = tempfile::tempdir()?;
//! # let path = parent.path().join("pair");
//! # let json = r#"{"schema":1,"workload":"visibility","params":{"lines":1},"substrate":"sim",
//! #   "label":"simulated","pod":"two","coherence":"software","device":"model","hosts":2,"lanes":1,
//! #   "oversubscribed":false,"rep":0,"seed":1,"metric":"half_round_trip_ns","unit":"ns","n":0,
//! #   "digest":"","reps":1,"trial":0}"#;
//! # let mut row: record::Row = serde_json::from_str(json)?;
//! let samples = [301.0, 298.5, 305.0];
//! row.summarize(&Summary::of(&samples)?);
//!
//! let origin = Origin { command: "dsmark run", plan: "hosts = 2\n", build: &Build::default() };
//! let mut directory = Directory::create(&path, &origin)?;
//! directory.append(&mut row, &samples)?;
//! directory.finish(true, &[])?;
//!
//! let results = Results::open(&path)?;
//! assert_eq!(results.rows[0].p50, Some(301.0));
//! assert_eq!(results.samples(&results.rows[0])?, samples);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: an absent value is null and carries a reason, it is never 0; no figure is negative,
//! infinite or NaN; a row in `trials.ndjson` is whole and its samples are already on file; nothing
//! is rewritten after [`Directory::finish`]. Absent on purpose: any clock, any environment
//! variable, any knowledge of workloads or substrates beyond their names.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod compare;
mod directory;
mod journal;
pub mod machine;
mod manifest;
mod read;
mod row;
pub mod stats;

pub use compare::{Difference, comparable};
pub use directory::{Directory, Origin};
pub use journal::WriteError;
pub use manifest::{Build, Checksum, Manifest};
pub use read::{ReadError, Results};
pub use row::{
    About, CensusPerOp, Coherence, Device, Fences, Label, Row, SCHEMA, StartBy, StartSkew, Stop,
    Substrate,
};
pub use stats::{BadSamples, Summary};
