//! Hardware counters of the calling thread, through `perf_event_open`.
//!
//! They explain a figure (a chase that misses the TLB, a loop that never left the cache) and are
//! never needed for one: each event that cannot be counted is absent with its reason. No event
//! replaces another, since LLC misses of one CPU are not "cache misses" of the next.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr;

use thiserror::Error;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// `PERF_TYPE_HARDWARE` and `PERF_TYPE_HW_CACHE` of `include/uapi/linux/perf_event.h`, as are all
/// numbers below.
const HARDWARE: u32 = 0;
const HW_CACHE: u32 = 3;
const CPU_CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
/// A cache event is a cache, an operation and a result, a byte each.
const LAST_LEVEL: u64 = 2;
const DATA_TLB: u64 = 3;
const READ_MISS: u64 = 1 << 16;

/// Time enabled and time running come with each count.
const READ_FORMAT_TIMES: u64 = 0b11;
/// Created disabled; neither kernel nor hypervisor is counted, which paranoid level 2 allows.
const DISABLED_USER_ONLY: u64 = 1 | 1 << 5 | 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_RESET: libc::c_ulong = 0x2403;

/// Bytes of `struct perf_event_attr` in its first version, which is all that is used here.
const ATTR_BYTES: u32 = 64;

/// What is counted, in user mode of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Core clock cycles.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Loads that missed the last-level cache.
    LlcLoadMisses,
    /// Loads whose address was in no data TLB, each a page walk.
    DtlbLoadMisses,
}

impl Event {
    /// All, in the order of records.
    pub const ALL: [Self; 4] = [
        Self::Cycles,
        Self::Instructions,
        Self::LlcLoadMisses,
        Self::DtlbLoadMisses,
    ];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::LlcLoadMisses => "llc_load_misses",
            Self::DtlbLoadMisses => "dtlb_load_misses",
        }
    }

    fn attr(self) -> Attr {
        let (kind, config) = match self {
            Self::Cycles => (HARDWARE, CPU_CYCLES),
            Self::Instructions => (HARDWARE, INSTRUCTIONS),
            Self::LlcLoadMisses => (HW_CACHE, LAST_LEVEL | READ_MISS),
            Self::DtlbLoadMisses => (HW_CACHE, DATA_TLB | READ_MISS),
        };
        Attr {
            kind,
            bytes: ATTR_BYTES,
            config,
            read_format: READ_FORMAT_TIMES,
            flags: DISABLED_USER_ONLY,
            ..Attr::default()
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `struct perf_event_attr`, `PERF_ATTR_SIZE_VER0`: later kernels read the rest as zeroes.
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    breakpoint_address: u64,
}

/// Why an event is not counted.
#[derive(Debug, Error)]
pub enum Why {
    /// No PMU, or none with this event: usual in virtual machines.
    #[error(
        "{event}: no performance monitoring unit counts it here ({source}); in a virtual machine, \
             let the hypervisor expose the PMU"
    )]
    NoUnit {
        /// Which.
        event: Event,
        /// What the kernel said.
        source: io::Error,
    },
    /// Not for this user.
    #[error(
        "{event}: {source} with kernel.perf_event_paranoid = {paranoid}; set it to 2 or lower, \
             grant CAP_PERFMON, or allow perf_event_open in the container's seccomp profile"
    )]
    Denied {
        /// Which.
        event: Event,
        /// The setting, or why it cannot be read.
        paranoid: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel was built without it.
    #[error("{event}: this kernel has no perf_event_open; use one with CONFIG_PERF_EVENTS")]
    NoCall {
        /// Which.
        event: Event,
    },
    /// Anything else.
    #[error("{event}: perf_event_open failed: {source}; `perf stat -e {event}` may say more")]
    Open {
        /// Which.
        event: Event,
        /// What the kernel said.
        source: io::Error,
    },
    /// Opened, but start or stop failed.
    #[error("{event}: cannot {verb} the counter: {source}; measure without counters")]
    Use {
        /// Which.
        event: Event,
        /// start, stop or read.
        verb: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The PMU had no register for it in this span.
    #[error(
        "{event}: it was never scheduled on the PMU; stop other users of it (perf, NMI watchdog)"
    )]
    NeverRan {
        /// Which.
        event: Event,
    },
}

