//! Visiting every state: cheapest first, each once.
//!
//! The cost of a state is the number of environment moves and pre-emptions on the way to it. States
//! are visited in the order of their cost, and among equals in the order of their distance from the
//! start, so that what is found first takes the fewest of either and is short besides.

use std::collections::VecDeque;
use std::fmt;

use model::{Buffered, Choice, Chooser, Likely, Scripted, Step};
use serde::Serialize;

use crate::finding::Kind;
use crate::fingerprint::{self, ByFingerprint};
use crate::machine::Machine;
use crate::moves::Futures;
use crate::script::NONE;
use crate::state::{Fault, Move, State};

/// How far a search goes. `None` is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// Environment moves of one run that need never happen: evictions, fetches, non-temporal
    /// stores kept in the cache, crashes.
    pub environment: Option<u32>,
    /// Times that a lane is left although it, or something that it has buffered, could go on: a
    /// lane and its buffer are one actor, as in the contexts of Atig, Bouajjani and Parlato
    /// ("Getting rid of store-buffers in TSO analysis", CAV 2011). To leave a lane that pauses, or
    /// has ended, is free.
    pub preemptions: Option<u32>,
    /// States visited.
    pub states: usize,
}

impl Default for Bounds {
    /// Two environment moves (a stale line takes one to come and one to stay), any pre-emptions.
    fn default() -> Self {
        Self {
            environment: Some(2),
            preemptions: None,
            states: 4_000_000,
        }
    }
}

impl Bounds {
    /// No bound but on the number of states.
    pub const SATURATED: Self = Self {
        environment: None,
        preemptions: None,
        states: 20_000_000,
    };
}

impl fmt::Display for Bounds {
    /// "2 environment moves and 2 pre-emptions".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |bound: Option<u32>| bound.map_or("any".to_owned(), |bound| bound.to_string());
        write!(
            f,
            "{} environment moves and {} pre-emptions",
            told(self.environment),
            told(self.preemptions)
        )
    }
}

/// Expanded states from one look at the clock to the next: a millisecond's worth.
const TURNS_A_LOOK: u32 = 512;

/// How a state was come to: which of its parent's moves, and which outcome of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Chosen {
    index: u16,
    inner: u16,
}

/// One step of a path: a move, and which of its outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) chosen: Move,
    pub(crate) inner: u16,
}

/// Steps from the start.
pub(crate) type Path = Vec<Taken>;

/// What a search brought.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explored {
    pub(crate) states: usize,
    /// States in which every lane has ended and nothing is on its way.
    pub(crate) ends: usize,
    pub(crate) steps: u64,
    /// Whether a bound kept it from a step.
    pub(crate) cut: bool,
    /// Whether states or time ran out before everything within the bounds was visited.
    pub(crate) ran_out: bool,
    pub(crate) fault: Option<(Path, Fault)>,
}

/// The search has to begin anew, because a wait turned out to be impure.
pub(crate) struct Anew;

#[derive(Clone, Copy)]
struct Visit {
    parent: u32,
    chosen: Chosen,
    cost: Cost,
    /// Another visit of the same state, for more of the one and less of the other.
    other: u32,
}

/// What has been spent of each bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) environment: u32,
    pub(crate) preemptions: u32,
}

impl Cost {
    fn sum(self) -> usize {
        (self.environment + self.preemptions) as usize
    }

    fn within(self, bounds: &Bounds) -> bool {
        let fits = |spent: u32, bound: Option<u32>| bound.is_none_or(|bound| spent <= bound);
        fits(self.environment, bounds.environment) && fits(self.preemptions, bounds.preemptions)
    }

    fn no_more_than(self, other: Self) -> bool {
        self.environment <= other.environment && self.preemptions <= other.preemptions
    }
}

