//! The whole check of one subject: as far as the budget goes, then by chance, then its twins.

use crate::check::{Checker, Options, Report, Verdict};
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

/// How much to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// States of one search.
    pub states: usize,
    /// Where random runs start from.
    pub seed: u64,
    /// Whether each maintenance operation is left out and weakened in turn.
    pub twins: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            states: 300_000,
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
    subject.with(Options::default(), &mut |checker| {
        let report = check(checker, budget);
        let expected = subject.expects();
        let mut record = Record::new(subject.name(), subject.hosts(), expected, report);
        let (mut omissions, mut weakenings) = (Vec::new(), Vec::new());
        if budget.twins && subject.has_twins() && record.verdict != Verdict::Fail {
            let bounds = Bounds {
                states: budget.states / TWIN_SHARE,
                ..record.bounds
            };
            omissions = checker.omissions(bounds);
            weakenings = checker.weakenings(bounds);
            record.omissions = Tally::of(&omissions);
            record.weakenings = Tally::of(&weakenings);
        }
        done = Some(Survey {
            record,
            omissions,
            weakenings,
        });
    });
    done.expect("a subject calls what it is given")
}

/// Without bounds first; where that is too much within the subject's, and then by chance.
fn check(checker: &mut Checker<'_>, budget: Budget) -> Report {
    let bounds = checker.bounds();
    let own = Bounds {
        states: bounds.states.min(budget.states),
        ..bounds
    };
    let unbounded = Bounds {
        states: budget.states,
        ..Bounds::SATURATED
    };
    let report = checker.check(unbounded);
    if report.verdict != Verdict::Bounded {
        return report;
    }
    let mut report = checker.check(own);
    if report.verdict == Verdict::Fail || report.states < own.states {
        return report;
    }
    let runs = (budget.states / STATES_A_RUN) as u64;
    let ways = [
        Strategy::Pct { depth: PCT_DEPTH },
        Strategy::Swarm,
        Strategy::Random,
    ];
    for strategy in ways {
        let walked = checker.walk_randomly(strategy, runs / 3 + 1, budget.seed);
        if walked.verdict == Verdict::Fail {
            return walked;
        }
        report.runs += walked.runs;
    }
    report
}
