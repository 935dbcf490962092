//! What the environment may do at any moment.

use fabric::Line;

use crate::cached::CachedLine;
use crate::choose::{Choice, Chooser};
use crate::memory::Memory;
use crate::order::Buffered;

/// One step that no instruction asks for at that moment.
///
/// Drains and releases happen in the end; evictions, fetches and crashes need never happen, so a
/// poll without an observe may wait for ever: that is what makes its flush necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// An entry of a lane's buffer takes effect.
    Drain {
        /// The lane, numbered host by host.
        lane: usize,
        /// Which entry of its buffer.
        entry: usize,
    },
    /// A held write arrives.
    Release {
        /// Which of the held writes.
        held: usize,
    },
    /// A copy leaves a cache; a dirty one is written back whole, with this host's idea of bytes
    /// that others wrote meanwhile.
    Evict {
        /// Whose copy.
        domain: usize,
        /// Of which line.
        line: Line,
    },
    /// A prefetch, or a mispredicted path, brings a line in, clean.
    Fetch {
        /// Whose cache.
        domain: usize,
        /// Which line.
        line: Line,
    },
    /// A host stops: its buffers are lost, each dirty line is lost or written back.
    Crash {
        /// Which host.
        host: usize,
    },
}

impl Memory {
    /// Every drain and every release that may happen now: those that happen in the end.
    pub fn certain_steps(&self, steps: &mut Vec<Step>) {
        for (lane, buffer) in self.buffers.iter().enumerate() {
            let entries = (0..buffer.len()).filter(|&entry| self.may_drain(lane, entry));
            steps.extend(entries.map(|entry| Step::Drain { lane, entry }));
        }
        for (held, write) in self.held.iter().enumerate() {
            let waits = |first: &crate::memory::Held| write.behind.contains(&first.id);
            if !self.held[..held].iter().any(waits) {
                steps.push(Step::Release { held });
            }
        }
    }

    /// Every eviction, and every fetch of a line in `interesting`, that may happen now. A caller
    /// that knows which lines a host can still access passes those: a copy of any other line makes
    /// no difference.
    pub fn unasked_steps(
        &self,
        interesting: impl Fn(usize, Line) -> bool,
        lines: &[Line],
        steps: &mut Vec<Step>,
    ) {
        for (domain, cache) in self.caches.iter().enumerate() {
            for (&line, copy) in cache {
                if copy.dirty || interesting(domain, line) {
                    steps.push(Step::Evict { domain, line });
                }
            }
            for &line in lines.iter().filter(|&&line| interesting(domain, line)) {
                if !cache.contains_key(&line) && self.may_fetch(domain, line) {
                    steps.push(Step::Fetch { domain, line });
                }
            }
        }
    }

    /// Takes a step that is possible now.
    pub fn take(&mut self, step: Step, chooser: &mut impl Chooser) {
        match step {
            Step::Drain { lane, entry } => {
                let entry = self.buffers[lane].remove(entry);
                self.drain(lane, entry, chooser);
                self.pass_fences(lane);
            }
            Step::Release { held } => {
                let write = self.held.remove(held);
                self.arrive(write.line, &write.content, write.bytes);
                for later in &mut self.held {
                    later.behind.retain(|&id| id != write.id);
                }
                self.renumber_held();
            }
            Step::Evict { domain, line } => self.drop_copy(domain, None, line),
            Step::Fetch { domain, line } => {
                let fetched = CachedLine::fetched(self.device_line(line));
                self.caches[domain].insert(line, fetched);
            }
            Step::Crash { host } => self.crash(host, chooser),
        }
    }

    fn drain(&mut self, lane: usize, entry: Buffered, chooser: &mut impl Chooser) {
        let domain = self.shape.domain(lane);
        match entry {
            Buffered::Store { at, bits } => {
                let copy = self.copy_of(domain, at.line());
                copy.expect("may_drain saw the line or a way to it")
                    .store(at, bits);
            }
            Buffered::HostStore { offset, bits } => {
                self.host_words[self.shape.host(lane)].insert(offset, bits);
            }
            Buffered::StoreNt { at, bits } => {
                let accessed = self.accessed[domain].contains(&at.line());
                let held = self.caches[domain].get_mut(&at.line());
                // Some implementations update a cached line in place, and then the fence publishes
                // nothing (Intel optimization manual, non-temporal stores). A copy that only a
                // prefetch brought does not count: otherwise no non-temporal store ever published.
                if let Some(copy) = held.filter(|_| accessed)
                    && chooser.choose(2, Choice::NonTemporal) == 1
                {
                    copy.store(at, bits);
                    return;
                }
                self.drop_copy(domain, Some(lane), at.line());
                let mut content = crate::Content::ZERO;
                content.put(at, bits);
                self.send(domain, Some(lane), at.line(), content, at.byte_mask());
            }
            Buffered::StoreLine { line, content } => {
                // It overwrites all 64 bytes, so a dirty copy has nothing left to write back.
                self.caches[domain].remove(&line);
                self.accessed[domain].remove(&line);
                self.send(domain, Some(lane), line, content, u64::MAX);
            }
            Buffered::ClFlush(line) | Buffered::ClFlushOpt(line) => {
                self.adopt_held(lane, line);
                self.drop_copy(domain, Some(lane), line);
            }
            Buffered::Writeback(line) => {
                self.adopt_held(lane, line);
                let copy = self.caches[domain].get_mut(&line);
                if let Some(content) = copy.and_then(CachedLine::write_back) {
                    self.send(domain, Some(lane), line, content, u64::MAX);
                }
            }
            Buffered::Fence => {}
        }
    }

