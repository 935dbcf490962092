//! `dsmark tier claims`: the rows that artifact/tier-claims.toml is about.

use super::ablate::compare;
use super::experiment_on;
use super::paired::{FIGURES, footnote};
use super::session::{Session, Shown};
use crate::cli::Tiering;
use crate::failure::Failure;
use crate::out::print;

/// The workloads and ratios of the published statements, and the variants that they compare. The
/// artifact's keys stand for an argument about the published ones, at the ratio of that.
const STATEMENTS: [(&str, &[&str]); 3] = [
    ("silo-paper", &["1:2", "1:8", "1:16"]),
    ("silo-artifact", &["1:8"]),
    ("btree", &["1:2", "1:8", "1:16"]),
];
const VARIANTS: [&str; 4] = [
    "memtis-paper",
    "memtis-paper+no-split",
    "memtis-paper+no-warm",
    "memtis-kernel",
];

pub(super) fn claims(typed: &Tiering) -> Result<(), Failure> {
    let mut experiments = Vec::new();
    for (workload, ratios) in STATEMENTS {
        for ratio in ratios {
            experiments.push(experiment_on(workload, ratio, typed)?);
        }
    }
    let names = VARIANTS.map(str::to_owned);
    let policies = experiments.len() * names.len();
    let trials = policies * typed.seeds as usize + experiments.len();
    let mut session = Session::open(Shown::of(typed, false), policies, trials)?;
    for experiment in &experiments {
        let table = compare(&mut session, experiment, &names, typed.seeds)?;
        if !typed.json && !table.is_empty() {
            let (workload, ratio) = (&experiment.workload, experiment.ratio);
            print(&format!("{workload} {ratio}\n{table}"))?;
        }
    }
    if !typed.json && !session.is_interrupted() {
        let effects = experiments.len() * (VARIANTS.len() - 1) * FIGURES.len();
        print(&format!("{}\n", footnote(typed.seeds as usize, effects)))?;
    }
    session.close()
}
