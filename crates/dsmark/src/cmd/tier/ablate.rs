//! `dsmark tier ablate`: each difference between Memtis's paper and its kernel, turned alone.
//!
//! Effects are paired by seed: the same workload and the same sampler phase with and without.

use std::fmt::Write as _;

use serde_json::json;
use tiering::experiment::{Experiment, Variant};
use tiering::policy::memtis::DIFFERENCES;
use tiering::run::Outcome;

use super::paired::{Effect, FIGURES, Figure, difference, effects, footnote, record};
use super::rows::{Metric, history};
use super::session::{Session, Shown};
use crate::cli::Tiered;
use crate::failure::Failure;
use crate::out::print;

/// Rows of a base, which is the first, and of others, and a line of effects for each.
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
    let base = &names[0];
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
            let pairs = before.iter().zip(outcomes);
            let differences: Vec<_> = pairs.map(|(one, other)| difference(one, other)).collect();
            let effects = effects(&differences)?;
            // Nothing keeps a string from growing.
            let _ = writeln!(table, "{name:<42} {}", text(&effects));
            let mut metrics = metrics(&before, outcomes);
            let told = record(&effects, |figure| figure.unit);
            metrics[RELATIVE_TIME].answer = Some(json!({"against": base, "effects": told}));
            Ok(metrics)
        },
    )?;
    Ok(table)
}

pub(super) fn ablate(from: &str, tiered: &Tiered) -> Result<(), Failure> {
    let experiment = super::experiment(tiered)?;
    let names = arms(from, super::memtis(from)?)?;
    let seeds = tiered.trials.seeds as usize;
    let trials = names.len() * seeds + 1;
    let mut session = Session::open(Shown::of(&tiered.trials, false), names.len(), trials)?;
    let table = compare(&mut session, &experiment, &names, tiered.trials.seeds)?;
    if !tiered.trials.json && !table.is_empty() {
        let effects = (table.lines().count() - 1) * FIGURES.len();
        print(&format!("{table}{}\n", footnote(seeds, effects)))?;
    }
    session.close()
}

/// The base, the other personality, and the base with each of its parts turned: what the base's
/// name has already is taken out of it.
fn arms(from: &str, base: Variant) -> Result<Vec<String>, Failure> {
    let paper = base == Variant::parse("memtis-paper")?;
    let other = if paper {
        "memtis-kernel"
    } else {
        "memtis-paper"
    };
    let parts = DIFFERENCES.iter().map(|difference| difference.name);
    let turned = ["no-split", "no-warm"].into_iter().chain(parts);
    let turned = turned.map(|part| match taken_out(from, part) {
        Some(rest) => rest,
        None => format!("{from}+{part}"),
    });
    let mut names = vec![from.to_owned()];
    for name in std::iter::once(other.to_owned()).chain(turned) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// A variant's name without one of its parts; none if it has no such part.
fn taken_out(name: &str, part: &str) -> Option<String> {
    let words: Vec<&str> = name.split('+').collect();
    let at = words.iter().position(|word| *word == part)?;
    Some([&words[..at], &words[at + 1..]].concat().join("+"))
}

/// Effects as text, each behind its figure's name.
fn text(effects: &[Effect]) -> String {
    let one = |(figure, effect): (&Figure, &Effect)| {
        format!("{} {}", figure.name, effect.text(figure.unit))
    };
    let figures = FIGURES.iter().zip(effects);
    figures.map(one).collect::<Vec<_>>().join("  ")
}

/// Where [`metrics`] has the time against the base's: effects stand beside it.
const RELATIVE_TIME: usize = 1;

fn metrics(before: &[Outcome], outcomes: &[Outcome]) -> Vec<Metric> {
    let each = |figure: fn(&Outcome) -> f64| Ok(outcomes.iter().map(figure).collect());
    let relative = |figure: fn(&Outcome) -> f64| {
        let ratios = before.iter().zip(outcomes).map(|(before, after)| {
            let ratio = figure(after) / figure(before);
            let finite = ratio.is_finite().then_some(ratio);
            finite.ok_or("nothing to compare with")
        });
        ratios.collect::<Result<Vec<f64>, _>>()
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn arms_of(from: &str) -> Vec<String> {
        let base = Variant::parse(from).expect("a variant");
        arms(from, base).expect("names")
    }

    #[test]
    fn each_part_is_turned_once_from_any_base() {
        let paper = arms_of("memtis-paper");
        assert_eq!(paper.len(), 1 + 1 + 2 + DIFFERENCES.len());
        assert_eq!(
            paper[..3],
            ["memtis-paper", "memtis-kernel", "memtis-paper+no-split"]
        );
        let without = arms_of("memtis-paper+no-split");
        let shown = [
            "memtis-paper+no-split",
            "memtis-paper",
            "memtis-paper+no-split+no-warm",
        ];
        // Splitting turned back on is the other personality already.
        assert_eq!(without[..3], shown);
        assert_eq!(without.len(), paper.len() - 1);
        let many = arms_of("memtis-kernel+raise-only+no-warm");
        assert!(many.contains(&"memtis-kernel+no-warm".to_owned()));
        assert!(many.contains(&"memtis-kernel+raise-only".to_owned()));
        for name in many {
            Variant::parse(&name).expect("a variant");
        }
    }
}
