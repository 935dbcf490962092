//! The time-stamp counter as a lane's clock.

use std::fs;
use std::thread;
use std::time::Duration;

use fabric::{Across, Clock, Ticks};
use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;

use crate::cpu::{Cpu, Feature};
use crate::instr;

/// Time between the two points of a calibration. A bracket is about 50 ns wide on current CPUs, so
/// 20 ms put the error at a few parts per million.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Readings at each point; the narrowest bracket wins, the others were interrupted.
const BRACKETS: usize = 64;
/// A counter coarser than this cannot time a flush of some hundred nanoseconds.
const COARSEST_NS: f64 = 50.0;

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Why the time-stamp counter cannot be the clock.
#[derive(Debug, Error)]
pub enum ClockError {
    /// No serialized reading.
    #[error(
        "this CPU lacks rdtscp (CPUID 8000_0001:EDX[27]); native runs need a serialized \
             time-stamp counter: use --on sim here"
    )]
    NoRdtscp,
    /// Its rate changes, or nobody says that it does not.
    #[error(
        "the time-stamp counter is not known to be invariant: CPUID 8000_0007:EDX[8] is clear, \
             /proc/cpuinfo lacks constant_tsc and nonstop_tsc, and the kernel's clocksource is \
             {clocksource}; expose the invariant TSC to this guest, or use --on sim"
    )]
    NotInvariant {
        /// What the kernel uses instead.
        clocksource: String,
    },
    /// It does not advance as a clock does.
    #[error(
        "the time-stamp counter gave {ticks} ticks in {ns} ns: not a clock; \
             check the hypervisor's TSC settings"
    )]
    NotAClock {
        /// Its difference.
        ticks: u64,
        /// The kernel's difference.
        ns: u64,
    },
    /// It steps too coarsely.
    #[error(
        "the time-stamp counter steps by {step_ns:.1} ns, too coarse to time a flush; \
             check whether the hypervisor traps rdtscp"
    )]
    TooCoarse {
        /// Smallest step seen.
        step_ns: f64,
    },
}

/// The calibrated time-stamp counter.
#[derive(Clone, Debug, PartialEq)]
pub struct TscClock {
    /// Ticks in a nanosecond.
    pub ticks_per_ns: f64,
    /// Largest relative error of the calibration, in parts per million.
    pub error_ppm: f64,
    /// What one serialized reading adds to a span.
    pub read_overhead: Ticks,
    /// What vouches for a constant rate.
    pub vouched_by: &'static str,
    /// Whether the kernel found the counters of all CPUs synchronized: only then does it keep them
    /// as its clocksource.
    pub synchronized: bool,
}

impl TscClock {
    /// Checks and calibrates the counter; takes about 20 ms.
    ///
    /// # Errors
    /// [`ClockError`], if it is not a clock.
    pub fn calibrate() -> Result<Self, ClockError> {
        let cpu = Cpu::detect();
        if !cpu.has(Feature::Rdtscp) {
            return Err(ClockError::NoRdtscp);
        }
        let clocksource = fs::read_to_string(CLOCKSOURCE).unwrap_or_default();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let vouched_by = voucher(cpu.has(Feature::InvariantTsc), &cpuinfo, &clocksource)?;
        let (ticks_per_ns, error_ppm) = rate()?;
        let (read_overhead, step) = reading_cost();
        let step_ns = step as f64 / ticks_per_ns;
        if step_ns > COARSEST_NS {
            return Err(ClockError::TooCoarse { step_ns });
        }
        Ok(Self {
            ticks_per_ns,
            error_ppm,
            read_overhead: Ticks(read_overhead),
            vouched_by,
            synchronized: clocksource.trim() == "tsc",
        })
    }

    /// What ports report. `one_machine`: the pod's hosts are processes of this machine.
    ///
    /// The kernel takes a warp of one tick between two CPUs as a failure of synchronization
    /// (`arch/x86/kernel/tsc_sync.c`), so a difference is off by no more than its readings take.
    pub fn clock(&self, one_machine: bool) -> Clock {
        let across_hosts = match (one_machine, self.synchronized) {
            (true, true) => Across::Comparable {
                error_ns: 2.0 * self.read_overhead.0 as f64 / self.ticks_per_ns,
            },
            (true, false) => Across::Incomparable(
                "the kernel does not use the TSC as its clocksource, so CPUs may disagree",
            ),
            (false, _) => Across::Incomparable(
                "hosts have a TSC each; comparing them needs a clock off the measured path (PTP)",
            ),
        };
        Clock {
            ticks_per_ns: self.ticks_per_ns,
            read_overhead: self.read_overhead,
            across_hosts,
        }
    }
}

