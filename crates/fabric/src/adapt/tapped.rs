//! The one adaptor: every verb asks the tap, then goes to the port below.

use std::panic::Location;

use super::{Op, Tap, Verdict};
use crate::discipline::{Coherence, Discipline, Fence, Flush, ObserveBy, PublishBy};
use crate::maintain;
use crate::mark::Mark;
use crate::place::{Cell, Frozen, Line, Lines, Ptr, Slice};
use crate::port::{HostAtomics, Port};
use crate::stream::{Pages, Stream};
use crate::time::{Clock, Ticks};
use crate::wait::Gone;
use crate::word::{AtomicWord, Word};

/// A port whose every verb passes a [`Tap`].
///
/// Accesses through a [`View`](crate::View) or a [`Private`](crate::Private) are not announced:
/// they need no maintenance.
#[derive(Debug)]
pub struct Tapped<'a, P, T> {
    port: &'a P,
    tap: &'a T,
    /// Set while something runs aside.
    muted: std::cell::Cell<bool>,
}

impl<'a, P: Port, T: Tap> Tapped<'a, P, T> {
    /// `port`, seen through `tap`.
    pub fn new(port: &'a P, tap: &'a T) -> Self {
        Self {
            port,
            tap,
            muted: std::cell::Cell::new(false),
        }
    }

    /// Asks the tap; true if the operation is to be performed.
    #[track_caller]
    fn tell(&self, op: Op) -> bool {
        self.muted.get() || self.tap.before(op, Location::caller()) == Verdict::Perform
    }

    fn moves_lines(&self) -> bool {
        self.discipline().publish != PublishBy::None
    }
}

fn span<W: Word>(len: usize) -> u64 {
    (len * W::BYTES) as u64
}

