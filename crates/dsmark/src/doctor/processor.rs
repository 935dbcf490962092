//! The processor: cache instructions, the time-stamp counter, hardware threads.

use super::finding::{Finding, Status};
use super::{Scene, tree::Read};

/// What only running instructions tells.
#[derive(Clone, Debug)]
// Only an x86-64 processor is ever described.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) struct Processor {
    /// Every cache instruction with whether this CPU has it.
    pub(crate) instructions: Vec<(&'static str, bool)>,
    /// The calibrated time-stamp counter, or why it is no clock.
    pub(crate) clock: Read<String>,
}

impl Processor {
    /// The one that this runs on.
    #[cfg(target_arch = "x86_64")]
    #[allow(clippy::unnecessary_wraps)] // other architectures have none
    pub(crate) fn here() -> Option<Self> {
        use native::Feature;

        let cpu = native::Cpu::detect();
        let asked = [
            Feature::ClFlush,
            Feature::ClFlushOpt,
            Feature::Clwb,
            Feature::Movdir64b,
        ];
        let mut instructions = asked.map(|it| (it.name(), cpu.has(it))).to_vec();
        // SSE2, which every CPU of this architecture has.
        instructions.push(("movnti", true));
        let clock = native::TscClock::calibrate();
        Some(Self {
            instructions,
            clock: clock.map_err(|why| why.to_string()).map(|clock| {
                format!(
                    "{:.4} ticks a ns (within {:.0} ppm), a reading takes {} ticks; its rate is \
                     vouched for by {}",
                    clock.ticks_per_ns, clock.error_ppm, clock.read_overhead.0, clock.vouched_by
                )
            }),
        })
    }

    /// Where the native substrate does not exist.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn here() -> Option<Self> {
        None
    }
}

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    let mut findings = match &scene.processor {
        None => vec![other_architecture()],
        Some(processor) => vec![cache_instructions(processor), clock(processor)],
    };
    findings.extend([synchronized(scene), smt(scene)]);
    findings
}

fn other_architecture() -> Finding {
    let means = "native runs publish and observe with x86-64 cache instructions; the simulator \
                 runs anywhere";
    Finding::new(Status::Warn, "architecture", std::env::consts::ARCH, means)
        .remedy("use --on sim here, or an x86-64 machine for native runs")
}

fn cache_instructions(processor: &Processor) -> Finding {
    let named = |has| {
        let names = processor.instructions.iter().filter(|it| it.1 == has);
        names.map(|it| it.0).collect::<Vec<_>>()
    };
    let (has, lacks) = (named(true), named(false));
    let found = if lacks.is_empty() {
        has.join(", ")
    } else {
        format!("{}; not {}", has.join(", "), lacks.join(", "))
    };
    let status = if lacks.contains(&"clflush") {
        Status::Fail
    } else if lacks.contains(&"clflushopt") {
        Status::Warn
    } else if lacks.contains(&"clwb") {
        Status::Note
    } else {
        Status::Ok
    };
    let means = "a method that needs a missing instruction is refused, never replaced by another; \
                 the default, clflushopt, needs clflushopt";
    Finding::new(status, "cache instructions", found, means)
        .remedy(
            "name a method that `dsmark list` shows, such as --set publish=clflush --set \
             observe=clflush; in a virtual machine, pass the CPU model through",
        )
        .rows(&[9])
}

fn clock(processor: &Processor) -> Finding {
    let (status, found) = match &processor.clock {
        Ok(clock) => (Status::Ok, clock.clone()),
        Err(why) => (Status::Fail, why.clone()),
    };
    let means = "every native time is a difference of two serialized readings of this counter";
    Finding::new(status, "TSC", found, means)
        .remedy("expose the invariant TSC to this guest, or use --on sim")
        .rows(&[13])
}

/// The kernel keeps the TSC as its clock only while it finds all CPUs in step.
fn synchronized(scene: &Scene) -> Finding {
    let (status, found) = match scene.host.clocksource.as_deref() {
        Some("tsc") => (Status::Ok, "tsc: the CPUs' counters are in step".to_owned()),
        Some(other) => (Status::Warn, format!("{other}, not tsc")),
        None => (Status::Note, scene.why_not("clocksource")),
    };
    let means = "one-way times between processes of one machine need counters in step, else they \
                 are null; round trips need none, and between machines only PTP helps";
    Finding::new(status, "clocksource", found, means)
        .remedy(
            "see `dmesg | grep -i tsc` for why it was given up; on a machine whose TSC is sound, \
             boot with tsc=reliable",
        )
        .rows(&[13])
}

fn smt(scene: &Scene) -> Finding {
    let means = "two lanes on one core share its caches and store buffer, and time each other";
    let Some(smt) = scene.host.smt.as_deref() else {
        return Finding::new(Status::Note, "SMT", scene.why_not("smt"), means)
            .remedy("see `lscpu -e` for CPUs that share a core")
            .rows(&[16]);
    };
    let status = if smt == "on" {
        Status::Note
    } else {
        Status::Ok
    };
    Finding::new(status, "SMT", smt, means)
        .remedy(
            "confine dsmark to one CPU a core (`lscpu -e`, then taskset), or switch it off: \
             echo off > /sys/devices/system/cpu/smt/control",
        )
        .rows(&[16])
}
