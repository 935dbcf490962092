//! When a paused lane may go on: its next turn must be able to find something else.

use crate::ask::{Ask, DEADLINE, GO_ON, LOST_HOST, Place};
use crate::machine::Machine;
use crate::state::State;

impl Machine<'_> {
    /// The answers with which a paused lane may go on now.
    pub(crate) fn answers(&mut self, state: &State, lane: usize, answers: &mut Vec<u64>) {
        let at = state.lanes[lane];
        if !at.alive || self.script.op(lane, at.node).map(|op| op.ask) != Some(Ask::Pause) {
            return;
        }
        if self.may_see_more(state, lane) || self.script.may_idle(lane, at.node) {
            answers.push(GO_ON);
        }
        if self.setup.deadlines {
            answers.push(DEADLINE);
        }
        let hosts = 0..u64::from(self.setup.shape.hosts);
        answers.extend(
            hosts
                .filter(|host| state.crashed >> host & 1 == 1)
                .map(|host| LOST_HOST + host),
        );
    }

    /// Whether a turn of a wait could find something else than the one before.
    fn may_see_more(&mut self, state: &State, lane: usize) -> bool {
        let domain = self.setup.shape.domain(lane);
        let plan = self.plan(lane, state.lanes[lane].node);
        plan.watched.iter().any(|watched| match watched.place {
            Place::Host { offset } => state.memory.host_load(lane, offset).0 != watched.value,
            Place::Pool(at) => {
                let clean = |(_, dirty): (_, bool)| !dirty;
                let droppable = state.memory.copy(domain, at.line()).is_none_or(clean);
                state.memory.peek(lane, at) != Some(watched.value)
                    || watched.observed && droppable && state.memory.at_device(at) != watched.value
            }
        })
    }
}
