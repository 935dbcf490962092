//! `dsmark tier sensitivity`: which constant decides a difference between two policies. Each is
//! made 25 % smaller and 25 % larger, the others untouched, as `dsmark verify` does with those of a
//! pod.
//!
//! Both policies run under the changed constant, with the same seeds as under that which ships:
//! what it changes of their difference is paired by seed.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use tiering::experiment::{Experiment, Reference, Variant};
use tiering::preset::{CapacityTier, Constants};
use tiering::run::Outcome;

use super::paired::{Difference, Effect, FIGURES, Figure, difference, effects, footnote, record};
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
    if pair[0] == pair[1] {
        return Err(Failure::usage(format!(
            "--policy {policy} is --from {from}, and no constant makes a difference to a \
             difference of nothing: give another --policy or --from"
        )));
    }
    let shipped = Constants::shipped();
    let constants = chosen(wanted, &shipped, experiment.capacity_tier)?;
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
        |arm, outcomes| told.arm(arm, outcomes),
        |arm| Ok(named(params(&experiment, policy)?, from, arm)),
    )?;
    if !tiered.trials.json {
        print(&told.text(policy, from, seeds))?;
    }
    session.close()
}

/// The constants that are meant: each by its key, or by its section and key.
fn chosen(
    wanted: &[String],
    shipped: &Constants,
    tier: CapacityTier,
) -> Result<Vec<String>, Failure> {
    let names = shipped.names(tier);
    if wanted.is_empty() {
        return Ok(names);
    }
    let mut chosen: Vec<String> = Vec::new();
    for word in wanted {
        let meant = |name: &&String| *name == word || key_of(name) == word;
        let found: Vec<&String> = names.iter().filter(meant).collect();
        if found.is_empty() {
            return Err(refused(word, shipped, tier, &names));
        }
        for name in found {
            if !chosen.contains(name) {
                chosen.push(name.clone());
            }
        }
    }
    Ok(chosen)
}

