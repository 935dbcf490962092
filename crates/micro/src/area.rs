//! Words that one lane measures: a slice of the region, or DRAM of its own.

use std::ops::Range;

use fabric::{Flush, Gone, Pages, Pod, Port, Private, Slice, Stream};
use serde::{Deserialize, Serialize};

/// Words of a line.
pub(crate) const LINE_WORDS: usize = 8;

/// Which memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The pool.
    #[default]
    Region,
    /// The lane's own DRAM, on its own NUMA node.
    Dram,
}

/// Refuses pages that nobody can ask for.
pub(crate) fn check_pages(place: Place, pages: Pages) -> Result<(), String> {
    if place == Place::Region && pages != Pages::Any {
        return Err(format!(
            "pages = {pages}: pages of the region are its mapping's; use place = dram, \
             or pages = any"
        ));
    }
    Ok(())
}

/// Refuses lanes that would write the same words of the region at once.
pub(crate) fn is_shared(place: Place, pod: Pod, active_lanes: u32) -> bool {
    place == Place::Region && (pod.hosts > 1 || active_lanes > 1)
}

/// The same verbs for both places, so that a loop is written once.
pub(crate) trait Area {
    fn load(&self, index: usize) -> u64;
    fn store(&mut self, index: usize, value: u64);
    fn flush(&self, index: usize, how: Flush);
    fn chase(&self, from: u64, hops: u64) -> u64;
    fn stream(&mut self, what: Stream, words: Range<usize>, value: u64) -> u64;
}

/// A slice of the region.
pub(crate) struct InRegion<'p, P> {
    pub(crate) port: &'p P,
    pub(crate) words: Slice<u64>,
}

impl<P: Port> Area for InRegion<'_, P> {
    #[inline(always)]
    fn load(&self, index: usize) -> u64 {
        self.port.load(self.words.at(index))
    }

    #[inline(always)]
    fn store(&mut self, index: usize, value: u64) {
        self.port.store(self.words.at(index), value);
    }

    #[inline(always)]
    fn flush(&self, index: usize, how: Flush) {
        // Serves the reload that is measured, or puts the line into the state that is.
        self.port.flush(self.words.at(index).line(), how);
    }

    #[inline(always)]
    fn chase(&self, from: u64, hops: u64) -> u64 {
        self.port.chase(self.words, from, hops)
    }

    #[inline(always)]
    fn stream(&mut self, what: Stream, words: Range<usize>, value: u64) -> u64 {
        self.port
            .stream(what, self.words.range(words.start, words.end), value)
    }
}

/// A lane's own DRAM.
pub(crate) struct InDram<M>(pub(crate) M);

impl<M: Private<u64>> Area for InDram<M> {
    #[inline(always)]
    fn load(&self, index: usize) -> u64 {
        self.0.get(index)
    }

    #[inline(always)]
    fn store(&mut self, index: usize, value: u64) {
        self.0.set(index, value);
    }

    #[inline(always)]
    fn flush(&self, index: usize, how: Flush) {
        self.0.flush(index, how);
    }

    #[inline(always)]
    fn chase(&self, from: u64, hops: u64) -> u64 {
        self.0.chase(from, hops)
    }

    #[inline(always)]
    fn stream(&mut self, what: Stream, words: Range<usize>, value: u64) -> u64 {
        self.0.stream(what, words, value)
    }
}

/// Drops words from the caches, so that their next accesses go to memory.
pub(crate) fn drop_words<A: Area>(area: &A, words: Range<usize>) {
    for word in words.step_by(LINE_WORDS) {
        // Serves the accesses that are measured. Unordered among each other: the fence of whoever
        // measures next waits for all.
        area.flush(word, Flush::ClFlushOpt);
    }
}

/// Lines that a lane works on between two signs of life: at 1 us a line, a tenth of a second.
pub(crate) const LINES_PER_SIGN: usize = 100_000;

/// Links every line to the next in visiting order, by byte offset ([`Port::chase`]).
///
/// # Errors
/// The reason to give up.
pub(crate) fn link<A: Area>(port: &impl Port, area: &mut A, order: &[u32]) -> Result<(), Gone> {
    for (index, &line) in order.iter().enumerate() {
        let next = order[(index + 1) % order.len()];
        area.store(line as usize * LINE_WORDS, offset_of(next));
        if index % LINES_PER_SIGN == 0 {
            port.check_in()?;
        }
    }
    Ok(())
}

/// The byte at which a line starts.
pub(crate) fn offset_of(line: u32) -> u64 {
    u64::from(line) * fabric::LINE_BYTES
}
