//! One host of a pod as a substrate: this process, its region, a pinned thread a lane.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use fabric::{
    Clock, Coherence, Counted, Discipline, Program, Seat, Setting, Substrate, Ticks, Watch,
};

use crate::affinity::{self, Pins, available_cpus, pin};
use crate::counters::{Counters, Event, Reading};
use crate::cpu::{Cpu, Unsupported};
use crate::instr;
use crate::port::{Common, Deadline, Ending, HostMemory, NativePort, Spin};
use crate::region::Region;

/// Runs programs on one host's lanes. The other hosts are other processes, here or on other
/// machines, that run the same program on the same region.
#[derive(Debug)]
pub struct Host<'r> {
    region: &'r Region,
    id: u32,
    seating: Mutex<Seating>,
    cpu: Cpu,
    deadline: Option<Duration>,
    counted: Mutex<Vec<Counted>>,
    coherence: Option<Coherence>,
}

/// Where lanes run, and by which clock.
#[derive(Clone, Debug)]
struct Seating {
    pins: Pins,
    clock: Clock,
}

impl<'r> Host<'r> {
    /// Host `id` of the pod, on a region opened for it.
    pub fn new(region: &'r Region, id: u32, pins: Pins, clock: Clock) -> Self {
        let cpu = Cpu::detect();
        Self {
            region,
            id,
            seating: Mutex::new(Seating { pins, clock }),
            cpu,
            deadline: None,
            counted: Mutex::default(),
            coherence: None,
        }
    }

    /// Limits each run: a lane that still waits then gets `Gone::Deadline` from its `pause`.
    pub fn set_deadline(&mut self, deadline: Option<Duration>) {
        self.deadline = deadline;
    }

    /// Says whether hardware keeps hosts coherent. Unsaid, it follows the discipline: a trial that
    /// needs none has coherent hardware, or one host.
    pub fn set_coherence(&mut self, coherence: Coherence) {
        self.coherence = Some(coherence);
    }

    /// Whether this host's CPU can follow a discipline; asked before a trial, because
    /// [`run`](Substrate::run) asserts it.
    ///
    /// # Errors
    /// [`Unsupported`] names what is missing and what there is.
    pub fn supports(&self, discipline: Discipline) -> Result<(), Unsupported> {
        self.cpu.supports(discipline)
    }

    /// Whether lanes outnumber CPUs, for records.
    pub fn oversubscribed(&self) -> bool {
        self.seating().pins.oversubscribed
    }

    /// Places lanes anew from the next run on: a host that was started apart learns only from the
    /// others whether they share its machine.
    pub fn place(&self, pins: Pins) {
        self.seating().pins = pins;
    }

    /// Another word on what this host's readings are worth elsewhere, from the next run on.
    pub fn set_clock(&self, clock: Clock) {
        self.seating().clock = clock;
    }

    fn seating(&self) -> MutexGuard<'_, Seating> {
        self.seating.lock().expect("nothing panics under it")
    }

    fn ending(&self, clock: Clock) -> Ending {
        let deadline = self.deadline.map(|limit| {
            let ticks = limit.as_nanos() as f64 * clock.ticks_per_ns;
            let at = Ticks(instr::rdtscp().saturating_add(ticks as u64));
            Deadline {
                at,
                after_ms: limit.as_millis() as u64,
            }
        });
        Ending {
            deadline,
            ..Ending::default()
        }
    }

    /// Runs one lane on the calling thread, pinned.
    fn lane<G: Program, W: Watch>(
        &self,
        common: &Common<'_>,
        pins: &Pins,
        lane: u32,
        watch: &W,
        program: &G,
    ) -> Result<G::Out, String> {
        let seat = Seat {
            host: self.id,
            lane,
        };
        let run = || {
            if let Err(error) = pin(pins.cpus[lane as usize]) {
                panic!("{error}");
            }
            let spin = Spin::new(pins.oversubscribed);
            let mut counters = Counters::open();
            counters.start();
            let out = program.lane(seat, &NativePort::new(common, seat, watch, &spin));
            self.keep(seat, counters.stop());
            out
        };
        // Caught, so that lanes that wait for this one learn of it instead of their deadline. What
        // a panic may leave half-done is lane-local, or in the region, which the next trial clears.
        catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
            common.ending.lane_panicked.store(true, Ordering::Relaxed);
            format!(
                "host {} lane {lane} panicked: {}",
                self.id,
                message(payload.as_ref())
            )
        })
    }
}

