//! The hardware prefetcher: what it fetches in time, retires no demand miss.

use super::tlb::first_match;
use crate::scale::{LINE_BYTES, PAGE_BYTES};

/// Streams that one core follows.
const TRACKERS: usize = 8;

/// Lines of a page: a stream ends at its end, since the next physical page may be anywhere.
const PAGE_LINES: u32 = (PAGE_BYTES / LINE_BYTES) as u32;

/// Follows ascending lines: the first two of a page train it, the others are fetched in time.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// The line that would continue the stream, times two, plus one once it is trained.
    next: [u32; TRACKERS],
    replace: usize,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            next: [u32::MAX; TRACKERS],
            replace: 0,
        }
    }

    /// Whether a line that is not cached had been fetched ahead.
    #[inline]
    pub(super) fn fetched(&mut self, line: u32) -> bool {
        let found = first_match(self.next.map(|next| next >> 1), line);
        if let Some(next) = self.next.get_mut(found) {
            let trained = *next & 1 == 1;
            *next = if (line + 1).is_multiple_of(PAGE_LINES) {
                u32::MAX
            } else {
                (line + 1) << 1 | 1
            };
            return trained;
        }
        self.next[self.replace] = (line + 1) << 1;
        self.replace = (self.replace + 1) % TRACKERS;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_the_lines_of_a_page_are_demand_misses() {
        let mut streams = Streams::new();
        let misses = (0..4 * PAGE_LINES)
            .filter(|&line| !streams.fetched(line))
            .count();
        assert_eq!(misses, 8);
    }

    #[test]
    fn random_lines_are_all_demand_misses() {
        let mut streams = Streams::new();
        assert!((0..1_000).all(|turn| !streams.fetched(turn * 7_919 % 65_536)));
    }
}
