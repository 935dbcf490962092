//! Published statements, held against a record.
//!
//! A claim is an expression over rows and the figures that a publication gives for it. An *input*
//! is a constant that a pod was given: measuring it again tests the simulator and the workloads. A
//! *prediction* was given to no pod. The two are told apart everywhere, for a model that finds its
//! own inputs has predicted nothing.

mod file;

use record::{Results, Row};
use serde::Serialize;

use crate::condition::absence;
pub use file::{Basis, Claim, ClaimError, Expected, Kind, Over, Statistic, Term, parse};

/// The parameter, and its value, of rows whose run broke the similarity law of its scale. They
/// carry the breach as `caveat`, beside which other caveats may stand; this tells them apart.
pub const BROKEN_LAW: (&str, &str) = ("law", "broken");

/// Workloads whose rows the plan `graph` makes.
const KERNELS: [&str; 4] = ["bfs", "pagerank", "spmv", "triangles"];

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The measured figure is within what was published.
    Pass,
    /// It is not.
    Fail,
    /// The record lacks a row, or has it from a run that broke the similarity law of its scale.
    Untestable,
}

/// A claim, evaluated.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What became of it.
    pub verdict: Verdict,
    /// The least and the greatest measured value; the same but for [`Over::Range`] and several
    /// rows of [`Over::Each`]. None where the claim is untestable.
    pub measured: Option<(f64, f64)>,
    /// The rows behind it, for each term the one that decides: of several, the farthest off.
    pub rows: Vec<&'a Row>,
    /// Which rows are missing or say nothing of the full scale, and how to get them.
    pub reason: Option<String>,
}

impl Evaluation<'_> {
    /// The value that decides: of a range the end that is farther off.
    pub fn decisive(&self) -> Option<f64> {
        let (least, greatest) = self.measured?;
        let expected = &self.claim.expected;
        let far = expected.deviation(greatest).abs() >= expected.deviation(least).abs();
        Some(if far { greatest } else { least })
    }

    /// How far the deciding value is beyond the published figure or the nearer end of its range,
    /// in percent; 0 inside a range.
    pub fn deviation_percent(&self) -> Option<f64> {
        self.decisive()
            .map(|value| 100.0 * self.claim.expected.deviation(value))
    }
}

impl Claim {
    /// Holds the claim against a record.
    pub fn evaluate<'a>(&'a self, results: &'a Results) -> Evaluation<'a> {
        let mut found = Vec::new();
        for term in &self.terms {
            let values = self.values(term, results);
            if values.is_empty() {
                return self.untestable(self.missing(term));
            }
            if let Some(&(_, row)) = values.iter().find(|(_, row)| breaks_the_law(row)) {
                return self.untestable(unlawful(row));
            }
            found.push(values);
        }
        let (measured, rows) = match self.over {
            Over::Sum => {
                let sum = found.iter().map(|values| values[0].0).sum();
                ((sum, sum), found.iter().map(|values| values[0].1).collect())
            }
            Over::Ratio => {
                let ratio = found[0][0].0 / found[1][0].0;
                (
                    (ratio, ratio),
                    found.iter().map(|values| values[0].1).collect(),
                )
            }
            Over::Each | Over::Range => self.spread(&found[0]),
        };
        let (least, greatest) = measured;
        let (low, high) = self.expected.bounds();
        let verdict = if least >= low && greatest <= high {
            Verdict::Pass
        } else {
            Verdict::Fail
        };
        Evaluation {
            claim: self,
            verdict,
            measured: Some(measured),
            rows,
            reason: None,
        }
    }

    /// The range of some rows, and the row at the end that is farther off.
    fn spread<'a>(&self, values: &[(f64, &'a Row)]) -> ((f64, f64), Vec<&'a Row>) {
        let off = |value: f64| self.expected.deviation(value).abs();
        let by_value = |a: &&(f64, &Row), b: &&(f64, &Row)| a.0.total_cmp(&b.0);
        let least = values.iter().min_by(by_value);
        let greatest = values.iter().max_by(by_value);
        let (least, greatest) = (
            least.expect("a term without rows is untestable"),
            greatest.expect("a term without rows is untestable"),
        );
        let far = if off(greatest.0) >= off(least.0) {
            greatest
        } else {
            least
        };
        ((least.0, greatest.0), vec![far.1])
    }

    fn values<'a>(&self, term: &Term, results: &'a Results) -> Vec<(f64, &'a Row)> {
        let rows = results.rows.iter().filter(|row| self.selects(term, row));
        let statistic = term.statistic.unwrap_or(self.statistic);
        rows.filter(|row| absence(row).is_none())
            .filter_map(|row| Some((term.times * statistic.of(row)?, row)))
            .collect()
    }

    fn selects(&self, term: &Term, row: &Row) -> bool {
        // A single host's pod has no rows of a pod beside those of the host.
        let host = row.host == term.host || (row.hosts == 1 && term.host.is_none());
        row.pod == self.pod
            && row.workload == term.workload
            && row.metric == term.metric
            && (self.over == Over::Ratio || row.unit == self.unit)
            && host
            && row.lane.is_none()
            && term.hosts.is_none_or(|hosts| hosts == row.hosts)
            && term
                .params
                .iter()
                .all(|(key, value)| row.params.get(key) == Some(value))
    }

    fn missing(&self, term: &Term) -> String {
        let params = serde_json::Value::Object(term.params.clone());
        let made_by = match term.workload.as_str() {
            "tier" => "dsmark tier claims --seeds 10",
            kernel if KERNELS.contains(&kernel) => "dsmark run graph",
            _ => "dsmark run claims",
        };
        format!(
            "no row of {} {} with {params} on pod {}{}; `{made_by}` makes it",
            term.workload,
            term.metric,
            self.pod,
            term.hosts
                .map_or(String::new(), |hosts| format!(", hosts {hosts}")),
        )
    }

    fn untestable(&self, reason: String) -> Evaluation<'_> {
        Evaluation {
            claim: self,
            verdict: Verdict::Untestable,
            measured: None,
            rows: Vec::new(),
            reason: Some(reason),
        }
    }
}

fn breaks_the_law(row: &Row) -> bool {
    let (name, broken) = BROKEN_LAW;
    row.params.get(name).is_some_and(|value| value == broken)
}

/// Why a row is no evidence: a published figure is of the full scale, and this run is no small
/// picture of it.
fn unlawful(row: &Row) -> String {
    let caveat = row.caveat.as_deref().unwrap_or("it does not say how");
    format!(
        "its rows are of a run that breaks the similarity law ({caveat}); `dsmark tier claims \
         --seeds 10` without --scale keeps it"
    )
}
