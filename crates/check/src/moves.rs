//! Which steps may be taken in a state, and which of them need not be.
//!
//! With pruning, steps are left out that only lead to what other steps lead to as well. Two steps
//! *depend* on each other if one can change what the other does or whether it is possible: they
//! look at the same line, and one of them changes it. A step that is possible may be put off until
//! just before the first one that depends on it; if none ever does, it makes no difference and is
//! not taken. So:
//!
//! * a fetch is offered only where a step that changes the line at the device is possible: until
//!   then it would bring the same;
//! * the eviction of a clean copy only where the copy differs from the device and an operation that
//!   looks at it, or a change of the line, is next;
//! * the eviction of a dirty one, in synchronous pods, only where another host's look at the line,
//!   another write of it, or another store of its own is next, or at the end;
//! * neither for a line that its host will never look at again, as far as the script is known;
//!   a search repeats itself until the script has stopped growing;
//! * a flush that a full fence waits for, of a line that is absent or clean, at once and alone: it
//!   changes nothing that any other host or the device can see.
//!
//! `tests/pruning.rs` compares with leaving out nothing.

use fabric::{Fence, Line};
use model::{Buffered, Step, WriteMode};

use crate::ask::{Ask, Place};
use crate::machine::Machine;
use crate::script::What;
use crate::state::{LaneState, Move, State};

/// Lines that each lane may still look at, by node, one bit a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Futures {
    masks: Vec<Vec<u64>>,
}

impl Futures {
    /// A node that was not known when the futures were computed may look at anything.
    fn of(&self, lane: usize, at: &LaneState) -> u64 {
        let masks = self.masks.get(lane);
        let mask = masks.and_then(|masks| masks.get(at.node as usize));
        mask.copied().unwrap_or(u64::MAX)
    }
}