impl Why {
    fn from_open(event: Event, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Self::NoUnit { event, source },
            Some(libc::EACCES | libc::EPERM) => Self::Denied {
                event,
                paranoid: fs::read_to_string(PARANOID)
                    .map_or_else(|error| error.to_string(), |text| text.trim().to_owned()),
                source,
            },
            Some(libc::ENOSYS) => Self::NoCall { event },
            _ => Self::Open { event, source },
        }
    }
}

/// One event over one span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// What was counted; extrapolated if `share` is below 1.
    pub count: f64,
    /// The share of the span, 0 to 1, in which the event had a register of the PMU.
    pub share: f64,
}

/// A counter of the thread that opened it.
#[derive(Debug)]
pub struct Counter {
    event: Event,
    file: File,
}

impl Counter {
    /// Opens `event` for the calling thread, stopped.
    ///
    /// # Errors
    /// [`Why`] not.
    pub fn open(event: Event) -> Result<Self, Why> {
        Self::open_as(event, &event.attr())
    }

    /// Opens what `attr` describes, and calls it `event`.
    fn open_as(event: Event, attr: &Attr) -> Result<Self, Why> {
        let this_thread: libc::pid_t = 0;
        let any_cpu: libc::c_int = -1;
        let no_group: RawFd = -1;
        // SAFETY: the kernel reads `attr.bytes` bytes, the size of `Attr`, which outlives the call,
        // and writes nothing but that size on refusal of a newer one.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                ptr::from_ref(attr),
                this_thread,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        if opened < 0 {
            return Err(Why::from_open(event, io::Error::last_os_error()));
        }
        // SAFETY: the call just returned this descriptor, and nobody else has it.
        let file = unsafe { File::from_raw_fd(opened as RawFd) };
        Ok(Self { event, file })
    }

    /// Counts from zero, from now on.
    ///
    /// # Errors
    /// [`Why::Use`].
    pub fn start(&mut self) -> Result<(), Why> {
        self.control(IOC_RESET, "start")?;
        self.control(IOC_ENABLE, "start")
    }

    /// Stops, and says what was counted since the start.
    ///
    /// # Errors
    /// [`Why::Use`], [`Why::NeverRan`].
    pub fn stop(&mut self) -> Result<Reading, Why> {
        self.control(IOC_DISABLE, "stop")?;
        self.read()
    }

    fn control(&self, request: libc::c_ulong, verb: &'static str) -> Result<(), Why> {
        // SAFETY: the requests used here take no argument and touch no memory of this process.
        let done = unsafe { libc::ioctl(self.file.as_raw_fd(), request, 0) };
        if done == 0 {
            Ok(())
        } else {
            Err(self.failed(verb, io::Error::last_os_error()))
        }
    }

    fn read(&mut self) -> Result<Reading, Why> {
        let mut words = [0; 24];
        self.file
            .read_exact(&mut words)
            .map_err(|source| self.failed("read", source))?;
        let mut words = words
            .as_chunks::<8>()
            .0
            .iter()
            .copied()
            .map(u64::from_ne_bytes);
        let mut next = || words.next().expect("24 bytes are three words");
        let (count, enabled_ns, running_ns) = (next(), next(), next());
        scaled(count, enabled_ns, running_ns).ok_or(Why::NeverRan { event: self.event })
    }

    fn failed(&self, verb: &'static str, source: io::Error) -> Why {
        Why::Use {
            event: self.event,
            verb,
            source,
        }
    }
}

/// Events that outnumber the registers take turns; a count then stands for its share of the time.
fn scaled(count: u64, enabled_ns: u64, running_ns: u64) -> Option<Reading> {
    if running_ns == 0 {
        return None;
    }
    let share = (running_ns as f64 / enabled_ns.max(running_ns) as f64).min(1.0);
    Some(Reading {
        count: count as f64 / share,
        share,
    })
}

/// Every event, each counted or absent with its reason.
#[derive(Debug)]
pub struct Counters {
    each: Vec<(Event, Result<Counter, Why>)>,
}

impl Counters {
    /// Opens every event for the calling thread; never fails as a whole.
    pub fn open() -> Self {
        Self {
            each: Event::ALL.map(|event| (event, Counter::open(event))).into(),
        }
    }

