//! The litmus programs: tiny, named as in the literature, with the question that each answers.
//!
//! `x` and `y` are words of different lines, each on 128 bytes of its own; `y0` and `y1` two words
//! of one line.

use fabric::{Arena, Fence, Flush, Ptr};

use crate::explore::{Instr, Program, Thread};
use crate::shape::{Shape, WriteMode};

/// How a litmus thread publishes what it stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Nothing at all.
    Nothing,
    /// Store, flush, this fence.
    Flush(Flush, Fence),
    /// Store, CLWB, this fence.
    Writeback(Fence),
    /// Non-temporal store, this fence.
    StoreNt(Fence),
}

/// A publish as the suite does it by default.
pub const PUBLISH: By = By::Flush(Flush::ClFlushOpt, Fence::Full);
/// A post.
pub const POST: By = By::Flush(Flush::ClFlushOpt, Fence::Store);

/// Two places in lines that no prefetch of a pair connects.
pub fn two_lines() -> (Ptr<u64>, Ptr<u64>) {
    let mut arena = Arena::new();
    let x = arena.aligned::<u64>("litmus.x", 1, 128).start();
    let y = arena.aligned::<u64>("litmus.y", 1, 128).start();
    (x, y)
}

/// Two words of one line.
pub fn two_words() -> (Ptr<u64>, Ptr<u64>) {
    let line = Arena::new().slice::<u64>("litmus.line", 8);
    (line.at(0), line.at(1))
}

/// The instructions of writing `value` at `at` and publishing it.
pub fn write(at: Ptr<u64>, value: u64, by: By) -> Vec<Instr> {
    let store = Instr::Store(at, value);
    match by {
        By::Nothing => vec![store],
        By::Flush(how, fence) => {
            vec![store, Instr::Flush(at.line(), how), Instr::Fence(fence)]
        }
        By::Writeback(fence) => {
            vec![store, Instr::Writeback(at.line()), Instr::Fence(fence)]
        }
        By::StoreNt(fence) => vec![Instr::StoreNt(at, value), Instr::Fence(fence)],
    }
}

/// The instructions of observing a word, with this fence, and loading it; without a fence, a load.
pub fn read(at: Ptr<u64>, fence: Option<Fence>) -> Vec<Instr> {
    let load = Instr::Load(at);
    fence.map_or_else(
        || vec![load],
        |fence| {
            let flush = Instr::Flush(at.line(), Flush::ClFlushOpt);
            vec![flush, Instr::Fence(fence), load]
        },
    )
}

/// A publish, and then the confirming read: observe and load of the own line.
pub fn confirmed(at: Ptr<u64>, value: u64) -> Vec<Instr> {
    let mut instrs = write(at, value, PUBLISH);
    instrs.extend(read(at, Some(Fence::Full)));
    instrs
}

fn program(writes: WriteMode, threads: Vec<Vec<Instr>>) -> Program {
    let hosts = threads.len() as u32;
    let threads = threads
        .into_iter()
        .zip(0..)
        .map(|(instrs, host)| Thread { host, instrs });
    Program {
        shape: Shape::software(hosts, 1, writes),
        threads: threads.collect(),
        watched: Vec::new(),
    }
}

/// MP: does a reader that saw the flag see the payload? Loads of host 1: flag, payload.
pub fn message_passing(writes: WriteMode, payload: By, flag: By, look: Option<Fence>) -> Program {
    let (x, y) = two_lines();
    let sender = [write(x, 1, payload), write(y, 1, flag)].concat();
    let receiver = [read(y, look), read(x, look)].concat();
    program(writes, vec![sender, receiver])
}

/// As message passing, but the payload was in the reader's cache, or came there unasked, before:
/// is an observe before the flag is seen enough? Loads of host 1: flag, payload.
pub fn prefetch_revival(writes: WriteMode) -> Program {
    let (x, y) = two_lines();
    let sender = [write(x, 1, POST), write(y, 1, PUBLISH)].concat();
    let early = [
        Instr::Flush(x.line(), Flush::ClFlushOpt),
        Instr::Flush(y.line(), Flush::ClFlushOpt),
        Instr::Fence(Fence::Full),
        Instr::Load(y),
        Instr::Load(x),
    ];
    program(writes, vec![sender, early.to_vec()])
}

/// SB: may both hosts miss the other's write? Loads: the other's word, one each.
pub fn store_buffering(writes: WriteMode, by: By, look: Option<Fence>) -> Program {
    let (x, y) = two_lines();
    let first = [write(x, 1, by), read(y, look)].concat();
    let second = [write(y, 1, by), read(x, look)].concat();
    program(writes, vec![first, second])
}

