//! The trusted loops beside the generic ones, in pairs, on the same pages.
//!
//! `cargo bench -p native --bench loops` prints a line for each loop and size: the median of the
//! ratios, trusted to generic, and its 95 % interval. `-- alone LOOP BYTES PAGES LANES` measures
//! one trusted loop in DRAM (`chase`, or a [`Stream`]), BYTES an array and lane, and prints
//! nanoseconds a hop or 10^9 bytes a second: one side of a comparison with another program.

use std::error::Error;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::Barrier;

use fabric::{
    Arena, Discipline, Fence, HostAtomics, NoWatch, Pages, Pod, Port, Private, Program, Seat,
    Setting, Slice, Stream, Substrate, Ticks, generic,
};
use native::{Host, Region, Request, TscClock, available_cpus, plan_pins};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

const PAIRS: usize = 31;
const LINE_WORDS: usize = 8;
/// A chase is timed for about this long, like the other program's samples.
const SAMPLE_NS: f64 = 0.25e9;
const SAMPLES: usize = 4;

/// Links the lines of `words` words to one random cycle; `set` gets a word and its offset.
fn link(words: usize, mut set: impl FnMut(usize, u64)) {
    let lines = words / LINE_WORDS;
    let mut next: Vec<usize> = (0..lines).collect();
    let mut state = 1u64;
    for last in (1..lines).rev() {
        // Sattolo: never with itself, so that one cycle remains. Constants: Knuth's MMIX.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        next.swap(last, (state >> 33) as usize % last);
    }
    for (line, next) in next.into_iter().enumerate() {
        set(line * LINE_WORDS, (next * LINE_WORDS * 8) as u64);
    }
}

fn timed<P: Port>(port: &P, f: impl FnOnce()) -> f64 {
    let before = port.now();
    f();
    port.fence(Fence::Full);
    port.clock().span_ns(before, port.now())
}

/// Both forms of each loop in turn on one slice of the region.
struct Pairs {
    area: Slice<u64>,
}

impl Program for Pairs {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        for bytes in [32 << 10, 1 << 20, 64 << 20] {
            let links = self.area.range(0, bytes / 8);
            link(links.len(), |word, next| port.store(links.at(word), next));
            let hops = if bytes > 1 << 20 {
                1_000_000
            } else {
                4_000_000
            };
            let (mut at, mut end) = (0, 0);
            pairs(
                &format!("chase {bytes} bytes"),
                || timed(port, || at = port.chase(links, at, hops)),
                || timed(port, || end = generic::chase(port, links, end, hops)),
            );
            assert_eq!(at, end, "both chases end in the same place");
            for stream in [
                Stream::Read,
                Stream::Write,
                Stream::NtWrite,
                Stream::Copy,
                Stream::Triad,
            ] {
                let words = bytes / 8 / stream.arrays() / 16 * 16 * stream.arrays();
                let area = self.area.range(0, words);
                let sweeps = (64 << 20) / bytes;
                let repeat = |once: &dyn Fn() -> u64| {
                    timed(port, || {
                        for _ in 0..sweeps {
                            std::hint::black_box(once());
                        }
                    })
                };
                pairs(
                    &format!("{stream:?} {bytes} bytes"),
                    || repeat(&|| port.stream(stream, area, 7)),
                    || repeat(&|| generic::stream(port, stream, area, 7)),
                );
            }
        }
    }
}

