//! One run of `tier`: trials side by side, rows kept as soon as their policy is through, so that
//! neither Ctrl-C nor a full file system loses what was simulated.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use harness::collect::Measured;
use harness::progress::Progress;
use harness::{Ended, Recorder};
use record::{Results, Stop};
use report::claims::BROKEN_LAW;
use serde_json::{Map, Value};
use tiering::experiment::{Experiment, ExperimentError, Reference};
use tiering::law::Scatter;
use tiering::run::Outcome;

use super::rows::{Metric, line, params, rows};
use crate::cli::Tiering;
use crate::failure::Failure;
use crate::job::{Kept, interrupts, recorder};
use crate::out::print;
use crate::parallel::{Heard, in_order};

/// Where results go and who is told.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) out: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) quiet: bool,
    /// Whether every row is a line of text at the end, where a command has no table of its own.
    pub(super) lines: bool,
}

impl Shown {
    pub(super) fn of(typed: &Tiering, lines: bool) -> Self {
        Self {
            out: typed.out.clone(),
            json: typed.json,
            quiet: typed.quiet,
            lines,
        }
    }
}

/// A run.
pub(super) struct Session {
    shown: Shown,
    recorder: Recorder,
    progress: Progress,
    interrupted: Arc<AtomicBool>,
    /// Policies whose rows are to be kept, and those that were.
    planned: usize,
    kept: usize,
    trial: u32,
    /// What of the similarity law the trials break.
    caveat: Option<String>,
}

impl Session {
    /// Opens the results; everything that can be refused has been. `trials` are simulated in all,
    /// for rows of `planned` policies.
    pub(super) fn open(shown: Shown, planned: usize, trials: usize) -> Result<Self, Failure> {
        let interrupted = interrupts()?;
        let recorder = recorder(shown.out.as_deref(), "")?;
        Ok(Self {
            progress: Progress::new(trials, shown.quiet),
            shown,
            recorder,
            interrupted,
            planned,
            kept: 0,
            trial: 0,
            caveat: None,
        })
    }

    /// What every seed is held against, in the order of seeds; fewer after an interrupt.
    pub(super) fn references<T: Send>(
        &mut self,
        title: &str,
        seeds: u64,
        reference: impl Fn(u64) -> Result<T, ExperimentError> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let (progress, mut references) = (&mut self.progress, Vec::new());
        let task = |index: usize| reference(index as u64 + 1);
        in_order(
            seeds as usize,
            &self.interrupted,
            task,
            |heard| match heard {
                Heard::Done(index, result) => {
                    progress.trial_done(&format!("{title}, bounds of seed {}", index + 1));
                    references.push(result);
                }
                Heard::Interrupted(running) => acknowledge(progress, running),
            },
        );
        let references: Result<Vec<T>, ExperimentError> = references.into_iter().collect();
        Ok(references?)
    }

    /// What of the law the runs against a reference break: said now, and noted in every row.
    pub(super) fn note(&mut self, reference: &Reference) {
        let breaches = reference.breaches.iter().map(ToString::to_string);
        let caveat = breaches.collect::<Vec<_>>().join("; ");
        self.caveat = (!caveat.is_empty()).then_some(caveat);
        if let Some(caveat) = &self.caveat {
            self.progress.say(&format!("note: {caveat}"));
        }
    }

    /// Whether a signal came: less was run than was asked for.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }

    /// Runs every policy with every seed. `metrics` makes rows of a policy's outcomes, in the order
    /// of seeds, or fewer after an interrupt.
    pub(super) fn run(
        &mut self,
        experiment: &Experiment,
        policies: &[String],
        seeds: usize,
        task: impl Fn(&str, usize) -> Result<Outcome, ExperimentError> + Sync,
        metrics: impl FnMut(&str, &[Outcome]) -> Result<Vec<Metric>, Failure>,
    ) -> Result<(), Failure> {
        let params = |policy: &str| params(experiment, policy);
        self.arms(experiment, policies, seeds, task, metrics, params)
    }

