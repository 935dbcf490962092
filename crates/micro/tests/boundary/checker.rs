//! A throw-away checker: whatever the memory and the scheduler may do is one choice.
//!
//! The default choice is: go on with the same lane, change lanes at its `pause`, do what was issued
//! at full fences and when nobody gets on. Everything else is a *deviation*, and an execution has a
//! bounded number of them (delay bounding: Emmi, Qadeer, Rakamaric, POPL 2011).
//!
//! Choices are offered only before loads, full fences and atomics: to issue anything else changes
//! nothing but the lane's own buffer, and so commutes with whatever others do. For the same reason
//! copies come and go unasked only on lines that the step, or something issued, is about.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fabric::{
    Across, AtomicWord, Cell, Clock, Coherence, Discipline, Fence, Flush, Frozen, Gone,
    HostAtomics, Line, NoWatch, Port, Program, Ptr, Seat, Setting, Substrate, Ticks, Watch, Word,
};

use crate::buffer::{Buffer, Pending};
use crate::lanes::{Pick, Turn, interleave};
use crate::memory::{Memory, Own, Window, Words, get};
use crate::search::Path;

/// Pauses in a row without any write, after which nobody will ever get on: more than the lanes of
/// these tests times the looks that one of them may need to notice what is there.
const IDLE_PAUSES: u32 = 16;

/// How far to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Environment steps and pre-emptions of one execution.
    pub(crate) deviations: u32,
    /// Whether a store around the cache may stay in the cache if it finds its line there.
    pub(crate) kept_nt: bool,
}

/// What a search found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report<K> {
    pub(crate) executions: u64,
    /// The first finding, and the choices that lead to it.
    pub(crate) finding: Option<(Kind<K>, Path)>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind<K> {
    /// Every lane polls for ever.
    Stuck,
    /// What the program's judge says.
    Wrong(K),
}

/// Runs `program` for every vector of choices within the bounds, until `judge` finds something.
pub(crate) fn explore<G: Program, K>(
    setting: &Setting,
    region_bytes: u64,
    bounds: Bounds,
    program: &G,
    judge: impl Fn(&[(Seat, G::Out)]) -> Option<K>,
) -> Report<K> {
    let mut executions = 0;
    let mut next = Some(Path::default());
    while let Some(path) = next {
        let checker = Checker::new(region_bytes, bounds, path);
        let outs = checker.run(setting, &NoWatch, program);
        executions += 1;
        let (path, stuck) = checker.into_end();
        let kind = if stuck {
            Some(Kind::Stuck)
        } else {
            judge(&outs).map(Kind::Wrong)
        };
        if let Some(kind) = kind {
            let finding = Some((kind, path));
            return Report {
                executions,
                finding,
            };
        }
        next = path.next();
    }
    Report {
        executions,
        finding: None,
    }
}

/// One execution.
pub(crate) struct Checker {
    region_bytes: u64,
    bounds: Bounds,
    end: RefCell<(Path, bool)>,
}

impl Checker {
    pub(crate) fn new(region_bytes: u64, bounds: Bounds, path: Path) -> Self {
        Self {
            region_bytes,
            bounds,
            end: RefCell::new((path, false)),
        }
    }

    /// The choices made, and whether every lane was left polling.
    pub(crate) fn into_end(self) -> (Path, bool) {
        self.end.into_inner()
    }
}

impl Substrate for Checker {
    fn run<G: Program, W: Watch>(
        &self,
        setting: &Setting,
        _: &W,
        program: &G,
    ) -> Vec<(Seat, G::Out)> {
        let seats: Vec<_> = setting.pod.seats().collect();
        let device = vec![[0; 8]; self.region_bytes.div_ceil(64) as usize];
        let state = RefCell::new(State {
            memory: Memory::new(device, setting.pod.hosts, setting.host_bytes),
            buffers: vec![Buffer::default(); seats.len()],
            hosts: seats.iter().map(|seat| seat.host).collect(),
            running: vec![true; seats.len()],
            current: 0,
            next: vec![Next::Private; seats.len()],
            bounds: self.bounds,
            path: self.end.take().0,
            idle: 0,
            stuck: false,
        });
        let body = |lane: usize, turn: &Turn| {
            let (seat, state) = (seats[lane], &state);
            let port = CheckPort {
                setting,
                seat,
                lane,
                state,
                turn,
            };
            program.lane(seat, &port)
        };
        let outs = interleave(&seats, &body, &mut &state);
        let State { path, stuck, .. } = state.into_inner();
        self.end.replace((path, stuck));
        outs
    }
}

/// What a lane is about to do.
#[derive(Clone, Copy)]
enum Next {
    Load(Line),
    /// Waits until everything that it issued is done.
    Drain,
    /// Nothing that anybody else could notice.
    Private,
}

