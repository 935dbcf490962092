//! A lane's port under the checker: every operation is a question, and the script has the answers.

use std::cell::Cell as Slot;
use std::marker::PhantomData;
use std::panic::Location;

use fabric::{
    Across, AtomicWord, Cell, Clock, Coherence, Discipline, Fence, Flush, Frozen, Gone,
    HostAtomics, Line, Mark, Op as Verb, Port, Private, Ptr, Slice, Tap, Ticks, Verdict, View,
    Word,
};
use model::{Access, Content};

use crate::ask::{Ask, Change, DEADLINE, GO_ON, LOST_HOST, Op, Place, Recipe, TIME_PASSES};

/// Answers the questions of one run of a lane.
pub(crate) trait Oracle {
    /// The answer, or nothing where the run has come as far as it should.
    fn answer(&self, op: Op) -> Option<u64>;
}

/// What a lane's stack is unwound with where its run has come far enough.
pub(crate) struct FarEnough;

/// Which recipe the operations at hand belong to, as the adaptor announces them.
#[derive(Debug, Default)]
pub(crate) struct Label {
    at: Slot<Option<(Recipe, u8)>>,
}

impl Tap for Label {
    fn before(&self, verb: Verb, _: &'static Location<'static>) -> Verdict {
        match verb {
            Verb::Publish(_) | Verb::PublishEach { .. } => self.at.set(Some((Recipe::Publish, 0))),
            Verb::Post(_) => self.at.set(Some((Recipe::Post, 0))),
            Verb::Confirm(_) => self.at.set(Some((Recipe::Confirm, 0))),
            Verb::Observe(_) | Verb::ObserveEach { .. } => {
                self.at.set(Some((Recipe::Observe, 0)));
            }
            _ => {}
        }
        Verdict::Perform
    }
}

impl Label {
    /// The label of an operation, which moves on: a recipe ends with its last operation.
    fn next(&self, ask: &Ask) -> (Option<Recipe>, u8) {
        let Some((recipe, part)) = self.at.get() else {
            return (None, 0);
        };
        let last = match (recipe, ask) {
            (Recipe::Confirm, Ask::Load(_)) => true,
            (Recipe::Confirm, _) => false,
            (_, ask) => matches!(ask, Ask::Fence(_)),
        };
        let fenced = u8::from(matches!(ask, Ask::Fence(_)));
        let after = (!last).then_some((recipe, part + fenced));
        self.at.set(after);
        (Some(recipe), part)
    }
}

/// How far the clock moves when time passes: beyond the end of any wait that began before.
const LONG: Ticks = Ticks(1 << 48);

/// A lane's clock: stands, but for pauses in which time passes.
#[derive(Debug, Default)]
pub(crate) struct LaneClock {
    now: Slot<u64>,
    /// Whether the turn at hand has read it.
    read: Slot<bool>,
}

/// One lane's port.
pub(crate) struct LanePort<'a> {
    pub(crate) coherence: Coherence,
    pub(crate) discipline: Discipline,
    pub(crate) region_bytes: u64,
    pub(crate) label: &'a Label,
    pub(crate) clock: LaneClock,
    pub(crate) oracle: &'a dyn Oracle,
}

impl LanePort<'_> {
    #[track_caller]
    fn ask(&self, ask: Ask) -> u64 {
        // A lane that is being unwound touches nothing any more.
        if std::thread::panicking() {
            return 0;
        }
        let (recipe, part) = self.label.next(&ask);
        let op = Op {
            ask,
            caller: Location::caller(),
            recipe,
            part,
        };
        match self.oracle.answer(op) {
            Some(answer) => answer,
            // Not a panic: no hook runs, no message is printed.
            None => std::panic::resume_unwind(Box::new(FarEnough)),
        }
    }

    #[track_caller]
    fn access<T: Word>(&self, at: Ptr<T>) -> Access {
        self.check(at.offset(), T::BYTES as u64);
        Access::of(at)
    }

    #[track_caller]
    fn line(&self, line: Line) -> Line {
        self.check(line.offset(), 1);
        line
    }

    #[track_caller]
    fn check(&self, offset: u64, bytes: u64) {
        assert!(
            offset + bytes <= self.region_bytes,
            "{bytes} bytes at {offset:#x} lie outside the region of {} bytes",
            self.region_bytes
        );
    }

    #[track_caller]
    fn atomic<T: AtomicWord>(&self, cell: Cell<T>, change: Change) -> u64 {
        let place = match cell {
            Cell::Host(at) => Place::Host {
                offset: at.offset(),
            },
            Cell::Pool(at) => Place::Pool(self.access(at)),
        };
        self.ask(Ask::Atomic(place, change))
    }
}

