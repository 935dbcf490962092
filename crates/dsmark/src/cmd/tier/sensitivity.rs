//! `dsmark tier sensitivity`: which constant decides a difference between two policies. Each is
//! made 25 % smaller and 25 % larger, the others untouched, as `dsmark verify` does with those of a
//! pod.
//!
//! Both policies run under the changed constant, with the same seeds as under that which ships.

use std::fmt::Write as _;

use record::Summary;
use serde_json::{Map, Value, json};
use tiering::experiment::{Experiment, Reference, Variant};
use tiering::preset::Constants;
use tiering::run::Outcome;

use super::rows::{Metric, params};
use super::session::{Session, Shown};
use crate::cli::Tiered;
use crate::failure::Failure;
use crate::out::print;

/// The factors of a constant.
const STEPS: [f64; 2] = [0.75, 1.25];

/// The name of the runs under the constants that ship.
const SHIPPED: &str = "as it ships";

/// The seed of the runs that measure the footprint.
const SEED: u64 = 1;

pub(super) fn sensitivity(
    policy: &str,
    from: &str,
    wanted: &[String],
    tiered: &Tiered,
) -> Result<(), Failure> {
    let experiment = super::experiment(tiered)?;
    let pair = [super::memtis(from)?, super::memtis(policy)?];
    let shipped = Constants::shipped();
    let constants = chosen(wanted, &shipped.names(experiment.capacity_tier))?;
    let arms = arms(&constants);
    let seeds = tiered.trials.seeds as usize;
    let mut session = Session::open(
        Shown::of(&tiered.trials, false),
        arms.len(),
        arms.len() * seeds + 1,
    )?;
    let references = session.references(&experiment.workload, 1, |_| experiment.reference(SEED))?;
    let Some(reference) = references.first() else {
        return session.close();
    };
    session.note(reference);
    let mut told = Told::default();
    session.arms(
        &experiment,
        &arms,
        seeds,
        |arm, seed| Ok(both(&experiment, pair, arm, seed as u64 + 1, reference)),
        |arm, outcomes| told.metrics(arm, outcomes),
        |arm| Ok(named(params(&experiment, policy)?, from, arm)),
    )?;
    if !tiered.trials.json {
        print(&told.text())?;
    }
    session.close()
}

/// The constants that are meant: each by its key, or by its section and key.
fn chosen(wanted: &[String], names: &[String]) -> Result<Vec<String>, Failure> {
    if wanted.is_empty() {
        return Ok(names.to_vec());
    }
    let mut chosen: Vec<String> = Vec::new();
    for word in wanted {
        let already = chosen.clone();
        let key =
            |name: &&String| *name == word || name.split_once('.').is_some_and(|n| n.1 == word);
        let found: Vec<String> = names.iter().filter(key).cloned().collect();
        if found.is_empty() {
            let keys = names.iter().flat_map(|name| [name.as_str(), key_of(name)]);
            return Err(super::unknown("constant", word, keys));
        }
        chosen.extend(found.into_iter().filter(|name| !already.contains(name)));
    }
    Ok(chosen)
}

fn key_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, key)| key)
}

/// What is run: the constants that ship, then each of them changed.
fn arms(constants: &[String]) -> Vec<String> {
    let changed = constants
        .iter()
        .flat_map(|name| STEPS.map(|step| format!("{name} x {step}")));
    std::iter::once(SHIPPED.to_owned()).chain(changed).collect()
}

/// The constant of an arm and its factor; none of that which ships.
fn parts(arm: &str) -> Option<(&str, f64)> {
    let (name, step) = arm.split_once(" x ")?;
    Some((name, step.parse().ok()?))
}

