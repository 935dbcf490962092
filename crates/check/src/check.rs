//! Checking one subject: search, then explain.

use std::time::Instant;

use serde::Serialize;

use crate::edit::Edits;
use crate::finding::Finding;
use crate::machine::Machine;
use crate::runner::{Lanes, Runner, seat};
use crate::sanitize::Sanitizer;
use crate::script::Script;
use crate::search::{Bounds, Explored, OnEnd, Path, search};
use crate::state::{Fault, Setup};
use crate::subject::{End, Subject};
use crate::token::TokenError;
use crate::trace::Names;

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything that the memory may do was tried, and nothing is wrong.
    Pass,
    /// Nothing is wrong within the bounds.
    Bounded,
    /// Something is wrong.
    Fail,
}

/// What a check brought.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The bounds of the search.
    pub bounds: Bounds,
    /// Whether everything within the bounds was visited.
    pub exhausted: bool,
    /// States visited.
    pub states: usize,
    /// Different ends of a run.
    pub ends: usize,
    /// Runs by chance besides.
    pub runs: u64,
    /// Operations and environment steps performed.
    pub steps: u64,
    /// What is wrong.
    pub finding: Option<Finding>,
    pub(crate) fault: Option<(Path, Fault)>,
}

/// How to search, besides how far. The defaults are right; the others are for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Leave out steps that only lead where others lead as well.
    pub prune: bool,
    /// Fold waits whose closure is pure.
    pub fold: bool,
    /// Report stale reads and clobbered words even where the program does not mind them.
    pub sanitize: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prune: true,
            fold: true,
            sanitize: true,
        }
    }
}

/// A subject with everything that was learned of its lanes.
pub struct Checker<'s> {
    pub(crate) machine: Machine<'s>,
    pub(crate) name: String,
    pub(crate) bounds: Bounds,
    pub(crate) rounds: u32,
    /// Runs of a twin that no search has decided, and where they start from.
    pub(crate) twin_runs: (u64, u64),
}

impl<'s> Checker<'s> {
    /// Learns nothing yet but the beginnings of the lanes.
    pub(crate) fn over<S: Subject>(
        subject: &'s S,
        runner: &'s Runner<'s, S>,
        options: Options,
    ) -> Self {
        let shape = subject.shape();
        let lanes = (shape.hosts * shape.lanes) as usize;
        let presets = subject.preset().into_iter();
        let setup = Setup {
            shape,
            presets: presets.map(|(at, bits)| (at.offset(), bits)).collect(),
            crashes: subject.survives_crashes(),
            deadlines: subject.has_deadlines(),
            timeouts: subject.timeouts(),
            timely: subject.is_timely(),
            serving: serving(subject),
            sanitize: options.sanitize,
            prune: options.prune,
            count_preemptions: false,
            region_bytes: subject.arena().region_bytes(),
            names: Names::new(shape, subject.arena()),
        };
        let script = Script::new(runner as &dyn Lanes, lanes, options.fold);
        let sanitizer = Sanitizer::new(lanes, subject.validated());
        Self {
            machine: Machine::new(script, setup, sanitizer),
            name: subject.name(),
            bounds: subject.bounds(),
            rounds: subject.rounds(),
            twin_runs: (0, 0),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits whose closure asks for something else in a later turn, so that they are unrolled.
    pub fn impure(&self) -> Vec<String> {
        let callers = self.machine.script.impure();
        callers.map(crate::trace::place).collect()
    }

    /// The subject's own bounds.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// From now on searches and runs by chance end at this moment: what they have not come to by
    /// then they leave, and say so. How far they come is then the machine's matter.
    pub fn end_at(&mut self, until: Option<Instant>) {
        self.machine.until = until;
    }

    /// From now on twins that a search does not decide are run so many times against an adverse
    /// memory ([`Strategy::Adverse`](crate::Strategy::Adverse)).
    pub fn run_twins(&mut self, runs: u64, seed: u64) {
        self.twin_runs = (runs, seed);
    }

    /// Checks the program as it stands, and explains what is wrong.
    pub fn check(&mut self, bounds: Bounds) -> Report {
        self.check_explained(&Edits::default(), bounds)
    }

    /// Checks it with these edits, and explains what is wrong.
    pub fn check_explained(&mut self, edits: &Edits, bounds: Bounds) -> Report {
        let mut report = self.check_edited(edits, bounds);
        if let Some((path, fault)) = &report.fault {
            report.finding = Some(self.explain(edits, path, fault));
        }
        report
    }

    /// Follows a token of an earlier finding.
    ///
    /// # Errors
    /// Why it does not lead to that finding here.
    pub fn replay(&mut self, token: &str) -> Result<Finding, TokenError> {
        self.machine.edit(Edits::default());
        let name = self.name.clone();
        let (path, fault) = self.machine.path_of(&name, token)?;
        Ok(self.explain(&Edits::default(), &path, &fault))
    }

    /// Checks it with these edits, without explaining.
    pub fn check_edited(&mut self, edits: &Edits, bounds: Bounds) -> Report {
        self.run(edits, bounds, &mut |_, _| {})
    }

    fn run(&mut self, edits: &Edits, bounds: Bounds, on_end: OnEnd<'_>) -> Report {
        self.machine.edit(edits.clone());
        let explored = self.explore(bounds, on_end);
        let verdict = match (&explored.fault, explored.cut) {
            (Some(_), _) => Verdict::Fail,
            (None, true) => Verdict::Bounded,
            (None, false) => Verdict::Pass,
        };
        Report {
            verdict,
            bounds,
            exhausted: explored.fault.is_none() && !explored.ran_out,
            states: explored.states,
            ends: explored.ends,
            runs: 0,
            steps: explored.steps,
            finding: None,
            fault: explored.fault,
        }
    }

    fn explore(&mut self, bounds: Bounds, on_end: OnEnd<'_>) -> Explored {
        loop {
            if let Ok(explored) = search(&mut self.machine, bounds, on_end) {
                return explored;
            }
            // A wait was seen to be impure: what was learned of it by folding is void.
            self.machine.script.restart();
            self.machine.forget_plans();
        }
    }
}

/// Lanes that serve the others, one bit each.
fn serving<S: Subject>(subject: &S) -> u64 {
    let shape = subject.shape();
    let lanes = 0..(shape.hosts * shape.lanes) as usize;
    let serving = lanes.filter(|&lane| subject.serves(seat(shape, lane)));
    serving.fold(0, |mask, lane| mask | 1 << lane)
}

/// Checks `subject`: `f` gets a checker that has learned nothing yet.
pub fn with_checker<S: Subject, R>(
    subject: &S,
    options: Options,
    f: impl FnOnce(&mut Checker<'_>) -> R,
) -> R {
    let runner = Runner::new(subject);
    f(&mut Checker::over(subject, &runner, options))
}

/// Calls `each` for every end that `subject` can come to within the bounds: the outcome set of a
/// litmus program. An end may come up more than once.
pub fn ends<S: Subject>(
    subject: &S,
    options: Options,
    bounds: Bounds,
    mut each: impl FnMut(&End<'_, S::Out>),
) -> Report {
    let runner = Runner::new(subject);
    let mut checker = Checker::over(subject, &runner, options);
    checker.run(&Edits::default(), bounds, &mut |machine, state| {
        runner.with_end(&machine.lane_ends(state), &state.memory, |end| each(end));
    })
}
