//! `dsmark tier run`: policies on a workload, over seeds.

use tiering::experiment::Reference;
use tiering::run::Outcome;

use super::rows::{Metric, history};
use super::session::{Session, Shown};
use crate::cli::Tiered;
use crate::failure::Failure;

/// What one seed gave every policy to be held against.
struct Ends {
    all_capacity: f64,
    oracle: Option<f64>,
}

pub(super) fn run(policies: &[String], oracle: bool, tiered: &Tiered) -> Result<(), Failure> {
    let experiment = super::experiment(tiered)?;
    for (index, policy) in policies.iter().enumerate() {
        super::known(policy)?;
        if policies[..index].contains(policy) {
            return Err(Failure::usage(format!(
                "--policy names {policy} twice, and the same seeds give the same: name it once"
            )));
        }
    }
    let seeds = tiered.trials.seeds as usize;
    let trials = seeds * (policies.len() + 1);
    let mut session = Session::open(Shown::of(&tiered.trials, true), policies.len(), trials)?;
    let bounds = session.references(&experiment.workload, tiered.trials.seeds, |seed| {
        let reference = experiment.reference(seed)?;
        let ends = Ends {
            all_capacity: reference.all_capacity.seconds,
            oracle: oracle.then(|| experiment.oracle_seconds(seed, &reference)),
        };
        Ok((reference, ends))
    })?;
    if let Some((reference, _)) = bounds.first() {
        session.note(reference);
    }
    // After an interrupt fewer seeds have bounds, and no policy is run.
    session.run(
        &experiment,
        policies,
        seeds,
        |policy, seed| experiment.run(policy, seed as u64 + 1, &bounds[seed].0),
        |_, outcomes| Ok(metrics(outcomes, &bounds)),
    )?;
    session.close()
}

fn metrics(outcomes: &[Outcome], bounds: &[(Reference, Ends)]) -> Vec<Metric> {
    let ends = || bounds.iter().map(|(_, ends)| ends);
    let each = |figure: fn(&Outcome) -> f64| Ok(outcomes.iter().map(figure).collect());
    let normalized = outcomes.iter().zip(ends());
    let normalized = normalized.map(|(outcome, ends)| ends.all_capacity / outcome.seconds);
    let metric = Metric::of;
    let mut metrics = vec![
        metric("time_ns", "ns", each(|outcome| outcome.seconds * 1e9)),
        metric("normalized_performance", "x", Ok(normalized.collect())),
        metric(
            "fast_hit_ratio",
            "share",
            each(|outcome| outcome.tally.fast_hit_ratio()),
        ),
        metric(
            "migrated_bytes",
            "B",
            each(|outcome| outcome.migrated_bytes),
        ),
        metric("rss_bytes", "B", each(|outcome| outcome.resident_bytes)),
        metric(
            "oracle_gap_closed",
            "share",
            gap_closed(outcomes.iter().zip(ends())),
        ),
        metric("background_cores", "cores", each(background_cores)),
    ];
    metrics[0].answer = outcomes.first().map(history);
    metrics
}

/// Cores that the daemons kept busy beside those of the application, on average.
fn background_cores(outcome: &Outcome) -> f64 {
    let busy: f64 = outcome.background.iter().map(|(_, seconds)| seconds).sum();
    busy / outcome.seconds
}

/// Of what the best oracle saves against all pages in the capacity tier, the share that a policy
/// saves.
fn gap_closed<'a>(
    trials: impl Iterator<Item = (&'a Outcome, &'a Ends)>,
) -> Result<Vec<f64>, &'static str> {
    let shares = trials.map(|(outcome, ends)| {
        let oracle = ends.oracle.ok_or("the oracles were not run")?;
        let share = (ends.all_capacity - outcome.seconds) / (ends.all_capacity - oracle);
        if share.is_finite() && share >= 0.0 {
            Ok(share)
        } else {
            Err("slower than with every page in the capacity tier, or no gap to close")
        }
    });
    shares.collect()
}
