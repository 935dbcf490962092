//! Which lane runs on which CPU.

use std::io;

use fabric::Pod;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use thiserror::Error;

/// Why lanes could not be placed.
#[derive(Debug, Error)]
pub enum AffinityError {
    /// The kernel did not tell the allowed CPUs.
    #[error(
        "cannot read the CPUs of this thread (sched_getaffinity): {source}; \
             check the seccomp profile of the container"
    )]
    Read {
        /// What the kernel said.
        source: io::Error,
    },
    /// A CPU is outside the process's set.
    #[error(
        "cannot pin a lane to CPU {cpu} (sched_setaffinity): {source}; \
             it must be online and in the cpuset of this process"
    )]
    Pin {
        /// Which.
        cpu: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel agreed but did something else.
    #[error(
        "pinned to CPU {cpu}, but the kernel reports CPUs {found:?}; \
             another tool changes the affinity of this process"
    )]
    NotPinned {
        /// Asked for.
        cpu: usize,
        /// Read back.
        found: Vec<usize>,
    },
    /// One host's lanes exceed the CPUs.
    #[error(
        "{lanes} lanes a host need {lanes} CPUs, but {available} are available; \
             use --lanes {available} or fewer, or widen the cpuset"
    )]
    TooManyLanes {
        /// Lanes of one host.
        lanes: u32,
        /// CPUs there are.
        available: usize,
    },
}

/// The CPU of each lane of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pins {
    /// By lane.
    pub cpus: Vec<usize>,
    /// Whether the lanes of all hosts outnumber the CPUs, so that a spinning lane may keep the one
    /// it waits for off its core. Timings are then worth little, and records say so.
    pub oversubscribed: bool,
}

/// The CPUs that this thread may use, ascending; a cgroup's cpuset narrows them.
///
/// # Errors
/// [`AffinityError::Read`].
pub fn available_cpus() -> Result<Vec<usize>, AffinityError> {
    let set = sched_getaffinity(None).map_err(|error| AffinityError::Read {
        source: error.into(),
    })?;
    Ok(members(&set))
}

fn members(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect()
}

/// Pins the calling thread to one CPU, and reads back that it is.
///
/// # Errors
/// [`AffinityError::Pin`], [`AffinityError::NotPinned`].
pub fn pin(cpu: usize) -> Result<(), AffinityError> {
    allow(&[cpu]).map_err(|source| AffinityError::Pin { cpu, source })?;
    let found = available_cpus()?;
    if found == [cpu] {
        Ok(())
    } else {
        Err(AffinityError::NotPinned { cpu, found })
    }
}

/// Lets the calling thread run on `cpus`.
pub(crate) fn allow(cpus: &[usize]) -> io::Result<()> {
    if cpus.iter().any(|&cpu| cpu >= CpuSet::MAX_CPU) {
        return Err(io::Error::from(rustix::io::Errno::INVAL));
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Places the lanes of `host`, for a pod whose hosts all run on this machine: host after host,
/// round robin over `cpus`, so that lanes of one host never share a CPU and hosts share as late as
/// possible. First lanes of neighbouring hosts, which talk to each other, are on different CPUs
/// also where each host fills the machine. Where each host has its machine to itself, plan for a
/// pod of one host.
///
/// # Errors
/// [`AffinityError::TooManyLanes`].
pub fn plan_pins(pod: Pod, host: u32, cpus: &[usize]) -> Result<Pins, AffinityError> {
    let lanes = pod.lanes as usize;
    if lanes > cpus.len() {
        return Err(AffinityError::TooManyLanes {
            lanes: pod.lanes,
            available: cpus.len(),
        });
    }
    // A host that fills the machine starts one CPU further than the one before.
    let stride = if lanes == cpus.len() {
        lanes + 1
    } else {
        lanes
    };
    let first = host as usize * stride;
    Ok(Pins {
        cpus: (first..first + lanes)
            .map(|slot| cpus[slot % cpus.len()])
            .collect(),
        oversubscribed: pod.hosts as usize * lanes > cpus.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_a_host_never_share_and_hosts_spread() {
        let cpus = [2, 3, 5, 7];
        let pod = Pod::new(2, 2);
        let plans: Vec<_> = (0..2)
            .map(|host| plan_pins(pod, host, &cpus).unwrap())
            .collect();
        assert_eq!(
            plans[0],
            Pins {
                cpus: vec![2, 3],
                oversubscribed: false
            }
        );
        assert_eq!(
            plans[1],
            Pins {
                cpus: vec![5, 7],
                oversubscribed: false
            }
        );

        let crowded = plan_pins(Pod::new(3, 3), 1, &cpus).unwrap();
        assert_eq!(
            crowded,
            Pins {
                cpus: vec![7, 2, 3],
                oversubscribed: true
            }
        );
    }

    #[test]
    fn first_lanes_of_neighbours_are_apart_and_lanes_never_share() {
        for cpus in 2..9 {
            let available: Vec<_> = (0..cpus).collect();
            for lanes in 1..=cpus {
                let pod = Pod::new(7, lanes as u32);
                let pins = |host| plan_pins(pod, host, &available).unwrap().cpus;
                for host in 0..6 {
                    let mut own = pins(host);
                    assert_ne!(own[0], pins(host + 1)[0], "{lanes} lanes on {cpus} CPUs");
                    own.sort_unstable();
                    own.dedup();
                    assert_eq!(own.len(), lanes, "{lanes} lanes on {cpus} CPUs");
                }
            }
        }
    }

    #[test]
    fn more_lanes_than_cpus_are_refused_with_the_number_that_fits() {
        let refused = plan_pins(Pod::new(1, 5), 0, &[0, 1]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "5 lanes a host need 5 CPUs, but 2 are available; use --lanes 2 or fewer, \
             or widen the cpuset"
        );
    }

    #[test]
    fn a_pinned_thread_runs_where_it_was_told() {
        let cpus = available_cpus().unwrap();
        let last = *cpus.last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(available_cpus().unwrap(), [last]);
            assert_eq!(rustix::thread::sched_getcpu(), last);
        })
        .join()
        .unwrap();
        assert_eq!(available_cpus().unwrap(), cpus);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let refused = pin(CpuSet::MAX_CPU + 1).unwrap_err();
        assert!(refused.to_string().contains("CPU 1025"), "{refused}");
    }
}