impl Host<'_> {
    fn keep(&self, seat: Seat, readings: Vec<(Event, Result<Reading, String>)>) {
        let counted = readings.into_iter().map(|(event, reading)| Counted {
            seat,
            event: event.name(),
            count: reading.map(|reading| reading.count),
        });
        self.counts().extend(counted);
    }

    fn counts(&self) -> MutexGuard<'_, Vec<Counted>> {
        self.counted.lock().expect("nothing panics under it")
    }
}

impl Substrate for Host<'_> {
    fn counted(&self) -> Vec<Counted> {
        self.counts().clone()
    }

    /// Lane 0 runs on the calling thread, whose affinity is restored afterwards.
    ///
    /// # Panics
    /// If a lane panics: with its seat and message. If the pod's lanes are not those that were
    /// placed, or the CPU does not support the discipline: see [`Host::supports`].
    fn run<G: Program, W: Watch>(
        &self,
        setting: &Setting,
        watch: &W,
        program: &G,
    ) -> Vec<(Seat, G::Out)> {
        let lanes = setting.pod.lanes;
        let Seating { pins, clock } = self.seating().clone();
        assert_eq!(
            pins.cpus.len(),
            lanes as usize,
            "lanes placed, and lanes of the pod"
        );
        if let Err(error) = self.supports(setting.discipline) {
            panic!("{error}");
        }
        self.counts().clear();
        let shared = HostMemory::zeroed(setting.host_bytes);
        let ending = self.ending(clock);
        let common = Common {
            region: self.region,
            shared: &shared,
            ending: &ending,
            discipline: setting.discipline,
            coherence: self
                .coherence
                .unwrap_or_else(|| implied(setting.discipline)),
            clock,
            cpu: self.cpu,
        };
        let (common, pins) = (&common, &pins);
        let _restored = Affinity::of_this_thread();
        let outcomes: Vec<Result<G::Out, String>> = thread::scope(|scope| {
            let others: Vec<_> = (1..lanes)
                .map(|lane| scope.spawn(move || self.lane(common, pins, lane, watch, program)))
                .collect();
            let first = self.lane(common, pins, 0, watch, program);
            let joined = others.into_iter().map(|lane| {
                lane.join()
                    .expect("panics of a lane are caught inside its thread")
            });
            std::iter::once(first).chain(joined).collect()
        });
        let seat = |lane| Seat {
            host: self.id,
            lane,
        };
        let brought = |(lane, outcome): (u32, Result<G::Out, String>)| match outcome {
            Ok(out) => (seat(lane), out),
            Err(what) => panic!("{what}"),
        };
        (0..lanes).zip(outcomes).map(brought).collect()
    }
}

fn implied(discipline: Discipline) -> Coherence {
    if discipline == Discipline::NONE {
        Coherence::Hardware
    } else {
        Coherence::Software
    }
}

/// What a panic said.
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// The calling thread's CPUs, given back when a run is over: the next plan would else see the one
/// CPU that lane 0 was pinned to as all there is.
struct Affinity(Option<Vec<usize>>);

impl Affinity {
    fn of_this_thread() -> Self {
        Self(available_cpus().ok())
    }
}

impl Drop for Affinity {
    fn drop(&mut self) {
        if let Some(cpus) = &self.0 {
            // They were this thread's before; if the cpuset shrank meanwhile, the kernel has moved
            // the thread already.
            drop(affinity::allow(cpus));
        }
    }
}
