//! Loops whose machine code `tests/disassembly.rs` reads: what a workload's hot loop becomes.
//!
//! Each function is generic over the port, as workloads are, and reaches it through a worker-like
//! structure: a port behind a second reference is the harder case for the compiler.

#![forbid(unsafe_code)]

use std::hint::black_box;

use fabric::{
    Arena, Discipline, HostAtomics, Lines, NoWatch, ObserveBy, Pod, Port, Program, PublishBy, Seat,
    Setting, Slice, Substrate, View,
};
use native::{Host, Region, Request, TscClock, available_cpus, plan_pins};
use sync::{Barrier, BarrierLayout};

/// What a workload gets: its port behind a reference.
struct Worker<'a, P> {
    port: &'a P,
}

/// Follows `hops` links, each the index of the next.
#[inline(never)]
fn hot_chase<P: Port>(worker: &Worker<'_, P>, links: Slice<u64>, hops: u64) -> u64 {
    let mut at = 0;
    let mut left = hops;
    while left != 0 {
        at = worker.port.load(links.at(at as usize));
        left -= 1;
    }
    at
}

/// Publishes a number of lines known at run time only.
#[inline(never)]
fn hot_publish<P: Port>(worker: &Worker<'_, P>, lines: Lines) {
    worker.port.publish(lines);
}

/// Observes a number of lines known at run time only.
#[inline(never)]
fn hot_observe<P: Port>(worker: &Worker<'_, P>, lines: Lines) {
    worker.port.observe(lines);
}

/// Message passing as hardware-coherent pods allow it: the order is the ports' promise alone.
#[inline(never)]
fn hot_message<P: Port>(worker: &Worker<'_, P>, slots: Slice<u64>, value: u64) -> [u64; 2] {
    worker.port.store(slots.at(2), value);
    worker.port.store(slots.at(0), value);
    worker.port.store(slots.at(1), value);
    [worker.port.load(slots.at(4)), worker.port.load(slots.at(3))]
}

/// Adds up a frozen range.
#[inline(never)]
fn hot_scan<V: View<u64> + Copy>(view: V) -> u64 {
    let mut sum = 0u64;
    for index in 0..view.len() {
        sum = sum.wrapping_add(view.get(index));
    }
    sum
}

struct HotPaths {
    links: Slice<u64>,
}

impl Program for HotPaths {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> u64 {
        let worker = Worker { port };
        for index in 0..self.links.len() {
            // A ring, so that the chase goes round.
            let next = (index + 1) % self.links.len();
            port.store(self.links.at(index), next as u64);
        }
        // Through pointers that the optimizer cannot see through: it may not fit a function to its
        // one caller, as a workload's would not be.
        let publish: fn(&Worker<'_, P>, Lines) = black_box(hot_publish);
        let observe: fn(&Worker<'_, P>, Lines) = black_box(hot_observe);
        publish(&worker, self.links.lines());
        observe(&worker, self.links.lines());
        let (pod, seat) = (Pod::new(1, 1), Seat { host: 0, lane: 0 });
        let layout = BarrierLayout::lay_out(&mut Arena::new(), "hot_paths.barrier", pod);
        let barrier = Barrier::new(&layout, pod, seat, 0);
        let contract = workload::Worker::new(port, pod, seat, &barrier, 0, 0);
        let frozen = contract
            .freeze(self.links, self.links)
            .expect("one lane waits for nobody");
        let view = port.view(frozen);
        black_box(hot_scan(black_box(view)));
        let chase: fn(&Worker<'_, P>, Slice<u64>, u64) -> u64 = black_box(hot_chase);
        let message: fn(&Worker<'_, P>, Slice<u64>, u64) -> [u64; 2] = black_box(hot_message);
        let end = chase(&worker, self.links, 1000);
        black_box(message(&worker, self.links, end));
        end
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arena = Arena::new();
    let links = arena.slice("hot_paths.links", 64);
    let memfd = rustix::fs::memfd_create("hot-paths", rustix::fs::MemfdFlags::empty())?;
    rustix::fs::ftruncate(&memfd, arena.region_bytes().next_multiple_of(4096))?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memfd));
    let region = Region::open(&Request::new(path, arena.region_bytes(), 0))?;
    let pod = Pod::new(1, 1);
    let pins = plan_pins(pod, 0, &available_cpus()?)?;
    let host = Host::new(&region, 0, pins, TscClock::calibrate()?.clock(true));
    // By the arguments, so that no method is folded away.
    let publish = std::env::args()
        .nth(1)
        .map_or(Ok(PublishBy::None), |name| name.parse())?;
    let discipline = Discipline {
        publish,
        observe: ObserveBy::None,
    };
    host.supports(discipline)?;
    let setting = Setting {
        pod,
        discipline,
        host_bytes: 0,
    };
    let ends = host.run(&setting, &NoWatch, &HotPaths { links });
    assert_eq!(ends[0].1, 1000 % 64);
    Ok(())
}