/// Prints the ratio of two sides that are run in turn.
fn pairs(what: &str, mut trusted: impl FnMut() -> f64, mut generic: impl FnMut() -> f64) {
    let (first, second) = (trusted(), generic());
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|pair| {
            // In alternating order, so that neither side always follows the other.
            if pair % 2 == 0 {
                let trusted = trusted();
                trusted / generic()
            } else {
                let generic = generic();
                trusted() / generic
            }
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    // Order statistics of 31 that enclose the median in 95 % of samples.
    let line = format!(
        "{what:24} {:.3} [{:.3}, {:.3}]  first: {first:.0} ns, {second:.0} ns\n",
        ratios[PAIRS / 2],
        ratios[9],
        ratios[21]
    );
    // A reader that went away ends nothing here.
    let _ = io::stdout().write_all(line.as_bytes());
}

/// One loop in DRAM, on all lanes at once.
struct Alone {
    stream: Option<Stream>,
    bytes: usize,
    pages: Pages,
    start: Barrier,
}

impl Program for Alone {
    type Out = Result<Vec<(Ticks, Ticks)>, String>;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Self::Out {
        let arrays = self.stream.map_or(1, Stream::arrays);
        let words = self.bytes / 8 / 16 * 16 * arrays;
        let memory = port.private_on(self.pages, words, 0u64);
        self.start.wait();
        let mut memory = memory?;
        let Some(stream) = self.stream else {
            link(words, |word, next| memory.set(word, next));
            return Ok(chases(port, &memory, words));
        };
        let sweeps = (1 << 30) / self.bytes;
        let mut times = Vec::new();
        for _ in 0..=SAMPLES {
            self.start.wait();
            let before = port.now();
            (0..sweeps).for_each(|_| _ = memory.stream(stream, 0..words, 7));
            port.fence(Fence::Full);
            times.push((before, port.now()));
        }
        times.remove(0);
        Ok(times)
    }
}

/// Spans of as many hops as fit the sample's time; the end is hops from the start, in a tick each.
fn chases<P: Port>(port: &P, memory: &impl Private<u64>, words: usize) -> Vec<(Ticks, Ticks)> {
    let mut at = memory.chase(0, (words / LINE_WORDS) as u64);
    let trial = timed(port, || at = memory.chase(at, 100_000));
    let hops = (SAMPLE_NS / trial * 100_000.0) as u64;
    let sample = |_| {
        let ns = timed(port, || at = memory.chase(at, hops));
        // In picoseconds a hop.
        (Ticks(0), Ticks((ns / hops as f64 * 1e3) as u64))
    };
    (0..SAMPLES).map(sample).collect()
}

fn alone(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [what, bytes, pages, lanes] = arguments else {
        return Err("use: alone LOOP BYTES PAGES LANES".into());
    };
    let stream = match what.as_str() {
        "chase" => None,
        "read" => Some(Stream::Read),
        "write" => Some(Stream::Write),
        "nt-write" => Some(Stream::NtWrite),
        "copy" => Some(Stream::Copy),
        "triad" => Some(Stream::Triad),
        other => return Err(format!("{other} is no loop").into()),
    };
    let pages = match pages.as_str() {
        "small" => Pages::Small,
        "huge" => Pages::Huge,
        _ => Pages::Any,
    };
    let (bytes, lanes): (usize, u32) = (bytes.parse()?, lanes.parse()?);
    let start = Barrier::new(lanes as usize);
    let clock = TscClock::calibrate()?;
    let brought = run(
        lanes,
        4096,
        &Alone {
            stream,
            bytes,
            pages,
            start,
        },
    )?;
    let times: Vec<_> = brought.into_iter().collect::<Result<_, _>>()?;
    let figures = (0..SAMPLES).map(|sample| {
        let spans = times.iter().map(|lane: &Vec<(Ticks, Ticks)>| lane[sample]);
        let from = spans
            .clone()
            .map(|(from, _)| from.0)
            .min()
            .unwrap_or_default();
        let to = spans.map(|(_, to)| to.0).max().unwrap_or_default();
        let Some(stream) = stream else {
            return to as f64 / 1e3;
        };
        let moved = f64::from(lanes) * ((1 << 30) / bytes * bytes * stream.arrays()) as f64;
        moved / ((to - from) as f64 / clock.ticks_per_ns)
    });
    let best = if stream.is_some() { f64::max } else { f64::min };
    let figure = figures.reduce(best).unwrap_or(f64::NAN);
    writeln!(io::stdout(), "{figure:.4}")?;
    Ok(())
}

/// Runs a program on one host's lanes over a region of `bytes` bytes.
fn run<G: Program>(lanes: u32, bytes: u64, program: &G) -> Result<Vec<G::Out>, Box<dyn Error>> {
    let memfd = memfd_create("loops", MemfdFlags::empty())?;
    ftruncate(&memfd, bytes.next_multiple_of(4096))?;
    let path = format!("/proc/self/fd/{}", memfd.as_raw_fd());
    let region = Region::open(&Request::new(path, bytes, 0))?;
    let pod = Pod::new(1, lanes);
    let pins = plan_pins(pod, 0, &available_cpus()?)?;
    let host = Host::new(&region, 0, pins, TscClock::calibrate()?.clock(true));
    let setting = Setting {
        pod,
        discipline: Discipline::NONE,
        host_bytes: 0,
    };
    Ok(host
        .run(&setting, &NoWatch, program)
        .into_iter()
        .map(|(_, out)| out)
        .collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds a flag of its own.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == "alone"
    {
        return alone(rest);
    }
    let mut arena = Arena::new();
    let area = arena.aligned("loops.area", (64 << 20) / 8, 4096);
    run(1, arena.region_bytes(), &Pairs { area })?;
    Ok(())
}
