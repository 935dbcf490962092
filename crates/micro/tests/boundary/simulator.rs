//! A throw-away simulator: fixed costs, one cache of whole lines a host, earliest lane first.
//!
//! A verb first takes its time, then waits until no other lane is earlier, then happens at once.

use std::cell::RefCell;

use fabric::{
    Across, AtomicWord, Cell, Clock, Coherence, Discipline, Fence, Flush, Frozen, Gone,
    HostAtomics, Line, Port, Program, Ptr, Seat, Setting, Substrate, Ticks, Watch, Word,
};

use crate::lanes::{Pick, Turn, interleave};
use crate::memory::{Memory, Own, Window, Words, get};

/// What a verb takes, in nanoseconds. Plausible constants for a pool behind a switch, made up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    pub(crate) hit: u64,
    pub(crate) miss: u64,
    pub(crate) store: u64,
    /// A store around the cache, of a word or a line.
    pub(crate) around: u64,
    /// A flush or writeback of a dirty line, to the device.
    pub(crate) flush_dirty: u64,
    /// A flush of a line that is clean or absent.
    pub(crate) flush_clean: u64,
    pub(crate) fence: u64,
    pub(crate) pause: u64,
}

impl Costs {
    pub(crate) const MADE_UP: Self = Self {
        hit: 2,
        miss: 400,
        store: 1,
        around: 300,
        flush_dirty: 500,
        flush_clean: 50,
        fence: 10,
        pause: 40,
    };
}

const TICKS_PER_NS: u64 = 1_000;

/// A pod in simulated time; its device keeps its contents from run to run.
pub(crate) struct Simulator {
    costs: Costs,
    device: RefCell<Vec<Words>>,
}

impl Simulator {
    /// A zeroed region of `region_bytes`.
    pub(crate) fn new(costs: Costs, region_bytes: u64) -> Self {
        Self::over(costs, vec![[0; 8]; region_bytes.div_ceil(64) as usize])
    }

    /// A region that holds `device`.
    pub(crate) fn over(costs: Costs, device: Vec<Words>) -> Self {
        let device = RefCell::new(device);
        Self { costs, device }
    }
}

impl Substrate for Simulator {
    fn run<G: Program, W: Watch>(
        &self,
        setting: &Setting,
        watch: &W,
        program: &G,
    ) -> Vec<(Seat, G::Out)> {
        let seats: Vec<_> = setting.pod.seats().collect();
        let memory = Memory::new(self.device.take(), setting.pod.hosts, setting.host_bytes);
        let state = RefCell::new(State {
            memory,
            clocks: vec![Some(0); seats.len()],
        });
        let body = |lane: usize, turn: &Turn| {
            let port = SimPort {
                setting,
                seat: seats[lane],
                lane,
                costs: self.costs,
                state: &state,
                turn,
                watch: Some(watch),
            };
            program.lane(port.seat, &port)
        };
        let outs = interleave(&seats, &body, &mut &state);
        self.device.replace(state.into_inner().memory.into_device());
        outs
    }
}

struct State {
    memory: Memory,
    /// Each lane's time in ticks, until it has ended.
    clocks: Vec<Option<u64>>,
}

impl State {
    fn earliest(&self) -> Option<usize> {
        let running = self.clocks.iter().enumerate();
        let running = running.filter_map(|(lane, clock)| clock.map(|clock| (clock, lane)));
        running.min().map(|(_, lane)| lane)
    }
}

impl Pick for &RefCell<State> {
    fn next_lane(&mut self) -> Option<usize> {
        self.borrow().earliest()
    }

    fn ended(&mut self, index: usize) {
        self.borrow_mut().clocks[index] = None;
    }
}

/// One lane's port. Without a watch it is the bare port that a watch is given.
struct SimPort<'a, W> {
    setting: &'a Setting,
    seat: Seat,
    lane: usize,
    costs: Costs,
    state: &'a RefCell<State>,
    turn: &'a Turn,
    watch: Option<&'a W>,
}

impl<W> SimPort<'_, W> {
    fn elapse(&self, ns: u64) {
        let earliest = {
            let mut state = self.state.borrow_mut();
            *state.clocks[self.lane]
                .as_mut()
                .expect("a lane that runs has a clock") += ns * TICKS_PER_NS;
            state.earliest()
        };
        if earliest != Some(self.lane) {
            self.turn.suspend(());
        }
    }

    fn after<R>(&self, ns: u64, effect: impl FnOnce(&mut Memory, u32) -> R) -> R {
        self.elapse(ns);
        effect(&mut self.state.borrow_mut().memory, self.seat.host)
    }

    fn maintain(&self, line: Line, effect: impl FnOnce(&mut Memory, u32)) {
        let dirty = self.state.borrow().memory.is_dirty(self.seat.host, line);
        let ns = if dirty {
            self.costs.flush_dirty
        } else {
            self.costs.flush_clean
        };
        self.after(ns, effect);
    }

    fn atomic<T: AtomicWord>(&self, at: Cell<T>, change: impl FnOnce(T) -> Option<T>) -> T {
        self.after(self.costs.fence, |memory, host| {
            memory.atomic(host, at, change)
        })
    }
}

impl<W: Watch> Port for SimPort<'_, W> {
    fn coherence(&self) -> Coherence {
        Coherence::Software
    }

    fn discipline(&self) -> Discipline {
        self.setting.discipline
    }

    fn load<T: Word>(&self, at: Ptr<T>) -> T {
        let held = self.state.borrow().memory.holds(self.seat.host, at.line());
        let ns = if held {
            self.costs.hit
        } else {
            self.costs.miss
        };
        self.after(ns, |memory, host| {
            get(&memory.read(host, at.line()), at.offset())
        })
    }

    fn store<T: Word>(&self, at: Ptr<T>, value: T) {
        self.after(self.costs.store, |memory, host| {
            memory.write(host, at.offset(), T::BYTES, value.to_bits());
        });
    }

    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T) {
        self.after(self.costs.around, |memory, host| {
            memory.write_around(host, at.offset(), T::BYTES, value.to_bits());
        });
    }

    fn store_line(&self, line: Line, words: &Words) {
        self.after(self.costs.around, |memory, host| {
            memory.write_line(host, line, words);
        });
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
        self.maintain(line, |memory, host| memory.write_back(host, line));
    }

    fn flush(&self, line: Line, _: Flush) {
        self.maintain(line, |memory, host| memory.drop_copy(host, line));
    }

    fn fence(&self, _: Fence) {
        self.elapse(self.costs.fence);
    }

    fn pause(&self) -> Result<(), Gone> {
        self.elapse(self.costs.pause);
        let Some(watch) = self.watch else {
            return Ok(());
        };
        let bare: Self = SimPort {
            watch: None,
            ..*self
        };
        watch.look(self.seat, &bare)
    }

    fn now(&self) -> Ticks {
        let clock = self.state.borrow().clocks[self.lane];
        Ticks(clock.expect("a lane that runs has a clock"))
    }

    fn clock(&self) -> Clock {
        Clock {
            ticks_per_ns: TICKS_PER_NS as f64,
            read_overhead: Ticks(0),
            across_hosts: Across::Comparable { error_ns: 0.0 },
        }
    }

    fn work(&self, cycles: u32) {
        self.elapse(u64::from(cycles));
    }

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

impl<W: Watch> HostAtomics for SimPort<'_, W> {
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
