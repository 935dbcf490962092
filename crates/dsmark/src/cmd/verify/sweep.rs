//! What each component does to a prediction: its trials once more with one constant of the pod 25 %
//! lower and 25 % higher, against the same short run of the pod as it is.

use std::sync::atomic::AtomicBool;

use record::{Results, Row};
use report::claims::{Evaluation, Over};
use sim::pod::PodFile;

use super::{Finding, simulated};
use crate::on_sim::{Short, again};
use crate::parallel::{Heard, in_order};

const STEP: f64 = 0.25;

/// Below this a change is arithmetic, not an effect.
const LEAST_PERCENT: f64 = 0.05;

/// Warmed up where a ratio is of repetitions that find their entries in the caches.
fn short(over: Over) -> Short {
    Short {
        warmup: u32::from(over == Over::Ratio),
        ..SHORT
    }
}

const SHORT: Short = Short {
    warmup: 0,
    reps: 1,
    rounds: Some(50),
    recording: false,
};

/// What a component does to a prediction, in percent of it. None where no pod can have the changed
/// constant, as half a device.
#[derive(Clone, Debug)]
pub(crate) struct Sensitivity {
    pub(crate) component: String,
    pub(crate) minus_percent: Option<f64>,
    pub(crate) plus_percent: Option<f64>,
}

impl Sensitivity {
    fn strength(&self) -> f64 {
        let of = |change: Option<f64>| change.unwrap_or(0.0).abs();
        of(self.minus_percent).max(of(self.plus_percent))
    }
}

/// Fills in the sensitivity of every prediction that was simulated, on all cores.
pub(crate) fn sweep(findings: &mut [Finding<'_>]) {
    let mut tasks = Vec::new();
    for (index, finding) in findings.iter().enumerate() {
        let Some(file) = simulated(&finding.evaluation, &finding.phases) else {
            continue;
        };
        for component in file.components() {
            tasks.push((index, component));
        }
    }
    let baselines: Vec<Option<f64>> = findings
        .iter()
        .map(|finding| {
            let file = simulated(&finding.evaluation, &finding.phases)?;
            value(&finding.evaluation, &file)
        })
        .collect();
    let mut found = Vec::new();
    let task = |task: usize| {
        let (index, component) = &tasks[task];
        let finding = &findings[*index];
        let file = simulated(&finding.evaluation, &finding.phases)?;
        let baseline = baselines[*index]?;
        let sensitivity = scaled_both_ways(&finding.evaluation, &file, component, baseline);
        Some((*index, sensitivity))
    };
    in_order(tasks.len(), &AtomicBool::new(false), task, |heard| {
        if let Heard::Done(_, result) = heard {
            found.extend(result);
        }
    });
    for (index, sensitivity) in found {
        if sensitivity.strength() >= LEAST_PERCENT {
            findings[index].sensitivity.push(sensitivity);
        }
    }
    for finding in findings {
        let strongest_first =
            |a: &Sensitivity, b: &Sensitivity| b.strength().total_cmp(&a.strength());
        finding.sensitivity.sort_by(strongest_first);
    }
}

fn scaled_both_ways(
    evaluation: &Evaluation<'_>,
    file: &PodFile,
    component: &str,
    baseline: f64,
) -> Sensitivity {
    let change = |factor| {
        let value = value(evaluation, &file.scaled(component, factor)?)?;
        Some(100.0 * (value / baseline - 1.0))
    };
    Sensitivity {
        component: component.to_owned(),
        minus_percent: change(1.0 - STEP),
        plus_percent: change(1.0 + STEP),
    }
}

/// The claim's value on a pod, from the trials of the rows that decided it.
fn value(evaluation: &Evaluation<'_>, file: &PodFile) -> Option<f64> {
    let mut trials: Vec<&Row> = evaluation.rows.clone();
    trials.sort_by_key(|row| row.trial);
    trials.dedup_by_key(|row| row.trial);
    let short = short(evaluation.claim.over);
    let rows = trials
        .iter()
        .flat_map(|row| again(row, file.clone(), &short).rows);
    let results = Results::in_memory(rows.collect());
    evaluation.claim.evaluate(&results).decisive()
}