/// One way to go on.
#[derive(Clone, Copy)]
enum Move {
    Lane(usize),
    Perform { lane: usize, index: usize },
    Keep { lane: usize, index: usize },
    Evict { host: u32, line: Line },
    Fetch { host: u32, line: Line },
}

struct State {
    memory: Memory,
    buffers: Vec<Buffer>,
    hosts: Vec<u32>,
    running: Vec<bool>,
    current: usize,
    /// What each lane does when it goes on.
    next: Vec<Next>,
    bounds: Bounds,
    path: Path,
    /// Pauses since the last write.
    idle: u32,
    stuck: bool,
}

impl State {
    fn perform(&mut self, lane: usize, index: usize) {
        let pending = self.buffers[lane].take(index);
        if pending.writes() {
            self.idle = 0;
        }
        pending.perform(&mut self.memory, self.hosts[lane]);
    }

    fn drain(&mut self, lane: usize) {
        while !self.buffers[lane].is_empty() {
            self.perform(lane, 0);
        }
    }

    /// After a pause: the next lane; if nobody gets on, what was issued is done at last.
    fn rotate(&mut self) {
        self.idle += 1;
        let lanes = self.running.len() as u32;
        let waiting = self.buffers.iter().any(|buffer| !buffer.is_empty());
        if waiting && self.idle > lanes {
            self.idle = 0;
            (0..self.buffers.len()).for_each(|lane| self.drain(lane));
        }
        self.stuck |= self.idle > IDLE_PAUSES;
        let lanes = self.running.len();
        let next = (1..=lanes).map(|step| (self.current + step) % lanes);
        self.current = next
            .into_iter()
            .find(|&lane| self.running[lane])
            .unwrap_or(self.current);
    }

    fn moves(&self) -> Vec<Move> {
        let mut moves = vec![Move::Lane(self.current)];
        let others = (0..self.running.len()).filter(|&lane| lane != self.current);
        moves.extend(others.filter(|&l| self.running[l]).map(Move::Lane));
        for (lane, buffer) in self.buffers.iter().enumerate() {
            for index in 0..buffer.len() {
                moves.push(Move::Perform { lane, index });
                if self.may_keep(lane, index) {
                    moves.push(Move::Keep { lane, index });
                }
            }
        }
        for host in 0..=*self.hosts.last().expect("a pod has a lane") {
            for line in self.lines_at_stake() {
                moves.push(if self.memory.holds(host, line) {
                    Move::Evict { host, line }
                } else {
                    Move::Fetch { host, line }
                });
            }
        }
        moves
    }

    fn lines_at_stake(&self) -> BTreeSet<Line> {
        let issued = self.buffers.iter().flat_map(Buffer::lines);
        let loaded = match self.next[self.current] {
            Next::Load(line) => Some(line),
            Next::Drain | Next::Private => None,
        };
        issued.chain(loaded).collect()
    }

    fn may_keep(&self, lane: usize, index: usize) -> bool {
        let found = self.buffers[lane].around_the_cache(index);
        let held = found.is_some_and(|(line, _)| self.memory.holds(self.hosts[lane], line));
        self.bounds.kept_nt && held
    }

    fn make(&mut self, chosen: Move) {
        match chosen {
            Move::Lane(lane) => self.current = lane,
            Move::Perform { lane, index } => {
                // Each removal shifts those after it by one.
                for (done, older) in self.buffers[lane].through(index).into_iter().enumerate() {
                    self.perform(lane, older - done);
                }
            }
            Move::Keep { lane, index } => {
                let kept = self.buffers[lane].around_the_cache(index);
                let (_, kept) = kept.expect("offered for stores around the cache only");
                self.buffers[lane].take(index);
                kept.perform(&mut self.memory, self.hosts[lane]);
            }
            Move::Evict { host, line } => self.memory.drop_copy(host, line),
            Move::Fetch { host, line } => {
                self.memory.read(host, line);
            }
        }
    }
}

impl Pick for &RefCell<State> {
    fn next_lane(&mut self) -> Option<usize> {
        let state = &mut *self.borrow_mut();
        if !state.running.contains(&true) {
            return None;
        }
        while state.bounds.deviations > 0
            && !state.stuck
            && !matches!(state.next[state.current], Next::Private)
        {
            let moves = state.moves();
            let chosen = state.path.choose(moves.len());
            if chosen == 0 {
                break;
            }
            state.bounds.deviations -= 1;
            state.make(moves[chosen]);
        }
        Some(state.current)
    }

    fn ended(&mut self, index: usize) {
        let mut state = self.borrow_mut();
        state.running[index] = false;
        state.rotate();
    }
}

/// One lane's port.
struct CheckPort<'a> {
    setting: &'a Setting,
    seat: Seat,
    lane: usize,
    state: &'a RefCell<State>,
    turn: &'a Turn,
}

