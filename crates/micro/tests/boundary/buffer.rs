//! What a lane has issued and the memory has not yet done, and in which orders it may be done.

use fabric::{Flush, LINE_BYTES, Line};

use crate::memory::{Memory, Words, put};

/// One issued operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pending {
    Store {
        offset: u64,
        bytes: usize,
        bits: u64,
    },
    StoreNt {
        offset: u64,
        bytes: usize,
        bits: u64,
    },
    StoreLine(Line, Words),
    Writeback(Line),
    Flush(Line, Flush),
    StoreFence,
}

impl Pending {
    fn line(&self) -> Option<Line> {
        match *self {
            Self::Store { offset, .. } | Self::StoreNt { offset, .. } => {
                Some(Line(offset / LINE_BYTES))
            }
            Self::StoreLine(line, _) | Self::Writeback(line) | Self::Flush(line, _) => Some(line),
            Self::StoreFence => None,
        }
    }

    /// Ordered with stores and with its like: plain stores and CLFLUSH.
    fn is_strong(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::Flush(_, Flush::ClFlush))
    }

    fn is_maintenance(&self) -> bool {
        matches!(self, Self::Writeback(_) | Self::Flush(..))
    }

    /// Whether `later` must wait for this, both of one lane (the table at `Port::flush`). A line's
    /// weak flush does not hold up a later store to it: manuals differ, so unordered.
    fn is_before(&self, later: &Self) -> bool {
        let fence = matches!(self, Self::StoreFence) || matches!(later, Self::StoreFence);
        let same_line = self.line() == later.line();
        let weak_flush_then_store = self.is_maintenance() && !later.is_maintenance();
        fence
            || (self.is_strong() && later.is_strong())
            || (same_line && !weak_flush_then_store && !self.passes_flush(later))
    }

    /// A store around the cache is not ordered with a flush, not even of its own line.
    fn passes_flush(&self, later: &Self) -> bool {
        matches!(self, Self::StoreNt { .. } | Self::StoreLine(..)) && later.is_maintenance()
    }

    /// Whether it puts words anywhere.
    pub(crate) fn writes(&self) -> bool {
        !self.is_maintenance() && !matches!(self, Self::StoreFence)
    }

    /// Does it.
    pub(crate) fn perform(&self, memory: &mut Memory, host: u32) {
        match *self {
            Self::Store {
                offset,
                bytes,
                bits,
            } => memory.write(host, offset, bytes, bits),
            Self::StoreNt {
                offset,
                bytes,
                bits,
            } => memory.write_around(host, offset, bytes, bits),
            Self::StoreLine(line, ref words) => memory.write_line(host, line, words),
            Self::Writeback(line) => memory.write_back(host, line),
            Self::Flush(line, _) => memory.drop_copy(host, line),
            Self::StoreFence => {}
        }
    }
}

/// One lane's issued operations, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer(Vec<Pending>);

impl Buffer {
    pub(crate) fn push(&mut self, pending: Pending) {
        self.0.push(pending);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, index: usize) -> Pending {
        self.0.remove(index)
    }

    /// The lines that its operations are about.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> {
        self.0.iter().filter_map(Pending::line)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Operation `index` and, before it, the fewest older ones that it has to wait for.
    pub(crate) fn through(&self, index: usize) -> Vec<usize> {
        let mut needed = vec![index];
        for older in (0..index).rev() {
            if needed
                .iter()
                .any(|&later| self.0[older].is_before(&self.0[later]))
            {
                needed.push(older);
            }
        }
        needed.reverse();
        needed
    }

    /// Where a store around the cache may find its line in it, and stay there (Intel's optimization
    /// manual on non-temporal stores that hit).
    pub(crate) fn around_the_cache(&self, index: usize) -> Option<(Line, Pending)> {
        let Pending::StoreNt {
            offset,
            bytes,
            bits,
        } = self.0[index]
        else {
            return None;
        };
        let kept = Pending::Store {
            offset,
            bytes,
            bits,
        };
        Some((Line(offset / LINE_BYTES), kept))
    }

    /// The lane's own view of a line: what it has stored is forwarded.
    pub(crate) fn forward(&self, line: Line, words: &mut Words) {
        for pending in &self.0 {
            match *pending {
                Pending::Store {
                    offset,
                    bytes,
                    bits,
                }
                | Pending::StoreNt {
                    offset,
                    bytes,
                    bits,
                } if pending.line() == Some(line) => put(words, offset, bytes, bits),
                Pending::StoreLine(whole, stored) if whole == line => *words = stored,
                _ => {}
            }
        }
    }
}