/// Why a constant is not changed.
fn refused(word: &str, shipped: &Constants, tier: CapacityTier, names: &[String]) -> Failure {
    if ["threads", "cpu.threads"].contains(&word) {
        return Failure::usage(format!(
            "--constant {word}: how many threads there are is the workload's, and with more or \
             fewer it would be another: leave it out"
        ));
    }
    let of_another = CapacityTier::ALL
        .into_iter()
        .find(|other| *other != tier && shipped.names(*other).iter().any(|name| name == word));
    if let Some(other) = of_another {
        let (ours, other) = (tier.name(), other.name());
        return Failure::usage(format!(
            "--constant {word}: that is of capacity tier {other}, and this one is {ours}: did you \
             mean `{ours}.{}`? Or add --capacity-tier {other}",
            key_of(word)
        ));
    }
    // The right key behind a wrong section is nearer than any other of that section.
    let of_key = names.iter().filter(|name| key_of(name) == key_of(word));
    if let [only] = of_key.collect::<Vec<_>>()[..] {
        return Failure::usage(format!(
            "no constant {word:?} (did you mean `{only}`?); `dsmark tier list` names them"
        ));
    }
    let keys = names.iter().flat_map(|name| [name.as_str(), key_of(name)]);
    super::unknown("constant", word, keys)
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

/// Figures of both policies' outcomes that are rows: name, unit.
type Compared = (&'static str, &'static str, fn(&[Outcome; 2]) -> f64);
const COMPARED: [Compared; 3] = [
    ("relative_time", "x", |[from, to]| to.seconds / from.seconds),
    ("relative_migration", "x", |[from, to]| {
        to.migrated_bytes / from.migrated_bytes
    }),
    ("rss_bytes", "B", |[_, to]| to.resident_bytes),
];

fn metrics(outcomes: &[[Outcome; 2]]) -> Vec<Metric> {
    let metric = |(name, unit, figure): Compared| {
        let figures: Vec<f64> = outcomes.iter().map(figure).collect();
        let finite = figures.iter().all(|figure| figure.is_finite());
        let samples = finite.then_some(figures).ok_or("nothing to compare with");
        Metric::of(name, unit, samples)
    };
    COMPARED.map(metric).into()
}

/// What one arm has for each figure.
struct Arm {
    name: String,
    /// The difference between the policies.
    difference: Vec<Effect>,
    /// What the constant changed of it.
    change: Vec<Effect>,
}

/// Arms in the order in which they came, the constants that ship first.
#[derive(Default)]
struct Told {
    shipped: Vec<Difference>,
    arms: Vec<Arm>,
}

impl Told {
    /// Notes an arm; its rows say what it is told apart from the constants that ship by.
    fn arm(&mut self, name: &str, outcomes: &[[Outcome; 2]]) -> Result<Vec<Metric>, Failure> {
        let pairs = outcomes.iter();
        let differences: Vec<Difference> = pairs.map(|[from, to]| difference(from, to)).collect();
        if self.arms.is_empty() {
            self.shipped.clone_from(&differences);
        }
        let seeds = differences.iter().zip(&self.shipped);
        let changes: Vec<Difference> = seeds
            .map(|(with, without)| std::array::from_fn(|figure| with[figure] - without[figure]))
            .collect();
        let arm = Arm {
            name: name.to_owned(),
            difference: effects(&differences)?,
            change: effects(&changes)?,
        };
        let mut metrics = metrics(outcomes);
        metrics[0].answer = Some(json!({
            "against": SHIPPED,
            "effects": record(&arm.change, |figure| figure.change_unit),
            "differences": record(&arm.difference, |figure| figure.unit),
        }));
        self.arms.push(arm);
        Ok(metrics)
    }

    /// A paragraph a figure: what changes it, the strongest first.
    fn text(&self, policy: &str, from: &str, seeds: usize) -> String {
        let Some((shipped, changed)) = self.arms.split_first() else {
            return String::new();
        };
        let mut text = String::new();
        for (figure, Figure { name, unit, .. }) in FIGURES.iter().enumerate() {
            let as_it_ships = shipped.difference[figure].text(unit);
            // Nothing keeps a string from growing.
            let _ = writeln!(
                text,
                "{name} of {policy} against {from}, {SHIPPED}: {as_it_ships}"
            );
            let mut telling: Vec<&Arm> = changed.iter().filter(|arm| arm.tells(figure)).collect();
            let strength = |arm: &Arm| arm.change[figure].median.abs();
            telling.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
            for arm in &telling {
                let _ = writeln!(text, "  {}", arm.line(figure, shipped));
            }
            let same = changed.iter().filter(|arm| arm.change[figure].unchanged);
            let _ = writeln!(
                text,
                "  no difference under {} of {} changes, {} of them the same to the last bit",
                changed.len() - telling.len(),
                changed.len(),
                same.count()
            );
        }
        let _ = writeln!(text, "{}", footnote(seeds, changed.len() * FIGURES.len()));
        text
    }
}

impl Arm {
    /// Whether it changes a figure, as far as is known.
    fn tells(&self, figure: usize) -> bool {
        let change = &self.change[figure];
        change.differs().unwrap_or(!change.unchanged)
    }

    /// What the constant makes of a figure.
    fn line(&self, figure: usize, shipped: &Self) -> String {
        let (constant, factor) = parts(&self.name).unwrap_or((SHIPPED, 1.0));
        let difference = &self.difference[figure];
        let turned = difference.differs() == Some(true)
            && shipped.difference[figure].differs() == Some(true)
            && difference.median * shipped.difference[figure].median < 0.0;
        format!(
            "{constant:<32} {:+.0} %: {:+.2} {}, changed by {}{}",
            100.0 * (factor - 1.0),
            difference.median,
            FIGURES[figure].unit,
            self.change[figure].text(FIGURES[figure].change_unit),
            if turned { "; its sign turns" } else { "" }
        )
    }
}
