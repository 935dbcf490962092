//! What `run` and `measure` share: a plan becomes a run, a run becomes rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fabric::{Arena, HostAtomics, Pod};
use harness::job::{BY_HAND, JobError, Membership, detect, key};
use harness::progress::Progress;
use harness::{Ended, Plan, Recorder, TrialSpec};
use record::{Directory, Origin, Row, Substrate};
use serde_json::{Map, Value};

use crate::build::build;
use crate::cli::{Launch, Where};
use crate::failure::Failure;
use crate::on_sim;
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
    /// Which host this process is, where others were started apart; none where it starts them.
    pub(crate) member: Option<Membership>,
}

type Start<'a> = Box<dyn FnOnce(&mut Run<'_>) -> Result<Ended, Failure> + 'a>;

/// One substrate's share of a run: everything that can be refused has been.
pub(crate) struct Ready<'a> {
    /// What it runs.
    pub(crate) trials: Vec<TrialSpec>,
    /// Runs it.
    pub(crate) start: Start<'a>,
}

/// What the shares of a run have in common.
pub(crate) struct Run<'a> {
    /// Where rows go.
    pub(crate) recorder: &'a mut Recorder,
    /// Who is told.
    pub(crate) progress: &'a mut Progress,
    /// Set by a signal.
    pub(crate) interrupted: &'a Arc<AtomicBool>,
}

/// What a run left.
pub(crate) struct Kept {
    recorder: Recorder,
    ended: Ended,
    planned: usize,
}

impl<'j> Job<'j> {
    /// A plan, put on this process or on several.
    pub(crate) fn new(plan: Plan, place: &'j Where, out: Option<PathBuf>) -> Result<Self, Failure> {
        let member = membership(place, plan.hosts)?;
        Ok(Self {
            plan,
            place,
            out,
            member,
        })
    }

    /// Runs it; none at a host whose results another collects.
    #[cfg(feature = "mpi")]
    pub(crate) fn run(&self) -> Result<Option<Kept>, Failure> {
        let Some(member) = self.member.as_ref().filter(|member| member.in_job()) else {
            return self.run_as_member();
        };
        let job = crate::mpi::Job::join(member.host, member.hosts)?;
        let done = self.run_as_member();
        let good = |kept: &Option<Kept>| kept.as_ref().is_none_or(|kept| kept.verdict().is_ok());
        if member.host == 0 && !done.as_ref().is_ok_and(good) {
            job.give_up();
        }
        done
    }

    /// Runs it; none at a host whose results another collects.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn run(&self) -> Result<Option<Kept>, Failure> {
        self.run_as_member()
    }

    fn run_as_member(&self) -> Result<Option<Kept>, Failure> {
        match self.member.as_ref().map(|member| member.host) {
            None | Some(0) => self.run_here().map(Some),
            Some(host) => self
                .run_here()
                .map(|_| None)
                .map_err(|failure| failure.of_host(host)),
        }
    }

    /// One substrate after the other.
    fn run_here(&self) -> Result<Kept, Failure> {
        let shares = self.prepare()?;
        let planned = shares.iter().map(|share| share.trials.len()).sum();
        let interrupted = interrupts()?;
        let out = self.out.as_deref().filter(|_| self.collects());
        let mut recorder = recorder(out, &self.plan.text)?;
        let mut progress = Progress::new(planned, self.place.quiet || !self.collects());
        let (recorder_ref, progress_ref) = (&mut recorder, &mut progress);
        let mut run = Run {
            recorder: recorder_ref,
            progress: progress_ref,
            interrupted: &interrupted,
        };
        let mut ended = Ended {
            trials: 0,
            cause: None,
        };
        for share in shares {
            let part = (share.start)(&mut run)?;
            ended.trials += part.trials;
            ended.cause = part.cause;
            if ended.cause.is_some() {
                break;
            }
        }
        progress.finish();
        Ok(Kept::new(recorder, ended, planned))
    }

    /// Whether results come to this process.
    fn collects(&self) -> bool {
        self.member.as_ref().is_none_or(|member| member.host == 0)
    }

    fn prepare(&self) -> Result<Vec<Ready<'_>>, Failure> {
        self.refuse_what_does_not_apply()?;
        let mut shares: Vec<Ready<'_>> = Vec::new();
        for on in [Substrate::Sim, Substrate::Native] {
            if self.plan.trials_on(on).next().is_none() {
                continue;
            }
            if on == Substrate::Sim {
                let first = count(&shares);
                shares.push(on_sim::prepare(self, first)?);
                continue;
            }
            // Host processes keep their lanes: those of one number are a share.
            for lanes in self.plan.lanes_on(on) {
                let first = count(&shares);
                shares.push(native_side::prepare(self, lanes, first)?);
            }
        }
        Ok(shares)
    }

    /// An option that no trial heeds is a misunderstanding: who named a device must not take a
    /// simulation for a measurement.
    fn refuse_what_does_not_apply(&self) -> Result<(), Failure> {
        let runs = |on| self.plan.trials_on(on).next().is_some();
        if self.place.device.is_some() && !runs(Substrate::Native) {
            return Err(Failure::usage(
                "--device is for real memory, but nothing runs there: add --on native",
            ));
        }
        if !self.place.device_for.is_empty() && !runs(Substrate::Native) {
            return Err(Failure::usage(
                "--device-for is for real memory, but nothing runs there: add --on native",
            ));
        }
        if let Some(member) = &self.member
            && runs(Substrate::Sim)
        {
            return Err(Failure::usage(format!(
                "{} started {} processes, and each would simulate the whole pod; add --on native \
                 to measure, or --launch local",
                member.by, member.hosts
            )));
        }
        if self.place.pod.is_some() && !runs(Substrate::Sim) {
            return Err(Failure::usage(
                "--pod is for the simulator, but nothing runs there: add --on sim",
            ));
        }
        Ok(())
    }
}

