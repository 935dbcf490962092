//! Experiments: workloads and policies by name, bounds, the ablation of Memtis's switches.

use std::sync::Arc;

use thiserror::Error;

use crate::application::Application;
use crate::application::btree::{Btree, Tree};
use crate::application::graph500::{Graph, Graph500};
use crate::application::silo::{Keys, Silo};
use crate::application::synthetic::{Pattern, PatternError, Synthetic};
use crate::law::{self, Breach};
use crate::machine::Setup;
use crate::policy::memtis::{DIFFERENCES, Features, Memtis, Switch, Switches};
use crate::policy::{
    AllCapacity, AllFast, FirstTouch, Interleave, OracleDynamic, OracleStatic, Policy, Profile,
};
use crate::preset::{self, CapacityTier, Constants, MachinePreset, MemtisPreset};
use crate::run::{Outcome, Trial};
use crate::scale::{Grain, SUBPAGES, Scale, ScaleError};

/// Workloads, each with what it is. Where a number is given, it is a percentage and may be another.
pub const WORKLOADS: [(&str, &str); 15] = [
    (
        "silo-paper",
        "Silo, keys as the paper describes: 10 % of each huge page's subpages hot",
    ),
    ("silo-ycsb", "Silo, YCSB-C: Zipf 0.99, scrambled"),
    (
        "silo-artifact",
        "Silo, keys of the artifact: Zipf 0.5, rank as key",
    ),
    (
        "btree",
        "B-tree of 157 million pairs, uniform finds, slabs that bloat huge pages",
    ),
    (
        "graph500",
        "Graph500, scale 27, edge factor 15, 64 searches",
    ),
    ("gups-hot", "random updates, 90 % in a third of the memory"),
    ("s1-onehot", "95 % of accesses in 1 GB of 32 GB"),
    (
        "phase-flip",
        "a hot tenth that jumps twice, at thirds of the work",
    ),
    (
        "skew-in-huge:10",
        "that many percent of each huge page's subpages are hot",
    ),
    (
        "zero-bloat:75",
        "that many percent of each huge page are never written",
    ),
    (
        "alloc-churn",
        "a hot tenth, and scratch memory freed every 5 s",
    ),
    ("store-heavy", "a tenth hot by loads, another by stores"),
    (
        "stream-over-hot",
        "a hot tenth under a stream over all memory",
    ),
    (
        "multi-tenant",
        "two tenants share the fast tier: a hot tenth, and uniform",
    ),
    (
        "bw-antagonist:50",
        "gups-hot while another program takes that much of the fast tier",
    ),
];

/// Policies, each with what it is.
pub const POLICIES: [(&str, &str); 8] = [
    ("memtis-paper", "Memtis as described"),
    ("memtis-kernel", "Memtis as coded"),
    ("all-fast", "bound: a fast tier that holds everything"),
    (
        "all-capacity",
        "bound: nothing in the fast tier; the reference of published figures",
    ),
    ("first-touch", "bound: the fast tier until it is full"),
    (
        "interleave",
        "bound: pages alternate in the ratio of the tiers",
    ),
    (
        "oracle-static",
        "bound: the best of two placements by true heat, huge or base pages",
    ),
    (
        "oracle-dynamic",
        "bound: placement by the future heat of each of 16 parts, where it pays",
    ),
];

/// A name or a number that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExperimentError {
    /// No such workload.
    #[error("no workload {0:?}; `dsmark tier list` names them")]
    Workload(String),
    /// A number that the workload cannot have.
    #[error(transparent)]
    Pattern(PatternError),
    /// No such policy.
    #[error("no policy {0:?}; `dsmark tier list` names them")]
    Policy(String),
    /// No such switch.
    #[error("no switch {0:?}; `dsmark tier list` names them")]
    Switch(String),
    /// A part of a variant's name that stands there twice.
    #[error(
        "policy {name:?} names {part} twice, and what is turned twice is as before: name it once, \
         or leave it out"
    )]
    Repeated {
        /// The variant.
        name: String,
        /// The part.
        part: String,
    },
    /// Switches behind a policy that has none.
    #[error(
        "policy {policy} has no switches, so that {parts:?} means nothing to it: give {policy} \
         alone, or memtis-paper or memtis-kernel, which have some"
    )]
    NoSwitches {
        /// The policy.
        policy: String,
        /// What follows its name.
        parts: String,
    },
    /// Not two positive numbers.
    #[error("ratio {0:?}: write FAST:CAPACITY, such as 1:8; each from 1 to {MOST_PARTS}")]
    Ratio(String),
    /// A fast tier of nothing.
    #[error(
        "the fast tier would hold {pages} base pages, less than one huge page, at ratio {ratio} \
         and scale {scale}: give FAST a larger part, or choose a smaller SIZE"
    )]
    NoFastTier {
        /// Fast to capacity.
        ratio: Ratio,
        /// Of the run.
        scale: Scale,
        /// What it would hold.
        pages: u64,
    },
    /// A scale that does not suit.
    #[error(transparent)]
    Scale(#[from] ScaleError),
}

