//! Bitmaps of vertices: words of 64 in the region, and atomic ones that the lanes of a host share.

use std::ops::Range;

use fabric::{HostAtomics, HostSlice, Port, Slice};

/// Words that are moved at a time: eight lines.
const BURST: usize = 64;

/// Calls `f` with each bit that is set.
#[inline(always)]
pub(crate) fn each_bit(word: usize, mut bits: u64, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(word * 64 + bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// The bits of word `word` that are vertices of `range`.
#[inline(always)]
pub(crate) fn within(word: usize, range: &Range<usize>) -> u64 {
    let below = |end: usize| match end.saturating_sub(word * 64) {
        0 => 0,
        bits @ 1..64 => (1u64 << bits) - 1,
        _ => u64::MAX,
    };
    below(range.end) & !below(range.start)
}

/// Whether a vertex is in a bitmap that nobody writes meanwhile.
#[inline(always)]
pub(crate) fn has<P: Port>(port: &P, bits: Slice<u64>, vertex: usize) -> bool {
    port.load_overlapped(bits.at(vertex / 64)) >> (vertex % 64) & 1 != 0
}

/// Sets a bit that other lanes of the host may set as well; whether this lane was the first.
#[inline(always)]
pub(crate) fn claim<P: HostAtomics>(port: &P, bits: HostSlice<u64>, vertex: usize) -> bool {
    let (at, bit) = (bits.at(vertex / 64), 1u64 << (vertex % 64));
    let mut word: u64 = port.atomic_load(at);
    loop {
        if word & bit != 0 {
            return false;
        }
        match port.compare_exchange(at, word, word | bit) {
            Ok(_) => return true,
            Err(found) => word = found,
        }
    }
}

/// Takes what lanes have claimed in a word.
#[inline(always)]
pub(crate) fn take<P: HostAtomics>(port: &P, bits: HostSlice<u64>, word: usize) -> u64 {
    let at = bits.at(word);
    let taken = port.atomic_load(at);
    if taken != 0 {
        port.atomic_store(at, 0u64);
    }
    taken
}

/// Copies words `range` from one bitmap to another.
pub(crate) fn copy<P: Port>(port: &P, from: Slice<u64>, to: Slice<u64>, range: Range<usize>) {
    let mut buffer = [0u64; BURST];
    let mut at = range.start;
    while at < range.end {
        let count = BURST.min(range.end - at);
        port.read_into(from.at(at), &mut buffer[..count]);
        port.write_from(to.at(at), &buffer[..count]);
        at += count;
    }
}

/// Puts `value` in words `range`.
pub(crate) fn fill<P: Port, T: fabric::Word>(
    port: &P,
    array: Slice<T>,
    range: Range<usize>,
    value: T,
) {
    let buffer = [value; BURST];
    let mut at = range.start;
    while at < range.end {
        let count = BURST.min(range.end - at);
        port.write_from(array.at(at), &buffer[..count]);
        at += count;
    }
}
