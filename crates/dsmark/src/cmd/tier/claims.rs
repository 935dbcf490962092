//! `dsmark tier claims`: the rows that artifact/tier-claims.toml is about.

use tiering::experiment::Experiment;

use super::ablate::compare;
use super::session::{Session, Shown};
use crate::cli::Tiered;
use crate::failure::Failure;
use crate::out::print;

/// The workloads, ratios and parts of the published statements.
const WORKLOADS: [&str; 3] = ["silo-paper", "silo-artifact", "btree"];
const RATIOS: [&str; 3] = ["1:2", "1:8", "1:16"];
const VARIANTS: [&str; 4] = [
    "memtis-paper",
    "memtis-paper+no-split",
    "memtis-paper+no-warm",
    "memtis-kernel",
];

pub(super) fn claims(tiered: &Tiered) -> Result<(), Failure> {
    let given = super::experiment(tiered)?;
    let usual = Experiment::default();
    if given.workload != usual.workload || given.ratio != usual.ratio {
        return Err(Failure::usage(
            "tier claims runs the workloads and ratios of the published statements: leave \
             --workload and --ratio out, or use `dsmark tier ablate`",
        ));
    }
    let mut experiments = Vec::new();
    for workload in WORKLOADS {
        for ratio in RATIOS {
            let experiment = Experiment {
                workload: workload.into(),
                ratio: ratio.parse()?,
                ..given.clone()
            };
            experiment.effective_scale()?;
            experiments.push(experiment);
        }
    }
    let names = VARIANTS.map(str::to_owned);
    let policies = experiments.len() * names.len();
    let trials = policies * tiered.seeds as usize + experiments.len();
    let mut session = Session::open(Shown::of(tiered, false), policies, trials)?;
    for experiment in &experiments {
        let table = compare(&mut session, experiment, &names, tiered.seeds)?;
        if !tiered.json && !table.is_empty() {
            let (workload, ratio) = (&experiment.workload, experiment.ratio);
            print(&format!("{workload} {ratio}\n{table}"))?;
        }
    }
    session.close()
}
