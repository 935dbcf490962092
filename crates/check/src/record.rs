//! One line of `check --json`.

use serde::Serialize;

use crate::check::{Report, Verdict};
use crate::finding::{Finding, Kind};
use crate::omissions::Tally;
use crate::search::Bounds;

/// What a check of one subject says, as a record. Fields may be added, not renamed.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// `lock/bakery`.
    pub name: String,
    /// pass, bounded, fail.
    pub verdict: Verdict,
    /// How far the search went at most.
    pub bounds: Bounds,
    /// Hosts of the pod.
    pub hosts: u32,
    /// Different ends of a run that were come to.
    pub executions: u64,
    /// Operations and environment steps performed.
    pub steps: u64,
    /// Runs by chance besides the search, where the states were too many.
    pub runs: u64,
    /// The findings of which this program is there to show one; any other verdict is a failure.
    pub expected: Vec<Kind>,
    /// States visited.
    pub states: usize,
    /// Twins with one operation left out.
    pub omissions: Tally,
    /// Twins with one operation weakened.
    pub weakenings: Tally,
    /// What is wrong.
    pub finding: Option<Finding>,
}

impl Record {
    /// Of a report, without twins.
    pub fn new(name: String, hosts: u32, expected: Vec<Kind>, report: Report) -> Self {
        Self {
            name,
            verdict: report.verdict,
            bounds: report.bounds,
            hosts,
            executions: report.ends as u64,
            steps: report.steps,
            runs: report.runs,
            expected,
            states: report.states,
            omissions: Tally::default(),
            weakenings: Tally::default(),
            finding: report.finding,
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
