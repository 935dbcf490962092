//! Which pairs of one lane's operations stay in program order.
//!
//! A lane's stores, flushes and write-backs leave its buffer in any order that this table allows.
//! Loads are not in it: they take their value when they execute, in program order, and nothing but
//! an empty buffer (a full fence) makes one wait for what is in it. That one fact is the rule "a
//! store fence never orders a later load, a load fence never waits for a flush".

use fabric::{Flush, Line};

use crate::content::{Access, Content};

/// An operation of a lane that has executed and not yet taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffered {
    /// A plain store on its way to the host's cache.
    Store {
        /// The word.
        at: Access,
        /// Its bits.
        bits: u64,
    },
    /// A store to DRAM that the lanes of this host share.
    HostStore {
        /// Byte offset in that DRAM.
        offset: u64,
        /// Its bits.
        bits: u64,
    },
    /// A non-temporal store in a write-combining entry. Each word leaves by itself: an entry may be
    /// written out in parts, by byte mask, and a whole one is the parts one after another.
    StoreNt {
        /// The word.
        at: Access,
        /// Its bits.
        bits: u64,
    },
    /// MOVDIR64B.
    StoreLine {
        /// The line.
        line: Line,
        /// All of it.
        content: Content,
    },
    /// CLFLUSH of a line.
    ClFlush(Line),
    /// CLFLUSHOPT of a line.
    ClFlushOpt(Line),
    /// CLWB of a line.
    Writeback(Line),
    /// A store fence.
    Fence,
}

impl Buffered {
    /// A flush of `line`.
    pub fn flush(line: Line, how: Flush) -> Self {
        match how {
            Flush::ClFlush => Self::ClFlush(line),
            Flush::ClFlushOpt => Self::ClFlushOpt(line),
        }
    }

    /// The region line that it works on.
    pub fn line(&self) -> Option<Line> {
        match self {
            Self::Store { at, .. } | Self::StoreNt { at, .. } => Some(at.line()),
            Self::StoreLine { line, .. }
            | Self::ClFlush(line)
            | Self::ClFlushOpt(line)
            | Self::Writeback(line) => Some(*line),
            Self::HostStore { .. } | Self::Fence => None,
        }
    }

    /// The bytes of its line that it writes, one bit each.
    pub fn bytes_written(&self) -> u64 {
        match self {
            Self::Store { at, .. } | Self::StoreNt { at, .. } => at.byte_mask(),
            Self::StoreLine { .. } => u64::MAX,
            _ => 0,
        }
    }

    fn is_plain_store(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::HostStore { .. })
    }

    fn is_clwb_or_opt(&self) -> bool {
        matches!(self, Self::ClFlushOpt(_) | Self::Writeback(_))
    }
}

/// Whether `later` must take effect after `first`, which precedes it in program order.
///
/// The rows follow the pages of each instruction in Intel's SDM, volume 2, and the list in volume
/// 3A, "Memory Ordering"; where they leave a pair unstated, or disagree, it is unordered here.
pub fn ordered(first: &Buffered, later: &Buffered) -> bool {
    use Buffered::{ClFlush, Fence};
    if matches!(first, Fence) || matches!(later, Fence) {
        return true;
    }
    let same_line = first.line().is_some() && first.line() == later.line();
    // A core keeps its own writes of one byte in program order, whatever their kind.
    if same_line && first.bytes_written() & later.bytes_written() != 0 {
        return true;
    }
    if first.is_plain_store() {
        // TSO; CLFLUSH is ordered with stores; CLFLUSHOPT and CLWB with older ones to their line.
        return later.is_plain_store()
            || matches!(later, ClFlush(_))
            || (later.is_clwb_or_opt() && same_line);
    }
    match first {
        // CLFLUSH is ordered with stores and with other CLFLUSH. Its page does not order it with
        // CLFLUSHOPT, even of the same line.
        ClFlush(_) => later.is_plain_store() || matches!(later, ClFlush(_)),
        // Volume 3A lets only flushes of *different* lines pass; a younger store of the same line
        // is ordered there and unmentioned on the instruction's page: unordered.
        Buffered::ClFlushOpt(_) | Buffered::Writeback(_) => {
            same_line && (later.is_clwb_or_opt() || matches!(later, ClFlush(_)))
        }
        // Non-temporal: weakly ordered with everything until a fence.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Line = Line(0);
    const B: Line = Line(1);

    fn store(line: Line) -> Buffered {
        let at = Access::word(line.offset(), 8);
        Buffered::Store { at, bits: 1 }
    }

    fn store_nt(line: Line) -> Buffered {
        let at = Access::word(line.offset() + 8, 8);
        Buffered::StoreNt { at, bits: 1 }
    }

    /// The table of `docs/MODEL.md`: first, later, whether ordered for the same line and for
    /// another.
    #[test]
    fn the_table_of_pairs() {
        type On = fn(Line) -> Buffered;
        let flush: On = Buffered::ClFlush;
        let opt: On = Buffered::ClFlushOpt;
        let clwb: On = Buffered::Writeback;
        let table: &[(On, On, bool, bool)] = &[
            (store, store, true, true),
            (store, flush, true, true),
            (store, opt, true, false),
            (store, clwb, true, false),
            (store, store_nt, false, false),
            (flush, store, true, true),
            (flush, flush, true, true),
            (flush, opt, false, false),
            (opt, store, false, false),
            (opt, flush, true, false),
            (opt, opt, true, false),
            (clwb, opt, true, false),
            (clwb, store, false, false),
            (store_nt, store, false, false),
            (store_nt, opt, false, false),
        ];
        for (row, (first, later, same, other)) in table.iter().enumerate() {
            assert_eq!(ordered(&first(A), &later(A)), *same, "row {row}, same line");
            assert_eq!(ordered(&first(A), &later(B)), *other, "row {row}, other");
            assert!(ordered(&first(A), &Buffered::Fence), "row {row}");
            assert!(ordered(&Buffered::Fence, &later(B)), "row {row}");
        }
    }

    #[test]
    fn writes_of_one_byte_keep_their_order() {
        let at = Access::word(0, 8);
        let plain = Buffered::Store { at, bits: 1 };
        let around = Buffered::StoreNt { at, bits: 2 };
        assert!(ordered(&plain, &around) && ordered(&around, &plain));
    }
}
