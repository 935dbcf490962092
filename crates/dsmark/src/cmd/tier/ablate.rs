//! `dsmark tier ablate`: each difference between Memtis's paper and its kernel, turned alone.
//!
//! Effects are paired by seed: the same workload and the same sampler phase with and without.

use std::fmt::Write as _;

use record::Summary;
use serde_json::{Value, json};
use tiering::experiment::{Experiment, Variant};
use tiering::policy::memtis::DIFFERENCES;
use tiering::run::Outcome;

use super::rows::{Metric, history};
use super::session::{Session, Shown};
use crate::cli::Tiered;
use crate::failure::Failure;
use crate::out::print;

/// The figures whose differences are told, with a unit for people.
type Figure = (&'static str, &'static str, f64, fn(&Outcome) -> f64);
const FIGURES: [Figure; 4] = [
    ("time", "%", 100.0, |outcome| outcome.seconds),
    ("fast_hit_ratio", "points", 100.0, |outcome| {
        outcome.tally.fast_hit_ratio()
    }),
    ("rss", "GB", 1e-9, |outcome| outcome.resident_bytes),
    ("migrated", "GB", 1e-9, |outcome| outcome.migrated_bytes),
];

/// Rows of a base and of variants of it, and a line of effects for each.
pub(super) fn compare(
    session: &mut Session,
    experiment: &Experiment,
    names: &[String],
    seeds: u64,
) -> Result<String, Failure> {
    let title = format!("{} {}", experiment.workload, experiment.ratio);
    let references = session.references(&title, 1, |seed| experiment.reference(seed))?;
    let Some(reference) = references.first() else {
        return Ok(String::new());
    };
    session.note(reference);
    let mut before: Vec<Outcome> = Vec::new();
    let mut table = String::new();
    session.run(
        experiment,
        names,
        seeds as usize,
        |name, seed| {
            let variant = Variant::parse(name)?;
            Ok(experiment.run_variant(variant, seed as u64 + 1, reference))
        },
        |name, outcomes| {
            if before.is_empty() {
                before = outcomes.to_vec();
            }
            let effects = effects(&before, outcomes)?;
            // Nothing keeps a string from growing.
            let _ = writeln!(table, "{name:<42} {}", text(&effects));
            Ok(metrics(&before, outcomes, &effects))
        },
    )?;
    Ok(table)
}

pub(super) fn ablate(from: &str, tiered: &Tiered) -> Result<(), Failure> {
    let experiment = super::experiment(tiered)?;
    let base = super::memtis(from)?;
    let other = if base == Variant::parse("memtis-paper")? {
        "memtis-kernel"
    } else {
        "memtis-paper"
    };
    let mut names = vec![from.to_owned(), other.to_owned()];
    names.extend(["no-split", "no-warm"].map(|part| format!("{from}+{part}")));
    names.extend(DIFFERENCES.iter().map(|one| format!("{from}+{}", one.name)));
    let trials = names.len() * tiered.trials.seeds as usize + 1;
    let mut session = Session::open(Shown::of(&tiered.trials, false), names.len(), trials)?;
    let table = compare(&mut session, &experiment, &names, tiered.trials.seeds)?;
    if !tiered.trials.json {
        print(&table)?;
    }
    session.close()
}

/// A median difference with its interval.
struct Effect {
    figure: &'static str,
    unit: &'static str,
    median: f64,
    interval: Option<[f64; 2]>,
}

fn effects(before: &[Outcome], after: &[Outcome]) -> Result<Vec<Effect>, Failure> {
    let effect = |&(figure, unit, factor, of): &Figure| {
        let pairs = before.iter().zip(after);
        let differences = pairs.map(|(before, after)| {
            let (before, after) = (of(before), of(after));
            let scale = if unit == "%" { before } else { 1.0 };
            factor * (after - before) / scale
        });
        let (median, interval) = signed(&differences.collect::<Vec<f64>>())?;
        Ok(Effect {
            figure,
            unit,
            median,
            interval,
        })
    };
    FIGURES.iter().map(effect).collect()
}

/// The median and its interval of samples that may be negative: order statistics do not mind a
/// shift, and a record's summary takes no negative sample.
fn signed(samples: &[f64]) -> Result<(f64, Option<[f64; 2]>), Failure> {
    let least = samples.iter().copied().fold(0.0, f64::min);
    let shifted: Vec<f64> = samples.iter().map(|sample| sample - least).collect();
    let summary = Summary::of(&shifted).map_err(Failure::after)?;
    let interval = summary.ci95.map(|ends| ends.map(|end| end + least));
    Ok((summary.p50 + least, interval))
}

fn text(effects: &[Effect]) -> String {
    let one = |effect: &Effect| {
        let interval = effect.interval.map_or(String::new(), |[low, high]| {
            format!(" [{low:+.2}, {high:+.2}]")
        });
        let (figure, median, unit) = (effect.figure, effect.median, effect.unit);
        format!("{figure} {median:+.2}{interval} {unit}")
    };
    effects.iter().map(one).collect::<Vec<_>>().join("  ")
}

fn metrics(before: &[Outcome], outcomes: &[Outcome], effects: &[Effect]) -> Vec<Metric> {
    let each = |figure: fn(&Outcome) -> f64| Ok(outcomes.iter().map(figure).collect());
    let relative = |figure: fn(&Outcome) -> f64| {
        let ratios = before.iter().zip(outcomes).map(|(before, after)| {
            let ratio = figure(after) / figure(before);
            let finite = ratio.is_finite().then_some(ratio);
            finite.ok_or("nothing to compare with")
        });
        ratios.collect::<Result<Vec<f64>, _>>()
    };
    let against: Vec<Value> = effects
        .iter()
        .map(|effect| {
            json!({"figure": effect.figure, "unit": effect.unit, "median": effect.median,
                "ci95": effect.interval})
        })
        .collect();
    let metric = Metric::of;
    let mut metrics = vec![
        metric("time_ns", "ns", each(|outcome| outcome.seconds * 1e9)),
        metric("relative_time", "x", relative(|outcome| outcome.seconds)),
        metric(
            "relative_migration",
            "x",
            relative(|outcome| outcome.migrated_bytes),
        ),
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
        metric("estimated_ehr", "share", last_ehr(outcomes)),
    ];
    metrics[0].answer = outcomes.first().map(history);
    metrics[1].answer = Some(json!({"effects": against}));
    metrics
}

/// What base pages alone would serve fast, as the policy estimated it last.
fn last_ehr(outcomes: &[Outcome]) -> Result<Vec<f64>, &'static str> {
    let last = outcomes.iter().map(|outcome| outcome.truths.last());
    let estimates = last.map(|truth| truth.map(|truth| truth.estimated_ehr));
    estimates
        .map(|it| it.ok_or("no cooling, so no estimate"))
        .collect()
}
