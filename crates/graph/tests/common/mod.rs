//! Running a program on every lane of a small pod, on either substrate.

#![allow(
    dead_code,
    reason = "not every test that shares this module runs on both"
)]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread;

use fabric::{Arena, Coherence, Discipline, NoWatch, Pod, Program, Setting, Substrate};
use native::{Host, Pins, Region, Request, TscClock, available_cpus, plan_pins};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use sim::{Sim, pod};

fn setting(pod: Pod, arena: &Arena) -> Setting {
    let alone = pod.hosts == 1;
    Setting {
        pod,
        discipline: if alone {
            Discipline::NONE
        } else {
            Discipline::DEFAULT
        },
        host_bytes: arena.host_bytes(),
    }
}

/// On the simulated pod of the paper.
pub(crate) fn on_sim<G: Program>(pod: Pod, arena: &Arena, program: &G) -> Vec<G::Out> {
    let file = pod::load("sc26-four-host").unwrap();
    let sim = Sim::new(file, pod).stall_limit_ms(1000);
    let outs = sim.run(&setting(pod, arena), &NoWatch, program);
    outs.into_iter().map(|(_, out)| out).collect()
}

/// On memory of this machine: each host is a thread with a mapping of its own.
pub(crate) fn on_native<G: Program>(pod: Pod, arena: &Arena, program: &G) -> Vec<G::Out> {
    let memfd = Memfd::new(arena.region_bytes().next_multiple_of(4096));
    let setting = setting(pod, arena);
    let clock = TscClock::calibrate().unwrap().clock(true);
    let (memfd, setting) = (&memfd, &setting);
    thread::scope(|scope| {
        let host = |id| {
            move || {
                let region = Region::open(&Request::new(memfd.path(), 0, id)).unwrap();
                let mut host = Host::new(&region, id, pins(pod, id), clock);
                if pod.hosts > 1 {
                    host.set_coherence(Coherence::Software);
                }
                let outs = host.run(setting, &NoWatch, program);
                outs.into_iter().map(|(_, out)| out).collect::<Vec<_>>()
            }
        };
        let hosts: Vec<_> = (0..pod.hosts).map(|id| scope.spawn(host(id))).collect();
        let outs = hosts.into_iter().flat_map(|host| host.join().unwrap());
        outs.collect()
    })
}

/// CPUs for the lanes of a host, shared where the machine has fewer.
fn pins(pod: Pod, host: u32) -> Pins {
    let cpus = available_cpus().unwrap();
    plan_pins(pod, host, &cpus).unwrap_or_else(|_| Pins {
        cpus: (0..pod.lanes)
            .map(|lane| cpus[(host * pod.lanes + lane) as usize % cpus.len()])
            .collect(),
        oversubscribed: true,
    })
}

/// A memfd of some size, kept open so that its path stays valid.
struct Memfd(OwnedFd);

impl Memfd {
    fn new(bytes: u64) -> Self {
        let fd = memfd_create("graph-test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&fd, bytes).unwrap();
        Self(fd)
    }

    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}
