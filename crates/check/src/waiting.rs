//! When a paused lane may go on: its next turn must be able to find something else, or time passes.

use crate::ask::{Ask, DEADLINE, GO_ON, LOST_HOST, Place, TIME_PASSES};
use crate::machine::Machine;
use crate::state::{Move, State};
use crate::subject::Timeouts;

impl Machine<'_> {
    /// The answers with which a paused lane may go on now.
    pub(crate) fn answers(&mut self, state: &State, lane: usize, answers: &mut Vec<u64>) {
        if !self.pauses(state, lane) {
            return;
        }
        let node = state.lanes[lane].node;
        if self.may_see_more(state, lane) || self.script.may_idle(lane, node) {
            answers.push(GO_ON);
        }
        if self.setup.deadlines {
            answers.push(DEADLINE);
        }
        if self.setup.timeouts != Timeouts::Last {
            self.ends_by_time(state, lane, answers);
        }
    }

    /// The answers with which it may go on once nobody can otherwise.
    pub(crate) fn late_answers(&mut self, state: &State, lane: usize, answers: &mut Vec<u64>) {
        if self.setup.timeouts == Timeouts::Last && self.pauses(state, lane) {
            self.ends_by_time(state, lane, answers);
        }
    }

    /// What all lanes may go on with once nobody can otherwise.
    pub(crate) fn late_moves(&mut self, state: &State, moves: &mut Vec<Move>) {
        let mut answers = Vec::new();
        for lane in 0..state.lanes.len() {
            answers.clear();
            self.late_answers(state, lane, &mut answers);
            moves.extend(answers.iter().map(|&answer| Move::GoOn { lane, answer }));
        }
    }

    fn ends_by_time(&self, state: &State, lane: usize, answers: &mut Vec<u64>) {
        let op = self.script.op(lane, state.lanes[lane].node);
        let timed = op.is_some_and(|op| op.ask == Ask::Pause { timed: true });
        if timed && self.setup.timeouts != Timeouts::Never && delay_is_over(state, lane) {
            answers.push(TIME_PASSES);
        }
        let hosts = 0..u64::from(self.setup.shape.hosts);
        answers.extend(
            hosts
                .filter(|host| state.crashed >> host & 1 == 1)
                .map(|host| LOST_HOST + host),
        );
    }

    /// A lane has come to a wait, into a section or to its end. If it is a delay, it lasts until
    /// every lane that is on its way now has done so as well.
    pub(crate) fn comes_to_rest(&self, state: &mut State, lane: usize) {
        if !self.setup.timely {
            return;
        }
        for (_, before) in &mut state.delays {
            *before &= !(1 << lane);
        }
        let delays = self.pauses(state, lane) && {
            let node = self.script.node(lane, state.lanes[lane].node);
            node.reads.is_empty()
        };
        if delays {
            let lanes = 0..state.lanes.len();
            let moving = lanes.filter(|&other| {
                other != lane && !self.has_ended(state, other) && !self.pauses(state, other)
            });
            let before = moving.fold(0, |mask, other| mask | 1 << other);
            // A drain of its buffer brings a lane here again.
            if !state
                .delays
                .iter()
                .any(|(delayed, _)| *delayed as usize == lane)
            {
                state.delays.push((lane as u32, before));
                state.delays.sort_unstable();
            }
        }
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

fn delay_is_over(state: &State, lane: usize) -> bool {
    let mut delays = state.delays.iter();
    !delays.any(|&(delayed, before)| delayed as usize == lane && before != 0)
}