impl Machine<'_> {
    /// Computes what every known node may still look at.
    pub(crate) fn futures(&self) -> Futures {
        let lanes = 0..self.script.count();
        Futures {
            masks: lanes.map(|lane| self.lane_futures(lane)).collect(),
        }
    }

    fn lane_futures(&self, lane: usize) -> Vec<u64> {
        let own: Vec<u64> = self
            .script
            .nodes(lane)
            .map(|(_, node)| match &node.what {
                What::Op(op) if op.ask.looks_at_a_copy() || op.ask.stored_line().is_some() => {
                    self.bit(op.ask.line())
                }
                _ => 0,
            })
            .collect();
        let mut masks = own;
        // Children mostly come after their parents, so that few rounds backwards settle it.
        loop {
            let mut changed = false;
            for node in (0..masks.len()).rev() {
                let children = self.script.children(lane, node as u32);
                let below = children.iter();
                let mask = below.fold(masks[node], |mask, (_, child)| {
                    mask | masks[*child as usize]
                });
                changed |= mask != masks[node];
                masks[node] = mask;
            }
            if !changed {
                return masks;
            }
        }
    }

    /// The bit of a line; all of them for one beyond the 63rd.
    fn bit(&self, line: Option<Line>) -> u64 {
        let Some(line) = line else { return 0 };
        let index = self.script.lines.iter().position(|known| *known == line);
        index
            .filter(|index| *index < 64)
            .map_or(u64::MAX, |index| 1 << index)
    }

    fn may_look(&self, futures: &Futures, state: &State, domain: usize, line: Line) -> bool {
        let bit = self.bit(Some(line));
        state.lanes.iter().enumerate().any(|(lane, at)| {
            at.alive
                && self.setup.shape.domain(lane) == domain
                && (futures.of(lane, at) & bit != 0
                    || state
                        .memory
                        .buffered(lane)
                        .any(|entry| stores_to(entry, line)))
        })
    }

    /// Every move that need be tried in this state, always in the same order: first those that
    /// happen in the end, whose number is returned, then those that need never happen.
    pub(crate) fn moves(
        &mut self,
        state: &State,
        futures: &Futures,
        moves: &mut Vec<Move>,
    ) -> usize {
        moves.clear();
        let mut certain = Vec::new();
        state.memory.certain_steps(&mut certain);
        if self.setup.prune
            && let Some(step) = self.alone(state, futures, &certain)
        {
            moves.push(Move::Step(step));
            return 1;
        }
        let mut answers = Vec::new();
        for lane in 0..state.lanes.len() {
            if self.is_ready(state, lane) {
                moves.push(Move::Lane(lane));
            }
            answers.clear();
            self.answers(state, lane, &mut answers);
            moves.extend(answers.iter().map(|&answer| Move::GoOn { lane, answer }));
        }
        moves.extend(certain.iter().copied().map(Move::Step));
        if moves.is_empty() && !self.is_over(state) {
            self.late_moves(state, moves);
        }
        let count = moves.len();
        let mut unasked = Vec::new();
        self.unasked(state, futures, &certain, &mut unasked);
        moves.extend(unasked.into_iter().map(Move::Step));
        if self.setup.crashes {
            let hosts = 0..self.setup.shape.hosts as usize;
            let alive = hosts.filter(|host| state.crashed >> host & 1 == 0);
            moves.extend(alive.map(|host| Move::Step(Step::Crash { host })));
        }
        count
    }

    /// Every move that is possible, whether it need be tried or not, always in the same order,
    /// whatever is known of the script: what the numbers of a token mean.
    pub(crate) fn every_move(&mut self, state: &State) -> Vec<Move> {
        let mut moves = Vec::new();
        for lane in 0..state.lanes.len() {
            if self.is_ready(state, lane) {
                moves.push(Move::Lane(lane));
            }
            let mut answers = Vec::new();
            self.answers(state, lane, &mut answers);
            self.late_answers(state, lane, &mut answers);
            moves.extend(answers.iter().map(|&answer| Move::GoOn { lane, answer }));
        }
        let mut steps = Vec::new();
        state.memory.certain_steps(&mut steps);
        let lines: Vec<Line> = (0..self.setup.region_bytes / fabric::LINE_BYTES)
            .map(Line)
            .collect();
        state.memory.unasked_steps(|_, _| true, &lines, &mut steps);
        if self.setup.crashes {
            let hosts = 0..self.setup.shape.hosts as usize;
            let alive = hosts.filter(|host| state.crashed >> host & 1 == 0);
            steps.extend(alive.map(|host| Step::Crash { host }));
        }
        moves.extend(steps.into_iter().map(Move::Step));
        moves
    }

    /// A drain that no other step depends on.
    fn alone(&mut self, state: &State, futures: &Futures, certain: &[Step]) -> Option<Step> {
        certain.iter().copied().find(|step| {
            let Step::Drain { lane, entry } = *step else {
                return false;
            };
            let waits = self.next_act(state, lane).map(|act| *act.ask());
            if waits != Some(Ask::Fence(Fence::Full)) {
                return false;
            }
            let memory = &state.memory;
            let domain = self.setup.shape.domain(lane);
            let line = match memory.buffered(lane).nth(entry) {
                Some(
                    Buffered::ClFlush(line)
                    | Buffered::ClFlushOpt(line)
                    | Buffered::Writeback(line),
                ) => *line,
                _ => return false,
            };
            let dirty = memory.copy(domain, line).is_some_and(|(_, dirty)| dirty);
            !dirty && !memory.holds(domain, line) && self.is_alone(state, futures, lane, line)
        })
    }

    /// Whether a line's copy is this lane's business only, and nothing else of it on its way.
    fn is_alone(&self, state: &State, futures: &Futures, lane: usize, line: Line) -> bool {
        let shape = self.setup.shape;
        let bit = self.bit(Some(line));
        state.lanes.iter().enumerate().all(|(other, at)| {
            if shape.domain(other) != shape.domain(lane) {
                return true;
            }
            let mut entries = state.memory.buffered(other);
            let on_line = entries
                .by_ref()
                .filter(|entry| entry.line() == Some(line))
                .count();
            if other == lane {
                return on_line == 1;
            }
            on_line == 0 && (!at.alive || futures.of(other, at) & bit == 0)
        })
    }

    /// Evictions and fetches.
    fn unasked(
        &mut self,
        state: &State,
        futures: &Futures,
        certain: &[Step],
        steps: &mut Vec<Step>,
    ) {
        if !self.setup.prune {
            state
                .memory
                .unasked_steps(|_, _| true, &self.script.lines, steps);
            return;
        }
        let over = self.is_over(state);
        let context = Context {
            looking: self.looking(state, certain),
            changing: self.changing(state, certain),
            over,
        };
        // A fetch of any other line is not due.
        let mut lines: Vec<Line> = context.lines.iter().map(|(_, line)| *line).collect();
        lines.sort_unstable();
        lines.dedup();
        state.memory.unasked_steps(|_, _| true, &lines, steps);
        steps.retain(|step| {
            self.is_due(state, &context, *step)
                && match *step {
                    Step::Fetch { domain, line } => self.may_look(futures, state, domain, line),
                    Step::Evict { domain, line } => {
                        let dirty = state
                            .memory
                            .copy(domain, line)
                            .is_some_and(|(_, dirty)| dirty);
                        dirty || self.may_look(futures, state, domain, line)
                    }
                    _ => true,
                }
        });
    }

    /// Whether something that depends on an unasked step may come right after it.
    fn is_due(&self, state: &State, context: &Context, step: Step) -> bool {
        let memory = &state.memory;
        match step {
            Step::Fetch { line, .. } => context.changes(line, None),
            Step::Evict { domain, line } => {
                let Some((content, dirty)) = memory.copy(domain, line) else {
                    return false;
                };
                if dirty {
                    return self.setup.shape.writes != WriteMode::Synchronous
                        || context.over
                        || context.looks_of_others(domain, line)
                        || context.changes(line, Some(domain));
                }
                let fresh = *content.words() == *memory.line_at_device(line).words();
                let seen = context.looks(domain, line) || context.changes(line, None);
                // A store around the cache asks whether the line is there at all.
                let around = context.around.contains(&(domain, line));
                seen && !fresh || around
            }
            _ => true,
        }
    }

    /// Lines that an operation is about to look at, by domain.
    fn looking(&mut self, state: &State, certain: &[Step]) -> Vec<(usize, Line)> {
        let mut looking = Vec::new();
        for lane in 0..state.lanes.len() {
            let domain = self.setup.shape.domain(lane);
            let Some(act) = self.next_act(state, lane) else {
                continue;
            };
            match act.ask() {
                Ask::Load(at) | Ask::Atomic(Place::Pool(at), _) => {
                    looking.push((domain, at.line()));
                }
                Ask::Pause { .. } => {
                    let node = state.lanes[lane].node;
                    let watched = self.plan(lane, node).watched.iter();
                    let lines = watched.filter_map(|it| crate::state::line_of(it.place));
                    looking.extend(lines.map(|line| (domain, line)));
                }
                _ => {}
            }
        }
        looking.extend(certain.iter().filter_map(|step| {
            let (domain, entry) = self.draining(state, *step)?;
            let line = entry.line().filter(|_| entry.bytes_written() != 0)?;
            Some((domain, line))
        }));
        looking
    }

    /// The entry that a step drains.
    fn draining<'s>(&self, state: &'s State, step: Step) -> Option<(usize, &'s Buffered)> {
        let Step::Drain { lane, entry } = step else {
            return None;
        };
        let entry = state.memory.buffered(lane).nth(entry)?;
        Some((self.setup.shape.domain(lane), entry))
    }
}

