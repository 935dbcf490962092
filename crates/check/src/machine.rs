//! What one step makes of a state.

use std::time::Instant;

use fabric::Fence;
use model::{Choice, Chooser, Clobber, Memory, Step, WriteMode};

use crate::ask::{Ask, Caller, Change, GO_ON, Place};
use crate::edit::{Act, Edits, acts};
use crate::finding::Kind;
use crate::runner::LaneEnd;
use crate::sanitize::Sanitizer;
use crate::script::{Script, What};
use crate::search::actor;
use crate::state::{Fault, LaneState, Move, Plan, Setup, State, Watched, line_of};
use crate::trace::{Event, go_on};

/// The rules: a script, edits to it, and a memory.
pub(crate) struct Machine<'l> {
    pub(crate) script: Script<'l>,
    pub(crate) setup: Setup,
    pub(crate) sanitizer: Sanitizer,
    edits: Edits,
    hoists: bool,
    plans: Vec<Vec<Option<Plan>>>,
    /// Whether the moves told last are one that no other depends on.
    pub(crate) took_alone: bool,
    /// Operations performed.
    pub(crate) steps: u64,
    /// What happened, where anybody wants to know.
    pub(crate) log: Option<Vec<Event>>,
    /// When searches and runs by chance stop, whatever is left.
    pub(crate) until: Option<Instant>,
}

impl<'l> Machine<'l> {
    pub(crate) fn new(script: Script<'l>, setup: Setup, sanitizer: Sanitizer) -> Self {
        let lanes = script.count();
        Self {
            script,
            setup,
            sanitizer,
            edits: Edits::default(),
            hoists: false,
            plans: vec![Vec::new(); lanes],
            took_alone: false,
            steps: 0,
            log: None,
            until: None,
        }
    }

    /// Whether the time for searching is over.
    pub(crate) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// From now on the program has these edits.
    pub(crate) fn edit(&mut self, edits: Edits) {
        self.hoists = edits.hoists();
        self.edits = edits;
        self.forget_plans();
    }

    /// Plans are made from the script; after it was learned anew they are made anew.
    pub(crate) fn forget_plans(&mut self) {
        self.plans.iter_mut().for_each(Vec::clear);
    }

    /// The state before anything has happened.
    pub(crate) fn start(&mut self) -> Result<State, Fault> {
        let mut memory = Memory::new(self.setup.shape);
        for &(offset, bits) in &self.setup.presets {
            memory.preset(model::Access::word(offset, 8), bits);
        }
        let lane = LaneState {
            node: 0,
            act: 0,
            alive: true,
            again: false,
            know: 0,
        };
        let mut state = State {
            memory,
            lanes: vec![lane; self.script.count()],
            inside: Vec::new(),
            frozen: Vec::new(),
            current: 0,
            crashed: 0,
            delays: Vec::new(),
        };
        for lane in 0..self.script.count() {
            self.settle(&mut state, lane)?;
        }
        Ok(state)
    }

    /// The plan at a lane's node.
    #[inline(always)]
    pub(crate) fn plan(&mut self, lane: usize, node: u32) -> &Plan {
        let index = node as usize;
        if !matches!(self.plans[lane].get(index), Some(Some(_))) {
            let plan = self.make_plan(lane, node);
            let plans = &mut self.plans[lane];
            if plans.len() <= index {
                plans.resize_with(index + 1, || None);
            }
            plans[index] = Some(plan);
        }
        self.plans[lane][index]
            .as_ref()
            .expect("it was made just above")
    }

    fn make_plan(&mut self, lane: usize, node: u32) -> Plan {
        let acts = acts(&self.script, lane, node, &self.edits);
        let reads = self.script.node(lane, node).reads.clone();
        let watched = reads.iter().enumerate().map(|(index, read)| {
            // An observe that was put in stands at a load: the first of its line serves the others.
            let loads = reads[..=index].iter();
            let loads = loads.filter(|other| line_of(other.place) == line_of(read.place));
            let mut drops = loads
                .map(|load| load.node)
                .chain(read.flushes.iter().copied());
            Watched {
                place: read.place,
                value: read.value,
                observed: drops.any(|node| self.drops_each_turn(lane, node)),
            }
        });
        Plan {
            watched: watched.collect(),
            acts,
        }
    }

    /// Whether a node's acts drop a line in every turn of a wait.
    fn drops_each_turn(&self, lane: usize, node: u32) -> bool {
        let acts = acts(&self.script, lane, node, &self.edits);
        acts.iter()
            .any(|act| !matches!(act, Act::Once(_)) && matches!(act.ask(), Ask::Flush(..)))
    }

    /// A lane's next act; none where it has ended, died, or has only its answer to take.
    #[inline(always)]
    pub(crate) fn next_act(&mut self, state: &State, lane: usize) -> Option<Act> {
        let at = state.lanes[lane];
        if !at.alive {
            return None;
        }
        self.plan(lane, at.node).acts.get(at.act as usize).copied()
    }