    /// Drops a copy, written back whole if dirty; `lane` is who asked for it, if anyone did.
    fn drop_copy(&mut self, domain: usize, lane: Option<usize>, line: Line) {
        let copy = self.caches[domain].remove(&line);
        self.accessed[domain].remove(&line);
        if let Some(content) = copy.and_then(CachedLine::flush) {
            self.send(domain, lane, line, content, u64::MAX);
        }
    }

    fn crash(&mut self, host: usize, chooser: &mut impl Chooser) {
        self.crashed[host] = true;
        let lanes = self.shape.lanes as usize;
        for buffer in &mut self.buffers[host * lanes..(host + 1) * lanes] {
            buffer.clear();
        }
        if self.shape.domains() == 1 && self.shape.hosts > 1 {
            // One cache stands for all hosts' here, and the others live on.
            return;
        }
        self.accessed[host].clear();
        for (line, copy) in std::mem::take(&mut self.caches[host]) {
            if copy.dirty && chooser.choose(2, Choice::Crashed) == 1 {
                self.send(host, None, line, copy.content, u64::MAX);
            }
        }
    }

    /// Numbers count from 0 again, so that equal states compare equal.
    fn renumber_held(&mut self) {
        let old: Vec<u32> = self.held.iter().map(|held| held.id).collect();
        for (index, held) in self.held.iter_mut().enumerate() {
            held.id = index as u32;
            for id in &mut held.behind {
                let place = old.iter().position(|was| was == id);
                *id = place.expect("a write that left is waited for by nobody") as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fabric::{Fence, Flush};

    use super::*;
    use crate::choose::Likely;
    use crate::content::Access;
    use crate::memory::{Shape, WriteMode};

    fn word(offset: u64) -> Access {
        Access::word(offset, 8)
    }

    fn drain_all(memory: &mut Memory) {
        loop {
            let mut steps = Vec::new();
            memory.certain_steps(&mut steps);
            let drain = steps.iter().find(|step| matches!(step, Step::Drain { .. }));
            let Some(&step) = drain else { return };
            memory.take(step, &mut Likely);
        }
    }

    /// Two hosts write different words of one line: the second write-back carries its host's old
    /// idea of the first word (21 to 24 % of trials kept both, FUSEE-CXL).
    #[test]
    fn a_write_back_takes_the_whole_line_along() {
        let mut memory = Memory::new(Shape::software(2, 1, WriteMode::Synchronous));
        memory.store(0, word(0), 1);
        memory.store(1, word(8), 2);
        drain_all(&mut memory);
        for lane in 0..2 {
            memory.flush(lane, word(0).line(), Flush::ClFlushOpt);
        }
        drain_all(&mut memory);
        assert_eq!(
            (memory.at_device(word(0)), memory.at_device(word(8))),
            (0, 2)
        );
    }

    #[test]
    fn held_writes_leave_in_fence_order_and_hold_the_own_read_back() {
        let mut memory = Memory::new(Shape::software(1, 1, WriteMode::Posted));
        for (offset, bits) in [(0, 1), (64, 2)] {
            memory.store(0, word(offset), bits);
            memory.flush(0, word(offset).line(), Flush::ClFlushOpt);
            drain_all(&mut memory);
            assert!(memory.fence(0, Fence::Full));
        }
        let mut steps = Vec::new();
        memory.certain_steps(&mut steps);
        assert_eq!(steps, [Step::Release { held: 0 }]);
        assert_eq!(memory.load(0, word(64)), None);
        memory.take(Step::Release { held: 0 }, &mut Likely);
        memory.take(Step::Release { held: 0 }, &mut Likely);
        assert_eq!(memory.load(0, word(64)), Some(2));
    }

    #[test]
    fn a_crashed_host_loses_or_writes_back_each_dirty_line() {
        let mut seen = std::collections::BTreeSet::new();
        let mut script = crate::Scripted::default();
        loop {
            let mut memory = Memory::new(Shape::software(1, 1, WriteMode::Synchronous));
            memory.store(0, word(0), 1);
            memory.store(0, word(64), 1);
            drain_all(&mut memory);
            memory.store(0, word(128), 1);
            memory.take(Step::Crash { host: 0 }, &mut script);
            drain_all(&mut memory);
            seen.insert([0, 64, 128].map(|offset| memory.at_device(word(offset))));
            if !script.advance() {
                break;
            }
        }
        let expected = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]];
        assert_eq!(seen, std::collections::BTreeSet::from(expected));
    }
}
