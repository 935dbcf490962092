//! One line of `check --json`.

use serde::Serialize;

use crate::check::{Report, Verdict};
use crate::finding::{Finding, Kind};
use crate::omissions::Tally;
use crate::search::Bounds;
use crate::walk::Strategy;

/// What a check of one subject says, as a record. Fields may be added, not renamed.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// `lock/bakery`.
    pub name: String,
    /// pass, bounded, fail.
    pub verdict: Verdict,
    /// How far the search went at most.
    pub bounds: Bounds,
    /// Whether the search visited everything within these bounds; if not, states or time ran out.
    pub exhausted: bool,
    /// Hosts of the pod.
    pub hosts: u32,
    /// Different ends of a run that were come to.
    pub executions: u64,
    /// Operations and environment steps performed.
    pub steps: u64,
    /// Runs by chance besides the search, where the states were too many.
    pub runs: u64,
    /// Of these, by priorities (PCT).
    pub pct_runs: u64,
    /// Where the runs started from.
    pub seed: u64,
    /// The findings of which this program is there to show one; any other verdict is a failure.
    pub expected: Vec<Kind>,
    /// States visited.
    pub states: usize,
    /// What it took, twins included.
    pub seconds: f64,
    /// Twins with one operation left out.
    pub omissions: Tally,
    /// Twins with one operation weakened.
    pub weakenings: Tally,
    /// What is wrong.
    pub finding: Option<Finding>,
}

impl Record {
    /// Of nothing yet.
    pub fn new(name: String, hosts: u32, expected: Vec<Kind>) -> Self {
        Self {
            name,
            verdict: Verdict::Bounded,
            bounds: Bounds::SATURATED,
            exhausted: false,
            hosts,
            executions: 0,
            steps: 0,
            runs: 0,
            pct_runs: 0,
            seed: 0,
            expected,
            states: 0,
            seconds: 0.0,
            omissions: Tally::default(),
            weakenings: Tally::default(),
            finding: None,
        }
    }

    /// Takes over what a search says; what an earlier one said is of no interest any more.
    pub(crate) fn tell(&mut self, report: Report) {
        self.verdict = report.verdict;
        self.bounds = report.bounds;
        self.exhausted = report.exhausted;
        self.executions = report.ends as u64;
        self.steps = report.steps;
        self.states = report.states;
        self.finding = report.finding;
    }

    /// Takes over what runs by chance say beside it.
    pub(crate) fn tell_runs(&mut self, strategy: Strategy, report: Report) {
        self.runs += report.runs;
        if matches!(strategy, Strategy::Pct { .. }) {
            self.pct_runs += report.runs;
        }
        if report.verdict == Verdict::Fail {
            self.tell(report);
        }
    }

    /// Whether it is as it should be: nothing is wrong, or what was to be found was found.
    pub fn is_as_expected(&self) -> bool {
        if self.expected.is_empty() {
            return self.verdict != Verdict::Fail;
        }
        let mut found = self.finding.iter();
        found.any(|finding| self.expected.contains(&finding.kind))
    }
}
