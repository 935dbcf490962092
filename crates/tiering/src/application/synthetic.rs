//! Synthetic patterns: each isolates one thing that a policy can get wrong.

use thiserror::Error;

use super::{Application, Phase, Step};
use crate::machine::Area;
use crate::random::{Random, mix};
use crate::scale::{Grain, SUBPAGES, Scale};
use crate::world::Lane;

const THREADS: usize = 20;

/// Bytes of most patterns at full scale: between the 12 GB and the 65 GB of the applications.
const FULL_BYTES: f64 = 32e9;

/// Operations at full scale: 600 s of 20 threads that miss to a slow memory each time.
const FULL_OPERATIONS: f64 = 4e10;

/// The latency that this assumes.
const SLOW_SECONDS: f64 = 300e-9;

/// Seconds at full scale between two jumps of a hot set, and between two allocations of scratch
/// memory: a few coolings, and less than one.
const FLIP_SECONDS: f64 = 200.0;
const CHURN_SECONDS: f64 = 5.0;

/// Assumption: instructions of an operation.
const WORK_NS: f64 = 20.0;

/// A pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Updates of 72 GB at random, 90 % of them in 24 GB (Vuppalapati and Agarwal, "Tiered memory
    /// management: access latency is the key", SOSP 2024).
    GupsHot,
    /// 1 GB receives 95 %: more than that need never move (what `ArtMem` holds against Memtis).
    OneHot,
    /// A tenth receives 90 %, and is another tenth every 200 s.
    PhaseFlip,
    /// So many percent of each huge page's subpages receive 95 %.
    SkewInHuge(u32),
    /// So many percent of each huge page are never written, the rest is read uniformly.
    ZeroBloat(u32),
    /// A hot tenth, and scratch memory that is allocated, written and freed every 5 s.
    AllocChurn,
    /// One tenth is hot by loads, another by stores.
    StoreHeavy,
    /// A hot tenth, and half of all accesses stream over the rest.
    StreamOverHot,
    /// Two tenants: one with a hot tenth, one uniform.
    TwoTenants,
    /// `GupsHot` while another program takes so many percent of the fast tier's bandwidth.
    Antagonist(u32),
}

/// A synthetic workload's name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// No such pattern.
    #[error("no synthetic workload {0:?}; `dsmark tier list` names them")]
    Unknown(String),
    /// A number that is none, or none that can be.
    #[error("workload {name:?}: write {word}:PERCENT with a whole number from 1 to {most}")]
    Percent {
        /// As typed.
        name: String,
        /// The pattern.
        word: &'static str,
        /// The greatest percentage.
        most: u32,
    },
    /// A number where there is none to set.
    #[error("workload {name:?}: {word} takes no number; write {word}")]
    Numberless {
        /// As typed.
        name: String,
        /// The pattern.
        word: String,
    },
}