    /// Whether a lane has ended.
    pub(crate) fn has_ended(&self, state: &State, lane: usize) -> bool {
        let at = state.lanes[lane];
        !at.alive || self.script.op(lane, at.node).is_none()
    }

    /// Whether all lanes have ended, but for those that serve the others, and those wait.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        (0..state.lanes.len()).all(|lane| {
            let serves = self.setup.serving >> lane & 1 == 1;
            self.has_ended(state, lane) || serves && self.pauses(state, lane)
        })
    }

    /// Whether a lane is between two turns of a wait.
    pub(crate) fn pauses(&self, state: &State, lane: usize) -> bool {
        let at = state.lanes[lane];
        let op = self.script.op(lane, at.node);
        at.alive && op.is_some_and(|op| op.ask.is_pause())
    }

    /// Takes one move; the chooser decides what the memory leaves open.
    pub(crate) fn take(
        &mut self,
        state: &mut State,
        chosen: Move,
        chooser: &mut impl Chooser,
    ) -> Result<(), Fault> {
        self.steps += 1;
        if let Some(lane) = actor(chosen) {
            self.turn_to(state, lane);
        }
        match chosen {
            Move::Lane(lane) => {
                self.perform(state, lane)?;
                self.settle(state, lane)
            }
            Move::GoOn { lane, answer } => {
                self.note(state, lane, |_| go_on(answer));
                state
                    .delays
                    .retain(|(delayed, _)| *delayed as usize != lane);
                let at = &mut state.lanes[lane];
                at.again = self.hoists && answer == GO_ON;
                at.node = self.script.child(lane, at.node, answer);
                at.act = 0;
                self.settle(state, lane)
            }
            Move::Step(step) => self.step(state, step, chooser),
        }
    }

    fn turn_to(&self, state: &mut State, lane: usize) {
        if self.setup.count_preemptions {
            state.current = lane as u32;
        }
    }

    /// Performs whatever nobody else can notice: it only enters the lane's buffer, where it may
    /// stay as long as it likes, so doing it at once loses nothing.
    fn settle(&mut self, state: &mut State, lane: usize) -> Result<(), Fault> {
        loop {
            let at = state.lanes[lane];
            match &self.script.node(lane, at.node).what {
                What::Op(_) if at.alive => {}
                What::Op(_) => return Ok(()),
                What::Ended(out) => {
                    let out = *out;
                    self.comes_to_rest(state, lane);
                    return self.ended(lane, out);
                }
                What::Panicked(message) => return Err(self.panicked(lane, message)),
            }
            match self.next_act(state, lane) {
                None => {
                    let at = &mut state.lanes[lane];
                    at.node = self.script.child(lane, at.node, 0);
                    at.act = 0;
                }
                Some(act) if self.setup.prune && self.is_invisible(state, lane, &act) => {
                    self.steps += 1;
                    self.perform(state, lane)?;
                }
                Some(act) => {
                    if act.ask().is_pause() {
                        self.comes_to_rest(state, lane);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn ended(&self, lane: usize, out: u32) -> Result<(), Fault> {
        self.script
            .lanes()
            .verdict(lane, out)
            .map_err(|violation| Fault {
                kind: violation.kind,
                what: format!("{}: {}", self.setup.names.lane(lane), violation.what),
                lane: Some(lane),
                noticed: Some(violation.noticed),
                line: None,
                blamed: None,
            })
    }

    fn panicked(&self, lane: usize, message: &str) -> Fault {
        Fault {
            kind: Kind::Panic,
            what: format!("{} panicked: {message}", self.setup.names.lane(lane)),
            lane: Some(lane),
            noticed: None,
            line: None,
            blamed: None,
        }
    }

    fn is_invisible(&self, state: &State, lane: usize, act: &Act) -> bool {
        let ask = match act {
            Act::Once(_) if state.lanes[lane].again => return true,
            act => act.ask(),
        };
        let memory = &state.memory;
        let synchronous = self.setup.shape.writes == WriteMode::Synchronous;
        match ask {
            Ask::Load(_) | Ask::Pause { .. } | Ask::Leave(_) => false,
            Ask::Atomic(_, change) => matches!(change, Change::Store(_)),
            // With nothing held, a full fence that has nothing to wait for changes nothing.
            Ask::Fence(Fence::Full) => {
                memory.is_drained(lane) && (synchronous || !memory.holds_anything())
            }
            // An empty buffer lets a store fence through, which orders held writes.
            Ask::Fence(Fence::Store) => {
                synchronous || !memory.holds_anything() || !memory.is_drained(lane)
            }
            _ => true,
        }
    }

    /// Whether a lane's next act can be performed now.
    pub(crate) fn is_ready(&mut self, state: &State, lane: usize) -> bool {
        let Some(act) = self.next_act(state, lane) else {
            return false;
        };
        if matches!(act, Act::Once(_)) && state.lanes[lane].again {
            return true;
        }
        let memory = &state.memory;
        match *act.ask() {
            Ask::Atomic(Place::Host { .. }, Change::Load) | Ask::Atomic(_, Change::Store(_)) => {
                true
            }
            Ask::Load(at) | Ask::Atomic(Place::Pool(at), Change::Load) => {
                memory.peek(lane, at).is_some()
            }
            Ask::Fence(Fence::Full) | Ask::Atomic(Place::Host { .. }, _) => memory.is_drained(lane),
            Ask::Atomic(Place::Pool(at), _) => {
                memory.is_drained(lane) && memory.peek(lane, at).is_some()
            }
            Ask::Pause { .. } => false,
            _ => true,
        }
    }

    /// Performs a lane's next act.
    fn perform(&mut self, state: &mut State, lane: usize) -> Result<(), Fault> {
        let act = self
            .next_act(state, lane)
            .expect("a lane that is ready has an act");
        let again = matches!(act, Act::Once(_)) && state.lanes[lane].again;
        let answer = if again {
            0
        } else {
            self.note_act(state, lane, &act);
            self.execute(state, lane, *act.ask())?
        };
        let plan = self.plan(lane, state.lanes[lane].node);
        let last = plan.acts.len() == state.lanes[lane].act as usize + 1;
        let at = &mut state.lanes[lane];
        if last {
            // Whatever was put in before the node's own operation, that one is last or has no
            // result.
            at.node = self.script.child(lane, at.node, answer);
            at.act = 0;
        } else {
            at.act += 1;
        }
        Ok(())
    }

    /// The source line of a lane's operation at hand.
    pub(crate) fn caller(&self, state: &State, lane: usize) -> Option<Caller> {
        let op = self.script.op(lane, state.lanes[lane].node);
        op.map(|op| op.caller)
    }

    fn step(
        &mut self,
        state: &mut State,
        step: Step,
        chooser: &mut impl Chooser,
    ) -> Result<(), Fault> {
        let mut kept = Kept {
            inner: chooser,
            kept: false,
        };
        let before = self.log.is_some().then(|| state.memory.clone());
        let clobber = state.memory.take(step, &mut kept);
        let kept = kept.kept;
        if let Some(before) = before {
            self.note_step(&before, step, kept);
        }
        if let Some(clobber) = clobber.filter(|_| self.setup.sanitize) {
            return Err(self.clobbered(&clobber));
        }
        match step {
            Step::Drain { lane, .. } => self.settle(state, lane),
            Step::Crash { host } => {
                state.crashed |= 1 << host;
                let shape = self.setup.shape;
                for lane in (0..state.lanes.len()).filter(|&lane| shape.host(lane) == host) {
                    state.lanes[lane].alive = false;
                    state.lanes[lane].act = 0;
                    state.inside.retain(|(_, inside)| *inside as usize != lane);
                    self.comes_to_rest(state, lane);
                }
                Ok(())
            }
            Step::Release { .. } => {
                // A store fence that nothing held concerns any more is nobody's business.
                (0..state.lanes.len()).try_for_each(|lane| self.settle(state, lane))
            }
            Step::Evict { .. } | Step::Fetch { .. } => Ok(()),
        }
    }

    fn clobbered(&self, clobber: &Clobber) -> Fault {
        let names = &self.setup.names;
        let shape = self.setup.shape;
        let owner = self.sanitizer.event(clobber.lost_tag);
        let whose = owner.map_or("another host".to_owned(), |event| {
            format!("host {}", shape.host(event.lane as usize))
        });
        Fault {
            kind: Kind::Clobber,
            what: format!(
                "host {} wrote {} back with its old {} = {} over {whose}'s {}",
                clobber.domain,
                names.line(clobber.at.line()),
                names.word(Place::Pool(clobber.at)),
                clobber.put,
                clobber.lost,
            ),
            lane: None,
            noticed: None,
            line: Some(clobber.at.line()),
            blamed: None,
        }
    }

    /// How each lane has ended.
    pub(crate) fn lane_ends(&self, state: &State) -> Vec<LaneEnd> {
        let ends = state.lanes.iter().enumerate().map(|(lane, at)| {
            match self.script.node(lane, at.node).what {
                _ if !at.alive => LaneEnd::Died(self.script.inside(lane, at.node)),
                What::Ended(out) => LaneEnd::Out(out),
                _ => LaneEnd::Serving,
            }
        });
        ends.collect()
    }

    /// What the subject says about an end.
    pub(crate) fn judge(&self, state: &State) -> Result<(), Fault> {
        let ends = self.lane_ends(state);
        let judged = self.script.lanes().judge(&ends, &state.memory);
        judged.map_err(|violation| Fault {
            kind: violation.kind,
            what: violation.what,
            lane: None,
            noticed: Some(violation.noticed),
            line: None,
            blamed: None,
        })
    }
}

/// Sees whether a non-temporal store stayed in the cache.
struct Kept<'c, C> {
    inner: &'c mut C,
    kept: bool,
}

impl<C: Chooser> Chooser for Kept<'_, C> {
    fn choose(&mut self, n: usize, what: Choice) -> usize {
        let chosen = self.inner.choose(n, what);
        self.kept |= what == Choice::NonTemporal && chosen == 1;
        chosen
    }
}
