//! `dsmark tier claims`: the rows that artifact/tier-claims.toml is about.

use tiering::experiment::Experiment;

use super::ablate::compare;
use super::rows::Rows;
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
    let names = VARIANTS.map(str::to_owned);
    let mut rows = Rows::default();
    for workload in WORKLOADS {
        for ratio in RATIOS {
            let experiment = Experiment {
                workload: workload.into(),
                ratio: ratio.parse()?,
                ..given.clone()
            };
            let table = compare(&experiment, &names, tiered, &mut rows)?;
            if !tiered.json {
                print(&format!("{workload} {ratio}\n{table}"))?;
            }
        }
    }
    rows.conclude(tiered.out.as_deref(), tiered.json)
}