/// Where ends are reported: the outcome sets of litmus programs are made of them.
pub(crate) type OnEnd<'f> = &'f mut dyn FnMut(&Machine<'_>, &State);

/// Where a move is taken from.
struct From {
    visit: u32,
    /// Of the move.
    index: usize,
    /// Whether the move happens in the end.
    certain: bool,
    /// What it and all before it cost.
    cost: Cost,
    /// The lane whose turn it stays, where the move is nobody's.
    stays: Option<u32>,
}

/// The lane whose move it is, or whose buffer's.
pub(crate) fn actor(chosen: Move) -> Option<usize> {
    match chosen {
        Move::Lane(lane) | Move::GoOn { lane, .. } | Move::Step(Step::Drain { lane, .. }) => {
            Some(lane)
        }
        Move::Step(_) => None,
    }
}

/// Whether a move leaves a lane that could go on and is not pausing.
fn preempts(state: &State, moves: &[Move], chosen: Move) -> bool {
    let current = state.current as usize;
    let could_go_on = |it: &Move| actor(*it) == Some(current) && !matches!(it, Move::GoOn { .. });
    actor(chosen).is_some_and(|lane| lane != current) && moves.iter().any(could_go_on)
}

/// Whether the memory leaves nothing open about a move.
fn has_one_outcome(state: &State, chosen: Move) -> bool {
    match chosen {
        Move::Step(Step::Crash { .. }) => false,
        Move::Step(Step::Drain { lane, entry }) => {
            let entry = state.memory.buffered(lane).nth(entry);
            !matches!(entry, Some(Buffered::StoreNt { .. }))
        }
        _ => true,
    }
}

struct Search<'m, 'l, 'f> {
    machine: &'m mut Machine<'l>,
    bounds: Bounds,
    futures: Futures,
    visits: Vec<Visit>,
    seen: ByFingerprint<u32>,
    open: Vec<VecDeque<(u32, State)>>,
    /// Steps that happen in the end, from state to state by first visit.
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
    explored: Explored,
    on_end: OnEnd<'f>,
}

/// Searches within the bounds, again while the script grows.
pub(crate) fn search(
    machine: &mut Machine<'_>,
    bounds: Bounds,
    on_end: OnEnd<'_>,
) -> Result<Explored, Anew> {
    let mut steps = 0;
    if machine.setup.prune {
        // Learns most of the script cheaply, and finds what needs no environment first.
        let narrow = Bounds {
            environment: Some(0),
            ..bounds
        };
        let explored = pass(machine, narrow, &mut |_, _| {})?;
        if explored.fault.is_some() {
            return Ok(explored);
        }
        steps = explored.steps;
    }
    loop {
        let known = machine.script.known();
        let mut explored = pass(machine, bounds, on_end)?;
        steps += explored.steps;
        explored.steps = steps;
        let settled = !machine.setup.prune || machine.script.known() == known;
        if explored.fault.is_some() || explored.ran_out || settled {
            return Ok(explored);
        }
    }
}

fn pass(machine: &mut Machine<'_>, bounds: Bounds, on_end: OnEnd<'_>) -> Result<Explored, Anew> {
    let futures = machine.futures();
    machine.setup.count_preemptions = bounds.preemptions.is_some();
    let before = machine.steps;
    let mut search = Search {
        machine,
        bounds,
        futures,
        visits: Vec::new(),
        seen: ByFingerprint::default(),
        open: Vec::new(),
        edges: Vec::new(),
        ends: Vec::new(),
        explored: Explored::default(),
        on_end,
    };
    search.run()?;
    search.explored.states = search.visits.len();
    search.explored.steps = search.machine.steps - before;
    Ok(search.explored)
}

