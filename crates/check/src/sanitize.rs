//! Who knows of which store: vector clocks, and what they say about a load.
//!
//! A store carries its lane's knowledge; a load that reads it passes that on. A lane that knows of
//! a store of a word and then reads an older one has read a stale copy, whatever the program makes
//! of it: so one lucky schedule, on which the value happens to do no harm, is enough for a finding.
//!
//! Knowledge is interned, so that a state carries one number a lane and one a word.

use std::collections::HashMap;

use fabric::Lines;
use model::Tag;

use crate::ask::{Caller, Place};

/// A word, as who knows of it is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Word {
    /// Whose DRAM it is in; 0 for the region.
    pub(crate) host: u32,
    pub(crate) place: Place,
}

/// One store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub(crate) lane: u32,
    /// Counts the stores of its lane.
    seq: u32,
    pub(crate) word: Word,
    /// The source line of the store.
    pub(crate) at: Caller,
    /// What its lane knew before.
    before: u32,
}

/// What a lane knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Knowledge {
    /// By lane: how many of its stores.
    clock: Vec<u32>,
    /// By word: the newest of those stores, several where none came after the others.
    last: Vec<(Word, Vec<u32>)>,
}

/// All stores and all knowledge that a search has met. Number 0 of each is nothing.
#[derive(Debug)]
pub(crate) struct Sanitizer {
    events: Vec<Event>,
    /// What is known once a store is known.
    after: Vec<u32>,
    event_ids: HashMap<Event, u32>,
    knowledge: Vec<Knowledge>,
    knowledge_ids: HashMap<Knowledge, u32>,
    joined: HashMap<(u32, u32), u32>,
    validated: Vec<Lines>,
}

impl Sanitizer {
    /// For this many lanes, silent about lines that the program validates itself.
    pub(crate) fn new(lanes: usize, validated: Vec<Lines>) -> Self {
        let nothing = Knowledge {
            clock: vec![0; lanes],
            last: Vec::new(),
        };
        Self {
            events: Vec::new(),
            after: vec![0],
            event_ids: HashMap::new(),
            knowledge: vec![nothing.clone()],
            knowledge_ids: HashMap::from([(nothing, 0)]),
            joined: HashMap::new(),
            validated,
        }
    }

    /// The store of a tag.
    pub(crate) fn event(&self, tag: Tag) -> Option<&Event> {
        self.events.get((tag.0 as usize).checked_sub(1)?)
    }

    /// A lane stores: what its store is called, and what the lane then knows. A word that the
    /// program validates itself only passes on what its writer knew: nobody misses a store of it.
    pub(crate) fn store(&mut self, know: u32, lane: usize, word: Word, at: Caller) -> (Tag, u32) {
        let validated = self.validates(word);
        let seq = if validated {
            0
        } else {
            self.knowledge[know as usize].clock[lane] + 1
        };
        let event = Event {
            lane: lane as u32,
            seq,
            word,
            at,
            before: know,
        };
        if let Some(&id) = self.event_ids.get(&event) {
            return (Tag(id), self.after[id as usize]);
        }
        self.events.push(event);
        let id = self.events.len() as u32;
        self.event_ids.insert(event, id);
        if validated {
            self.after.push(know);
            return (Tag(id), know);
        }
        let mut after = self.knowledge[know as usize].clone();
        after.clock[lane] = seq;
        after.put(word, vec![id]);
        let after = self.intern(after);
        self.after.push(after);
        (Tag(id), after)
    }

    /// A lane that knows `know` reads a store: what it then knows.
    pub(crate) fn read(&mut self, know: u32, tag: Tag) -> u32 {
        let other = self.after[tag.0 as usize];
        if other == know || other == 0 {
            return know;
        }
        if let Some(&joined) = self.joined.get(&(know, other)) {
            return joined;
        }
        let (mine, theirs) = (
            &self.knowledge[know as usize],
            &self.knowledge[other as usize],
        );
        let clock = mine.clock.iter().zip(&theirs.clock);
        let mut both = Knowledge {
            clock: clock.map(|(a, b)| *a.max(b)).collect(),
            last: mine.last.clone(),
        };
        for (word, events) in &theirs.last {
            let mut all = both.at(*word).to_vec();
            all.extend(
                events
                    .iter()
                    .filter(|event| !all.contains(event))
                    .copied()
                    .collect::<Vec<_>>(),
            );
            let newest = |id: &u32| !all.iter().any(|other| self.is_before(*id, *other));
            let mut newest: Vec<u32> = all.iter().copied().filter(newest).collect();
            newest.sort_unstable();
            both.put(*word, newest);
        }
        let joined = self.intern(both);
        self.joined.insert((know, other), joined);
        joined
    }

