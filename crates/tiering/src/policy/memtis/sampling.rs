//! How often to sample: the daemon keeps its own use of a core near 3 %.

use super::Memtis;
use super::switches::Switch;
use crate::machine::{Daemon, Mechanism, Periods};

/// CPUs that the kernel reads: a constant of its source.
const CODED_CPUS: usize = 20;

/// The controller's state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Controller {
    load: usize,
    store: usize,
    busy_before: u64,
    average: Option<f64>,
}

impl Memtis {
    pub(super) fn start_sampling(&self, machine: &mut Mechanism) {
        machine.sample_every(self.periods());
    }

    fn periods(&self) -> Periods {
        Periods {
            load: Some(self.constants.load_periods[self.controller.load]),
            store: Some(self.constants.store_periods[self.controller.store]),
        }
    }

    /// Reads the rings and classifies every record.
    pub(super) fn drain(&mut self, machine: &mut Mechanism) {
        let mut samples = std::mem::take(&mut self.samples);
        let cpus = if self.switches.has(Switch::TwentyCpus) {
            CODED_CPUS
        } else {
            usize::MAX
        };
        machine.drain(&mut samples, self.constants.ring_shares, cpus);
        for &sample in &samples {
            self.account(sample, machine);
        }
        samples.clear();
        self.samples = samples;
    }

    /// Steps both periods if the daemon used too much or too little of its core. Each list ends
    /// by itself, so that the short one of stores is out of step after its end.
    pub(super) fn check_cpu(&mut self, machine: &mut Mechanism) {
        let busy = machine.busy(Daemon::Sampler);
        let since = busy - std::mem::replace(&mut self.controller.busy_before, busy);
        let now = since as f64 / self.constants.cpu_check_ps as f64;
        let weight = self.constants.cpu_average_weight;
        let share = match self.controller.average {
            Some(average) if !self.switches.has(Switch::RawCpuShare) => {
                average + weight * (now - average)
            }
            _ => now,
        };
        self.controller.average = Some(share);
        let (quota, slack) = (self.constants.cpu_quota, self.constants.cpu_hysteresis);
        let step = |index: usize, list: &[u64]| {
            if share > quota + slack {
                (index + 1).min(list.len() - 1)
            } else if share < quota - slack {
                index.saturating_sub(1)
            } else {
                index
            }
        };
        self.controller.load = step(self.controller.load, &self.constants.load_periods);
        self.controller.store = step(self.controller.store, &self.constants.store_periods);
        machine.sample_every(self.periods());
    }

    /// How many accesses a sample counts for.
    pub(super) fn accesses_of(&self, store: bool) -> u32 {
        if !store || self.switches.has(Switch::EqualStores) {
            return 1;
        }
        let periods = self.periods();
        let ratio = periods.store.unwrap_or(1) / periods.load.unwrap_or(1);
        ratio.max(1) as u32
    }
}