/// Both policies under the constants of an arm.
fn both(
    experiment: &Experiment,
    pair: [Variant; 2],
    arm: &str,
    seed: u64,
    reference: &Reference,
) -> [Outcome; 2] {
    let shipped = Constants::shipped();
    let constants = parts(arm).and_then(|(name, step)| shipped.with(name, step));
    let reference = reference.under(constants.unwrap_or(shipped));
    pair.map(|variant| experiment.run_variant(variant, seed, &reference))
}

fn named(mut params: Map<String, Value>, from: &str, arm: &str) -> Map<String, Value> {
    let (constant, factor) = parts(arm).unwrap_or((SHIPPED, 1.0));
    params.insert("from".into(), json!(from));
    params.insert("constant".into(), json!(constant));
    params.insert("factor".into(), json!(factor));
    params
}

/// The figures that are told, each of the policies' two outcomes: name, unit, heading.
type Figure = (&'static str, &'static str, fn(&[Outcome; 2]) -> f64);
const FIGURES: [Figure; 3] = [
    ("relative_time", "x", |[from, to]| to.seconds / from.seconds),
    ("relative_migration", "x", |[from, to]| {
        to.migrated_bytes / from.migrated_bytes
    }),
    ("rss_bytes", "B", |[_, to]| to.resident_bytes),
];

/// Medians of each arm, in the order in which they came.
#[derive(Default)]
struct Told(Vec<(String, [Option<f64>; FIGURES.len()])>);

impl Told {
    fn metrics(&mut self, arm: &str, outcomes: &[[Outcome; 2]]) -> Result<Vec<Metric>, Failure> {
        let mut medians = [None; FIGURES.len()];
        let mut metrics = Vec::new();
        for ((name, unit, figure), median) in FIGURES.into_iter().zip(&mut medians) {
            let figures: Vec<f64> = outcomes.iter().map(figure).collect();
            let finite = figures.iter().all(|figure| figure.is_finite());
            if finite {
                *median = Some(Summary::of(&figures).map_err(Failure::after)?.p50);
            }
            let samples = if finite {
                Ok(figures)
            } else {
                Err("nothing to compare with")
            };
            metrics.push(Metric::of(name, unit, samples));
        }
        self.0.push((arm.to_owned(), medians));
        Ok(metrics)
    }

    /// Percent that a figure changed by, against the constants that ship.
    fn change(&self, arm: usize, figure: usize) -> Option<f64> {
        let before = self.0.first()?.1[figure]?;
        Some(100.0 * (self.0[arm].1[figure]? / before - 1.0))
    }

    /// A line a constant, that first which does most to the first figure.
    fn text(&self) -> String {
        let mut text = String::new();
        let Some((_, shipped)) = self.0.first() else {
            return text;
        };
        for ((name, unit, _), median) in FIGURES.iter().zip(shipped) {
            if let Some(median) = median {
                // Nothing keeps a string from growing.
                let _ = writeln!(text, "{name} {median:.4} {unit} {SHIPPED}");
            }
        }
        let whole = 1..self.0.len().saturating_sub(1);
        let mut lines: Vec<(f64, String)> = whole
            .step_by(STEPS.len())
            .filter_map(|less| self.line(less))
            .collect();
        lines.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, line) in lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// The line of the constant that an arm and the next change, and what it does to the first
    /// figure at most.
    fn line(&self, less: usize) -> Option<(f64, String)> {
        let (constant, _) = parts(&self.0[less].0)?;
        let mut line = format!("{constant:<36}");
        let mut strength = 0.0_f64;
        for (figure, (name, ..)) in FIGURES.iter().enumerate() {
            let changes = [less, less + 1].map(|arm| self.change(arm, figure));
            if figure == 0 {
                let each = changes.into_iter().flatten().map(f64::abs);
                strength = each.fold(strength, f64::max);
            }
            let [minus, plus] = changes
                .map(|change| change.map_or("-".to_owned(), |change| format!("{change:+.2} %")));
            let _ = write!(line, "  {name} -25 %: {minus} +25 %: {plus}");
        }
        Some((strength, line))
    }
}