/// Patterns with a percentage: its name, its default, its greatest value. A page of nothing but
/// zeros holds nothing to read; beyond 95 % of a memory's bandwidth a queue has no bound to speak
/// of, so that waiting, not the policy, would be measured.
type Percentage = (&'static str, u32, u32, fn(u32) -> Pattern);
const PERCENTAGES: [Percentage; 3] = [
    ("skew-in-huge", 10, 100, Pattern::SkewInHuge),
    ("zero-bloat", 75, 99, Pattern::ZeroBloat),
    ("bw-antagonist", 50, 95, Pattern::Antagonist),
];

impl Pattern {
    /// By name, such as `skew-in-huge:10`.
    ///
    /// # Errors
    /// No such pattern, or a number that it cannot have.
    pub fn parse(name: &str) -> Result<Self, PatternError> {
        let (word, number) = match name.split_once(':') {
            Some((word, number)) => (word, Some(number)),
            None => (name, None),
        };
        if let Some(&(word, default, most, of)) = PERCENTAGES.iter().find(|(w, ..)| *w == word) {
            let Some(number) = number else {
                return Ok(of(default));
            };
            let percent = number.parse().ok().filter(|n| (1..=most).contains(n));
            let name = name.to_owned();
            return percent
                .map(of)
                .ok_or(PatternError::Percent { name, word, most });
        }
        let plain = match word {
            "gups-hot" => Self::GupsHot,
            "s1-onehot" => Self::OneHot,
            "phase-flip" => Self::PhaseFlip,
            "alloc-churn" => Self::AllocChurn,
            "store-heavy" => Self::StoreHeavy,
            "stream-over-hot" => Self::StreamOverHot,
            "multi-tenant" => Self::TwoTenants,
            _ => return Err(PatternError::Unknown(name.to_owned())),
        };
        match number {
            None => Ok(plain),
            Some(_) => Err(PatternError::Numberless {
                name: name.to_owned(),
                word: word.to_owned(),
            }),
        }
    }

    /// Bytes at full scale.
    pub fn footprint(self) -> f64 {
        let tenants = Synthetic::tenants(self) as f64;
        tenants * self.full_bytes()
    }

    fn full_bytes(self) -> f64 {
        match self {
            Self::GupsHot | Self::Antagonist(_) => 72e9,
            _ => FULL_BYTES,
        }
    }

    /// The share of memory that is hot, and of accesses that go there.
    fn hot(self) -> (f64, f64) {
        match self {
            Self::GupsHot | Self::Antagonist(_) => (24.0 / 72.0, 0.9),
            Self::OneHot => (1e9 / FULL_BYTES, 0.95),
            Self::SkewInHuge(percent) => (f64::from(percent) / 100.0, 0.95),
            Self::ZeroBloat(percent) => (1.0 - f64::from(percent) / 100.0, 1.0),
            Self::StreamOverHot => (0.1, 0.5),
            _ => (0.1, 0.9),
        }
    }
}

/// The application.
#[derive(Clone, Debug)]
pub struct Synthetic {
    pattern: Pattern,
    scale: Scale,
    grain: Grain,
    random: Vec<Random>,
    regions: u64,
    area: Area,
    second: Area,
    scratch: Option<Area>,
    touched: Vec<u64>,
    streams: Vec<u64>,
    left: Vec<u64>,
    operations: u64,
    phase: Phase,
}

const NOWHERE: Area = Area { start: 0, bytes: 0 };

impl Synthetic {
    /// Scaled.
    pub fn new(pattern: Pattern, scale: Scale, seed: u64) -> Self {
        let pages = scale.pages(pattern.full_bytes());
        let operations = scale.operations(FULL_OPERATIONS) / THREADS as u64;
        Self {
            pattern,
            scale,
            grain: match pattern {
                Pattern::StreamOverHot => Grain::Stream,
                _ => Grain::Record,
            },
            random: (0..THREADS as u64)
                .map(|thread| Random::new(seed, 100 + thread))
                .collect(),
            regions: pages.div_ceil(u64::from(SUBPAGES)).max(20),
            area: NOWHERE,
            second: NOWHERE,
            scratch: None,
            touched: vec![0; THREADS],
            streams: vec![0; THREADS],
            left: vec![operations; THREADS],
            operations: operations * THREADS as u64,
            phase: Phase::End,
        }
    }

    /// Tenants of the fast tier.
    pub fn tenants(pattern: Pattern) -> usize {
        if pattern == Pattern::TwoTenants { 2 } else { 1 }
    }

    fn touch(&mut self, lane: &mut Lane<'_>) -> Step {
        let thread = lane.thread();
        let pages = self.regions * u64::from(SUBPAGES);
        let page = self.touched[thread] * THREADS as u64 + thread as u64;
        if page >= pages {
            return Step::Wait;
        }
        self.touched[thread] += 1;
        let offset = page * lane.page_bytes();
        if let Pattern::ZeroBloat(percent) = self.pattern
            && page % u64::from(SUBPAGES) * 100 >= u64::from(SUBPAGES) * u64::from(100 - percent)
        {
            lane.place(self.area.at(offset), 0);
            return Step::Operated;
        }
        lane.place(self.area.at(offset), 1);
        if self.pattern == Pattern::TwoTenants {
            lane.place(self.second.at(offset), 1);
        }
        Step::Operated
    }

    /// A page number: hot or not, by the pattern.
    fn page(&self, random: &mut Random) -> u64 {
        let (share, heat) = self.pattern.hot();
        let subpages = u64::from(SUBPAGES);
        let pages = self.regions * subpages;
        let is_hot = random.unit() < heat;
        match self.pattern {
            Pattern::SkewInHuge(_) | Pattern::ZeroBloat(_) => {
                let hot = ((subpages as f64 * share).round() as u64).clamp(1, subpages);
                let index = if is_hot {
                    random.below(hot)
                } else {
                    random.below(subpages)
                };
                let region = random.below(self.regions);
                let spread = match self.pattern {
                    // Hot subpages anywhere, but distinct: an odd step.
                    Pattern::SkewInHuge(_) => mix(region) | 1,
                    _ => 1,
                };
                region * subpages + index.wrapping_mul(spread) % subpages
            }
            _ => {
                let hot = (pages as f64 * share) as u64;
                let first = match self.pattern {
                    Pattern::PhaseFlip => self.flips() * hot % (pages - hot),
                    _ => pages / 3,
                };
                if is_hot {
                    first + random.below(hot.max(1))
                } else {
                    random.below(pages)
                }
            }
        }
    }

    /// Jumps so far.
    fn flips(&self) -> u64 {
        // By progress rather than by time, so that every policy sees the same work.
        let seconds_in_all = FULL_OPERATIONS / THREADS as f64 * SLOW_SECONDS;
        (self.progress() * seconds_in_all / FLIP_SECONDS) as u64
    }

    fn operation(&mut self, lane: &mut Lane<'_>) -> Step {
        let thread = lane.thread();
        if self.left[thread] == 0 {
            return Step::Wait;
        }
        self.left[thread] -= 1;
        lane.work(WORK_NS);
        let mut random = self.random[thread].clone();
        let page = self.page(&mut random);
        let within = random.below(lane.page_bytes()) & !7;
        let address = self.area.at(page * lane.page_bytes() + within);
        match self.pattern {
            Pattern::GupsHot | Pattern::Antagonist(_) => {
                lane.gather(address);
                lane.store(address, 1);
            }
            Pattern::StoreHeavy if random.unit() < 0.5 => {
                // The other hot tenth is 30 % of the memory further on.
                let shifted =
                    (address - self.area.start + self.area.bytes / 10 * 3) % self.area.bytes;
                lane.store(self.area.at(shifted & !7), 1);
            }
            Pattern::StreamOverHot => {
                lane.chase(address);
                self.stream(lane);
            }
            Pattern::TwoTenants if random.unit() < 0.5 => {
                let uniform = random.below(self.second.bytes) & !7;
                lane.chase(self.second.at(uniform));
            }
            _ => lane.chase(address),
        }
        self.random[thread] = random;
        if self.pattern == Pattern::AllocChurn && thread == 0 {
            self.churn(lane);
        }
        Step::Operated
    }

    /// The next four words of a thread's share of the memory.
    fn stream(&mut self, lane: &mut Lane<'_>) {
        let thread = lane.thread();
        let share = (self.area.bytes / THREADS as u64) & !63;
        for _ in 0..4 {
            let at = self.streams[thread];
            self.streams[thread] = (at + 8) % share;
            lane.gather(self.area.at(thread as u64 * share + at));
        }
    }

    /// Frees scratch memory and allocates it anew, an eighth of all, once in a while.
    fn churn(&mut self, lane: &mut Lane<'_>) {
        let every = (CHURN_SECONDS / SLOW_SECONDS) as u64 / u64::from(self.scale.size());
        if !self.left[0].is_multiple_of(every.max(1)) {
            return;
        }
        if let Some(old) = self.scratch.take() {
            lane.unmap(old);
        }
        let fresh = lane.map(self.area.bytes / 8, true);
        for offset in (0..fresh.bytes).step_by(lane.page_bytes() as usize) {
            lane.place(fresh.at(offset), 1);
        }
        self.scratch = Some(fresh);
    }
}

impl Application for Synthetic {
    fn grain(&self) -> Grain {
        self.grain
    }

    fn layout(&mut self, lane: &mut Lane<'_>) {
        let bytes = self.regions * u64::from(SUBPAGES) * lane.page_bytes();
        self.area = lane.map_for(0, bytes, true);
        if self.pattern == Pattern::TwoTenants {
            self.second = lane.map_for(1, bytes, true);
        }
    }

    fn operate(&mut self, lane: &mut Lane<'_>) -> Step {
        match self.phase {
            Phase::Setup => self.touch(lane),
            _ => self.operation(lane),
        }
    }

    fn next_phase(&mut self) -> Phase {
        self.phase = match self.phase {
            Phase::End if self.touched[0] == 0 => Phase::Setup,
            Phase::Setup => Phase::Measured,
            _ => Phase::End,
        };
        self.phase
    }

    fn progress(&self) -> f64 {
        1.0 - self.left.iter().sum::<u64>() as f64 / self.operations as f64
    }

    fn antagonist_share(&self) -> f64 {
        match self.pattern {
            Pattern::Antagonist(percent) => f64::from(percent) / 100.0,
            _ => 0.0,
        }
    }
}
