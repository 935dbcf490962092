//! What pruning leaves out leads nowhere else.
//!
//! A checker that prunes a step too many is worse than none: it says *pass*. Random programs of two
//! or three lanes are searched with everything tried at every moment, and with pruning; their ends
//! must be the same. A third witness, `model::explore`, searches the same programs with code of its
//! own.

use std::collections::BTreeSet;

use check::{Bounds, End, Options, Shape, Subject, WriteMode, ends};
use fabric::{Arena, Fence, Flush, HostAtomics, Program, Ptr, Seat};
use model::explore::{self, Instr, Pruning, Thread};
use proptest::prelude::*;

/// A program whose lanes run straight through.
struct Straight {
    arena: Arena,
    shape: Shape,
    threads: Vec<Thread>,
    watched: Vec<Ptr<u64>>,
}

impl Program for Straight {
    type Out = Vec<u64>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<u64> {
        let index = (seat.host * self.shape.lanes + seat.lane) as usize;
        let mut loads = Vec::new();
        for &instr in &self.threads[index].instrs {
            match instr {
                Instr::Load(at) => loads.push(port.load(at)),
                Instr::Store(at, value) => port.store(at, value),
                Instr::StoreNt(at, value) => port.store_nt(at, value),
                Instr::StoreLine(line, word) => port.store_line(line, &[word; 8]),
                Instr::Writeback(line) => port.writeback(line),
                Instr::Flush(line, how) => port.flush(line, how),
                Instr::Fence(fence) => port.fence(fence),
            }
        }
        loads
    }
}

impl Subject for Straight {
    fn name(&self) -> String {
        "straight".to_owned()
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }
}

type Outcome = (Vec<Vec<u64>>, Vec<u64>);

fn found(program: &Straight, prune: bool, bounds: Bounds) -> BTreeSet<Outcome> {
    let options = Options {
        prune,
        sanitize: false,
        ..Options::default()
    };
    let mut all = BTreeSet::new();
    ends(program, options, bounds, |end: &End<'_, Vec<u64>>| {
        let loads = end
            .outs
            .iter()
            .map(|out| out.expect("nobody crashes").clone());
        let memory = program.watched.iter().map(|&at| end.word(at));
        all.insert((loads.collect(), memory.collect()));
    });
    all
}

fn explored(program: &Straight) -> BTreeSet<Outcome> {
    let same = explore::Program {
        shape: program.shape,
        threads: program.threads.clone(),
        watched: program.watched.clone(),
    };
    let all = explore::outcomes(&same, Pruning::Relevant);
    all.into_iter().map(|end| (end.loads, end.memory)).collect()
}

/// Three words in two lines, and eight instructions.
fn instr(kind: u8, word: usize, value: u64, at: &[Ptr<u64>]) -> Instr {
    let place = at[word];
    match kind {
        0..=2 => Instr::Load(place),
        3 | 4 => Instr::Store(place, value),
        5 => Instr::StoreNt(place, value),
        6 => Instr::StoreLine(place.line(), value),
        7 | 8 => Instr::Flush(place.line(), Flush::ClFlushOpt),
        9 => Instr::Flush(place.line(), Flush::ClFlush),
        10 => Instr::Writeback(place.line()),
        11 => Instr::Fence(Fence::Store),
        _ => Instr::Fence(Fence::Full),
    }
}

fn program(hosts: u32, lanes: u32, writes: WriteMode, codes: &[Vec<(u8, usize)>]) -> Straight {
    let mut arena = Arena::new();
    let x = arena.slice::<u64>("x", 2);
    let y = arena.word::<u64>("y");
    let at = [x.at(0), x.at(1), y];
    let mut value = 0;
    let mut thread = |lane: usize, code: &Vec<(u8, usize)>| Thread {
        host: lane as u32 / lanes,
        instrs: code
            .iter()
            .map(|&(kind, word)| {
                value += 1;
                instr(kind, word, value, &at)
            })
            .collect(),
    };
    let threads = codes.iter().enumerate();
    let threads = threads.map(|(lane, code)| thread(lane, code)).collect();
    Straight {
        arena,
        shape: Shape::software(hosts, lanes, writes),
        threads,
        watched: at.to_vec(),
    }
}

/// A store that waits with a later one around the cache behind it was once let into the cache at
/// once, "since the second follows it": the second may then reach the device before the first is
/// evicted, and loses.
#[test]
fn a_store_is_not_taken_alone_before_one_around_the_cache() {
    let codes = [vec![(3, 0), (0, 0), (5, 0)], vec![(0, 0)]];
    let program = program(2, 1, WriteMode::Synchronous, &codes);
    let pruned = found(&program, true, Bounds::SATURATED);
    assert_eq!(pruned, found(&program, false, Bounds::SATURATED));
}

/// A dirty line may be evicted for good, a load fetch it again, and a store around the cache then
/// find it there, stay in the cache and never be seen: nobody else need look at the line for that.
#[test]
fn a_dirty_line_is_evicted_before_a_load_and_a_store_around_the_cache() {
    let codes = [vec![(0, 2)], vec![(3, 0), (0, 0), (5, 0)]];
    let program = program(2, 1, WriteMode::Synchronous, &codes);
    let pruned = found(&program, true, Bounds::SATURATED);
    assert_eq!(pruned, found(&program, false, Bounds::SATURATED));
}

/// Another lane's flush of the line takes along what has entered the cache by then, and only that.
#[test]
fn a_store_is_not_taken_alone_before_another_lanes_flush() {
    let codes = [
        vec![(3, 0)],
        vec![(0, 2), (7, 0), (11, 0), (3, 2), (9, 2)],
        vec![(0, 2), (0, 0)],
        vec![],
    ];
    let program = program(2, 2, WriteMode::Synchronous, &codes);
    let pruned = found(&program, true, Bounds::SATURATED);
    assert_eq!(pruned, found(&program, false, Bounds::SATURATED));
}

fn codes(lanes: usize, longest: usize) -> impl Strategy<Value = Vec<Vec<(u8, usize)>>> {
    let code = prop::collection::vec((0u8..14, 0usize..3), 1..=longest);
    prop::collection::vec(code, lanes)
}

fn modes() -> impl Strategy<Value = WriteMode> {
    prop::sample::select(WriteMode::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn two_hosts_end_alike(codes in codes(2, 5), writes in modes()) {
        let program = program(2, 1, writes, &codes);
        let pruned = found(&program, true, Bounds::SATURATED);
        prop_assert_eq!(&pruned, &explored(&program));
        prop_assert_eq!(&pruned, &found(&program, false, Bounds::SATURATED));
    }

    #[test]
    fn two_lanes_of_a_host_end_alike(codes in codes(2, 5), writes in modes()) {
        let program = program(1, 2, writes, &codes);
        let pruned = found(&program, true, Bounds::SATURATED);
        prop_assert_eq!(&pruned, &explored(&program));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn three_hosts_end_alike(codes in codes(3, 4), writes in modes()) {
        let program = program(3, 1, writes, &codes);
        let pruned = found(&program, true, Bounds::SATURATED);
        prop_assert_eq!(&pruned, &explored(&program));
    }

    /// With bounds as well: what is put off is not charged more.
    #[test]
    fn bounded_searches_end_alike(
        codes in codes(2, 5),
        writes in modes(),
        environment in 0u32..3,
    ) {
        let program = program(2, 1, writes, &codes);
        let bounds = Bounds { environment: Some(environment), ..Bounds::SATURATED };
        prop_assert_eq!(found(&program, true, bounds), found(&program, false, bounds));
    }
}
