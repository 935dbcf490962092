//! What every port promises, asked of the native one: words of all sizes, bulk, the maintenance
//! recipes under each discipline that this CPU has, atomics, and how runs end.
//!
//! The checks are generic over the port: nothing in them is native's.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use common::{Memfd, freeze};
use fabric::{
    Arena, Cell, Coherence, Discipline, Fence, Gone, HostAtomics, HostSlice, Line, NoWatch, Pod,
    Port, Private, Program, Ptr, PublishBy, Seat, Setting, Slice, Substrate, View, Watch, Word,
    wait_until,
};
use native::{Cpu, Host, Pins, Region, TscClock, available_cpus, plan_pins};

fn disciplines() -> Vec<Discipline> {
    let cpu = Cpu::detect();
    let observe = cpu.observe_methods();
    let pair = |publish| {
        observe
            .iter()
            .map(move |&observe| Discipline { publish, observe })
    };
    cpu.publish_methods().into_iter().flat_map(pair).collect()
}

/// Pins for `lanes` lanes, shared where the machine has fewer CPUs.
fn pins(lanes: u32) -> Pins {
    let cpus = available_cpus().unwrap();
    plan_pins(Pod::new(1, lanes), 0, &cpus).unwrap_or_else(|_| Pins {
        cpus: (0..lanes as usize)
            .map(|lane| cpus[lane % cpus.len()])
            .collect(),
        oversubscribed: true,
    })
}

struct Bed {
    region: Region,
    arena: Arena,
}

impl Bed {
    fn new() -> Self {
        Self {
            region: Memfd::new(1 << 20).map(0),
            arena: Arena::new(),
        }
    }

    fn host(&self, lanes: u32) -> Host<'_> {
        let clock = TscClock::calibrate().unwrap().clock(true);
        Host::new(&self.region, 0, pins(lanes), clock)
    }

    fn setting(&self, lanes: u32, discipline: Discipline) -> Setting {
        let host_bytes = self.arena.host_bytes();
        Setting {
            pod: Pod::new(1, lanes),
            discipline,
            host_bytes,
        }
    }

    fn run<G: Program>(&self, lanes: u32, discipline: Discipline, program: &G) -> Vec<G::Out> {
        let outs = self
            .host(lanes)
            .run(&self.setting(lanes, discipline), &NoWatch, program);
        outs.into_iter().map(|(_, out)| out).collect()
    }
}

/// Stores of one word leave its neighbours alone, and loads return what was stored.
fn words_are_whole<T: Word>(port: &impl Port, bytes: Slice<u8>, words: Slice<T>) {
    for index in 0..words.len() {
        for at in 0..bytes.len() {
            port.store(bytes.at(at), 0xa5);
        }
        let value = T::from_bits(0x0123_4567_89ab_cdef);
        if index % 2 == 0 {
            port.store(words.at(index), value);
        } else {
            port.store_nt(words.at(index), value);
            port.fence(Fence::Store);
        }
        assert_eq!(port.load(words.at(index)), value);
        let own = index * T::BYTES..(index + 1) * T::BYTES;
        for at in (0..bytes.len()).filter(|at| !own.contains(at)) {
            assert_eq!(
                port.load(bytes.at(at)),
                0xa5,
                "byte {at} beside word {index}"
            );
        }
    }
}

struct Words(Slice<u8>);

impl Program for Words {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        let bytes = self.0;
        let offset = bytes.start().offset();
        words_are_whole::<u8>(port, bytes, bytes);
        words_are_whole::<u16>(port, bytes, same_place(offset).slice(32));
        words_are_whole::<i32>(port, bytes, same_place(offset).slice(16));
        words_are_whole::<f32>(port, bytes, same_place(offset).slice(16));
        words_are_whole::<u64>(port, bytes, same_place(offset).slice(8));
        words_are_whole::<f64>(port, bytes, same_place(offset).slice(8));
    }
}

