//! States of lanes and memory, and what one step makes of them.

use fabric::{Fence, LINE_BYTES, Line};
use model::{Buffered, Choice, Chooser, Clobber, Memory, Shape, Step, Tag, WriteMode};

use crate::ask::{Ask, Caller, Change, DEADLINE, GO_ON, LOST_HOST, Place};
use crate::edit::{Act, Edits, acts};
use crate::finding::Kind;
use crate::sanitize::Sanitizer;
use crate::script::{Script, What};
use crate::trace::{Event, Names};

/// Where a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneState {
    pub(crate) node: u32,
    /// How many of the node's acts are done.
    pub(crate) act: u8,
    /// Whether its host lives.
    pub(crate) alive: bool,
    /// Whether it is in a later turn of its wait; known only where an edit asks for it.
    pub(crate) again: bool,
    /// What it knows: see [`Sanitizer`].
    pub(crate) know: u32,
}

/// Everything that the future depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) memory: Memory,
    pub(crate) lanes: Vec<LaneState>,
    /// Sections that are taken, and by which lane.
    pub(crate) inside: Vec<(u32, u32)>,
    /// Frozen ranges, in bytes.
    pub(crate) frozen: Vec<(u64, u64)>,
    /// The lane that took the last step; 0 where pre-emptions are not counted.
    pub(crate) current: u32,
    /// One bit for each host that crashed.
    pub(crate) crashed: u64,
}

/// One way to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// A lane performs its next operation.
    Lane(usize),
    /// A paused lane goes on, with this answer.
    GoOn { lane: usize, answer: u64 },
    /// The environment takes a step.
    Step(Step),
}

/// Something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// A sentence without its full stop.
    pub(crate) what: String,
    pub(crate) lane: Option<usize>,
    /// The source line that noticed.
    pub(crate) noticed: Option<Caller>,
    pub(crate) line: Option<Line>,
    /// The source line that is likely at fault, where the fault itself tells.
    pub(crate) blamed: Option<Caller>,
}

/// What is fixed while a subject is searched.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) shape: Shape,
    pub(crate) presets: Vec<(u64, u64)>,
    pub(crate) crashes: bool,
    pub(crate) deadlines: bool,
    pub(crate) sanitize: bool,
    pub(crate) prune: bool,
    pub(crate) count_preemptions: bool,
    pub(crate) region_bytes: u64,
    pub(crate) names: Names,
}

/// A word that a paused lane waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    pub(crate) place: Place,
    pub(crate) value: u64,
    /// Whether each turn drops its copy first, so that the device decides.
    pub(crate) observed: bool,
}

/// What a lane performs at a node under the edits at hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) acts: Vec<Act>,
    pub(crate) watched: Vec<Watched>,
}

/// The rules: a script, edits to it, and a memory.
pub(crate) struct Machine<'l> {
    pub(crate) script: Script<'l>,
    pub(crate) setup: Setup,
    pub(crate) sanitizer: Sanitizer,
    edits: Edits,
    hoists: bool,
    plans: Vec<Vec<Option<Plan>>>,
    /// Operations performed.
    pub(crate) steps: u64,
    /// What happened, where anybody wants to know.
    pub(crate) log: Option<Vec<Event>>,
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
            steps: 0,
            log: None,
        }
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
        let watched = reads.iter().map(|read| {
            let flushes = |node: &u32| self.drops_each_turn(lane, *node);
            Watched {
                place: read.place,
                value: read.value,
                observed: read.flushes.iter().any(flushes) || self.drops_each_turn(lane, read.node),
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

    /// Takes one move; the chooser decides what the memory leaves open.
    pub(crate) fn take(
        &mut self,
        state: &mut State,
        chosen: Move,
        chooser: &mut impl Chooser,
    ) -> Result<(), Fault> {
        self.steps += 1;
        match chosen {
            Move::Lane(lane) => {
                self.turn_to(state, lane);
                self.perform(state, lane)?;
                self.settle(state, lane)
            }
            Move::GoOn { lane, answer } => {
                self.turn_to(state, lane);
                self.note(state, lane, |names| names.go_on(answer));
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
                What::Ended(out) => return self.ended(lane, *out),
                What::Panicked(message) => return Err(self.panicked(lane, message.clone())),
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
                Some(_) => return Ok(()),
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

    fn panicked(&self, lane: usize, message: String) -> Fault {
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
            Ask::Load(_) | Ask::Pause | Ask::Leave(_) => false,
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
            Ask::Load(at) => memory.peek(lane, at).is_some(),
            Ask::Fence(Fence::Full) => memory.is_drained(lane),
            Ask::Atomic(Place::Host { .. }, Change::Load) => true,
            Ask::Atomic(Place::Pool(at), Change::Load) => memory.peek(lane, at).is_some(),
            Ask::Atomic(_, Change::Store(_)) => true,
            Ask::Atomic(Place::Host { .. }, _) => memory.is_drained(lane),
            Ask::Atomic(Place::Pool(at), _) => {
                memory.is_drained(lane) && memory.peek(lane, at).is_some()
            }
            Ask::Pause => false,
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

    fn execute(&mut self, state: &mut State, lane: usize, ask: Ask) -> Result<u64, Fault> {
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
            Ask::Enter(section) => return self.enter_section(state, lane, section),
            Ask::Leave(section) => state.inside.retain(|(inside, _)| *inside != section),
            Ask::Pause => unreachable!("a paused lane goes on by a move of its own"),
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
        if let Some(missed) = self.sanitizer.missed(know, place, tag) {
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
        let writer = self.script.op(newer.lane as usize, newer.node);
        let by = names.lane(newer.lane as usize);
        let where_stored = writer.map_or(String::new(), |op| {
            format!(" (stored at {})", crate::trace::place(op.caller))
        });
        Fault {
            kind: Kind::StaleRead,
            what: format!(
                "{} read {} = {bits}, older than the value of {by}{where_stored} that it knew of",
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
        let at = &mut state.lanes[lane];
        let (tag, know) = self.sanitizer.store(at.know, lane, place, at.node);
        at.know = know;
        tag
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
        state.inside.push((section, lane as u32));
        state.inside.sort_unstable();
        Ok(0)
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

    /// What each lane brought back, as numbers; nothing from one that crashed.
    pub(crate) fn outs(&self, state: &State) -> Vec<Option<u32>> {
        let outs = state.lanes.iter().enumerate().map(|(lane, at)| {
            match self.script.node(lane, at.node).what {
                What::Ended(out) if at.alive => Some(out),
                _ => None,
            }
        });
        outs.collect()
    }

    /// What the subject says about an end.
    pub(crate) fn judge(&self, state: &State) -> Result<(), Fault> {
        let outs = self.outs(state);
        let judged = self.script.lanes().judge(&outs, &state.memory);
        judged.map_err(|violation| Fault {
            kind: violation.kind,
            what: violation.what,
            lane: None,
            noticed: Some(violation.noticed),
            line: None,
            blamed: None,
        })
    }

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

/// The line of a place in the region.
pub(crate) fn line_of(place: Place) -> Option<Line> {
    match place {
        Place::Host { .. } => None,
        Place::Pool(at) => Some(at.line()),
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
