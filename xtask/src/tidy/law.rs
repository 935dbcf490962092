//! The dependency law: which crate of the workspace may build on which.
//!
//! Workloads never name a substrate, substrates never name a workload, `report` knows only
//! `record`; only `dsmark` composes. Dependencies of tests are free. Libraries have errors of their
//! own: `anyhow` is for the two programs.

use super::{Finding, Tree};

/// What each crate may need. Every crate is listed, those still to be written included: a new one
/// takes its place in the law before it takes its first dependency.
const LAW: [(&str, &[&str]); 17] = [
    ("fabric", &[]),
    ("native", &["fabric"]),
    ("model", &["fabric"]),
    ("sim", &["model", "fabric"]),
    ("check", &["model", "fabric"]),
    ("subjects", &["check", "graph", "table", "sync", "fabric"]),
    ("sync", &["fabric"]),
    ("workload", &["fabric", "sync"]),
    ("micro", WORKLOADS_NEED),
    ("coordination", WORKLOADS_NEED),
    ("graph", WORKLOADS_NEED),
    ("table", WORKLOADS_NEED),
    ("tiering", WORKLOADS_NEED),
    ("record", &[]),
    ("harness", &["workload", "record", "sync", "fabric"]),
    ("report", &["record"]),
    ("xtask", &[]),
];

const WORKLOADS_NEED: &[&str] = &["workload", "sync", "fabric"];

/// The one crate that composes: it may need every other but `xtask`.
const COMPOSER: &str = "dsmark";

const UNTYPED_ERRORS: &str = "anyhow";
const PROGRAMS: [&str; 2] = [COMPOSER, "xtask"];

/// Finds dependencies that the law does not grant.
pub fn dependency_law(tree: &Tree) -> Vec<Finding> {
    let members: Vec<&str> = tree.members().map(|member| member.name.as_str()).collect();
    let mut found = Vec::new();
    for member in tree.members() {
        let manifest = match member.name.as_str() {
            "xtask" => "xtask/Cargo.toml".to_owned(),
            name => format!("crates/{name}/Cargo.toml"),
        };
        let mut report = |what| found.push(Finding::new(&manifest, 0, what));
        let Some(granted) = granted(&member.name) else {
            report(format!(
                "crate {} is not in the dependency law: add it to the law",
                member.name
            ));
            continue;
        };
        for needed in &member.needs {
            if members.contains(&needed.as_str()) && !granted.contains(&needed.as_str()) {
                report(format!(
                    "{} needs {needed}, which the law does not grant: it may need only {granted:?}",
                    member.name
                ));
            }
            if needed == UNTYPED_ERRORS && !PROGRAMS.contains(&member.name.as_str()) {
                let what = format!("{} needs {needed}: a library names its errors", member.name);
                report(what);
            }
        }
    }
    found
}

fn granted(name: &str) -> Option<Vec<&'static str>> {
    if name == COMPOSER {
        let others = LAW.iter().map(|(other, _)| *other);
        return Some(others.filter(|other| *other != "xtask").collect());
    }
    LAW.iter()
        .find(|(listed, _)| *listed == name)
        .map(|(_, granted)| granted.to_vec())
}