impl CheckPort<'_> {
    /// Lets everything else happen first, then does one step.
    fn step<R>(&self, next: Next, effect: impl FnOnce(&mut State) -> R) -> R {
        self.state.borrow_mut().next[self.lane] = next;
        self.turn.suspend(());
        effect(&mut self.state.borrow_mut())
    }

    fn issue(&self, pending: Pending) {
        self.state.borrow_mut().buffers[self.lane].push(pending);
    }

    /// Drains also before a plain atomic load or store: stronger than the instruction.
    fn atomic<T: AtomicWord>(&self, at: Cell<T>, change: impl FnOnce(T) -> Option<T>) -> T {
        self.step(Next::Drain, |state| {
            state.drain(self.lane);
            state.memory.atomic(self.seat.host, at, |value| {
                let new = change(value);
                state.idle = if new.is_some() { 0 } else { state.idle };
                new
            })
        })
    }
}

impl Port for CheckPort<'_> {
    fn coherence(&self) -> Coherence {
        Coherence::Software
    }

    fn discipline(&self) -> Discipline {
        self.setting.discipline
    }

    fn load<T: Word>(&self, at: Ptr<T>) -> T {
        self.step(Next::Load(at.line()), |state| {
            let mut words = state.memory.read(self.seat.host, at.line());
            state.buffers[self.lane].forward(at.line(), &mut words);
            get(&words, at.offset())
        })
    }

    fn store<T: Word>(&self, at: Ptr<T>, value: T) {
        let (offset, bytes, bits) = (at.offset(), T::BYTES, value.to_bits());
        let store = Pending::Store {
            offset,
            bytes,
            bits,
        };
        self.issue(store);
    }

    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T) {
        let (offset, bytes, bits) = (at.offset(), T::BYTES, value.to_bits());
        let store = Pending::StoreNt {
            offset,
            bytes,
            bits,
        };
        self.issue(store);
    }

    fn store_line(&self, line: Line, words: &Words) {
        self.issue(Pending::StoreLine(line, *words));
    }

    fn read_into<T: Word>(&self, from: Ptr<T>, to: &mut [T]) {
        let place = from.slice(to.len());
        for (index, word) in to.iter_mut().enumerate() {
            *word = self.load(place.at(index));
        }
    }

    fn write_from<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        let place = to.slice(from.len());
        for (index, &word) in from.iter().enumerate() {
            self.store(place.at(index), word);
        }
    }

    fn writeback(&self, line: Line) {
        self.issue(Pending::Writeback(line));
    }

    fn flush(&self, line: Line, how: Flush) {
        self.issue(Pending::Flush(line, how));
    }

    fn fence(&self, fence: Fence) {
        match fence {
            // Loads are performed when they are issued.
            Fence::Load => {}
            Fence::Store => self.issue(Pending::StoreFence),
            Fence::Full => self.step(Next::Drain, |state| state.drain(self.lane)),
        }
    }

    fn pause(&self) -> Result<(), Gone> {
        self.state.borrow_mut().rotate();
        self.step(Next::Private, |state| {
            let why = "every lane polls for ever";
            if state.stuck {
                Err(Gone::Teardown { why })
            } else {
                Ok(())
            }
        })
    }

    fn now(&self) -> Ticks {
        Ticks(0)
    }

    fn clock(&self) -> Clock {
        Clock {
            ticks_per_ns: 1.0,
            read_overhead: Ticks(0),
            across_hosts: Across::Incomparable("a checker has no time"),
        }
    }

    fn work(&self, _: u32) {}

    type View<'v, T: Word>
        = Window<'v, Self, T>
    where
        Self: 'v;

    fn view<T: Word>(&self, frozen: Frozen<T>) -> Self::View<'_, T> {
        let slice = frozen.slice();
        Window { port: self, slice }
    }

    type Private<'v, T: Word>
        = Own<T>
    where
        Self: 'v;

    fn private<T: Word>(&self, len: usize, fill: T) -> Self::Private<'_, T> {
        Own(vec![fill; len])
    }
}

impl HostAtomics for CheckPort<'_> {
    fn atomic_load<T: AtomicWord>(&self, at: impl Into<Cell<T>>) -> T {
        self.atomic(at.into(), |_| None)
    }

    fn atomic_store<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) {
        self.atomic(at.into(), |_| Some(value));
    }

    fn compare_exchange<T: AtomicWord>(
        &self,
        at: impl Into<Cell<T>>,
        current: T,
        new: T,
    ) -> Result<T, T> {
        let before = self.atomic(at.into(), |value| (value == current).then_some(new));
        if before == current {
            Ok(before)
        } else {
            Err(before)
        }
    }

    fn fetch_add<T: AtomicWord>(&self, at: impl Into<Cell<T>>, add: T) -> T {
        self.atomic(at.into(), |value| Some(value.wrapping_add(add)))
    }

    fn swap<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) -> T {
        self.atomic(at.into(), |_| Some(value))
    }
}