/// The place of a word of another type at a line's offset, through an arena laid out up to there.
fn same_place<T: Word>(offset: u64) -> Ptr<T> {
    let mut arena = Arena::new();
    arena.slice::<u8>("before", offset as usize + 64);
    arena.resolve(offset).unwrap()
}

#[test]
fn words_of_all_sizes_are_whole() {
    let mut bed = Bed::new();
    let bytes = bed.arena.slice::<u8>("test.bytes", 64);
    bed.run(1, Discipline::NONE, &Words(bytes));
}

/// What is published is what is observed, bulk and word by word, at every alignment.
struct RoundTrip {
    place: Slice<u32>,
}

impl Program for RoundTrip {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        for (from, len) in [
            (0, 1),
            (0, 16),
            (1, 15),
            (3, 40),
            (15, 2),
            (16, 64),
            (5, 200),
        ] {
            let range = self.place.range(from, from + len);
            let words: Vec<u32> = (0..len as u32).map(|word| word ^ 0x5a00_0000).collect();
            port.write_published(range.start(), &words);
            port.confirm(range.start().line());
            port.observe(range.lines());
            let mut read = vec![0; len];
            port.read_into(range.start(), &mut read);
            assert_eq!(read, words, "{len} words from {from}");

            port.write_posted(range.start(), &words[..1]);
            port.store(range.at(len - 1), 7);
            port.publish(range.lines());
            port.post(range.lines());
            port.observe(range.lines());
            assert_eq!(port.load(range.at(len - 1)), 7);
        }
    }
}

#[test]
fn every_discipline_of_this_cpu_moves_words() {
    let mut bed = Bed::new();
    let place = bed.arena.slice::<u32>("test.place", 300);
    let all = disciplines();
    assert!(all.contains(&Discipline::NONE) && all.len() > 1, "{all:?}");
    for discipline in all {
        bed.run(1, discipline, &RoundTrip { place });
    }
}

struct OneLine(Line);

impl Program for OneLine {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        port.store_line(self.0, &[9; 8]);
        port.fence(Fence::Full);
        let words = same_place::<u64>(self.0.offset()).slice(8);
        for index in 0..8 {
            assert_eq!(port.load(words.at(index)), 9);
        }
    }
}

#[test]
fn a_line_write_is_whole_or_refused_by_name() {
    let mut bed = Bed::new();
    let line = bed.arena.word::<u64>("test.line").line();
    let written = catch_unwind(AssertUnwindSafe(|| {
        bed.run(1, Discipline::NONE, &OneLine(line));
    }));
    let has = Cpu::detect().publish_methods().contains(&PublishBy::Line64);
    match written {
        Ok(()) => assert!(has),
        Err(said) => {
            let said = said.downcast::<String>().unwrap();
            assert!(!has && said.contains("movdir64b"), "{said}");
        }
    }
}

/// Lanes of one host count together.
struct Count {
    counter: HostSlice<u64>,
    locked: HostSlice<u32>,
    pool: Ptr<u64>,
    turns: u64,
}

impl Program for Count {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        for _ in 0..self.turns {
            port.fetch_add(self.counter.at(0), 1);
            port.fetch_add(self.pool, 1);
            // A lock by compare-exchange and by swap in turn around a plain read-modify-write.
            let taken = wait_until(port, || port.compare_exchange(self.locked.at(0), 0, 1).ok());
            assert_eq!(taken, Ok(0));
            let count: u64 = port.atomic_load(self.counter.at(1));
            port.atomic_store(self.counter.at(1), count + 1);
            assert_eq!(port.swap(self.locked.at(0), 0u32), 1);
        }
    }
}

struct Totals<'a>(&'a Count);

impl Program for Totals<'_> {
    type Out = [u64; 3];

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> [u64; 3] {
        self.0.lane(seat, port);
        // Everyone's last addition, before anyone reads.
        port.fetch_add(self.0.counter.at(2), 1);
        let all = wait_until(port, || {
            Some(()).filter(|()| port.atomic_load::<u64>(self.0.counter.at(2)) == 2)
        });
        assert_eq!(all, Ok(()));
        let pool = port.atomic_load(Cell::Pool(self.0.pool));
        [
            port.atomic_load(self.0.counter.at(0)),
            port.atomic_load(self.0.counter.at(1)),
            pool,
        ]
    }
}