/// SB with a confirming read after each publish.
pub fn store_buffering_confirmed(writes: WriteMode) -> Program {
    let (x, y) = two_lines();
    let look = Some(Fence::Full);
    let first = [confirmed(x, 1), read(y, look)].concat();
    let second = [confirmed(y, 1), read(x, look)].concat();
    program(writes, vec![first, second])
}

/// Two hosts write different words of one line: do both survive? Watched: both words.
pub fn same_line(writes: WriteMode, by: By) -> Program {
    let (first, second) = two_words();
    let mut both = program(writes, vec![write(first, 1, by), write(second, 1, by)]);
    both.watched = vec![first, second];
    both
}

/// A message of two lines that carries no flag: may a reader see a mix? Loads: both lines.
pub fn torn(writes: WriteMode) -> Program {
    let (x, y) = two_lines();
    let flushes = [x, y].map(|at| Instr::Flush(at.line(), Flush::ClFlushOpt));
    let stores = [Instr::Store(x, 1), Instr::Store(y, 1)];
    let fence = [Instr::Fence(Fence::Full)];
    let writer = [&stores[..], &flushes, &fence].concat();
    let loads = [Instr::Load(x), Instr::Load(y)];
    let reader = [&flushes[..], &fence, &loads].concat();
    program(writes, vec![writer, reader])
}

/// The writer holds the line that it writes around its cache: does its fence publish it? Loads of
/// host 1: flag, payload.
pub fn store_nt_on_cached(writes: WriteMode, holds: bool) -> Program {
    let (x, y) = two_lines();
    let by = By::StoreNt(Fence::Store);
    let hold = if holds {
        vec![Instr::Load(x)]
    } else {
        Vec::new()
    };
    let sender = [hold, write(x, 1, by), write(y, 1, PUBLISH)].concat();
    let look = Some(Fence::Full);
    let receiver = [read(y, look), read(x, look)].concat();
    program(writes, vec![sender, receiver])
}

/// 2+2W: may each host's first write come after the other's second? Watched: both words.
pub fn two_plus_two_writes(writes: WriteMode, by: By) -> Program {
    let (x, y) = two_lines();
    let first = [write(x, 1, by), write(y, 2, by)].concat();
    let second = [write(y, 1, by), write(x, 2, by)].concat();
    let mut both = program(writes, vec![first, second]);
    both.watched = vec![x, y];
    both
}

/// IRIW: may two readers see two independent writes in opposite orders? Loads of hosts 2 and 3.
pub fn independent_reads(writes: WriteMode, look: Option<Fence>) -> Program {
    let (x, y) = two_lines();
    let readers = [
        [read(x, look), read(y, look)],
        [read(y, look), read(x, look)],
    ];
    let mut threads = vec![write(x, 1, PUBLISH), write(y, 1, PUBLISH)];
    threads.extend(readers.map(|reads| reads.concat()));
    program(writes, threads)
}

/// Every program above that is asked of a simulator too, by name.
pub fn all(writes: WriteMode) -> Vec<(&'static str, Program)> {
    let look = Some(Fence::Full);
    let opt = Flush::ClFlushOpt;
    let mut all = vec![
        (
            "mp+post+observe",
            message_passing(writes, POST, PUBLISH, look),
        ),
        (
            "mp+nothing+observe",
            message_passing(writes, By::Nothing, PUBLISH, look),
        ),
        ("mp+post+load", message_passing(writes, POST, PUBLISH, None)),
        (
            "mp+post+sfence",
            message_passing(writes, POST, PUBLISH, Some(Fence::Store)),
        ),
        (
            "mp+post+lfence",
            message_passing(writes, POST, PUBLISH, Some(Fence::Load)),
        ),
        (
            "mp+movnti+observe",
            message_passing(writes, By::StoreNt(Fence::Store), PUBLISH, look),
        ),
        ("prefetch-revival", prefetch_revival(writes)),
        ("torn", torn(writes)),
        ("store-nt-on-cached", store_nt_on_cached(writes, true)),
        ("store-nt-on-absent", store_nt_on_cached(writes, false)),
        ("same-line+flush", same_line(writes, PUBLISH)),
        (
            "same-line+movnti",
            same_line(writes, By::StoreNt(Fence::Full)),
        ),
        ("2+2w+publish", two_plus_two_writes(writes, PUBLISH)),
        ("2+2w+nothing", two_plus_two_writes(writes, By::Nothing)),
        ("iriw+observe", independent_reads(writes, look)),
        ("sb+confirm", store_buffering_confirmed(writes)),
    ];
    for (name, fence) in [
        ("sb+mfence", Fence::Full),
        ("sb+sfence", Fence::Store),
        ("sb+lfence", Fence::Load),
    ] {
        let by = By::Flush(opt, fence);
        all.push((name, store_buffering(writes, by, Some(fence))));
    }
    all
}
