//! `dsmark tier run`: policies on a workload, over seeds.

use tiering::experiment::{POLICIES, Variant};
use tiering::run::Outcome;

use super::rows::{Metric, Rows, history, say};
use crate::cli::Tiered;
use crate::failure::Failure;

/// What one seed gave every policy to be held against.
struct Ends {
    all_capacity: f64,
    oracle: Option<f64>,
}

pub(super) fn run(policies: &[String], oracle: bool, tiered: &Tiered) -> Result<(), Failure> {
    let experiment = super::experiment(tiered)?;
    for policy in policies {
        if !POLICIES.iter().any(|(name, _)| name == policy) {
            Variant::parse(policy)?;
        }
    }
    let mut ends = Vec::new();
    let mut outcomes: Vec<Vec<Outcome>> = policies.iter().map(|_| Vec::new()).collect();
    for seed in 1..=tiered.seeds {
        let reference = experiment.reference(seed)?;
        ends.push(Ends {
            all_capacity: reference.all_capacity.seconds,
            oracle: oracle.then(|| experiment.oracle_seconds(seed, &reference)),
        });
        for (policy, outcomes) in policies.iter().zip(&mut outcomes) {
            say(tiered, &format!("{policy}, seed {seed}"));
            outcomes.push(experiment.run(policy, seed, &reference)?);
        }
    }
    let mut rows = Rows::default();
    for (policy, outcomes) in policies.iter().zip(&outcomes) {
        rows.add(&experiment, policy, metrics(outcomes, &ends))?;
    }
    rows.conclude(tiered.out.as_deref(), tiered.json)
}

fn metrics(outcomes: &[Outcome], ends: &[Ends]) -> Vec<Metric> {
    let each = |figure: fn(&Outcome) -> f64| Ok(outcomes.iter().map(figure).collect());
    let normalized = outcomes.iter().zip(ends);
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
        metric("oracle_gap_closed", "share", gap_closed(outcomes, ends)),
    ];
    metrics[0].answer = outcomes.first().map(history);
    metrics
}

/// Of what the best oracle saves against all pages in the capacity tier, the share that a policy
/// saves.
fn gap_closed(outcomes: &[Outcome], ends: &[Ends]) -> Result<Vec<f64>, &'static str> {
    let shares = outcomes.iter().zip(ends).map(|(outcome, ends)| {
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