    /// The counters, or why there is none, in the order of [`Event::ALL`].
    pub fn each(&self) -> &[(Event, Result<Counter, Why>)] {
        &self.each
    }

    /// Counts from zero, from now on. A counter that fails is absent from here on.
    pub fn start(&mut self) {
        for (_, counter) in &mut self.each {
            let started = match counter {
                Ok(counter) => counter.start(),
                Err(_) => continue,
            };
            if let Err(why) = started {
                *counter = Err(why);
            }
        }
    }

    /// Stops all, and says what each counted since the start, or why it did not.
    pub fn stop(&mut self) -> Vec<(Event, Result<Reading, String>)> {
        let stop = |(event, counter): &mut (Event, Result<Counter, Why>)| {
            let read = match counter {
                Ok(counter) => counter.stop().map_err(|why| why.to_string()),
                Err(why) => Err(why.to_string()),
            };
            (*event, read)
        };
        self.each.iter_mut().map(stop).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn busy(rounds: u64) {
        (0..rounds).for_each(|round| {
            black_box(round);
        });
    }

    #[test]
    fn the_attribute_is_the_first_version() {
        assert_eq!(size_of::<Attr>(), ATTR_BYTES as usize);
    }

    /// On a machine with a PMU the counts grow with the work; without one, each absence has its
    /// reason.
    #[test]
    fn counts_grow_with_work_or_the_reason_is_told() {
        let mut counters = Counters::open();
        let mut count = |rounds| {
            counters.start();
            busy(rounds);
            counters.stop()
        };
        let (few, many) = (count(1_000), count(1_000_000));
        assert_eq!(few.len(), Event::ALL.len());
        for ((event, few), (_, many)) in few.into_iter().zip(many) {
            match (few, many) {
                (Ok(few), Ok(many)) if matches!(event, Event::Cycles | Event::Instructions) => {
                    assert!(many.count > few.count, "{event}: {few:?}, {many:?}");
                }
                (Ok(few), Ok(many)) => assert!(few.count >= 0.0 && many.count >= 0.0),
                (few, many) => {
                    for why in [few.err(), many.err()].into_iter().flatten() {
                        assert!(why.starts_with(event.name()), "{why}");
                        assert!(why.contains(';'), "no remedy: {why}");
                    }
                }
            }
        }
    }

    /// The kernel's own count of a thread's nanoseconds needs no PMU, so it tests starting,
    /// stopping and reading where there is none.
    #[test]
    fn a_counter_counts_what_lies_between_start_and_stop() {
        let (software, task_clock) = (1, 1);
        let attr = Attr {
            kind: software,
            config: task_clock,
            ..Event::Cycles.attr()
        };
        let mut counter = match Counter::open_as(Event::Cycles, &attr) {
            Ok(counter) => counter,
            Err(why) => {
                assert!(
                    matches!(why, Why::Denied { .. } | Why::NoCall { .. }),
                    "{why}"
                );
                return;
            }
        };
        let mut count = |rounds| {
            counter.start().unwrap();
            busy(rounds);
            counter.stop().unwrap()
        };
        let (few, many) = (count(1_000), count(3_000_000));
        assert!(
            0.0 < few.count && few.count < many.count,
            "{few:?}, {many:?}"
        );
        assert!(many.share > 0.0 && many.share <= 1.0, "{many:?}");
    }

    #[test]
    fn each_refusal_has_its_own_reason() {
        let why = |number| {
            Why::from_open(Event::Cycles, io::Error::from_raw_os_error(number)).to_string()
        };
        assert!(why(libc::ENOENT).contains("no performance monitoring unit"));
        assert!(why(libc::EACCES).contains("perf_event_paranoid ="));
        assert!(why(libc::ENOSYS).contains("CONFIG_PERF_EVENTS"));
        assert!(why(libc::EMFILE).contains("perf stat -e cycles"));
    }

    #[test]
    fn a_counter_that_took_turns_is_extrapolated_and_says_so() {
        let half = scaled(100, 2_000, 1_000).unwrap();
        assert_eq!((half.count, half.share), (200.0, 0.5));
        let whole = scaled(7, 1_000, 1_000).unwrap();
        assert_eq!((whole.count, whole.share), (7.0, 1.0));
        assert!(scaled(0, 1_000, 0).is_none());
    }
}
