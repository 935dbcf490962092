//! The file of claims: TOML, strict keys.

use record::Row;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// A file of claims that cannot be used.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// Not TOML, an unknown key (the known ones are named), or a value of the wrong type.
    #[error("{origin}: {why}; docs/CLAIMS.md lists the keys")]
    Malformed {
        /// Which file.
        origin: String,
        /// Where and why.
        why: String,
    },
    /// A claim that says something impossible.
    #[error("{origin}: claim {id}: {why}")]
    Impossible {
        /// Which file.
        origin: String,
        /// Which claim.
        id: String,
        /// What is wrong, and what would be right.
        why: &'static str,
    },
}

/// Whether a pod was given the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It was: finding it again tests the simulator.
    Input,
    /// It was not.
    Prediction,
}

/// Who says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A publication.
    #[default]
    Published,
    /// Nobody yet: it follows from published components by an argument that the source gives.
    Derived,
}

impl Basis {
    /// As files write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Derived => "derived",
        }
    }
}

/// Which statistic of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the row's fields
pub enum Statistic {
    Min,
    P50,
    P90,
    P99,
    P999,
    Max,
    Mean,
}

impl Statistic {
    /// Its value; none where the row has no samples.
    pub fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Min => row.min,
            Self::P50 => row.p50,
            Self::P90 => row.p90,
            Self::P99 => row.p99,
            Self::P999 => row.p999,
            Self::Max => row.max,
            Self::Mean => row.mean,
        }
    }
}

/// How several rows become a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// Every row that is selected must agree.
    Each,
    /// The rows are the ways to do one thing: from the least to the greatest of them, all lies
    /// within what was published.
    Range,
    /// The first row of each term, times the term's factor, added up.
    Sum,
    /// The first row of the first term, by the first row of the second: a number without a unit,
    /// whatever the unit of the rows.
    Ratio,
}

/// The published figure, in the claim's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    /// From and to.
    Bounds(Bounds),
    /// A figure, and how far off still agrees, as a share of it.
    About(About),
}

/// From and to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // plain
pub struct Bounds {
    pub min: f64,
    pub max: f64,
}

/// A figure, and how far off still agrees, as a share of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // plain
pub struct About {
    pub value: f64,
    pub tolerance: f64,
}

impl Expected {
    /// The least and the greatest value that agree.
    pub fn bounds(&self) -> (f64, f64) {
        match self {
            Self::Bounds(bounds) => (bounds.min, bounds.max),
            Self::About(about) => {
                let slack = about.value * about.tolerance;
                (about.value - slack, about.value + slack)
            }
        }
    }

    /// How far a value is from the figure, or beyond the range, as a share of the figure or of the
    /// end of the range.
    pub fn deviation(&self, value: f64) -> f64 {
        let from = match self {
            Self::Bounds(bounds) => value.clamp(bounds.min, bounds.max),
            Self::About(about) => about.value,
        };
        (value - from) / from
    }

    /// For people, less the unit.
    pub fn text(&self) -> String {
        match self {
            Self::Bounds(bounds) => format!("{}-{}", bounds.min, bounds.max),
            Self::About(about) => {
                format!("{} +-{} %", about.value, 100.0 * about.tolerance)
            }
        }
    }
}

/// Which rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Of which workload.
    pub workload: String,
    /// Of which metric.
    pub metric: String,
    /// Parameters that they have, among others.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// How many hosts take part; any number if left out.
    pub hosts: Option<u32>,
    /// Which host's row; the pod's if left out.
    pub host: Option<u32>,
    /// The claim's, if left out.
    pub statistic: Option<Statistic>,
    /// A factor: 2 for a round trip from half of one, -1 for what is taken off.
    #[serde(default = "once")]
    pub times: f64,
}

fn once() -> f64 {
    1.0
}

/// A published statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// What is claimed, in a sentence.
    pub statement: String,
    /// By whom, and where.
    pub source: String,
    /// Whether a pod was given the figure.
    pub kind: Kind,
    /// Whether it was published, or follows from what was.
    pub basis: Basis,
    /// On which pod.
    pub pod: String,
    /// Which rows.
    pub terms: Vec<Term>,
    /// Which of their statistics.
    pub statistic: Statistic,
    /// What was published.
    pub expected: Expected,
    /// Of the rows and of what is expected.
    pub unit: String,
    /// How several rows become a verdict.
    pub over: Over,
    /// Which assumption decides it, where somebody found out; told where the claim fails.
    pub assumption: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    id: String,
    statement: String,
    source: String,
    kind: Kind,
    #[serde(default)]
    basis: Basis,
    pod: String,
    select: Select,
    statistic: Statistic,
    expected: Expected,
    unit: String,
    over: Over,
    assumption: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Select {
    One(Term),
    Several(Vec<Term>),
}

/// Reads a file's text; `origin` names it in errors.
///
/// # Errors
/// See [`ClaimError`].
pub fn parse(text: &str, origin: &str) -> Result<Vec<Claim>, ClaimError> {
    let file: File = toml::from_str(text).map_err(|error| ClaimError::Malformed {
        origin: origin.to_owned(),
        why: error.to_string().trim().to_owned(),
    })?;
    let mut claims: Vec<Claim> = Vec::new();
    for table in file.claim {
        let claim = Claim::from(table);
        let twice = claims.iter().any(|other| other.id == claim.id);
        let why = if twice {
            Some("its id is taken: give it one of its own")
        } else {
            claim.impossible()
        };
        if let Some(why) = why {
            return Err(ClaimError::Impossible {
                origin: origin.to_owned(),
                id: claim.id,
                why,
            });
        }
        claims.push(claim);
    }
    Ok(claims)
}

impl From<Table> for Claim {
    fn from(table: Table) -> Self {
        Self {
            id: table.id,
            statement: table.statement,
            source: table.source,
            kind: table.kind,
            basis: table.basis,
            pod: table.pod,
            terms: match table.select {
                Select::One(term) => vec![term],
                Select::Several(terms) => terms,
            },
            statistic: table.statistic,
            expected: table.expected,
            unit: table.unit,
            over: table.over,
            assumption: table.assumption,
        }
    }
}

impl Claim {
    fn impossible(&self) -> Option<&'static str> {
        let (low, high) = self.expected.bounds();
        if self.source.trim().is_empty() {
            Some("it has no source: say who published it, and where")
        } else if !(low > 0.0 && high.is_finite() && low <= high) {
            Some("what it expects is no range above 0: write min <= max, or value and tolerance")
        } else if self.over == Over::Ratio && self.terms.len() != 2 {
            Some("over = \"ratio\" is of two: write select as a list of two tables")
        } else if self.terms.is_empty()
            || (!matches!(self.over, Over::Sum | Over::Ratio) && self.terms.len() > 1)
        {
            Some("select holds one table; several are for over = \"sum\"")
        } else {
            None
        }
    }
}