impl Port for LanePort<'_> {
    fn coherence(&self) -> Coherence {
        self.coherence
    }

    fn discipline(&self) -> Discipline {
        self.discipline
    }

    #[track_caller]
    fn load<T: Word>(&self, at: Ptr<T>) -> T {
        T::from_bits(self.ask(Ask::Load(self.access(at))))
    }

    #[track_caller]
    fn store<T: Word>(&self, at: Ptr<T>, value: T) {
        self.ask(Ask::Store(self.access(at), value.to_bits()));
    }

    #[track_caller]
    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T) {
        self.ask(Ask::StoreNt(self.access(at), value.to_bits()));
    }

    #[track_caller]
    fn store_line(&self, line: Line, words: &[u64; 8]) {
        self.ask(Ask::StoreLine(self.line(line), Content::of_words(*words)));
    }

    #[track_caller]
    fn read_into<T: Word>(&self, from: Ptr<T>, to: &mut [T]) {
        let place = from.slice(to.len());
        for (index, word) in to.iter_mut().enumerate() {
            *word = self.load(place.at(index));
        }
    }

    #[track_caller]
    fn write_from<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        let place = to.slice(from.len());
        for (index, &word) in from.iter().enumerate() {
            self.store(place.at(index), word);
        }
    }

    #[track_caller]
    fn writeback(&self, line: Line) {
        self.ask(Ask::Writeback(self.line(line)));
    }

    #[track_caller]
    fn flush(&self, line: Line, how: Flush) {
        self.ask(Ask::Flush(self.line(line), how));
    }

    #[track_caller]
    fn fence(&self, fence: Fence) {
        self.ask(Ask::Fence(fence));
    }

    #[track_caller]
    fn pause(&self) -> Result<(), Gone> {
        let timed = self.clock.read.take();
        match self.ask(Ask::Pause { timed }) {
            GO_ON => Ok(()),
            TIME_PASSES => {
                self.clock.now.set(self.clock.now.get() + LONG.0);
                Ok(())
            }
            DEADLINE => Err(Gone::Deadline { after_ms: 0 }),
            host => Err(Gone::LostHost {
                host: (host - LOST_HOST) as u32,
                silent_ms: 0,
            }),
        }
    }

    #[track_caller]
    fn mark(&self, mark: Mark) {
        self.ask(match mark {
            Mark::Wait => {
                self.clock.read.set(false);
                Ask::Wait
            }
            Mark::Carries(digest) => Ask::Carries(digest),
            Mark::Enter(section) => Ask::Enter(section),
            Mark::Leave(section) => Ask::Leave(section),
        });
    }

    fn now(&self) -> Ticks {
        self.clock.read.set(true);
        Ticks(self.clock.now.get())
    }

    fn clock(&self) -> Clock {
        Clock {
            ticks_per_ns: 1.0,
            read_overhead: Ticks(0),
            across_hosts: Across::Incomparable("a checker has no time but what passes in a pause"),
        }
    }

    fn work(&self, _: u32) {}

    type View<'v, T: Word>
        = Window<'v, Self, T>
    where
        Self: 'v;

    fn view<T: Word>(&self, frozen: Frozen<T>) -> Self::View<'_, T> {
        let slice = frozen.slice();
        let from = slice.start().offset();
        let to = from + slice.bytes();
        self.ask(Ask::Freeze { from, to });
        Window { port: self, slice }
    }

    type Private<'v, T: Word>
        = Own<'v, T>
    where
        Self: 'v;

    fn private<T: Word>(&self, len: usize, fill: T) -> Self::Private<'_, T> {
        Own {
            words: vec![fill; len],
            of: PhantomData,
        }
    }
}

impl HostAtomics for LanePort<'_> {
    #[track_caller]
    fn atomic_load<T: AtomicWord>(&self, at: impl Into<Cell<T>>) -> T {
        T::from_bits(self.atomic(at.into(), Change::Load))
    }

    #[track_caller]
    fn atomic_store<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) {
        self.atomic(at.into(), Change::Store(value.to_bits()));
    }

    #[track_caller]
    fn compare_exchange<T: AtomicWord>(
        &self,
        at: impl Into<Cell<T>>,
        current: T,
        new: T,
    ) -> Result<T, T> {
        let change = Change::Exchange {
            current: current.to_bits(),
            new: new.to_bits(),
        };
        let before = T::from_bits(self.atomic(at.into(), change));
        if before == current {
            Ok(before)
        } else {
            Err(before)
        }
    }

    #[track_caller]
    fn fetch_add<T: AtomicWord>(&self, at: impl Into<Cell<T>>, add: T) -> T {
        let change = Change::Add {
            add: add.to_bits(),
            bytes: T::BYTES as u8,
        };
        T::from_bits(self.atomic(at.into(), change))
    }

    #[track_caller]
    fn swap<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) -> T {
        T::from_bits(self.atomic(at.into(), Change::Swap(value.to_bits())))
    }
}

/// A window on a frozen range: loads like any other, so that a range that is not frozen is seen.
pub(crate) struct Window<'v, P, T> {
    port: &'v P,
    slice: Slice<T>,
}

impl<P, T> Clone for Window<'_, P, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, T> Copy for Window<'_, P, T> {}

impl<P: Port, T: Word> View<T> for Window<'_, P, T> {
    fn len(&self) -> usize {
        self.slice.len()
    }

    #[track_caller]
    fn get(&self, index: usize) -> T {
        assert!(
            index < self.slice.len(),
            "word {index} of a view of {}",
            self.slice.len()
        );
        self.port.load(self.slice.at(index))
    }
}

/// A lane's own memory: nobody else sees it, so it is no question.
pub(crate) struct Own<'v, T> {
    words: Vec<T>,
    of: PhantomData<&'v ()>,
}

impl<T: Word> Private<T> for Own<'_, T> {
    fn len(&self) -> usize {
        self.words.len()
    }

    fn get(&self, index: usize) -> T {
        self.words[index]
    }

    fn set(&mut self, index: usize, value: T) {
        self.words[index] = value;
    }
}