#[test]
fn host_atomics_lose_nothing_between_two_lanes() {
    let mut bed = Bed::new();
    let counter = bed.arena.host_shared::<u64>("test.counter", 3);
    let locked = bed.arena.host_shared::<u32>("test.locked", 1);
    let pool = bed.arena.word::<u64>("test.pool");
    let count = Count {
        counter,
        locked,
        pool,
        turns: 20_000,
    };
    let totals = bed.run(2, Discipline::NONE, &Totals(&count));
    assert_eq!(totals, [[40_000; 3]; 2]);
}

struct Windows(Slice<u32>);

impl Program for Windows {
    type Out = ();

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) {
        let words: Vec<u32> = (0..self.0.len() as u32).collect();
        port.write_published(self.0.start(), &words);
        let view = port.view(freeze(port, self.0));
        assert_eq!(view.len(), words.len());
        let mut own = port.private(view.len(), 0u32);
        for index in 0..view.len() {
            own.set(index, view.get(index) * 2);
        }
        assert!((0..own.len()).all(|index| own.get(index) == words[index] * 2));
        assert!(port.now() < port.now());
    }
}

#[test]
fn views_and_private_memory_hold_what_was_put() {
    let mut bed = Bed::new();
    let words = bed.arena.slice("test.words", 1000);
    bed.run(1, Discipline::DEFAULT, &Windows(words));
}

#[test]
fn a_view_outside_the_region_is_refused() {
    let mut bed = Bed::new();
    let outside = bed.arena.slice::<u32>("test.outside", (1 << 18) + 1);
    let refused = catch_unwind(AssertUnwindSafe(|| {
        // Without a discipline the freeze touches no line: the view is what refuses.
        bed.run(1, Discipline::NONE, &ViewOnly(outside));
    }));
    let said = refused.unwrap_err().downcast::<String>().unwrap();
    assert!(
        said.starts_with("host 0 lane 0 panicked: a view of"),
        "{said}"
    );
}

struct ViewOnly(Slice<u32>);

impl Program for ViewOnly {
    type Out = usize;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> usize {
        port.view(freeze(port, self.0)).len()
    }
}

/// Waits for what never comes; one lane may panic instead.
struct Forever {
    panics: Option<u32>,
}

impl Program for Forever {
    type Out = Gone;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Gone {
        assert_ne!(self.panics, Some(seat.lane), "on purpose");
        wait_until(port, || None::<()>).unwrap_err()
    }
}

#[test]
fn a_wait_ends_at_the_deadline() {
    let bed = Bed::new();
    let mut host = bed.host(2);
    host.set_deadline(Some(Duration::from_millis(30)));
    let setting = bed.setting(2, Discipline::DEFAULT);
    for (_, gone) in host.run(&setting, &NoWatch, &Forever { panics: None }) {
        assert_eq!(gone, Gone::Deadline { after_ms: 30 });
    }
}

#[test]
fn a_panic_of_one_lane_ends_the_others_and_is_named() {
    let bed = Bed::new();
    for lane in 0..2 {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            bed.run(2, Discipline::DEFAULT, &Forever { panics: Some(lane) })
        }));
        let said = ended.unwrap_err().downcast::<String>().unwrap();
        assert!(
            said.starts_with(&format!("host 0 lane {lane} panicked: ")),
            "{said}"
        );
        assert!(said.contains("on purpose"), "{said}");
    }
}

/// A watch that has seen enough, and whose own waits do not call it again.
struct Enough;

impl Watch for Enough {
    fn look<P: Port>(&self, seat: Seat, port: &P) -> Result<(), Gone> {
        for _ in 0..10_000 {
            port.pause()?;
        }
        Err(Gone::LostHost {
            host: seat.host + 1,
            silent_ms: 5,
        })
    }
}

