//! What each operation of a lane does to the memory, and what is refused.

use fabric::{Fence, LINE_BYTES, Line};
use model::{Buffered, Memory, Tag};

use crate::ask::{Ask, Change, Place};
use crate::finding::Kind;
use crate::machine::Machine;
use crate::sanitize::Word;
use crate::state::{Fault, State, line_of};

impl Machine<'_> {
    pub(crate) fn execute(
        &mut self,
        state: &mut State,
        lane: usize,
        ask: Ask,
    ) -> Result<u64, Fault> {
        if let Some(line) = ask.stored_line() {
            self.refuse_frozen(state, lane, &ask, line)?;
        }
        let memory = &mut state.memory;
        match ask {
            Ask::Load(at) => return self.load(state, lane, at),
            Ask::Store(at, bits) => {
                let tag = self.stored(state, lane, Place::Pool(at));
                state.memory.enter(lane, Buffered::Store { at, bits }, tag);
            }
            Ask::StoreNt(at, bits) => {
                let tag = self.stored(state, lane, Place::Pool(at));
                let entry = Buffered::StoreNt { at, bits };
                state.memory.enter(lane, entry, tag);
            }
            Ask::StoreLine(line, content) => {
                let at = model::Access::of(line.start());
                let tag = self.stored(state, lane, Place::Pool(at));
                let entry = Buffered::StoreLine { line, content };
                state.memory.enter(lane, entry, tag);
            }
            Ask::Writeback(line) => push_out(memory, lane, Buffered::Writeback(line)),
            Ask::Flush(line, how) => push_out(memory, lane, Buffered::flush(line, how)),
            Ask::Fence(how) => fence(memory, lane, how),
            Ask::Atomic(place, change) => return self.atomic(state, lane, place, change),
            Ask::Freeze { from, to } => {
                if let Err(index) = state.frozen.binary_search(&(from, to)) {
                    state.frozen.insert(index, (from, to));
                }
            }
            Ask::Wait => state.lanes[lane].again = false,
            Ask::Carries(_) => {}
            Ask::Enter(section) => return self.enter_section(state, lane, section),
            Ask::Leave(section) => state.inside.retain(|(inside, _)| *inside != section),
            Ask::Pause { .. } => unreachable!("a paused lane goes on by a move of its own"),
        }
        Ok(0)
    }

    fn load(&mut self, state: &mut State, lane: usize, at: model::Access) -> Result<u64, Fault> {
        let loaded = state.memory.load_tagged(lane, at);
        let (bits, tag) = loaded.expect("a load that is not ready is no move");
        self.read(state, lane, Place::Pool(at), tag, bits)?;
        Ok(bits)
    }

    /// A lane has read a store: what it learns, and whether it knew better.
    fn read(
        &mut self,
        state: &mut State,
        lane: usize,
        place: Place,
        tag: Tag,
        bits: u64,
    ) -> Result<(), Fault> {
        self.note_value(bits);
        if !self.setup.sanitize {
            return Ok(());
        }
        let know = state.lanes[lane].know;
        let own = self.own(lane, place);
        if let Some(missed) = self.sanitizer.missed(know, own, tag) {
            return Err(self.stale(state, lane, place, bits, missed));
        }
        state.lanes[lane].know = self.sanitizer.read(know, tag);
        Ok(())
    }

    fn stale(&self, state: &State, lane: usize, place: Place, bits: u64, missed: Tag) -> Fault {
        let names = &self.setup.names;
        let newer = self
            .sanitizer
            .event(missed)
            .expect("only stores are missed");
        let by = names.lane(newer.lane as usize);
        let stored_at = crate::trace::place(newer.at);
        Fault {
            kind: Kind::StaleRead,
            what: format!(
                "{} read {} = {bits}, older than the value of {by} (stored at {stored_at}) that it \
                 knew of",
                names.lane(lane),
                names.word(place),
            ),
            lane: Some(lane),
            noticed: self
                .script
                .op(lane, state.lanes[lane].node)
                .map(|op| op.caller),
            line: line_of(place),
            blamed: None,
        }
    }

    /// A lane stores: the tag of its store.
    fn stored(&mut self, state: &mut State, lane: usize, place: Place) -> Tag {
        if !self.setup.sanitize {
            return Tag::NONE;
        }
        let caller = self.caller(state, lane);
        let own = self.own(lane, place);
        let caller = caller.expect("a lane that stores is at an operation");
        let know = state.lanes[lane].know;
        let (tag, know) = self.sanitizer.store(know, lane, own, caller);
        state.lanes[lane].know = know;
        tag
    }

    /// A place, told apart from the same place of another host where each has its own.
    fn own(&self, lane: usize, place: Place) -> Word {
        let host = match place {
            Place::Host { .. } => self.setup.shape.host(lane) as u32,
            Place::Pool(_) => 0,
        };
        Word { host, place }
    }

    fn atomic(
        &mut self,
        state: &mut State,
        lane: usize,
        place: Place,
        change: Change,
    ) -> Result<u64, Fault> {
        if let Place::Pool(at) = place {
            self.refuse_host_atomic(state, lane, at)?;
        }
        match (place, change) {
            (Place::Host { offset }, Change::Load) => {
                let (bits, tag) = state.memory.host_load(lane, offset);
                self.read(state, lane, place, tag, bits)?;
                return Ok(bits);
            }
            (Place::Pool(at), Change::Load) => return self.load(state, lane, at),
            (_, Change::Store(bits)) => {
                let tag = self.stored(state, lane, place);
                let entry = match place {
                    Place::Host { offset } => Buffered::HostStore { offset, bits },
                    Place::Pool(at) => Buffered::Store { at, bits },
                };
                state.memory.enter(lane, entry, tag);
                return Ok(0);
            }
            _ => {}
        }
        // Read first, then store: the store knows what was read.
        let before = match place {
            Place::Host { offset } => {
                let untouched = |_| None;
                state.memory.host_update(lane, offset, Tag::NONE, untouched)
            }
            Place::Pool(at) => state.memory.update(lane, at, Tag::NONE, |_| None),
        };
        let (bits, tag) = before.expect("an atomic that is not ready is no move");
        self.read(state, lane, place, tag, bits)?;
        if let Some(after) = change.apply(bits) {
            let tag = self.stored(state, lane, place);
            match place {
                Place::Host { offset } => {
                    state.memory.host_update(lane, offset, tag, |_| Some(after));
                }
                Place::Pool(at) => {
                    state.memory.update(lane, at, tag, |_| Some(after));
                }
            }
        }
        Ok(bits)
    }

    fn refuse_host_atomic(
        &self,
        state: &State,
        lane: usize,
        at: model::Access,
    ) -> Result<(), Fault> {
        let shape = self.setup.shape;
        if shape.coherence == fabric::Coherence::Hardware || shape.hosts == 1 {
            return Ok(());
        }
        let caller = self.caller(state, lane);
        Err(Fault {
            kind: Kind::HostAtomic,
            what: format!(
                "{} used an atomic instruction on {} of the pool: on this pod each host's cache \
                 does its own on its own copy",
                self.setup.names.lane(lane),
                self.setup.names.word(Place::Pool(at)),
            ),
            lane: Some(lane),
            noticed: caller,
            line: Some(at.line()),
            blamed: caller,
        })
    }

    fn refuse_frozen(
        &self,
        state: &State,
        lane: usize,
        ask: &Ask,
        line: Line,
    ) -> Result<(), Fault> {
        let (from, to) = match ask {
            Ask::Store(at, _) | Ask::StoreNt(at, _) => (at.offset(), at.offset() + 1),
            _ => (line.offset(), line.offset() + LINE_BYTES),
        };
        if !state
            .frozen
            .iter()
            .any(|&(first, end)| from < end && first < to)
        {
            return Ok(());
        }
        let caller = self.caller(state, lane);
        Err(Fault {
            kind: Kind::FrozenStore,
            what: format!(
                "{} stored to {}, which is frozen: other hosts read it without observing",
                self.setup.names.lane(lane),
                self.setup.names.line(line),
            ),
            lane: Some(lane),
            noticed: caller,
            line: Some(line),
            blamed: caller,
        })
    }

    fn enter_section(
        &mut self,
        state: &mut State,
        lane: usize,
        section: u32,
    ) -> Result<u64, Fault> {
        if let Some(&(_, other)) = state.inside.iter().find(|(inside, _)| *inside == section) {
            return Err(Fault {
                kind: Kind::MutualExclusion,
                what: format!(
                    "{} entered section {section} while {} was inside",
                    self.setup.names.lane(lane),
                    self.setup.names.lane(other as usize),
                ),
                lane: Some(lane),
                noticed: self.caller(state, lane),
                line: None,
                blamed: None,
            });
        }
        self.comes_to_rest(state, lane);
        state.inside.push((section, lane as u32));
        state.inside.sort_unstable();
        Ok(0)
    }
}

/// Flushes or writes a line back, unless the lane's buffer holds the same already and no store
/// since: a poll that flushes and waits for nothing would fill its buffer for ever. Nothing is
/// lost: where two of them would take effect, an eviction does what one of them did, at the price
/// of an environment move. Nothing is gained: the one that is there takes effect after this moment.
fn push_out(memory: &mut Memory, lane: usize, entry: Buffered) {
    let moves_lines = |it: &&Buffered| {
        matches!(
            it,
            Buffered::ClFlush(_)
                | Buffered::ClFlushOpt(_)
                | Buffered::Writeback(_)
                | Buffered::Fence
        )
    };
    let merges = {
        let mut since_a_store = memory.buffered(lane).rev().take_while(moves_lines);
        since_a_store.any(|it| *it == entry)
    };
    if !merges {
        memory.enter(lane, entry, Tag::NONE);
    }
}

/// Fences; a second store fence right behind a first one has nothing to order.
fn fence(memory: &mut Memory, lane: usize, how: Fence) {
    if how != Fence::Store || memory.buffered(lane).next_back() != Some(&Buffered::Fence) {
        memory.fence(lane, how);
    }
}
