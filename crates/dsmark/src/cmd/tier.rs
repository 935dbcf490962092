//! `dsmark tier`: policies for two memory tiers, in the deterministic model of the crate `tiering`.

mod ablate;
mod claims;
mod paired;
mod rows;
mod run;
mod sensitivity;
mod session;
mod skew;

use serde_json::{Value, json};
use tiering::experiment::{Experiment, ExperimentError, POLICIES, Variant, WORKLOADS};
use tiering::policy::memtis::DIFFERENCES;
use tiering::preset::{self, CapacityTier};

use crate::cli::{Tier, Tiered, Tiering};
use crate::failure::Failure;
use crate::out::print;

pub(crate) fn tier(args: &Tier) -> Result<(), Failure> {
    match args {
        Tier::Run {
            policy,
            no_oracle,
            tiered,
        } => run::run(policy, !no_oracle, tiered),
        Tier::Ablate { from, tiered } => ablate::ablate(from, tiered),
        Tier::Claims { trials } => claims::claims(trials),
        Tier::Sensitivity {
            policy,
            from,
            constant,
            tiered,
        } => sensitivity::sensitivity(policy, from, constant, tiered),
        Tier::Skew { out, json } => skew::skew(out.as_deref(), *json),
        Tier::List { json } => list(*json),
    }
}

/// What was typed, as an experiment.
fn experiment(tiered: &Tiered) -> Result<Experiment, Failure> {
    experiment_on(&tiered.workload, &tiered.ratio, &tiered.trials)
}

/// A workload at a ratio, the rest as it was typed.
fn experiment_on(workload: &str, ratio: &str, trials: &Tiering) -> Result<Experiment, Failure> {
    if trials.seeds == 0 || trials.seeds > MOST_SEEDS {
        return Err(Failure::usage(format!(
            "--seeds {}: give at least 1 and at most {MOST_SEEDS}",
            trials.seeds
        )));
    }
    let experiment = Experiment {
        workload: workload.to_owned(),
        ratio: ratio.parse()?,
        capacity_tier: capacity_tier(&trials.capacity_tier)?,
        scale: trials.scale.as_deref().map(str::parse).transpose()?,
    };
    experiment.effective_scale().map_err(|error| match error {
        ExperimentError::Workload(name) => {
            let words = WORKLOADS
                .iter()
                .filter_map(|(name, _)| name.split(':').next());
            unknown("workload", &name, words)
        }
        error => error.into(),
    })?;
    Ok(experiment)
}

fn capacity_tier(name: &str) -> Result<CapacityTier, Failure> {
    let found = CapacityTier::ALL.iter().find(|tier| tier.name() == name);
    found.copied().ok_or_else(|| {
        let known = CapacityTier::ALL.map(CapacityTier::name);
        let near = fabric::nearest(name, known.into_iter());
        Failure::usage(format!(
            "no capacity tier {name:?}{}; there are {}",
            fabric::suggestion(near.as_deref()),
            known.join(", ")
        ))
    })
}

/// Seeds that one run may ask for: 10 give an interval, and 10,000 any digit that a model has.
const MOST_SEEDS: u64 = 10_000;

/// Refuses a policy or a switch that there is not, with the nearest that there is.
fn known(policy: &str) -> Result<(), Failure> {
    if policy.is_empty() || policy.ends_with('+') {
        return Err(Failure::usage(format!(
            "policy {policy:?} lacks a name: take the last comma or plus sign away, or put one \
             behind it; `dsmark tier list` has all"
        )));
    }
    if POLICIES.iter().any(|(name, _)| *name == policy) {
        return Ok(());
    }
    Variant::parse(policy)
        .map(|_| ())
        .map_err(|error| match error {
            ExperimentError::Policy(name) => {
                let word = name.split('+').next().unwrap_or_default().to_owned();
                unknown("policy", &word, POLICIES.iter().map(|(name, _)| *name))
            }
            ExperimentError::Switch(name) => {
                let switches = DIFFERENCES.iter().map(|difference| difference.name);
                unknown("switch", &name, switches.chain(["no-split", "no-warm"]))
            }
            error => error.into(),
        })
}

