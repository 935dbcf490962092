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
//!   changes nothing that any other host or the device can see;
//! * likewise a plain store that enters a cache in which its line is not dirty, if nobody else uses
//!   the line in that cache and no other host ever stores to it again: an eviction may follow it,
//!   and there was nothing to evict before;
//! * likewise a load of a line that nobody else will ever store to again;
//! * neither of these two if the lane may still store to the line around the cache, or another of
//!   its cache may flush it: the one asks whether the line is there, the other takes along what is.
//!
//! `tests/pruning.rs` compares with leaving out nothing.

use fabric::{Fence, Line};
use model::{Buffered, Step, WriteMode, ordered};

use crate::ask::{Ask, Change, Place};
use crate::machine::Machine;
use crate::script::What;
use crate::state::{LaneState, Move, State};

/// Lines, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    /// That a lane may still look at, or store to.
    looks: u64,
    /// That it may still store to.
    stores: u64,
    /// Of these, those that it may store to around the cache.
    around: u64,
    /// That it may still flush or write back, with what another lane of its host has stored there.
    cleans: u64,
}

impl Uses {
    const NONE: Self = Self::all(0);

    const fn all(mask: u64) -> Self {
        Self {
            looks: mask,
            stores: mask,
            around: mask,
            cleans: mask,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            looks: self.looks | other.looks,
            stores: self.stores | other.stores,
            around: self.around | other.around,
            cleans: self.cleans | other.cleans,
        }
    }
}

/// How each lane may still use the region, by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Futures {
    uses: Vec<Vec<Uses>>,
}

impl Futures {
    /// A node that was not known when the futures were computed may look at anything.
    fn of(&self, lane: usize, at: &LaneState) -> Uses {
        let uses = self.uses.get(lane);
        let uses = uses.and_then(|uses| uses.get(at.node as usize));
        uses.copied().unwrap_or(Uses::all(u64::MAX))
    }
}