impl<P: Port, T: Tap> Port for Tapped<'_, P, T> {
    fn coherence(&self) -> Coherence {
        self.port.coherence()
    }

    fn discipline(&self) -> Discipline {
        self.port.discipline()
    }

    #[track_caller]
    fn load<W: Word>(&self, at: Ptr<W>) -> W {
        self.tell(Op::Load {
            offset: at.offset(),
            bytes: span::<W>(1),
        });
        self.port.load(at)
    }

    #[track_caller]
    fn load_overlapped<W: Word>(&self, at: Ptr<W>) -> W {
        self.tell(Op::Load {
            offset: at.offset(),
            bytes: span::<W>(1),
        });
        self.port.load_overlapped(at)
    }

    #[track_caller]
    fn store<W: Word>(&self, at: Ptr<W>, value: W) {
        self.tell(Op::Store {
            offset: at.offset(),
            bytes: span::<W>(1),
        });
        self.port.store(at, value);
    }

    #[track_caller]
    fn store_nt<W: Word>(&self, at: Ptr<W>, value: W) {
        self.tell(Op::StoreNt {
            offset: at.offset(),
            bytes: span::<W>(1),
        });
        self.port.store_nt(at, value);
    }

    #[track_caller]
    fn store_line(&self, line: Line, words: &[u64; 8]) {
        self.tell(Op::StoreLine(line));
        self.port.store_line(line, words);
    }

    #[track_caller]
    fn read_into<W: Word>(&self, from: Ptr<W>, to: &mut [W]) {
        self.tell(Op::Load {
            offset: from.offset(),
            bytes: span::<W>(to.len()),
        });
        self.port.read_into(from, to);
    }

    #[track_caller]
    fn write_from<W: Word>(&self, to: Ptr<W>, from: &[W]) {
        self.tell(Op::Store {
            offset: to.offset(),
            bytes: span::<W>(from.len()),
        });
        self.port.write_from(to, from);
    }

    #[track_caller]
    fn write_nt_from<W: Word>(&self, to: Ptr<W>, from: &[W]) {
        self.tell(Op::StoreNt {
            offset: to.offset(),
            bytes: span::<W>(from.len()),
        });
        self.port.write_nt_from(to, from);
    }

    #[track_caller]
    fn writeback(&self, line: Line) {
        if self.tell(Op::Writeback(line)) {
            self.port.writeback(line);
        }
    }

    #[track_caller]
    fn flush(&self, line: Line, how: Flush) {
        if self.tell(Op::Flush(line, how)) {
            self.port.flush(line, how);
        }
    }

    #[track_caller]
    fn fence(&self, fence: Fence) {
        if self.tell(Op::Fence(fence)) {
            self.port.fence(fence);
        }
    }

    #[track_caller]
    fn pause(&self) -> Result<(), Gone> {
        self.tell(Op::Pause);
        self.port.pause()
    }

    fn check_in(&self) -> Result<(), Gone> {
        self.port.check_in()
    }

    #[track_caller]
    fn mark(&self, mark: Mark) {
        self.port.mark(mark);
    }

    fn now(&self) -> Ticks {
        self.port.now()
    }

    fn clock(&self) -> Clock {
        self.port.clock()
    }

    fn work(&self, cycles: u32) {
        self.port.work(cycles);
    }

    type View<'v, W: Word>
        = P::View<'v, W>
    where
        Self: 'v;

    fn view<W: Word>(&self, frozen: Frozen<W>) -> Self::View<'_, W> {
        self.port.view(frozen)
    }

    type Private<'v, W: Word>
        = P::Private<'v, W>
    where
        Self: 'v;

    fn private<W: Word>(&self, len: usize, fill: W) -> Self::Private<'_, W> {
        self.port.private(len, fill)
    }

    fn private_on<W: Word>(
        &self,
        pages: Pages,
        len: usize,
        fill: W,
    ) -> Result<Self::Private<'_, W>, String> {
        self.port.private_on(pages, len, fill)
    }

    fn can(&self, by: PublishBy) -> bool {
        self.port.can(by)
    }

    /// Announced once, as all it may load: a call of the tap a hop would be what is measured.
    #[track_caller]
    fn chase(&self, links: Slice<u64>, from: u64, hops: u64) -> u64 {
        self.tell(Op::Load {
            offset: links.start().offset(),
            bytes: links.bytes(),
        });
        self.port.chase(links, from, hops)
    }

    /// Announced once an array: the first is stored, the others are loaded.
    #[track_caller]
    fn stream(&self, what: Stream, area: Slice<u64>, value: u64) -> u64 {
        let len = what.array_len(area.len());
        let bytes = span::<u64>(len);
        for array in 0..what.arrays() {
            let offset = area.range(array * len, area.len()).start().offset();
            self.tell(match what {
                Stream::Read => Op::Load { offset, bytes },
                Stream::NtWrite => Op::StoreNt { offset, bytes },
                _ if array == 0 => Op::Store { offset, bytes },
                _ => Op::Load { offset, bytes },
            });
        }
        self.port.stream(what, area, value)
    }

    #[track_caller]
    fn publish(&self, lines: impl Into<Lines>) {
        let lines = lines.into();
        if !self.moves_lines() || self.tell(Op::Publish(lines)) {
            maintain::publish(self, lines);
        }
    }

    #[track_caller]
    fn publish_each(&self, lines: &[Line]) {
        let nothing = !self.moves_lines() || lines.is_empty();
        if nothing
            || self.tell(Op::PublishEach {
                lines: lines.len() as u64,
            })
        {
            maintain::publish_each(self, lines);
        }
    }

    #[track_caller]
    fn post(&self, lines: impl Into<Lines>) {
        let lines = lines.into();
        if !self.moves_lines() || self.tell(Op::Post(lines)) {
            maintain::post(self, lines);
        }
    }

    #[track_caller]
    fn confirm(&self, line: Line) {
        if !self.moves_lines() || self.tell(Op::Confirm(line)) {
            maintain::confirm(self, line);
        }
    }

    #[track_caller]
    fn observe(&self, lines: impl Into<Lines>) {
        let lines = lines.into();
        let nothing = self.discipline().observe == ObserveBy::None;
        if nothing || self.tell(Op::Observe(lines)) {
            maintain::observe(self, lines);
        }
    }

    #[track_caller]
    fn observe_each(&self, lines: &[Line]) {
        let nothing = self.discipline().observe == ObserveBy::None;
        if nothing
            || self.tell(Op::ObserveEach {
                lines: lines.len() as u64,
            })
        {
            maintain::observe_each(self, lines);
        }
    }

    fn aside<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        let before = self.muted.replace(true);
        let answer = f(self);
        self.muted.set(before);
        answer
    }

    #[track_caller]
    fn write_published<W: Word>(&self, to: Ptr<W>, from: &[W]) {
        if self.moves_lines() {
            self.tell(Op::Publish(to.lines(from.len())));
        }
        maintain::write(self, to, from, Fence::Full);
    }

    #[track_caller]
    fn write_posted<W: Word>(&self, to: Ptr<W>, from: &[W]) {
        if self.moves_lines() {
            self.tell(Op::Post(to.lines(from.len())));
        }
        maintain::write(self, to, from, Fence::Store);
    }
}

impl<P: HostAtomics, T: Tap> HostAtomics for Tapped<'_, P, T> {
    #[track_caller]
    fn atomic_load<W: AtomicWord>(&self, at: impl Into<Cell<W>>) -> W {
        self.tell(Op::Atomic);
        self.port.atomic_load(at)
    }

    #[track_caller]
    fn atomic_store<W: AtomicWord>(&self, at: impl Into<Cell<W>>, value: W) {
        self.tell(Op::Atomic);
        self.port.atomic_store(at, value);
    }

    #[track_caller]
    fn compare_exchange<W: AtomicWord>(
        &self,
        at: impl Into<Cell<W>>,
        current: W,
        new: W,
    ) -> Result<W, W> {
        self.tell(Op::Atomic);
        self.port.compare_exchange(at, current, new)
    }

    #[track_caller]
    fn fetch_add<W: AtomicWord>(&self, at: impl Into<Cell<W>>, add: W) -> W {
        self.tell(Op::Atomic);
        self.port.fetch_add(at, add)
    }

    #[track_caller]
    fn swap<W: AtomicWord>(&self, at: impl Into<Cell<W>>, value: W) -> W {
        self.tell(Op::Atomic);
        self.port.swap(at, value)
    }
}