impl Search<'_, '_, '_> {
    fn run(&mut self) -> Result<(), Anew> {
        let start = match self.machine.start() {
            Ok(start) => start,
            Err(fault) => {
                self.explored.fault = Some((Vec::new(), fault));
                return Ok(());
            }
        };
        self.visit(start, NONE, Chosen { index: 0, inner: 0 }, Cost::default());
        let mut moves = Vec::new();
        for turn in 0u32.. {
            let Some((visit, state)) = self.next() else {
                break;
            };
            let late = turn.is_multiple_of(TURNS_A_LOOK) && self.machine.is_late();
            if late || self.visits.len() >= self.bounds.states {
                self.explored.cut = true;
                self.explored.ran_out = true;
                return Ok(());
            }
            self.expand(visit, state, &mut moves)?;
            if self.explored.fault.is_some() {
                return Ok(());
            }
        }
        self.look_for_livelock();
        Ok(())
    }

    fn next(&mut self) -> Option<(u32, State)> {
        self.open.iter_mut().find_map(VecDeque::pop_front)
    }

    fn expand(&mut self, visit: u32, state: State, moves: &mut Vec<Move>) -> Result<(), Anew> {
        let cost = self.visits[visit as usize].cost;
        let certain = self.machine.moves(&state, &self.futures, moves);
        let stays = self.machine.took_alone.then_some(state.current);
        if certain == 0 && !self.at_rest(visit, &state) {
            return Ok(());
        }
        let mut state = Some(state);
        for (index, &chosen) in moves.iter().enumerate() {
            let Some(at) = &state else {
                unreachable!("only the last move takes the state itself")
            };
            let mut cost = cost;
            if index >= certain && self.bounds.environment.is_some() {
                cost.environment += 1;
            }
            if self.bounds.preemptions.is_some() && stays.is_none() && preempts(at, moves, chosen) {
                cost.preemptions += 1;
            }
            if !cost.within(&self.bounds) {
                self.explored.cut = true;
                continue;
            }
            let from = From {
                visit,
                index,
                certain: index < certain,
                cost,
                stays,
            };
            if index + 1 == moves.len() && has_one_outcome(at, chosen) {
                let state = state.take().expect("it is there, just above");
                self.take_one_way(&from, state, chosen)?;
            } else {
                self.take_every_way(&from, at, chosen)?;
            }
            if self.explored.fault.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Nothing happens by itself any more: an end, or nobody can go on. Says whether the search
    /// goes on here.
    fn at_rest(&mut self, visit: u32, state: &State) -> bool {
        let judged = if self.machine.is_over(state) {
            self.explored.ends += 1;
            self.ends.push(visit);
            (self.on_end)(self.machine, state);
            self.machine.judge(state)
        } else {
            Err(self.machine.stuck(state))
        };
        if let Err(fault) = judged {
            self.explored.fault = Some((self.path(visit), fault));
            return false;
        }
        true
    }

    /// The last move of a state, with one outcome: needs no copy of the state.
    fn take_one_way(&mut self, from: &From, mut state: State, chosen: Move) -> Result<(), Anew> {
        let taken = self.machine.take(&mut state, chosen, &mut Likely);
        self.arrive(from, state, Taken { chosen, inner: 0 }, taken, false)
    }

    fn take_every_way(&mut self, from: &From, state: &State, chosen: Move) -> Result<(), Anew> {
        let mut script = Scripted::default();
        for inner in 0.. {
            let mut next = state.clone();
            let mut ways = Ways {
                script: &mut script,
                kept: false,
            };
            let taken = self.machine.take(&mut next, chosen, &mut ways);
            let kept = ways.kept;
            self.arrive(from, next, Taken { chosen, inner }, taken, kept)?;
            if self.explored.fault.is_some() || !script.advance() {
                break;
            }
        }
        Ok(())
    }

    /// A move was taken; `kept` if a non-temporal store stayed in its cache.
    fn arrive(
        &mut self,
        from: &From,
        mut next: State,
        step: Taken,
        taken: Result<(), Fault>,
        kept: bool,
    ) -> Result<(), Anew> {
        if self.machine.script.stale {
            return Err(Anew);
        }
        let mut cost = from.cost;
        if kept && self.bounds.environment.is_some() {
            cost.environment += 1;
        }
        let fault = self.machine.differs().or(taken.err());
        if !cost.within(&self.bounds) {
            self.explored.cut = true;
        } else if let Some(fault) = fault {
            let mut path = self.path(from.visit);
            path.push(step);
            self.explored.fault = Some((path, fault));
        } else {
            let chosen = Chosen {
                index: from.index as u16,
                inner: step.inner,
            };
            next.current = from.stays.unwrap_or(next.current);
            let to = self.visit(next, from.visit, chosen, cost);
            if from.certain && !kept {
                self.edges.push((from.visit, to));
            }
        }
        Ok(())
    }

    /// Notes a state; it is explored if it was not, or only for more. Returns its visit.
    fn visit(&mut self, state: State, parent: u32, chosen: Chosen, cost: Cost) -> u32 {
        let fingerprint = fingerprint::of(&state);
        let new = self.visits.len() as u32;
        let head = self.seen.get(&fingerprint).copied();
        let mut at = head;
        while let Some(visit) = at {
            let known = self.visits[visit as usize];
            if known.cost.no_more_than(cost) {
                return visit;
            }
            at = (known.other != NONE).then_some(known.other);
        }
        self.visits.push(Visit {
            parent,
            chosen,
            cost,
            other: head.unwrap_or(NONE),
        });
        self.seen.insert(fingerprint, new);
        let bucket = cost.sum();
        if self.open.len() <= bucket {
            self.open.resize_with(bucket + 1, VecDeque::new);
        }
        self.open[bucket].push_back((new, state));
        new
    }

    /// The way to a visit, walked again: what is kept are numbers of moves, which only mean
    /// something in this pass.
    fn path(&mut self, visit: u32) -> Path {
        let mut numbers = Vec::new();
        let mut at = visit;
        while self.visits[at as usize].parent != NONE {
            numbers.push(self.visits[at as usize].chosen);
            at = self.visits[at as usize].parent;
        }
        let mut state = self.machine.start().expect("it started before");
        let (mut moves, mut path) = (Vec::new(), Vec::new());
        for number in numbers.into_iter().rev() {
            self.machine.moves(&state, &self.futures, &mut moves);
            let taken = Taken {
                chosen: moves[number.index as usize],
                inner: number.inner,
            };
            let again = self.machine.follow(&mut state, taken);
            again.expect("it led to a state before");
            path.push(taken);
        }
        path
    }

    /// A state from which nothing that happens by itself leads to an end.
    fn look_for_livelock(&mut self) {
        if self.bounds.preemptions.is_some() && self.explored.cut {
            // Steps that were cut may be the ones that lead to an end.
            return;
        }
        let mut back: Vec<(u32, u32)> = self.edges.iter().map(|&(from, to)| (to, from)).collect();
        back.sort_unstable();
        let mut ends = vec![false; self.visits.len()];
        let mut open = self.ends.clone();
        while let Some(visit) = open.pop() {
            if std::mem::replace(&mut ends[visit as usize], true) {
                continue;
            }
            let from = back.partition_point(|&(to, _)| to < visit);
            let into = back[from..].iter().take_while(|&&(to, _)| to == visit);
            open.extend(into.map(|&(_, from)| from));
        }
        if let Some(visit) = ends.iter().position(|ends| !ends) {
            let path = self.path(visit as u32);
            self.explored.fault = Some((path, livelock()));
        }
    }
}

pub(crate) fn livelock() -> Fault {
    Fault {
        kind: Kind::Livelock,
        what: "the lanes go on for ever: from here on no schedule lets them end unless the \
               machine evicts or fetches a line unasked"
            .to_owned(),
        lane: None,
        noticed: None,
        line: None,
        blamed: None,
    }
}

impl Machine<'_> {
    /// Takes a step of a path.
    pub(crate) fn follow(&mut self, state: &mut State, taken: Taken) -> Result<(), Fault> {
        let mut script = Scripted::default();
        for _ in 0..taken.inner {
            // Only taking it tells how many outcomes there are.
            let log = self.log.take();
            let mut other = state.clone();
            let mut ways = Ways {
                script: &mut script,
                kept: false,
            };
            // Whatever is wrong with another outcome is not what is followed here.
            let _ = self.take(&mut other, taken.chosen, &mut ways);
            self.log = log;
            script.advance();
        }
        let mut ways = Ways {
            script: &mut script,
            kept: false,
        };
        self.take(state, taken.chosen, &mut ways)
    }
}

/// Follows a script, and sees whether a non-temporal store stayed in its cache.
pub(crate) struct Ways<'s> {
    pub(crate) script: &'s mut Scripted,
    pub(crate) kept: bool,
}

impl Chooser for Ways<'_> {
    fn choose(&mut self, n: usize, what: Choice) -> usize {
        let chosen = self.script.choose(n, what);
        self.kept |= what == Choice::NonTemporal && chosen == 1;
        chosen
    }
}