/// The greatest part of a ratio.
const MOST_PARTS: u32 = 1_000_000;

/// The sizes of the tiers: fast to capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    fast: u32,
    capacity: u32,
}

impl Ratio {
    /// Fast to capacity.
    pub fn new(fast: u32, capacity: u32) -> Self {
        Self { fast, capacity }
    }

    /// The fast tier's share of the footprint.
    pub fn fast_share(self) -> f64 {
        f64::from(self.fast) / f64::from(self.fast + self.capacity)
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.fast, self.capacity)
    }
}

impl std::str::FromStr for Ratio {
    type Err = ExperimentError;

    fn from_str(text: &str) -> Result<Self, ExperimentError> {
        let parts = text.split_once(':');
        let parts =
            parts.and_then(|(fast, capacity)| Some((fast.parse().ok()?, capacity.parse().ok()?)));
        match parts {
            Some((fast, capacity))
                if (1..=MOST_PARTS).contains(&fast) && (1..=MOST_PARTS).contains(&capacity) =>
            {
                Ok(Self { fast, capacity })
            }
            _ => Err(ExperimentError::Ratio(text.to_owned())),
        }
    }
}

/// A variant of Memtis: a personality, some switches the other way, some parts left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The differences between paper and kernel.
    pub switches: Switches,
    /// What takes part.
    pub features: Features,
}

impl Variant {
    /// From `memtis-paper` or `memtis-kernel`, followed by any number of `+no-split`, `+no-warm`
    /// and names of switches, which turn the other way.
    ///
    /// # Errors
    /// No such policy, one without switches, no such switch, or one that stands there twice.
    pub fn parse(name: &str) -> Result<Self, ExperimentError> {
        let mut words = name.split('+');
        let policy = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let switches = match policy {
            "memtis-paper" => Switches::paper(),
            "memtis-kernel" => Switches::kernel(),
            _ if !words.is_empty() && POLICIES.iter().any(|(known, _)| *known == policy) => {
                return Err(ExperimentError::NoSwitches {
                    policy: policy.to_owned(),
                    parts: name[policy.len()..].to_owned(),
                });
            }
            _ => return Err(ExperimentError::Policy(name.to_owned())),
        };
        let mut variant = Self {
            switches,
            features: Features::ALL,
        };
        for (index, word) in words.iter().enumerate() {
            let turned = variant.turned(word)?;
            if words[..index].contains(word) {
                return Err(ExperimentError::Repeated {
                    name: name.to_owned(),
                    part: (*word).to_owned(),
                });
            }
            variant = turned;
        }
        Ok(variant)
    }

    /// With one part of a name.
    fn turned(mut self, part: &str) -> Result<Self, ExperimentError> {
        match part {
            "no-split" => self.features.split = false,
            "no-warm" => self.features.warm = false,
            _ => self.switches = self.switches.flipped(switch(part)?),
        }
        Ok(self)
    }
}

/// What to run, but for policy and seed.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// By name.
    pub workload: String,
    /// Of the footprint.
    pub ratio: Ratio,
    /// What the capacity tier is.
    pub capacity_tier: CapacityTier,
    /// How far scaled down; by default what suits the workload.
    pub scale: Option<Scale>,
}

impl Default for Experiment {
    fn default() -> Self {
        Self {
            workload: "silo-paper".into(),
            ratio: Ratio::new(1, 8),
            capacity_tier: CapacityTier::Nvm,
            scale: None,
        }
    }
}

/// The data that a workload needs and that no seed changes: built once.
#[derive(Clone, Debug)]
enum Prepared {
    Silo(Keys),
    Btree(Arc<Tree>),
    Graph(Arc<Graph>),
    Synthetic(Pattern),
}

/// Constants, data, and what every policy is held against.
#[derive(Clone, Debug)]
pub struct Reference {
    machine: MachinePreset,
    memtis: MemtisPreset,
    /// The scale of all its runs.
    pub scale: Scale,
    prepared: Prepared,
    /// All in the capacity tier, with huge pages.
    pub all_capacity: Outcome,
    /// All in the fast tier.
    pub all_fast: Outcome,
    /// Base pages of the fast tier.
    pub fast_pages: u64,
    /// What of the similarity law its runs break.
    pub breaches: Vec<Breach>,
}