    /// The same for whatever is told apart by name: `params` are those of a name's rows.
    pub(super) fn arms<T: Send>(
        &mut self,
        experiment: &Experiment,
        names: &[String],
        seeds: usize,
        task: impl Fn(&str, usize) -> Result<T, ExperimentError> + Sync,
        mut metrics: impl FnMut(&str, &[T]) -> Result<Vec<Metric>, Failure>,
        params: impl Fn(&str) -> Result<Map<String, Value>, Failure>,
    ) -> Result<(), Failure> {
        if self.is_interrupted() {
            return Ok(());
        }
        let interrupted = Arc::clone(&self.interrupted);
        let mut outcomes: Vec<T> = Vec::new();
        let mut failure = None;
        let of = |index: usize| (&names[index / seeds], index % seeds);
        let mut keep = |heard: Heard<Result<T, ExperimentError>>| {
            let (index, outcome) = match heard {
                Heard::Done(index, outcome) => (index, outcome),
                Heard::Interrupted(running) => {
                    acknowledge(&self.progress, running);
                    return Ok(());
                }
            };
            let (name, seed) = of(index);
            let title = format!("{} {}, {name}", experiment.workload, experiment.ratio);
            self.progress
                .trial_done(&format!("{title}, seed {}", seed + 1));
            outcomes.push(outcome?);
            if outcomes.len() == seeds {
                self.add("tier", &params(name)?, &metrics(name, &outcomes)?, false)?;
                outcomes.clear();
            }
            Ok::<(), Failure>(())
        };
        let kept = in_order(
            names.len() * seeds,
            &interrupted,
            |index| {
                let (name, seed) = of(index);
                task(name, seed)
            },
            |heard| failure = failure.take().or(keep(heard).err()),
        );
        if let Some(failure) = failure {
            return Err(failure);
        }
        if !outcomes.is_empty() {
            let (name, _) = of(kept - 1);
            self.add("tier", &params(name)?, &metrics(name, &outcomes)?, true)?;
        }
        Ok(())
    }

    /// Keeps metrics of one trial; `cut` if fewer repetitions were run than planned.
    pub(super) fn add(
        &mut self,
        workload: &str,
        params: &Map<String, Value>,
        metrics: &[Metric],
        cut: bool,
    ) -> Result<(), Failure> {
        let mut params = params.clone();
        if self.caveat.is_some() {
            let (name, broken) = BROKEN_LAW;
            params.insert(name.to_owned(), Value::String(broken.to_owned()));
        }
        let mut measured = rows(workload, &params, self.trial, metrics)?;
        let scatter = scatter(&measured);
        let parts = [self.caveat.clone(), scatter].into_iter().flatten();
        let caveat = parts.reduce(|all, part| format!("{all}; {part}"));
        for (row, _) in &mut measured {
            row.caveat.clone_from(&caveat);
            row.stopped = cut.then_some(Stop::Interrupted);
        }
        self.recorder.add(measured);
        self.trial += 1;
        self.kept += usize::from(!cut);
        Ok(())
    }

    /// Closes the directory, prints, draws; success only if everything planned is there.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.progress.finish();
        let cut = self.kept < self.planned;
        let ended = Ended {
            trials: self.kept,
            cause: cut.then(|| "interrupted".to_owned()),
        };
        let kept = Kept::new(self.recorder, ended, self.planned);
        let shown = show(&kept, &self.shown);
        // What befell the run is told first: why nothing can be shown usually follows from it.
        kept.verdict().and(shown)
    }
}

/// Says that a signal was understood: trials may run for minutes yet.
fn acknowledge(progress: &Progress, running: usize) {
    let kept = match running {
        0 => "what was simulated is kept".to_owned(),
        1 => "the trial under way is finished and kept; a second signal ends at once".to_owned(),
        many => format!(
            "the {many} trials under way are finished and kept; a second signal ends at once"
        ),
    };
    progress.say(&format!("interrupted: {kept}"));
}

/// What of a policy's rows more seeds would have to say. It names the policy, for a figure and a
/// page list the caveats of all.
fn scatter(measured: &[Measured]) -> Option<String> {
    let (row, samples) = measured
        .iter()
        .find(|(row, _)| row.metric == "fast_hit_ratio")?;
    let ends = row.ci95.or_else(|| Some([row.min?, row.max?]))?;
    let scatter = Scatter::of(ends, samples.len())?;
    let policy = row.params.get("policy")?.as_str()?;
    Some(format!("{policy}: {scatter}"))
}

fn show(kept: &Kept, shown: &Shown) -> Result<(), Failure> {
    if shown.json {
        return kept.print_rows();
    }
    if shown.lines {
        print(&kept.rows().iter().map(line).collect::<String>())?;
    }
    kept.print_unsaved()?;
    match &shown.out {
        Some(out) => {
            let results = Results::open(out).map_err(Failure::after)?;
            crate::cmd::run::write_report(&results, out)
        }
        None => Ok(()),
    }
}
