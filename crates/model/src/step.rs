//! What the environment may do at any moment.

use fabric::Line;

use crate::cells::{Cells, Copy, Entry, HostWord};
use crate::choose::{Choice, Chooser};
use crate::memory::{Clobber, Memory, Parcel};
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
        let lanes = (self.shape.hosts * self.shape.lanes) as usize;
        for lane in 0..lanes {
            let entries = 0..self.entries(lane).len();
            let may = entries.filter(|&entry| self.may_drain(lane, entry));
            steps.extend(may.map(|entry| Step::Drain { lane, entry }));
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
        for ((domain, line), copy) in self.copies.iter() {
            let domain = domain as usize;
            if copy.dirty || interesting(domain, line) {
                steps.push(Step::Evict { domain, line });
            }
        }
        for domain in 0..self.shape.domains() {
            for &line in lines.iter().filter(|&&line| interesting(domain, line)) {
                let here = self.copies.get((domain as u32, line)).is_some();
                if !here && self.may_fetch(domain, line) {
                    steps.push(Step::Fetch { domain, line });
                }
            }
        }
    }

    /// Takes a step that is possible now; says what it clobbered, if anything.
    pub fn take(&mut self, step: Step, chooser: &mut impl Chooser) -> Option<Clobber> {
        match step {
            Step::Drain { lane, entry } => {
                let entry = self.take_entry(lane, entry);
                let clobber = self.drain(lane, &entry, chooser);
                self.pass_fences(lane);
                clobber
            }
            Step::Release { held } => self.release(held),
            Step::Evict { domain, line } => self.drop_copy(domain, None, line),
            Step::Fetch { domain, line } => {
                self.fetch(domain, line);
                None
            }
            Step::Crash { host } => self.crash(host, chooser),
        }
    }

    fn release(&mut self, held: usize) -> Option<Clobber> {
        let write = self.held.remove(held);
        let clobber = self.arrive(&Parcel {
            domain: write.domain,
            line: write.line,
            cells: write.cells,
            bytes: write.bytes,
            own: write.own,
        });
        for later in &mut self.held {
            later.behind.retain(|&id| id != write.id);
        }
        self.renumber_held();
        clobber
    }

    fn drain(&mut self, lane: usize, entry: &Entry, chooser: &mut impl Chooser) -> Option<Clobber> {
        let domain = self.shape.domain(lane);
        let tag = entry.tag;
        match entry.op {
            Buffered::Store { at, bits } => {
                let copy = self.copy_of(domain, at.line());
                copy.expect("may_drain saw the line or a way to it")
                    .store(at, bits, tag);
                None
            }
            Buffered::HostStore { offset, bits } => {
                let host = self.shape.host(lane) as u32;
                let word = HostWord { bits, tag };
                self.host_words.insert((host, offset), word);
                None
            }
            Buffered::StoreNt { at, bits } => {
                let held = self.copies.get_mut((domain as u32, at.line()));
                // Some implementations update a cached line in place, and then the fence publishes
                // nothing (Intel optimization manual, non-temporal stores). A copy that only a
                // prefetch brought does not count: otherwise no non-temporal store ever published.
                if let Some(copy) = held.filter(|copy| copy.accessed)
                    && chooser.choose(2, Choice::NonTemporal) == 1
                {
                    copy.store(at, bits, tag);
                    return None;
                }
                let clobber = self.drop_copy(domain, Some(lane), at.line());
                let mut cells = Cells::default();
                cells.put(at, bits, tag);
                let parcel = written(domain, at.line(), cells, at.byte_mask());
                self.send(Some(lane), parcel).or(clobber)
            }
            Buffered::StoreLine { line, content } => {
                // It overwrites all 64 bytes, so a dirty copy has nothing left to write back.
                self.copies.remove((domain as u32, line));
                let cells = Cells::whole(content, tag);
                self.send(Some(lane), written(domain, line, cells, u64::MAX))
            }
            Buffered::ClFlush(line) | Buffered::ClFlushOpt(line) => {
                self.adopt_held(lane, line);
                self.drop_copy(domain, Some(lane), line)
            }
            Buffered::Writeback(line) => {
                self.adopt_held(lane, line);
                let copy = self.copies.get_mut((domain as u32, line));
                let dirty = copy.filter(|copy| copy.dirty)?;
                let parcel = whole(domain, line, dirty);
                (dirty.dirty, dirty.written) = (false, 0);
                self.send(Some(lane), parcel)
            }
            Buffered::Fence => None,
        }
    }

    /// Drops a copy, written back whole if dirty; `lane` is who asked for it, if anyone did.
    fn drop_copy(&mut self, domain: usize, lane: Option<usize>, line: Line) -> Option<Clobber> {
        let copy = self.copies.remove((domain as u32, line))?;
        if copy.dirty {
            self.send(lane, whole(domain, line, &copy))
        } else {
            None
        }
    }

    fn crash(&mut self, host: usize, chooser: &mut impl Chooser) -> Option<Clobber> {
        self.crashed |= 1 << host;
        let shape = self.shape;
        self.buffers
            .retain(|entry| shape.host(entry.lane as usize) != host);
        if shape.domains() == 1 && shape.hosts > 1 {
            // One cache stands for all hosts' here, and the others live on.
            return None;
        }
        let own = self
            .copies
            .iter()
            .filter(|((domain, _), _)| *domain as usize == host);
        let own: Vec<(Line, Copy)> = own.map(|((_, line), copy)| (line, *copy)).collect();
        let mut clobber = None;
        for (line, copy) in own {
            self.copies.remove((host as u32, line));
            if copy.dirty && chooser.choose(2, Choice::Crashed) == 1 {
                clobber = self.send(None, whole(host, line, &copy)).or(clobber);
            }
        }
        clobber
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

/// A write-back: all 64 bytes, whoever wrote them.
fn whole(domain: usize, line: Line, copy: &Copy) -> Parcel {
    Parcel {
        domain,
        line,
        cells: copy.cells(),
        bytes: u64::MAX,
        own: copy.written,
    }
}

/// A write around the cache: the bytes that were stored, and no others.
fn written(domain: usize, line: Line, cells: Cells, bytes: u64) -> Parcel {
    Parcel {
        domain,
        line,
        cells,
        bytes,
        own: bytes,
    }
}

#[cfg(test)]
mod tests {
    use fabric::{Fence, Flush};

    use super::*;
    use crate::choose::Likely;
    use crate::content::Access;
    use crate::shape::{Shape, WriteMode};

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