impl Reference {
    /// The same data and the same sizes of the tiers under other constants. Both ends stay those of
    /// before: whoever asks what a constant does to a difference needs none.
    #[must_use]
    pub fn under(&self, constants: Constants) -> Self {
        Self {
            machine: constants.machine,
            memtis: constants.memtis,
            ..self.clone()
        }
    }
}

impl Experiment {
    /// The scale that is used: by default the smallest that keeps the similarity law.
    ///
    /// # Errors
    /// No such workload, or a scale that does not suit it.
    pub fn effective_scale(&self) -> Result<Scale, ExperimentError> {
        let grain = grain(&self.workload)?;
        let scale = if let Some(scale) = self.scale {
            scale
        } else {
            let fast_bytes = footprint(&self.workload)? * self.ratio.fast_share();
            law::smallest(grain, fast_bytes, self.workload == "graph500")
        };
        Ok(scale.suits(grain)?)
    }

    /// Runs both ends and measures the footprint.
    ///
    /// # Errors
    /// No such workload, a scale that does not suit it, or a fast tier without a huge page.
    pub fn reference(&self, seed: u64) -> Result<Reference, ExperimentError> {
        self.reference_on(seed, preset::machine(), preset::memtis())
    }

    /// The same with other constants.
    ///
    /// # Errors
    /// As [`reference`](Self::reference).
    pub fn reference_on(
        &self,
        seed: u64,
        machine: MachinePreset,
        memtis: MemtisPreset,
    ) -> Result<Reference, ExperimentError> {
        let scale = self.effective_scale()?;
        let prepared = prepare(&self.workload, scale)?;
        let end =
            |pages, policy| self.trial(&machine, &prepared, scale, pages, seed, policy, false);
        let all_capacity = end(0, Box::new(AllCapacity));
        let footprint = all_capacity.setup_pages as f64;
        let fast_pages = (footprint * self.ratio.fast_share()).round() as u64;
        if fast_pages < u64::from(SUBPAGES) {
            return Err(ExperimentError::NoFastTier {
                ratio: self.ratio,
                scale,
                pages: fast_pages,
            });
        }
        let all_fast = end(u64::MAX, Box::new(AllFast));
        Ok(Reference {
            breaches: law::breaches(scale, fast_pages, &memtis),
            machine,
            memtis,
            scale,
            prepared,
            fast_pages,
            all_capacity,
            all_fast,
        })
    }

    /// Runs a policy.
    ///
    /// # Errors
    /// No such policy.
    pub fn run(
        &self,
        policy: &str,
        seed: u64,
        reference: &Reference,
    ) -> Result<Outcome, ExperimentError> {
        let run = |policy: Box<dyn Policy>| self.under(policy, seed, reference, false);
        let share = self.ratio.fast_share();
        Ok(match policy {
            "all-fast" => self.end(u64::MAX, seed, reference, Box::new(AllFast)),
            "all-capacity" => self.end(0, seed, reference, Box::new(AllCapacity)),
            "first-touch" => run(Box::new(FirstTouch)),
            "interleave" => run(Box::new(Interleave::new(share))),
            "oracle-static" => {
                let profile = self.profile(seed, reference);
                let fits = reference.fast_pages;
                let huge = run(Box::new(OracleStatic::new(&profile, fits, true)));
                let base = run(Box::new(OracleStatic::new(&profile, fits, false)));
                faster(huge, base)
            }
            "oracle-dynamic" => {
                let profile = self.profile(seed, reference);
                let fits = reference.fast_pages;
                // Never moving is one of its choices.
                let fixed = run(Box::new(OracleStatic::new(&profile, fits, true)));
                faster(run(Box::new(OracleDynamic::new(&profile, fits))), fixed)
            }
            _ => {
                let variant = Variant::parse(policy)?;
                self.run_variant(variant, seed, reference)
            }
        })
    }