/// What vouches for a constant rate. Hypervisors that hide leaf `8000_0007` leave the kernel's
/// word: its flags, or that it trusts the counter as its own clock.
fn voucher(cpuid: bool, cpuinfo: &str, clocksource: &str) -> Result<&'static str, ClockError> {
    let flags = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    let has = |name| flags.split_whitespace().any(|flag| flag == name);
    if cpuid {
        Ok("CPUID 8000_0007:EDX[8]")
    } else if has("constant_tsc") && has("nonstop_tsc") {
        Ok("constant_tsc and nonstop_tsc in /proc/cpuinfo")
    } else if clocksource.trim() == "tsc" {
        Ok("the kernel's clocksource")
    } else {
        let named = if clocksource.trim().is_empty() {
            "unknown"
        } else {
            clocksource.trim()
        };
        Err(ClockError::NotInvariant {
            clocksource: named.to_owned(),
        })
    }
}

/// A kernel time with the counter read on both sides of it.
#[derive(Clone, Copy)]
struct Bracket {
    before: u64,
    ns: u64,
    after: u64,
}

impl Bracket {
    /// The narrowest of several.
    fn narrowest() -> Self {
        let take = |_| {
            let before = instr::rdtscp();
            let time = clock_gettime(ClockId::MonotonicRaw);
            let after = instr::rdtscp();
            let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            Self { before, ns, after }
        };
        let brackets = (0..BRACKETS).map(take);
        brackets
            .min_by_key(Bracket::width)
            .expect("BRACKETS is not 0")
    }

    fn width(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    fn middle(&self) -> u64 {
        self.before + self.width() / 2
    }
}

/// Ticks a nanosecond against the kernel's undisciplined clock, and the error in ppm.
fn rate() -> Result<(f64, f64), ClockError> {
    let start = Bracket::narrowest();
    thread::sleep(CALIBRATION);
    let end = Bracket::narrowest();
    let ticks = end.middle().saturating_sub(start.middle());
    let ns = end.ns.saturating_sub(start.ns);
    // No TSC of a CPU that can map CXL memory runs below 0.1 or above 10 GHz.
    if ns == 0 || !(0.1..10.0).contains(&(ticks as f64 / ns as f64)) {
        return Err(ClockError::NotAClock { ticks, ns });
    }
    // The kernel's reading lies anywhere within its bracket.
    let uncertain = (start.width() + end.width()) as f64 / 2.0;
    Ok((ticks as f64 / ns as f64, uncertain / ticks as f64 * 1e6))
}

/// Ticks between back-to-back readings: the median of the batches' minimums, and the smallest step
/// above zero. A minimum drops interrupts; the median drops a lucky batch.
fn reading_cost() -> (u64, u64) {
    let mut minimums = Vec::new();
    let mut step = u64::MAX;
    for _ in 0..33 {
        let mut least = u64::MAX;
        for _ in 0..64 {
            let first = instr::rdtscp();
            let ticks = instr::rdtscp().saturating_sub(first);
            least = least.min(ticks);
            if ticks > 0 {
                step = step.min(ticks);
            }
        }
        minimums.push(least);
    }
    minimums.sort_unstable();
    (minimums[minimums.len() / 2], step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_states_a_rate_and_its_error() {
        let clock = TscClock::calibrate().unwrap();
        assert!((0.1..10.0).contains(&clock.ticks_per_ns), "{clock:?}");
        assert!(
            clock.error_ppm.is_finite() && clock.error_ppm > 0.0,
            "{clock:?}"
        );
        let kernel = fs::read_to_string(CLOCKSOURCE).unwrap_or_default();
        assert_eq!(clock.synchronized, kernel.trim() == "tsc");
    }

    #[test]
    fn readings_never_go_back() {
        let mut last = instr::rdtscp();
        for _ in 0..10_000 {
            let now = instr::rdtscp();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
    }

    #[test]
    fn someone_must_vouch_for_the_rate() {
        let flags = "processor : 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n";
        assert!(voucher(true, "", "").unwrap().starts_with("CPUID"));
        assert!(
            voucher(false, flags, "hpet\n")
                .unwrap()
                .starts_with("constant_tsc")
        );
        assert_eq!(
            voucher(false, "", "tsc\n").unwrap(),
            "the kernel's clocksource"
        );
        let refused = voucher(false, "flags: fpu tsc constant_tsc", "hpet\n").unwrap_err();
        assert!(
            refused.to_string().contains("clocksource is hpet"),
            "{refused}"
        );
    }

    #[test]
    fn clocks_of_two_machines_are_incomparable() {
        let clock = TscClock {
            ticks_per_ns: 2.5,
            error_ppm: 1.0,
            read_overhead: Ticks(50),
            vouched_by: "test",
            synchronized: true,
        };
        assert_eq!(
            clock.clock(true).across_hosts,
            Across::Comparable { error_ns: 40.0 }
        );
        assert!(matches!(
            clock.clock(false).across_hosts,
            Across::Incomparable(_)
        ));
        let apart = TscClock {
            synchronized: false,
            ..clock
        };
        assert!(matches!(
            apart.clock(true).across_hosts,
            Across::Incomparable(_)
        ));
    }
}
