//! What decides: four entry points, and a mechanism that charges for every decision.

mod bounds;
mod oracle;

pub mod memtis;

pub use bounds::{AllCapacity, AllFast, FirstTouch, Interleave};
pub use oracle::{OracleDynamic, OracleStatic, Profile};

use crate::machine::{Daemon, Mechanism, Page, Sample, Tier};

/// A page that is touched for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// By which thread.
    pub thread: usize,
    /// The base page.
    pub vpn: u32,
    /// Whether a huge page may be mapped: the area is aligned for it and nothing of it is mapped.
    pub may_be_huge: bool,
}

/// Where a new page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The tier; the fast tier only if there is room, else capacity.
    pub tier: Tier,
    /// Whether to map a huge page where that is possible.
    pub huge: bool,
}

/// A clock that a policy set, or an event of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// The sampler's daemon wakes.
    Drain,
    /// The sampler's daemon checks what it costs.
    CpuCheck,
    /// A daemon that moves pages wakes.
    Wake(Daemon),
    /// A quantum ended: daemons that were given more than fits into one go on.
    Resume,
    /// The application begins this part of its measured phase, of [`Profile::EPOCHS`].
    Epoch(usize),
}

/// What a policy shows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Pages in this bin and above are hot.
    pub hot_threshold: u32,
    /// Pages in this bin and above are not demoted unless space is needed.
    pub warm_threshold: u32,
    /// The hot threshold if all pages were base pages.
    pub base_threshold: u32,
    /// Base pages by bin.
    pub histogram: [u64; 16],
    /// Coolings so far.
    pub coolings: u64,
    /// The share of samples that the fast tier would have served with base pages only, as
    /// estimated at the last cooling.
    pub estimated_ehr: Option<f64>,
    /// The share of samples that it served, at the last cooling.
    pub sampled_rhr: Option<f64>,
    /// Whether splitting was switched off for ever.
    pub splitting_off: bool,
}

/// A policy. It sees the machine through [`Mechanism`], and whatever it does there is charged.
pub trait Policy {
    /// The clocks that it wants, with their periods in picoseconds.
    fn clocks(&self) -> Vec<(Tick, u64)> {
        Vec::new()
    }

    /// Before anything is mapped.
    fn start(&mut self, _machine: &mut Mechanism) {}

    /// A page is touched for the first time. It is mapped where the answer says.
    fn on_fault(&mut self, fault: Fault, machine: &mut Mechanism) -> Placement;

    /// The page was mapped at first touch; where and how large may differ from what was asked.
    fn on_mapped(&mut self, _page: Page, _machine: &mut Mechanism) {}

    /// A protected page was touched by a thread.
    fn on_hint_fault(&mut self, _page: Page, _thread: usize, _machine: &mut Mechanism) {}

    /// A record of the sampler.
    fn on_sample(&mut self, _sample: Sample, _machine: &mut Mechanism) {}

    /// A clock, or an event of the run.
    fn on_tick(&mut self, _tick: Tick, _machine: &mut Mechanism) {}

    /// The application freed a page. Nothing to decide: what was noted of it is void.
    fn on_release(&mut self, _page: Page, _tier: Tier, _machine: &mut Mechanism) {}

    /// What it shows of itself.
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}