/// What is about to happen in a state.
struct Context {
    looking: Vec<(usize, Line)>,
    changing: Changing,
    /// Whether no lane will do anything any more.
    over: bool,
}

impl std::ops::Deref for Context {
    type Target = Changing;

    fn deref(&self) -> &Changing {
        &self.changing
    }
}

impl Context {
    fn looks(&self, domain: usize, line: Line) -> bool {
        self.looking.contains(&(domain, line))
    }

    fn looks_of_others(&self, domain: usize, line: Line) -> bool {
        let mut looking = self.looking.iter();
        looking.any(|(other, at)| *other != domain && *at == line)
    }
}

/// Lines that a step may change at the device, by the domain of the step.
struct Changing {
    lines: Vec<(usize, Line)>,
    /// Stores around the cache that are about to leave.
    around: Vec<(usize, Line)>,
    /// Plain stores that are about to enter a cache.
    entering: Vec<(usize, Line)>,
}

impl Changing {
    /// Whether any step but the eviction of `but`'s own copy may change the line.
    fn changes(&self, line: Line, but: Option<usize>) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|(domain, at)| *at == line && Some(*domain) != but)
            || but.is_some_and(|domain| {
                self.around.contains(&(domain, line)) || self.entering.contains(&(domain, line))
            })
    }
}

impl Machine<'_> {
    fn changing(&self, state: &State, certain: &[Step]) -> Changing {
        let memory = &state.memory;
        let mut changing = Changing {
            lines: memory.dirty_lines().collect(),
            around: Vec::new(),
            entering: Vec::new(),
        };
        changing.lines.extend(memory.held_lines());
        for step in certain {
            let Some((domain, entry)) = self.draining(state, *step) else {
                continue;
            };
            match entry {
                Buffered::StoreNt { at, .. } => {
                    changing.lines.push((domain, at.line()));
                    changing.around.push((domain, at.line()));
                }
                Buffered::StoreLine { line, .. } => {
                    changing.lines.push((domain, *line));
                    changing.around.push((domain, *line));
                }
                Buffered::Store { at, .. } => changing.entering.push((domain, at.line())),
                _ => {}
            }
        }
        changing
    }
}

fn stores_to(entry: &Buffered, line: Line) -> bool {
    entry.bytes_written() != 0 && entry.line() == Some(line)
}