/// What SIGINT and SIGTERM set. A second one ends what does not look up, as one long computation:
/// the rest is saved.
pub(crate) fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let again = Arc::clone(&interrupted);
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, again)?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Opens a recorder into a directory, or into memory; called once everything that can be refused
/// has been.
pub(crate) fn recorder(out: Option<&Path>, plan: &str) -> Result<Recorder, Failure> {
    let Some(out) = out else {
        return Ok(Recorder::new(None));
    };
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let build = build();
    // The command line goes over the plan: without it the plan alone would be another run.
    let plan = format!("# run by: {command}\n{plan}");
    let origin = Origin {
        command: &command,
        plan: &plan,
        build: &build,
    };
    Ok(Recorder::new(Some(Directory::create(out, &origin)?)))
}

/// Whether this process is the one that speaks for all; also where it cannot know.
pub(crate) fn collects(place: &Where, hosts: Option<u32>) -> bool {
    let member = membership(place, hosts);
    !member.is_ok_and(|member| member.is_some_and(|member| member.host != 0))
}

/// This process's place among hosts that were started apart; none if it is to start them.
fn membership(place: &Where, hosts: Option<u32>) -> Result<Option<Membership>, Failure> {
    if let Some(host) = place.rank {
        let size = hosts.ok_or(JobError::NoSize { variable: "--rank" })?;
        if host >= size {
            let (variable, rank) = ("--rank", host);
            return Err(JobError::Rank {
                variable,
                rank,
                size,
            }
            .into());
        }
        return Ok(Some(Membership {
            host,
            hosts: size,
            run_key: key(place.job.iter().cloned()),
            by: BY_HAND,
        }));
    }
    if place.launch == Launch::Local {
        return Ok(None);
    }
    let found = detect(|name| std::env::var(name).ok(), hosts)?;
    match (found, place.hosts) {
        (None, _) if place.launch == Launch::Env => Err(JobError::NoJob.into()),
        (Some(member), Some(asked)) if asked != member.hosts => {
            let (by, size) = (member.by, member.hosts);
            Err(JobError::Size { asked, by, size }.into())
        }
        (found, _) => Ok(found),
    }
}

/// Trials of the shares so far.
fn count(shares: &[Ready<'_>]) -> u32 {
    shares.iter().map(|share| share.trials.len() as u32).sum()
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
    on_sim::workloads()
}

/// What this CPU can publish and observe with.
pub(crate) fn methods() -> Value {
    native_side::methods()
}

/// The layout of a plan's only trial, control lines included.
pub(crate) fn layout_of(plan: &Plan, pod: Pod) -> Result<Arena, Failure> {
    on_sim::layout_of(plan, pod)
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
    use super::{Failure, Job, OnRegion, Path, Ready, Value};

    fn refuse<T>() -> Result<T, Failure> {
        Err(Failure::usage(
            "--on native needs an x86-64 CPU: its cache instructions are what it measures",
        ))
    }

    pub(super) fn prepare<'a>(_: &Job<'a>, _: u32, _: u32) -> Result<Ready<'a>, Failure> {
        refuse()
    }

    pub(super) fn methods() -> Value {
        serde_json::json!({})
    }

    pub(super) fn on_region<T: OnRegion>(_: &Path, _: u64, _: &T) -> Result<T::Out, Failure> {
        refuse()
    }

    pub(super) fn serve_host() -> Result<(), Failure> {
        refuse()
    }
}
