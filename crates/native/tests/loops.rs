//! The trusted loops do what the generic ones do.
//!
//! They are what latency and bandwidth are measured with; one that skipped a word, or read it
//! twice, would give a good figure.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use fabric::{
    Arena, Discipline, Fence, HostAtomics, NoWatch, Pages, Pod, Port, Private, Program, Seat,
    Setting, Slice, Stream, Substrate, generic,
};
use native::{Host, TscClock, available_cpus, plan_pins};

const STREAMS: [Stream; 5] = [
    Stream::Read,
    Stream::Write,
    Stream::NtWrite,
    Stream::Copy,
    Stream::Triad,
];

/// Runs a program on one lane over a region of `bytes` bytes.
fn run<G: Program>(bytes: u64, program: &G) -> G::Out {
    let memfd = common::Memfd::new(bytes.next_multiple_of(4096));
    let region = memfd.map(0);
    let pod = Pod::new(1, 1);
    let pins = plan_pins(pod, 0, &available_cpus().unwrap()).unwrap();
    let clock = TscClock::calibrate().unwrap().clock(true);
    let host = Host::new(&region, 0, pins, clock);
    let setting = Setting {
        pod,
        discipline: Discipline::NONE,
        host_bytes: 0,
    };
    host.run(&setting, &NoWatch, program).pop().unwrap().1
}

fn words<P: Port>(port: &P, slice: Slice<u64>) -> Vec<u64> {
    let mut words = vec![0; slice.len()];
    port.read_into(slice.start(), &mut words);
    words
}

struct Streams {
    area: Slice<u64>,
    guard: Slice<u64>,
}

/// Some numbers, as `f64` neither NaN nor rounded in a sum of four.
fn number(index: usize) -> u64 {
    ((index * 7919 % 1021) as f64).to_bits()
}

impl Streams {
    fn one<P: Port>(&self, port: &P, stream: Stream, lines: usize) {
        let area = self.area.range(0, lines * 8 * stream.arrays());
        let fill: Vec<u64> = (0..area.len()).map(number).collect();
        port.write_from(area.start(), &fill);
        let sum = generic::stream(port, stream, area, 99);
        port.fence(Fence::Full);
        let expected = words(port, area);

        port.write_from(area.start(), &fill);
        assert_eq!(
            port.stream(stream, area, 99),
            sum,
            "{stream:?} over {lines} lines"
        );
        port.fence(Fence::Full);
        assert_eq!(words(port, area), expected, "{stream:?} over {lines} lines");

        let mut private = port.private(area.len(), 0u64);
        fill.iter()
            .enumerate()
            .for_each(|(index, &word)| private.set(index, word));
        let private_sum = private.stream(stream, 0..area.len(), 99);
        port.fence(Fence::Full);
        assert_eq!(private_sum, sum, "{stream:?} over {lines} private lines");
        let found: Vec<_> = (0..area.len()).map(|index| private.get(index)).collect();
        assert_eq!(found, expected, "{stream:?} over {lines} private lines");
    }
}

impl Program for Streams {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        let guard = vec![0x5a5a; self.guard.len()];
        port.write_from(self.guard.start(), &guard);
        for stream in STREAMS {
            for lines in (0..20).chain([333]) {
                self.one(port, stream, lines);
            }
        }
        assert_eq!(
            words(port, self.guard),
            guard,
            "a sweep wrote beyond its area"
        );
    }
}

#[test]
fn a_sweep_equals_the_generic_one_for_every_length() {
    let mut arena = Arena::new();
    let area = arena.slice("test.area", 333 * 8 * 3);
    let guard = arena.slice("test.guard", 64);
    run(arena.region_bytes(), &Streams { area, guard });
}

struct Chases {
    links: Slice<u64>,
}

impl Program for Chases {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        let lines = self.links.len() / 8;
        let mut private = port.private(self.links.len(), 0u64);
        for line in 0..lines {
            // 37 and 101 have no common factor: one cycle.
            let next = ((line + 37) % lines * 64) as u64;
            port.store(self.links.at(line * 8), next);
            private.set(line * 8, next);
        }
        for hops in (0..300).chain([12_345]) {
            let end = hops * 37 % lines as u64 * 64;
            assert_eq!(port.chase(self.links, 0, hops), end, "{hops} hops");
            assert_eq!(
                generic::chase(port, self.links, 0, hops),
                end,
                "{hops} generic hops"
            );
            assert_eq!(private.chase(0, hops), end, "{hops} private hops");
        }
    }
}

#[test]
fn a_chase_ends_where_the_links_lead() {
    let mut arena = Arena::new();
    let links = arena.slice("test.links", 101 * 8);
    run(arena.region_bytes(), &Chases { links });
}

struct OnPages;

impl Program for OnPages {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        let len = (3 << 20) / 8;
        for pages in [Pages::Any, Pages::Small] {
            let memory = port.private_on(pages, len, 7u64).unwrap();
            assert_eq!(
                (memory.len(), memory.get(0), memory.get(len - 1)),
                (len, 7, 7)
            );
        }
        // Huge pages are had or refused, never replaced in silence.
        match port.private_on(Pages::Huge, len, 7u64) {
            Ok(memory) => assert_eq!(memory.get(len - 1), 7),
            Err(why) => assert!(why.contains("pages=huge"), "{why}"),
        }
    }
}

#[test]
fn pages_of_private_memory_are_what_was_asked_for() {
    run(4096, &OnPages);
}