    /// The store that a lane knows of and that is newer than the one that it has just read.
    pub(crate) fn missed(&self, know: u32, word: Word, read: Tag) -> Option<Tag> {
        if self.validates(word) {
            return None;
        }
        // Words of eight bytes carry a tag; of two that share one, nothing is said.
        if self.event(read).is_some_and(|event| event.word != word) {
            return None;
        }
        let known = self.knowledge[know as usize].at(word);
        let newer = |id: &&u32| read == Tag::NONE || self.is_before(read.0, **id);
        known.iter().find(newer).map(|id| Tag(*id))
    }

    fn validates(&self, word: Word) -> bool {
        let Place::Pool(at) = word.place else {
            return false;
        };
        self.validated.iter().any(|lines| lines.contains(at.line()))
    }

    /// Whether `later`'s lane knew of `first` when it stored.
    fn is_before(&self, first: u32, later: u32) -> bool {
        let event = &self.events[first as usize - 1];
        let after = &self.knowledge[self.after[later as usize] as usize];
        first != later && after.clock[event.lane as usize] >= event.seq
    }

    fn intern(&mut self, knowledge: Knowledge) -> u32 {
        if let Some(&id) = self.knowledge_ids.get(&knowledge) {
            return id;
        }
        let id = self.knowledge.len() as u32;
        self.knowledge.push(knowledge.clone());
        self.knowledge_ids.insert(knowledge, id);
        id
    }
}

impl Knowledge {
    fn at(&self, word: Word) -> &[u32] {
        let found = self.last.binary_search_by_key(&word, |(at, _)| *at);
        found.map_or(&[], |index| &self.last[index].1)
    }

    fn put(&mut self, word: Word, events: Vec<u32>) {
        match self.last.binary_search_by_key(&word, |(at, _)| *at) {
            Ok(index) => self.last[index].1 = events,
            Err(index) => self.last.insert(index, (word, events)),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Access;

    use super::*;

    fn word(offset: u64) -> Word {
        Word {
            host: 0,
            place: Place::Pool(Access::word(offset, 8)),
        }
    }

    #[track_caller]
    fn here() -> Caller {
        std::panic::Location::caller()
    }

    /// Message passing: whoever has read the flag knows of the payload.
    #[test]
    fn knowledge_travels_with_what_is_read() {
        let mut all = Sanitizer::new(2, Vec::new());
        let (payload, know) = all.store(0, 0, word(0), here());
        let (flag, _) = all.store(know, 0, word(64), here());
        assert_eq!(all.missed(0, word(0), Tag::NONE), None);
        let reader = all.read(0, flag);
        assert_eq!(all.missed(reader, word(0), Tag::NONE), Some(payload));
        assert_eq!(all.missed(reader, word(0), payload), None);
        assert_eq!(all.missed(reader, word(64), flag), None);
    }

    /// Two lanes store a word, neither knowing of the other: neither is older.
    #[test]
    fn races_are_not_stale() {
        let mut all = Sanitizer::new(3, Vec::new());
        let (one, _) = all.store(0, 0, word(0), here());
        let (two, _) = all.store(0, 1, word(0), here());
        let reader = all.read(0, one);
        assert_eq!(all.missed(reader, word(0), two), None);
        let both = all.read(reader, two);
        assert_eq!(all.missed(both, word(0), one), None);
        assert_eq!(all.missed(both, word(0), Tag::NONE), Some(one));
        // A third store that knows of both is newer than either.
        let (three, know) = all.store(both, 2, word(0), here());
        assert_eq!(all.missed(know, word(0), two), Some(three));
    }

    #[test]
    fn the_order_of_joining_does_not_matter() {
        let mut all = Sanitizer::new(3, Vec::new());
        let (one, _) = all.store(0, 0, word(0), here());
        let (two, _) = all.store(0, 1, word(64), here());
        let a = all.read(0, one);
        let b = all.read(0, two);
        assert_eq!(all.read(a, two), all.read(b, one));
    }
}