/// A variant of Memtis by its name, where no other policy will do.
fn memtis(policy: &str) -> Result<Variant, Failure> {
    known(policy)?;
    Variant::parse(policy).map_err(|_| {
        Failure::usage(format!(
            "policy {policy:?} is no variant of Memtis: give memtis-paper or memtis-kernel, and \
             switches after a plus sign"
        ))
    })
}

/// Refuses a name, with the nearest that is known, or else with those that it begins.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.collect();
    let near = fabric::nearest(name, known.iter().copied());
    let begins = |word: &&&str| !name.is_empty() && word.starts_with(name);
    let begun = known.iter().filter(begins);
    let begun: Vec<&str> = begun.copied().collect();
    let hint = if near.is_none() && !begun.is_empty() {
        format!(" (there are {})", begun.join(", "))
    } else {
        fabric::suggestion(near.as_deref())
    };
    Failure::usage(format!(
        "no {kind} {name:?}{hint}; `dsmark tier list` names them"
    ))
}

fn list(as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print(&format!("{}\n", object()));
    }
    let mut lines = vec!["policies".to_owned()];
    let named = |(name, about): &(&str, &str)| format!("  {name:<18} {about}");
    lines.extend(POLICIES.iter().map(named));
    lines.push("workloads".into());
    lines.extend(WORKLOADS.iter().map(named));
    lines.push("capacity tiers".into());
    let machine = preset::machine();
    lines.extend(CapacityTier::ALL.into_iter().map(|tier| {
        let load_ns = machine.capacity(tier).load_ns.value;
        format!("  {:<18} a load takes {load_ns} ns", tier.name())
    }));
    lines.push("parts of Memtis that may be left out: no-split, no-warm".into());
    lines.push("switches of Memtis, off: as the paper says, on: as its kernel does".into());
    for difference in DIFFERENCES {
        let arms = format!("{} => {}", difference.off, difference.on);
        lines.push(format!("  {:<22} {arms}", difference.name));
    }
    lines.push("constants".into());
    for (section, key, value, source) in constants() {
        lines.push(format!("  {section}.{key} = {value}  ({source})"));
    }
    print(&(lines.join("\n") + "\n"))
}

fn object() -> Value {
    let named = |(name, about): &(&str, &str)| json!({"name": name, "about": about});
    let switches = DIFFERENCES.iter().map(|difference| {
        json!({"name": difference.name, "off": difference.off, "on": difference.on,
            "paper": difference.paper, "kernel": difference.kernel})
    });
    let constants = constants().into_iter().map(|(section, key, value, source)| {
        json!({"section": section, "key": key, "value": value, "source": source})
    });
    json!({
        "policies": POLICIES.iter().map(named).collect::<Vec<_>>(),
        "workloads": WORKLOADS.iter().map(named).collect::<Vec<_>>(),
        "capacity_tiers": CapacityTier::ALL.map(CapacityTier::name),
        "switches": switches.collect::<Vec<_>>(),
        "constants": constants.collect::<Vec<_>>(),
    })
}

/// Every constant with the section of its file and its source.
fn constants() -> Vec<(&'static str, &'static str, String, String)> {
    let machine = preset::machine();
    let memtis = preset::memtis();
    let mut sections = vec![
        ("cpu", machine.cpu.constants()),
        ("kernel", machine.kernel.constants()),
        ("fast", machine.fast.constants()),
    ];
    for tier in CapacityTier::ALL {
        sections.push((tier.name(), machine.capacity(tier).constants()));
    }
    sections.push(("memtis", memtis.constants()));
    let flat = sections.into_iter().flat_map(|(section, constants)| {
        let named = move |(key, value, source): (&'static str, String, &str)| {
            (section, key, value, source.to_owned())
        };
        constants.into_iter().map(named)
    });
    flat.collect()
}
