//! The whole check of one subject: as far as the budget goes, then by chance, then its twins.
//!
//! The search without bounds comes first, since it proves; where it takes too much the one within
//! the subject's own bounds, which mostly ends; where that does not either, runs by chance. A time
//! budget is shared out among them, and what one leaves over the next ones have.

use std::time::{Duration, Instant};

use crate::check::{Checker, Options, Verdict};
use crate::checkable::Checkable;
use crate::omissions::{Tally, Twin};
use crate::record::Record;
use crate::search::Bounds;
use crate::walk::Strategy;

/// Ordering constraints that a run by priorities looks for: published concurrency faults rarely
/// take more (Lu, Park, Seo, Zhou, ASPLOS 2008).
const PCT_DEPTH: u32 = 3;

/// States of one twin, as a part of the budget.
const TWIN_SHARE: usize = 4;

/// States of the budget that one random run costs.
const STATES_A_RUN: usize = 500;

/// Adverse runs of a twin that a search has not decided, where no number is given: what catches
/// one of a kernel mostly takes fewer than ten.
const TWIN_RUNS: u64 = 64;

/// How runs are made by chance.
const WAYS: [Strategy; 3] = [
    Strategy::Pct { depth: PCT_DEPTH },
    Strategy::Swarm,
    Strategy::Random,
];

/// When, in percent of the time, the search without bounds ends at the latest, the one within the
/// subject's, and each of the three ways to run by chance. The rest is the twins'.
const SHARES: [u32; 5] = [30, 60, 67, 71, 75];

/// How much to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// States of one search; none, and there are only runs by chance.
    pub states: usize,
    /// One search within these bounds, whatever the subject's are; its states are those above.
    pub within: Option<Bounds>,
    /// Runs by chance of each of the three ways, and adverse ones of each twin that no search
    /// decides; without a number as many as the states are worth, and 64 of a twin.
    pub runs: Option<u64>,
    /// Wall time of one subject, its twins included. With it the numbers of states and runs depend
    /// on the machine.
    pub time: Option<Duration>,
    /// Where random runs start from.
    pub seed: u64,
    /// Whether each maintenance operation is left out and weakened in turn.
    pub twins: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            states: 300_000,
            within: None,
            runs: None,
            time: None,
            seed: 1,
            twins: true,
        }
    }
}

/// What a survey brought.
#[derive(Clone, Debug)]
pub struct Survey {
    /// For `--json`.
    pub record: Record,
    /// Twins with one operation left out.
    pub omissions: Vec<Twin>,
    /// Twins with one operation weakened.
    pub weakenings: Vec<Twin>,
}

/// Checks a subject, and then its twins if nothing is wrong with it.
///
/// # Panics
/// If the subject does not call what [`Checkable::with`] gives it.
pub fn survey(subject: &dyn Checkable, budget: Budget) -> Survey {
    let mut done = None;
    let start = Instant::now();
    subject.with(Options::default(), &mut |checker| {
        let mut record = Record::new(subject.name(), subject.hosts(), subject.expects());
        record.seed = budget.seed;
        check(checker, budget, &mut record);
        let mut survey = Survey {
            record,
            omissions: Vec::new(),
            weakenings: Vec::new(),
        };
        let twins_too = budget.twins && budget.states > 0 && subject.has_twins();
        if twins_too && survey.record.verdict != Verdict::Fail {
            twins(checker, budget, start, &mut survey);
        }
        survey.record.seconds = start.elapsed().as_secs_f64();
        done = Some(survey);
    });
    done.expect("a subject calls what it is given")
}

fn twins(checker: &mut Checker<'_>, budget: Budget, start: Instant, survey: &mut Survey) {
    let bounds = Bounds {
        states: budget.states / TWIN_SHARE,
        ..survey.record.bounds
    };
    let end = budget.time.map(|time| start + time);
    let now = Instant::now();
    checker.run_twins(budget.runs.unwrap_or(TWIN_RUNS), budget.seed);
    checker.end_at(end.map(|end| now + end.saturating_duration_since(now) / 2));
    survey.omissions = checker.omissions(bounds);
    checker.end_at(end);
    survey.weakenings = checker.weakenings(bounds);
    survey.record.omissions = Tally::of(&survey.omissions);
    survey.record.weakenings = Tally::of(&survey.weakenings);
}

/// Without bounds first; where that is too much within the subject's, and then by chance.
fn check(checker: &mut Checker<'_>, budget: Budget, record: &mut Record) {
    let start = Instant::now();
    let mut ends = SHARES
        .into_iter()
        .map(|percent| budget.time.map(|time| start + time * percent / 100));
    let mut next_end = |checker: &mut Checker<'_>| checker.end_at(ends.next().flatten());
    let at_most = |bounds: Bounds| Bounds {
        states: bounds.states.min(budget.states),
        ..bounds
    };
    if budget.within.is_some() {
        // The one search has the time of both.
        next_end(checker);
    }
    let searches = match budget.within {
        _ if budget.states == 0 => Vec::new(),
        Some(within) => vec![within],
        None => vec![Bounds::SATURATED, checker.bounds()],
    };
    for bounds in searches {
        next_end(checker);
        record.tell(checker.check(at_most(bounds)));
        if record.verdict == Verdict::Fail || record.exhausted {
            return;
        }
    }
    let worth = (budget.states / STATES_A_RUN) as u64 / WAYS.len() as u64 + 1;
    let runs = budget.runs.unwrap_or(worth);
    for strategy in WAYS {
        next_end(checker);
        let walked = checker.walk_randomly(strategy, runs, budget.seed);
        record.tell_runs(strategy, walked);
        if record.verdict == Verdict::Fail {
            return;
        }
    }
}
