//! Baseline: a counter of arrivals in the pool, by an atomic instruction.
//!
//! Right only where hardware keeps the pod coherent; a checker reports anything else, registries
//! refuse it. Inside one host the counter of the two-level barrier is the baseline by itself.

use fabric::{Arena, Gone, HostAtomics, Pod, Ptr, wait_until};

use super::HostBarrier;

/// One counter for all hosts.
#[derive(Clone, Debug)]
pub struct HardwareBarrier {
    arrived: Ptr<u64>,
    hosts: u64,
}

impl HostBarrier for HardwareBarrier {
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, _: u32) -> Self {
        Self {
            arrived: arena.per_host(&format!("{name}.arrived"), 1, 1)[0].start(),
            hosts: u64::from(pod.hosts),
        }
    }

    /// Cost: 1 atomic instruction, loads of one line. The first epoch on zeroed memory is 1.
    fn meet<P: HostAtomics>(&self, port: &P, _: u32, epoch: u64) -> Result<(), Gone> {
        port.fetch_add(self.arrived, 1);
        let all = self.hosts * epoch;
        wait_until(port, || {
            (port.atomic_load(self.arrived) >= all).then_some(())
        })
    }
}
