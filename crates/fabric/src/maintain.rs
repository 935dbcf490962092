//! The recipes behind a port's provided verbs: what publish, post, confirm and observe are made of.
//!
//! Every adaptor and substrate shares them, so a recipe exists once.

use crate::discipline::{Discipline, Fence, Flush, ObserveBy, PublishBy};
use crate::place::{Line, Lines, Ptr};
use crate::port::Port;
use crate::word::Word;

#[inline(always)]
#[track_caller]
pub(crate) fn publish<P: Port + ?Sized>(port: &P, lines: Lines) {
    push_out(port, lines, Fence::Full);
}

#[inline(always)]
#[track_caller]
pub(crate) fn post<P: Port + ?Sized>(port: &P, lines: Lines) {
    push_out(port, lines, Fence::Store);
}

/// Lines that plain stores dirtied are in the cache, so also a `movnti` or `movdir64b` discipline
/// has to flush them: those two only avoid the dirty line in the first place (see [`write`]).
#[inline(always)]
#[track_caller]
fn push_out<P: Port + ?Sized>(port: &P, lines: Lines, fence: Fence) {
    match port.discipline().publish {
        PublishBy::None => return,
        PublishBy::ClFlush => flush_each(port, lines, Flush::ClFlush),
        PublishBy::ClFlushOpt | PublishBy::StoreNt | PublishBy::Line64 => {
            flush_each(port, lines, Flush::ClFlushOpt);
        }
        PublishBy::Clwb => {
            let end = lines.first().0 + lines.count();
            let mut line = lines.first().0;
            while line < end {
                // Serves the peer's next observed load of this line.
                port.writeback(Line(line));
                line += 1;
            }
        }
    }
    // Full: orders the flushes before this lane's later loads as well (Dekker-like algorithms read
    // next). Store: enough before the store of a flag, whose reader loads the payload after it.
    port.fence(fence);
}

#[inline(always)]
#[track_caller]
pub(crate) fn publish_each<P: Port + ?Sized>(port: &P, lines: &[Line]) {
    let by = port.discipline().publish;
    if by == PublishBy::None || lines.is_empty() {
        return;
    }
    for &line in lines {
        // Serves the peers' next observed loads of these lines.
        match by {
            PublishBy::Clwb => port.writeback(line),
            PublishBy::ClFlush => port.flush(line, Flush::ClFlush),
            _ => port.flush(line, Flush::ClFlushOpt),
        }
    }
    // As in `push_out`.
    port.fence(Fence::Full);
}

/// Without a loop of iterators, so that the caller stays on record and the code stays a flush and
/// loop arithmetic a line.
#[inline(always)]
#[track_caller]
fn flush_each<P: Port + ?Sized>(port: &P, lines: Lines, how: Flush) {
    let end = lines.first().0 + lines.count();
    let mut line = lines.first().0;
    while line < end {
        // Publishing: serves the peer's next observed load. Observing: this lane's next load.
        port.flush(Line(line), how);
        line += 1;
    }
}

#[inline(always)]
#[track_caller]
pub(crate) fn confirm<P: Port + ?Sized>(port: &P, line: Line) {
    let discipline = port.discipline();
    if discipline == Discipline::NONE {
        // Store buffers exist on coherent pods too: the fence keeps the caller's next load behind
        // its last store.
        port.fence(Fence::Full);
        return;
    }
    publish(port, Lines::from(line));
    // Drop the copy so that the load below reaches the device, where the fabric keeps it behind
    // this host's held write of the same line.
    observe(port, Lines::from(line));
    let word: u64 = port.load(Ptr::at_offset(line.offset()));
    std::hint::black_box(word);
}

#[inline(always)]
#[track_caller]
pub(crate) fn observe<P: Port + ?Sized>(port: &P, lines: Lines) {
    if let Some(how) = observing(port) {
        flush_each(port, lines, how);
        fence_observed(port);
    }
}

#[inline(always)]
#[track_caller]
pub(crate) fn observe_each<P: Port + ?Sized>(port: &P, lines: &[Line]) {
    if let Some(how) = observing(port) {
        for &line in lines {
            // Serves this lane's next load of the line.
            port.flush(line, how);
        }
        fence_observed(port);
    }
}

#[inline(always)]
fn observing<P: Port + ?Sized>(port: &P) -> Option<Flush> {
    match port.discipline().observe {
        ObserveBy::None => None,
        ObserveBy::ClFlush => Some(Flush::ClFlush),
        ObserveBy::ClFlushOpt => Some(Flush::ClFlushOpt),
    }
}

/// A store fence would let the loads that follow hit the copies being dropped (xdna-driver#1506,
/// Embarcadero's frontier, Tigon's ring: all published with less than this fence).
#[inline(always)]
#[track_caller]
fn fence_observed<P: Port + ?Sized>(port: &P) {
    port.fence(Fence::Full);
}

#[inline(always)]
#[track_caller]
pub(crate) fn write<P: Port + ?Sized, T: Word>(port: &P, to: Ptr<T>, from: &[T], fence: Fence) {
    match port.discipline().publish {
        PublishBy::StoreNt => port.write_nt_from(to, from),
        PublishBy::Line64 => write_lines(port, to, from),
        _ => {
            port.write_from(to, from);
            return push_out(port, to.lines(from.len()), fence);
        }
    }
    // Non-temporal stores are weakly ordered: the fence puts them before the flag, or before this
    // lane's next load.
    port.fence(fence);
}

#[inline(always)]
#[track_caller]
fn write_lines<P: Port + ?Sized, T: Word>(port: &P, to: Ptr<T>, from: &[T]) {
    let per_line = 64 / T::BYTES;
    let place = to.slice(from.len());
    let mut index = 0;
    while index < from.len() {
        let at = place.at(index);
        if at.offset().is_multiple_of(64) && from.len() - index >= per_line {
            port.store_line(at.line(), &packed(&from[index..index + per_line]));
            index += per_line;
        } else {
            port.store_nt(at, from[index]);
            index += 1;
        }
    }
}

/// One line's words as the eight u64 that lie in memory (little endian).
#[inline(always)]
fn packed<T: Word>(words: &[T]) -> [u64; 8] {
    let mut line = [0u64; 8];
    for (index, word) in words.iter().enumerate() {
        let bit = index * T::BYTES * 8;
        line[bit / 64] |= word.to_bits() << (bit % 64);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_follows_memory_order() {
        assert_eq!(
            packed(&[1u64, 2, 3, 4, 5, 6, 7, 8]),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        let halves: Vec<u32> = (0..16).collect();
        assert_eq!(packed(&halves)[1], (3 << 32) | 2);
    }
}
