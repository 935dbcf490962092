//! What `run` and `measure` share: a plan becomes a run, a run becomes rows.

use std::path::{Path, PathBuf};

use fabric::{Arena, HostAtomics};
use harness::{Ended, Plan, Recorder};
use record::{Directory, Origin, Row};
use serde_json::{Map, Value};

use crate::build::build;
use crate::cli::Where;
use crate::failure::Failure;
use crate::out::print;

#[cfg(target_arch = "x86_64")]
use crate::on_native as native_side;

/// Something to run.
pub(crate) struct Job<'a> {
    /// What.
    pub(crate) plan: Plan,
    /// Where and how.
    pub(crate) place: &'a Where,
    /// Where results go; none to keep them in memory.
    pub(crate) out: Option<PathBuf>,
}

/// What a run left.
pub(crate) struct Kept {
    recorder: Recorder,
    ended: Ended,
    planned: usize,
}

impl Job<'_> {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Kept, Failure> {
        native_side::run(self)
    }

    /// Opens the recorder; called once everything that can be refused has been.
    pub(crate) fn recorder(&self) -> Result<Recorder, Failure> {
        let Some(out) = &self.out else {
            return Ok(Recorder::new(None));
        };
        let command = std::env::args().collect::<Vec<_>>().join(" ");
        let build = build();
        let origin = Origin {
            command: &command,
            plan: &self.plan.text,
            build: &build,
        };
        Ok(Recorder::new(Some(Directory::create(out, &origin)?)))
    }
}

impl Kept {
    /// Closes the recorder.
    pub(crate) fn new(mut recorder: Recorder, ended: Ended, planned: usize) -> Self {
        let complete = ended.cause.is_none() && ended.trials == planned;
        recorder.finish(complete, ended.cause.as_deref());
        Self {
            recorder,
            ended,
            planned,
        }
    }

    /// Every row.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.recorder.rows
    }

    /// Rows that did not reach the disk, on standard output: nothing measured is lost.
    pub(crate) fn print_unsaved(&self) -> Result<(), Failure> {
        print(&lines(&self.recorder.unsaved)?)
    }

    /// Every row on standard output.
    pub(crate) fn print_rows(&self) -> Result<(), Failure> {
        print(&lines(self.rows())?)
    }

    /// Success, only if every trial ran and was right.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        if let Some(error) = &self.recorder.write_error {
            return Err(Failure::Measured(error.to_string()));
        }
        if let Some(cause) = &self.ended.cause {
            let rest = match self.planned - self.ended.trials {
                0 => String::new(),
                1 => "; 1 trial was not run".to_owned(),
                left => format!("; {left} trials were not run"),
            };
            return Err(Failure::Measured(format!("{cause}{rest}")));
        }
        if !self.recorder.all_good() {
            let bad = self.rows().iter().find_map(|row| row.error.clone());
            return Err(Failure::Measured(
                bad.unwrap_or_else(|| "no trial was run".into()),
            ));
        }
        Ok(())
    }
}

/// Rows as JSON, one a line.
fn lines(rows: &[Row]) -> Result<String, Failure> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row).map_err(Failure::after)?);
        text.push('\n');
    }
    Ok(text)
}

/// A workload, for `dsmark list`.
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) defaults: Map<String, Value>,
}

/// Every workload.
pub(crate) fn workloads() -> Vec<Listed> {
    native_side::workloads()
}

/// What this CPU can publish and observe with.
pub(crate) fn methods() -> Value {
    native_side::methods()
}

/// The layout of a plan's only trial, control lines included.
pub(crate) fn layout_of(plan: &Plan) -> Result<Arena, Failure> {
    native_side::layout_of(plan)
}

/// Something done to a region from outside a run.
pub(crate) trait OnRegion: Sync {
    type Out: Send;

    fn on<P: HostAtomics>(&self, port: &P, region_bytes: u64) -> Self::Out;
}

/// Opens the region at `path`, which must hold `needed` bytes, and does `what` with it.
pub(crate) fn on_region<T: OnRegion>(
    path: &Path,
    needed: u64,
    what: &T,
) -> Result<T::Out, Failure> {
    native_side::on_region(path, needed, what)
}

/// Runs a host process to its end.
pub(crate) fn serve_host() -> Result<(), Failure> {
    native_side::serve_host()
}

/// Where there is no native substrate.
#[cfg(not(target_arch = "x86_64"))]
mod native_side {
    use super::{Arena, Failure, Job, Kept, Listed, OnRegion, Path, Plan, Value};

    fn refuse<T>() -> Result<T, Failure> {
        Err(Failure::usage(
            "--on native needs an x86-64 CPU: its cache instructions are what it measures",
        ))
    }

    pub(super) fn run(_: &Job<'_>) -> Result<Kept, Failure> {
        refuse()
    }

    pub(super) fn workloads() -> Vec<Listed> {
        Vec::new()
    }

    pub(super) fn methods() -> Value {
        serde_json::json!({})
    }

    pub(super) fn layout_of(_: &Plan) -> Result<Arena, Failure> {
        refuse()
    }

    pub(super) fn on_region<T: OnRegion>(_: &Path, _: u64, _: &T) -> Result<T::Out, Failure> {
        refuse()
    }

    pub(super) fn serve_host() -> Result<(), Failure> {
        refuse()
    }
}
