//! Nobody can go on: who waits for what, and why it will not come.

use crate::ask::Place;
use crate::finding::Kind;
use crate::machine::Machine;
use crate::state::{Fault, State, line_of};
use crate::trace::place;

impl Machine<'_> {
    /// A lane that was run twice with the same results and did not do the same.
    pub(crate) fn differs(&self) -> Option<Fault> {
        let differs = self.script.differs.as_ref()?;
        Some(Fault {
            kind: Kind::Nondeterminism,
            what: format!(
                "{} did not do the same when it saw the same: first {}, then {}",
                self.setup.names.lane(differs.lane),
                differs.before,
                differs.now,
            ),
            lane: Some(differs.lane),
            noticed: differs.at,
            line: None,
            blamed: differs.at,
        })
    }

    /// Why nobody goes on. A stale copy is the likeliest reason, so it is named first.
    pub(crate) fn stuck(&mut self, state: &State) -> Fault {
        let mut waits = Vec::new();
        let mut blamed = None;
        for lane in 0..state.lanes.len() {
            if let Some((stale, text)) = self.waits_for(state, lane) {
                if let Some(caller) = stale {
                    blamed = blamed.or(Some((lane, caller)));
                    waits.insert(0, text);
                } else {
                    waits.push(text);
                }
            }
        }
        let lane = blamed.map(|(lane, _)| lane);
        let lane = lane.or_else(|| (0..state.lanes.len()).find(|&l| !self.has_ended(state, l)));
        Fault {
            kind: Kind::Deadlock,
            what: format!("nobody can go on: {}", waits.join("; ")),
            lane,
            noticed: lane.and_then(|lane| self.caller(state, lane)),
            line: lane.and_then(|lane| self.awaited_line(state, lane)),
            blamed: blamed.map(|(_, caller)| caller),
        }
    }

    fn awaited_line(&mut self, state: &State, lane: usize) -> Option<fabric::Line> {
        let watched = &self.plan(lane, state.lanes[lane].node).watched;
        watched.iter().find_map(|watched| line_of(watched.place))
    }

    /// What a lane waits for; with the source line of the load where its copy is stale.
    fn waits_for(
        &mut self,
        state: &State,
        lane: usize,
    ) -> Option<(Option<crate::ask::Caller>, String)> {
        let node = state.lanes[lane].node;
        let op = *self
            .script
            .op(lane, node)
            .filter(|_| state.lanes[lane].alive)?;
        let who = self.setup.names.lane(lane);
        if !op.ask.is_pause() {
            let at = place(op.caller);
            return Some((None, format!("{who} cannot perform its operation at {at}")));
        }
        let reads = self.script.node(lane, node).reads.clone();
        for read in &reads {
            let Place::Pool(at) = read.place else {
                continue;
            };
            let device = state.memory.at_device(at);
            if device != read.value && state.memory.peek(lane, at) == Some(read.value) {
                let caller = self.script.op(lane, read.node).map(|op| op.caller);
                let text = format!(
                    "{who} waits for ever on a stale copy of {}: it reads {} = {} while the \
                     device holds {device}, and nothing observes it",
                    self.setup.names.line(at.line()),
                    self.setup.names.word(read.place),
                    read.value,
                );
                return Some((caller, text));
            }
        }
        let words: Vec<String> = reads
            .iter()
            .map(|read| format!("{} = {}", self.setup.names.word(read.place), read.value))
            .collect();
        let unpublished = self.unpublished(state, lane);
        let text = format!("{who} waits with {}{unpublished}", words.join(", "));
        Some((None, text))
    }

    /// What it waits for may lie in another host's cache.
    fn unpublished(&self, state: &State, lane: usize) -> String {
        let domain = self.setup.shape.domain(lane);
        let node = state.lanes[lane].node;
        let reads = &self.script.node(lane, node).reads;
        let mut lines = reads.iter().filter_map(|read| line_of(read.place));
        let found = lines.find_map(|line| {
            let mut dirty = state.memory.dirty_lines();
            let (owner, _) = dirty.find(|(owner, dirty)| *owner != domain && *dirty == line)?;
            Some((owner, line))
        });
        found.map_or(String::new(), |(owner, line)| {
            let line = self.setup.names.line(line);
            format!(", while host {owner} holds {line} dirty and never publishes it")
        })
    }
}
