//! Workloads never name a substrate, substrates no workload, and `report` knows only `record`.
//!
//! The dependency law holds this for what ships; this check also holds it for unit tests inside
//! `src`, which see the dependencies of tests.

use super::code::{Code, Kind};
use super::{Finding, Tree};

const SUBSTRATES: &[&str] = &["native", "sim", "check"];
const WORKLOADS: &[&str] = &[
    "workload",
    "micro",
    "coordination",
    "graph",
    "table",
    "tiering",
];
const BENEATH_RECORDS: &[&str] = &[
    "fabric",
    "native",
    "sim",
    "workload",
    "harness",
    "micro",
    "coordination",
];

/// Finds paths into a crate that the one at hand must not know.
pub fn names_of_substrates(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources.iter().filter(|source| source.ships()) {
        let foreign = source.crate_name().map_or(&[][..], must_not_name);
        if foreign.is_empty() {
            continue;
        }
        let code = source.code();
        for (at, token) in code.tokens().iter().enumerate() {
            if foreign.contains(&token.text.as_str()) && names_a_crate(&code, at) {
                let what = format!("names {}, which this crate must not know", token.text);
                found.push(Finding::new(&source.path, token.line, what));
            }
        }
    }
    found
}

fn must_not_name(name: &str) -> &'static [&'static str] {
    match name {
        "fabric" | "sync" | "workload" | "micro" | "coordination" | "graph" | "table"
        | "tiering" => SUBSTRATES,
        "native" | "model" | "sim" | "check" => WORKLOADS,
        "report" => BENEATH_RECORDS,
        _ => &[],
    }
}

/// Whether the word at `at` begins a path: `native::Port`, but neither `crate::native::Port`, which
/// is a module, nor `check::<T>()`, which is a function.
fn names_a_crate(code: &Code, at: usize) -> bool {
    let begins = !code.follows(at, &[":", ":"]) && !code.follows(at, &["."]);
    let continues = code.reads(at + 1, &[":", ":"]) && !code.reads(at + 3, &["<"]);
    code.tokens()[at].kind == Kind::Word && begins && (continues || code.follows(at, &["use"]))
}