impl Machine<'_> {
    /// Computes what every known node may still look at.
    pub(crate) fn futures(&self) -> Futures {
        let lanes = 0..self.script.count();
        Futures {
            uses: lanes.map(|lane| self.lane_futures(lane)).collect(),
        }
    }

    fn lane_futures(&self, lane: usize) -> Vec<Uses> {
        let nodes = self.script.nodes(lane);
        let own = nodes.map(|(_, node)| match &node.what {
            What::Op(op) => self.uses(&op.ask),
            _ => Uses::NONE,
        });
        let mut uses: Vec<Uses> = own.collect();
        // Children mostly come after their parents, so that few rounds backwards settle it.
        loop {
            let mut changed = false;
            for node in (0..uses.len()).rev() {
                let below = self.script.children(lane, node as u32).iter();
                let all = below.fold(uses[node], |all, (_, child)| all.or(uses[*child as usize]));
                changed |= all != uses[node];
                uses[node] = all;
            }
            if !changed {
                return uses;
            }
        }
    }

    /// What one operation uses.
    fn uses(&self, ask: &Ask) -> Uses {
        let bit = self.bit(ask.line());
        let stores = match ask {
            Ask::Atomic(Place::Pool(_), change) => *change != Change::Load,
            ask => ask.stored_line().is_some(),
        };
        let around = matches!(ask, Ask::StoreNt(..) | Ask::StoreLine(..));
        let cleans = matches!(ask, Ask::Flush(..) | Ask::Writeback(_));
        let if_so = |so: bool| if so { bit } else { 0 };
        Uses {
            looks: if_so(stores || ask.looks_at_a_copy()),
            stores: if_so(stores),
            around: if_so(around),
            cleans: if_so(cleans),
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
            // What a lane left in its buffer at its end still enters the cache.
            let mut buffered = state.memory.buffered(lane);
            self.setup.shape.domain(lane) == domain
                && (at.alive && futures.of(lane, at).looks & bit != 0
                    || buffered.any(|entry| stores_to(entry, line)))
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
        self.took_alone = false;
        let mut certain = Vec::new();
        state.memory.certain_steps(&mut certain);
        if self.setup.prune
            && let Some(alone) = self.alone(state, futures, &certain)
        {
            self.took_alone = true;
            moves.push(alone);
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

    /// A move that no other one depends on.
    pub(crate) fn alone(
        &mut self,
        state: &State,
        futures: &Futures,
        certain: &[Step],
    ) -> Option<Move> {
        let mut drains = certain.iter().copied();
        let drain = drains.find(|step| match *step {
            Step::Drain { lane, entry } => {
                self.drops_alone(state, futures, lane, entry)
                    || self.stores_alone(state, futures, lane, entry)
            }
            _ => false,
        });
        let loads = |lane: &usize| self.loads_alone(state, futures, *lane);
        drain
            .map(Move::Step)
            .or_else(|| (0..state.lanes.len()).find(loads).map(Move::Lane))
    }

    /// Whether an entry is a flush that changes nothing but its own cache.
    fn drops_alone(&mut self, state: &State, futures: &Futures, lane: usize, entry: usize) -> bool {
        {
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
        }
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
            on_line == 0 && (!at.alive || futures.of(other, at).looks & bit == 0)
        })
    }

    /// Whether an entry is a store that changes nothing but its own cache, and that cache's copy is
    /// nobody else's business.
    fn stores_alone(&self, state: &State, futures: &Futures, lane: usize, entry: usize) -> bool {
        let memory = &state.memory;
        let entries = memory.buffered(lane);
        let Some(store @ Buffered::Store { at, .. }) = entries.clone().nth(entry) else {
            return false;
        };
        let (line, domain) = (at.line(), self.setup.shape.domain(lane));
        let fresh = memory.copy(domain, line).is_none_or(|(content, dirty)| {
            !dirty && *content.words() == *memory.line_at_device(line).words()
        });
        // Whatever else this lane does to the line comes after it, and through the cache: what goes
        // around it may reach the device before an eviction of this store.
        let mut others = entries.enumerate();
        let is_first = others.all(|(index, other)| {
            other.line() != Some(line)
                || index == entry
                || (index > entry && !goes_around(other) && ordered(store, other))
        });
        let around = futures.of(lane, &state.lanes[lane]).around;
        fresh
            && is_first
            && around & self.bit(Some(line)) == 0
            && self.is_left_alone(state, futures, lane, line)
    }

    /// Whether a lane's next operation is a load whose result nothing can change.
    fn loads_alone(&mut self, state: &State, futures: &Futures, lane: usize) -> bool {
        if !self.is_ready(state, lane) {
            return false;
        }
        let Some(Ask::Load(at)) = self.next_act(state, lane).map(|act| *act.ask()) else {
            return false;
        };
        let memory = &state.memory;
        let (line, domain) = (at.line(), self.setup.shape.domain(lane));
        let fresh = memory.copy(domain, line).is_none_or(|(content, dirty)| {
            dirty || *content.words() == *memory.line_at_device(line).words()
        });
        let mut own = memory.buffered(lane);
        // A store around the cache asks whether the line is there, and a load brings it there.
        let around = futures.of(lane, &state.lanes[lane]).around;
        fresh
            && around & self.bit(Some(line)) == 0
            && !own.any(|entry| entry.line() == Some(line))
            && self.is_left_alone(state, futures, lane, line)
    }

    /// Whether no other lane changes a line any more, and none of this cache uses it.
    fn is_left_alone(&self, state: &State, futures: &Futures, lane: usize, line: Line) -> bool {
        let (shape, memory) = (self.setup.shape, &state.memory);
        let (bit, domain) = (self.bit(Some(line)), shape.domain(lane));
        let elsewhere = |&(other, at): &(usize, Line)| other != domain && at == line;
        let quiet = !memory.dirty_lines().any(|it| elsewhere(&it))
            && !memory.held_lines().any(|(_, held)| held == line);
        quiet
            && state.lanes.iter().enumerate().all(|(other, at)| {
                let uses = futures.of(other, at);
                let uses = if shape.domain(other) == domain {
                    uses.looks | uses.cleans
                } else {
                    uses.stores
                };
                let mut entries = memory.buffered(other);
                other == lane
                    || (!at.alive || uses & bit == 0)
                        && !entries.any(|entry| entry.line() == Some(line))
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
            (self.is_due(state, &context, *step)
                || self.is_due_around(futures, state, &context, *step))
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
                // A store around the cache asks whether the line is there at all.
                let around = context.around.contains(&(domain, line));
                if dirty {
                    return around
                        || self.setup.shape.writes != WriteMode::Synchronous
                        || context.over
                        || context.looks_of_others(domain, line)
                        || context.changes(line, Some(domain));
                }
                let fresh = *content.words() == *memory.line_at_device(line).words();
                let seen = context.looks(domain, line) || context.changes(line, None);
                seen && !fresh || around
            }
            _ => true,
        }
    }

    /// Whether the step is an eviction right before a look that brings the line back: a later store
    /// around the cache finds it there, clean.
    fn is_due_around(
        &self,
        futures: &Futures,
        state: &State,
        context: &Context,
        step: Step,
    ) -> bool {
        let Step::Evict { domain, line } = step else {
            return false;
        };
        let bit = self.bit(Some(line));
        let around = |(lane, at): (usize, &LaneState)| {
            let mut buffered = state.memory.buffered(lane);
            self.setup.shape.domain(lane) == domain
                && (at.alive && futures.of(lane, at).around & bit != 0
                    || buffered.any(|entry| goes_around(entry) && entry.line() == Some(line)))
        };
        context.looks(domain, line) && state.lanes.iter().enumerate().any(around)
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

fn goes_around(entry: &Buffered) -> bool {
    matches!(entry, Buffered::StoreNt { .. } | Buffered::StoreLine { .. })
}