    /// The measured seconds of the fastest of the oracles.
    pub fn oracle_seconds(&self, seed: u64, reference: &Reference) -> f64 {
        let profile = self.profile(seed, reference);
        let fits = reference.fast_pages;
        let oracles: [Box<dyn Policy>; 3] = [
            Box::new(OracleStatic::new(&profile, fits, true)),
            Box::new(OracleStatic::new(&profile, fits, false)),
            Box::new(OracleDynamic::new(&profile, fits)),
        ];
        let seconds = oracles.map(|oracle| self.under(oracle, seed, reference, false).seconds);
        seconds.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Runs a variant of Memtis.
    pub fn run_variant(&self, variant: Variant, seed: u64, reference: &Reference) -> Outcome {
        let setup = self.setup(reference.scale, reference.fast_pages, seed);
        let tenants = match reference.prepared {
            Prepared::Synthetic(pattern) => Synthetic::tenants(pattern),
            _ => 1,
        };
        let Variant { switches, features } = variant;
        let memtis = Memtis::new(&reference.memtis, &setup, switches, features, tenants);
        self.under(Box::new(memtis), seed, reference, false)
    }

    /// True heat, by a run that never moves a page.
    fn profile(&self, seed: u64, reference: &Reference) -> Profile {
        self.under(Box::new(FirstTouch), seed, reference, true)
            .profile
    }

    fn under(
        &self,
        policy: Box<dyn Policy>,
        seed: u64,
        reference: &Reference,
        profile: bool,
    ) -> Outcome {
        let (preset, prepared) = (&reference.machine, &reference.prepared);
        let fast_pages = reference.fast_pages;
        self.trial(
            preset,
            prepared,
            reference.scale,
            fast_pages,
            seed,
            policy,
            profile,
        )
    }

    fn end(&self, pages: u64, seed: u64, of: &Reference, policy: Box<dyn Policy>) -> Outcome {
        self.trial(
            &of.machine,
            &of.prepared,
            of.scale,
            pages,
            seed,
            policy,
            false,
        )
    }

    fn setup(&self, scale: Scale, fast_pages: u64, seed: u64) -> Setup {
        Setup {
            scale,
            grain: grain(&self.workload).unwrap_or(Grain::Record),
            capacity_tier: self.capacity_tier,
            fast_pages,
            seed,
        }
    }

    #[allow(clippy::too_many_arguments)] // the parts of a trial, assembled here only
    fn trial(
        &self,
        preset: &MachinePreset,
        prepared: &Prepared,
        scale: Scale,
        fast_pages: u64,
        seed: u64,
        policy: Box<dyn Policy>,
        profile: bool,
    ) -> Outcome {
        let trial = Trial {
            preset,
            setup: self.setup(scale, fast_pages, seed),
            application: application(prepared, scale, seed),
            policy,
            profile,
        };
        trial.run()
    }
}

fn faster(one: Outcome, other: Outcome) -> Outcome {
    if other.seconds < one.seconds {
        other
    } else {
        one
    }
}

/// The switch of a name.
///
/// # Errors
/// No such switch.
pub fn switch(name: &str) -> Result<Switch, ExperimentError> {
    let found = DIFFERENCES
        .iter()
        .find(|difference| difference.name == name);
    let found = found.ok_or_else(|| ExperimentError::Switch(name.to_owned()))?;
    Ok(found.switch)
}

fn grain(workload: &str) -> Result<Grain, ExperimentError> {
    match workload {
        "graph500" => Ok(Grain::Stream),
        "silo-paper" | "silo-ycsb" | "silo-artifact" | "btree" => Ok(Grain::Record),
        _ => match pattern(workload)? {
            Pattern::StreamOverHot => Ok(Grain::Stream),
            _ => Ok(Grain::Record),
        },
    }
}

fn pattern(workload: &str) -> Result<Pattern, ExperimentError> {
    Pattern::parse(workload).map_err(|error| match error {
        PatternError::Unknown(name) => ExperimentError::Workload(name),
        error => ExperimentError::Pattern(error),
    })
}

/// Bytes at full scale, as published (Memtis, section 6) where they are: for the default scale,
/// while the tiers' sizes follow what a run measures.
fn footprint(workload: &str) -> Result<f64, ExperimentError> {
    Ok(match workload {
        "silo-paper" | "silo-ycsb" | "silo-artifact" => 59.5e9,
        "btree" => 38.3e9,
        "graph500" => 64e9,
        _ => pattern(workload)?.footprint(),
    })
}

fn prepare(workload: &str, scale: Scale) -> Result<Prepared, ExperimentError> {
    Ok(match workload {
        "silo-paper" => Prepared::Silo(Keys::Paper),
        "silo-ycsb" => Prepared::Silo(Keys::Ycsb),
        "silo-artifact" => Prepared::Silo(Keys::Artifact),
        "btree" => Prepared::Btree(Arc::new(Tree::scaled(scale))),
        "graph500" => Prepared::Graph(Arc::new(Graph::scaled(scale))),
        _ => Prepared::Synthetic(pattern(workload)?),
    })
}

fn application(prepared: &Prepared, scale: Scale, seed: u64) -> Box<dyn Application> {
    match prepared {
        Prepared::Silo(keys) => Box::new(Silo::new(scale, *keys, seed)),
        Prepared::Btree(tree) => Box::new(Btree::new(Arc::clone(tree), scale, seed)),
        Prepared::Graph(graph) => Box::new(Graph500::new(Arc::clone(graph), seed)),
        Prepared::Synthetic(pattern) => Box::new(Synthetic::new(*pattern, scale, seed)),
    }
}