#[test]
fn what_the_watch_says_ends_the_wait() {
    let bed = Bed::new();
    let crowded = Pins {
        oversubscribed: true,
        ..pins(1)
    };
    for pins in [pins(1), crowded] {
        let clock = TscClock::calibrate().unwrap().clock(true);
        let host = Host::new(&bed.region, 0, pins, clock);
        let setting = bed.setting(1, Discipline::NONE);
        let outs = host.run(&setting, &Enough, &Forever { panics: None });
        assert_eq!(
            outs[0].1,
            Gone::LostHost {
                host: 1,
                silent_ms: 5
            }
        );
    }
}

/// Computes and waits for nobody.
struct Busy;

impl Program for Busy {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Self::Out {
        port.check_in()
    }
}

/// The story that this guards: a chase through gigabytes took its host five silent seconds, and the
/// others gave it up.
#[test]
fn a_lane_that_waits_for_nobody_checks_in() {
    let bed = Bed::new();
    let setting = bed.setting(1, Discipline::DEFAULT);
    let lost = Gone::LostHost {
        host: 1,
        silent_ms: 5,
    };
    assert_eq!(bed.host(1).run(&setting, &Enough, &Busy)[0].1, Err(lost));
    let mut host = bed.host(1);
    host.set_deadline(Some(Duration::ZERO));
    let late = Gone::Deadline { after_ms: 0 };
    assert_eq!(host.run(&setting, &NoWatch, &Busy)[0].1, Err(late));
}

/// Two lanes that hand a number back and forth.
struct Turns {
    numbers: [Ptr<u64>; 2],
    rounds: u64,
}

impl Program for Turns {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let own = self.numbers[seat.lane as usize];
        let other = self.numbers[1 - seat.lane as usize];
        for round in 1..=self.rounds {
            if seat.lane == 0 {
                port.write_published(own, &[round]);
            }
            wait_until(port, || {
                port.observe(other.line());
                Some(()).filter(|()| port.load(other) == round)
            })?;
            if seat.lane == 1 {
                port.write_published(own, &[round]);
            }
        }
        Ok(())
    }
}

/// A spinning lane would keep the one that it waits for off their core for a whole time slice.
#[test]
fn lanes_that_share_a_core_let_each_other_run() {
    let mut bed = Bed::new();
    let numbers = ["test.ping", "test.pong"].map(|name| bed.arena.word::<u64>(name));
    let cpu = available_cpus().unwrap()[0];
    let pins = Pins {
        cpus: vec![cpu; 2],
        oversubscribed: true,
    };
    let clock = TscClock::calibrate().unwrap().clock(true);
    let mut host = Host::new(&bed.region, 0, pins, clock);
    host.set_deadline(Some(Duration::from_mins(1)));
    let setting = bed.setting(2, Discipline::DEFAULT);
    for (_, ended) in host.run(
        &setting,
        &NoWatch,
        &Turns {
            numbers,
            rounds: 5_000,
        },
    ) {
        assert_eq!(ended, Ok(()));
    }
}

struct WhichCoherence;

impl Program for WhichCoherence {
    type Out = (Coherence, Vec<usize>);

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Self::Out {
        (port.coherence(), available_cpus().unwrap())
    }
}

#[test]
fn lanes_are_pinned_and_the_caller_gets_its_cpus_back() {
    let bed = Bed::new();
    let before = available_cpus().unwrap();
    let outs = bed.run(2, Discipline::DEFAULT, &WhichCoherence);
    let placed = pins(2).cpus;
    assert_eq!(outs[0], (Coherence::Software, vec![placed[0]]));
    assert_eq!(outs[1], (Coherence::Software, vec![placed[1]]));
    assert_eq!(available_cpus().unwrap(), before);
    assert_eq!(
        bed.run(1, Discipline::NONE, &WhichCoherence)[0].0,
        Coherence::Hardware
    );
}
