//! One lane's way into a mapped region: each verb one instruction.

mod pause;
mod window;

use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use fabric::{
    AtomicWord, Cell, Clock, Coherence, Discipline, Fence, Flush, Frozen, Gone, HostAtomics,
    LINE_BYTES, Line, NoWatch, ObserveBy, Pages, Port, Ptr, PublishBy, Seat, Slice, Stream, Ticks,
    Watch, Word,
};

pub(crate) use pause::{Deadline, Ending, Spin};
pub use window::{NativePrivate, NativeView};

use crate::cpu::{Cpu, Feature};
use crate::region::Region;
use crate::word;
use crate::{instr, loops};

/// DRAM that the lanes of one host share, zeroed. Blocks are two lines, so that it starts where the
/// arena's offsets assume.
#[derive(Debug)]
pub(crate) struct HostMemory(Vec<Block>);

/// Accessed through the pointer of [`HostMemory::start`] only.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Block {
    _words: [AtomicU64; 16],
}

impl HostMemory {
    pub(crate) fn zeroed(bytes: u64) -> Self {
        let blocks = bytes.div_ceil(size_of::<Block>() as u64);
        Self((0..blocks).map(|_| Block::default()).collect())
    }

    fn start(&self) -> *mut u8 {
        // Atomics are written through shared pointers.
        self.0.as_ptr().cast::<u8>().cast_mut()
    }

    fn bytes(&self) -> u64 {
        size_of_val(self.0.as_slice()) as u64
    }
}

/// What is the same for every lane of a host.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    pub(crate) region: &'a Region,
    pub(crate) shared: &'a HostMemory,
    pub(crate) ending: &'a Ending,
    pub(crate) discipline: Discipline,
    pub(crate) coherence: Coherence,
    pub(crate) clock: Clock,
    pub(crate) cpu: Cpu,
}

/// One lane's port. It holds raw pointers and is therefore neither `Send` nor `Sync`; everything in
/// it is fixed, so that loops keep it in registers.
#[derive(Debug)]
pub struct NativePort<'a, W: Watch> {
    base: *mut u8,
    bytes: u64,
    shared: *mut u8,
    shared_bytes: u64,
    discipline: Discipline,
    coherence: Coherence,
    has_movdir64b: bool,
    wide: bool,
    cpu: Cpu,
    clock: Clock,
    seat: Seat,
    watch: &'a W,
    spin: &'a Spin,
    ending: &'a Ending,
}

impl<'a, W: Watch> NativePort<'a, W> {
    pub(crate) fn new(common: &Common<'a>, seat: Seat, watch: &'a W, spin: &'a Spin) -> Self {
        Self {
            base: common.region.base(),
            bytes: common.region.bytes(),
            shared: common.shared.start(),
            shared_bytes: common.shared.bytes(),
            discipline: common.discipline,
            coherence: common.coherence,
            has_movdir64b: common.cpu.has(Feature::Movdir64b),
            wide: common.cpu.has(Feature::Avx2),
            cpu: common.cpu,
            clock: common.clock,
            seat,
            watch,
            spin,
            ending: common.ending,
        }
    }

    /// Where this lane sits.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The address of `bytes` bytes from `offset`. That they lie in the region is the boundary's
    /// contract (a place comes from an arena that the region was opened for), asserted in debug
    /// builds: a check per access would cost more than the access.
    #[inline(always)]
    #[track_caller]
    fn address(&self, offset: u64, bytes: u64) -> *mut u8 {
        debug_assert!(
            offset
                .checked_add(bytes)
                .is_some_and(|end| end <= self.bytes),
            "{bytes} bytes at offset {offset:#x} leave the region of {:#x} bytes on host {}",
            self.bytes,
            self.seat.host,
        );
        // SAFETY: within the mapping, by the contract above.
        unsafe { self.base.add(offset as usize) }
    }

    #[inline(always)]
    #[track_caller]
    fn at<T: Word>(&self, at: Ptr<T>) -> *mut u8 {
        self.address(at.offset(), T::BYTES as u64)
    }

    #[inline(always)]
    #[track_caller]
    fn line(&self, line: Line) -> *mut u8 {
        self.address(line.offset(), LINE_BYTES)
    }

    #[inline(always)]
    #[track_caller]
    fn cell<T: AtomicWord>(&self, cell: Cell<T>) -> *mut u8 {
        match cell {
            Cell::Pool(at) => {
                debug_assert!(
                    self.coherence == Coherence::Hardware,
                    "atomic at offset {:#x} of a region that no hardware keeps coherent",
                    at.offset(),
                );
                self.at(at)
            }
            Cell::Host(at) => {
                debug_assert!(
                    at.offset() + T::BYTES as u64 <= self.shared_bytes,
                    "word at {:#x} of {:#x} bytes that host {} shares",
                    at.offset(),
                    self.shared_bytes,
                    self.seat.host,
                );
                // SAFETY: within the host's shared memory, which outlives the port, by the same
                // contract as `address`.
                unsafe { self.shared.add(at.offset() as usize) }
            }
        }
    }

    /// This port for a watch: its own `pause` asks none.
    fn bare<'b>(&'b self, spin: &'b Spin) -> NativePort<'b, NoWatch> {
        NativePort {
            base: self.base,
            bytes: self.bytes,
            shared: self.shared,
            shared_bytes: self.shared_bytes,
            discipline: self.discipline,
            coherence: self.coherence,
            has_movdir64b: self.has_movdir64b,
            wide: self.wide,
            cpu: self.cpu,
            clock: self.clock,
            seat: self.seat,
            watch: &NoWatch,
            spin,
            ending: self.ending,
        }
    }

    /// The slow turn of a spin loop.
    #[cold]
    #[inline(never)]
    fn slow_pause(&self) -> Result<(), Gone> {
        self.spin.slow(self.ending, || self.look())
    }

    fn look(&self) -> Result<(), Gone> {
        let spin = Spin::new(false);
        self.watch.look(self.seat, &self.bare(&spin))
    }
}

impl<W: Watch> Port for NativePort<'_, W> {
    #[inline(always)]
    fn coherence(&self) -> Coherence {
        self.coherence
    }

    #[inline(always)]
    fn discipline(&self) -> Discipline {
        self.discipline
    }

    #[inline(always)]
    #[track_caller]
    fn load<T: Word>(&self, at: Ptr<T>) -> T {
        // SAFETY: in the region (`address`), aligned (`Ptr`), and never accessed plainly.
        unsafe { word::load(self.at(at)) }
    }

    #[inline(always)]
    #[track_caller]
    fn store<T: Word>(&self, at: Ptr<T>, value: T) {
        // SAFETY: as for `load`; the mapping is writable.
        unsafe { word::store(self.at(at), value) };
    }

    #[inline(always)]
    #[track_caller]
    fn store_nt<T: Word>(&self, at: Ptr<T>, value: T) {
        // SAFETY: as for `store`; the mapping starts on a page.
        unsafe { word::store_nt(self.at(at), value) };
    }

    #[inline(always)]
    #[track_caller]
    fn store_line(&self, line: Line, words: &[u64; 8]) {
        assert!(
            self.has_movdir64b,
            "movdir64b (CPUID 7.0:ECX[28]) is missing on this CPU"
        );
        // SAFETY: a line of the region (`line`), and the CPU has the instruction.
        unsafe { instr::movdir64b(self.line(line), words) };
    }

    #[inline(always)]
    #[track_caller]
    fn read_into<T: Word>(&self, from: Ptr<T>, to: &mut [T]) {
        let start = self.address(from.offset(), size_of_val(to) as u64);
        // SAFETY: as for `load`, for each word.
        unsafe { word::read_into(start, to) };
    }

    #[inline(always)]
    #[track_caller]
    fn write_from<T: Word>(&self, to: Ptr<T>, from: &[T]) {
        let start = self.address(to.offset(), size_of_val(from) as u64);
        // SAFETY: as for `store`, for each word.
        unsafe { word::write_from(start, from) };
    }

    #[inline(always)]
    #[track_caller]
    fn writeback(&self, line: Line) {
        // SAFETY: a line of the region; a host runs only disciplines that its CPU supports.
        unsafe { instr::clwb(self.line(line)) };
    }

    #[inline(always)]
    #[track_caller]
    fn flush(&self, line: Line, how: Flush) {
        let at = self.line(line);
        // SAFETY: as for `writeback`.
        unsafe {
            match how {
                Flush::ClFlush => instr::clflush(at),
                Flush::ClFlushOpt => instr::clflushopt(at),
            }
        }
    }

    #[inline(always)]
    fn fence(&self, fence: Fence) {
        match fence {
            Fence::Store => instr::sfence(),
            Fence::Load => instr::lfence(),
            Fence::Full => instr::mfence(),
        }
    }

    /// PAUSE only where a poll is a bare load. A poll that flushes and fences is throttled by its
    /// fence, which keeps loads from piling up; PAUSE (140 cycles since Skylake) would only make it
    /// notice later.
    #[inline(always)]
    fn pause(&self) -> Result<(), Gone> {
        if self.spin.turn() {
            return self.slow_pause();
        }
        if self.discipline.observe == ObserveBy::None {
            instr::pause();
        }
        Ok(())
    }

    fn check_in(&self) -> Result<(), Gone> {
        self.ending.look()?;
        self.look()
    }

    #[inline(always)]
    fn now(&self) -> Ticks {
        Ticks(instr::rdtscp())
    }

    fn clock(&self) -> Clock {
        self.clock
    }

    #[inline(always)]
    fn work(&self, _cycles: u32) {}

    type View<'v, T: Word>
        = NativeView<'v, T>
    where
        Self: 'v;

    fn view<T: Word>(&self, frozen: Frozen<T>) -> NativeView<'_, T> {
        let slice = frozen.slice();
        let end = slice.start().offset().checked_add(slice.bytes());
        assert!(
            end.is_some_and(|end| end <= self.bytes),
            "a view of {slice:?} leaves the region of {:#x} bytes on host {}",
            self.bytes,
            self.seat.host,
        );
        let start = self.address(slice.start().offset(), slice.bytes());
        // A view reads plainly, so the compiler could serve it what was read before the freeze.
        compiler_fence(Ordering::Acquire);
        // SAFETY: the range was just checked; it is aligned (`Ptr`, and regions start on a page),
        // mapped while the port lives, and nobody writes a frozen range.
        unsafe { NativeView::new(start.cast_const().cast(), slice.len()) }
    }

    type Private<'p, T: Word>
        = NativePrivate<'p, T>
    where
        Self: 'p;

    fn private<T: Word>(&self, len: usize, fill: T) -> NativePrivate<'_, T> {
        NativePrivate::new(len, fill, self.wide)
    }

    fn private_on<T: Word>(
        &self,
        pages: Pages,
        len: usize,
        fill: T,
    ) -> Result<NativePrivate<'_, T>, String> {
        NativePrivate::on(pages, len, fill, self.wide).map_err(|error| error.to_string())
    }

    fn can(&self, by: PublishBy) -> bool {
        self.cpu.supports_publish(by).is_ok()
    }

    #[inline(always)]
    #[track_caller]
    fn chase(&self, links: Slice<u64>, from: u64, hops: u64) -> u64 {
        let base = self.address(links.start().offset(), links.bytes());
        // SAFETY: the slice lies in the region (`address`), and no link leads out of it: the caller
        // has checked them, as the trait demands.
        unsafe { loops::chase(base, from, hops) }
    }

    #[inline(always)]
    #[track_caller]
    fn stream(&self, what: Stream, area: Slice<u64>, value: u64) -> u64 {
        let len = what.array_len(area.len());
        let start = self.address(area.start().offset(), area.bytes());
        assert!(
            area.start().offset().is_multiple_of(LINE_BYTES),
            "an area at offset {:#x} does not start a line",
            area.start().offset()
        );
        // SAFETY: whole lines of the region, which starts on a page; `wide` is CPUID's.
        unsafe { loops::stream(what, start, len, value, self.wide) }
    }
}

impl<W: Watch> HostAtomics for NativePort<'_, W> {
    #[inline(always)]
    #[track_caller]
    fn atomic_load<T: AtomicWord>(&self, at: impl Into<Cell<T>>) -> T {
        // SAFETY: live, aligned and never accessed plainly (`cell`).
        unsafe { word::load_acquire(self.cell(at.into())) }
    }

    #[inline(always)]
    #[track_caller]
    fn atomic_store<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) {
        // SAFETY: as for `atomic_load`, and writable.
        unsafe { word::store(self.cell(at.into()), value) };
    }

    #[inline(always)]
    #[track_caller]
    fn compare_exchange<T: AtomicWord>(
        &self,
        at: impl Into<Cell<T>>,
        current: T,
        new: T,
    ) -> Result<T, T> {
        // SAFETY: as for `atomic_store`.
        unsafe { word::compare_exchange(self.cell(at.into()), current, new) }
    }

    #[inline(always)]
    #[track_caller]
    fn fetch_add<T: AtomicWord>(&self, at: impl Into<Cell<T>>, add: T) -> T {
        // SAFETY: as for `atomic_store`.
        unsafe { word::fetch_add(self.cell(at.into()), add) }
    }

    #[inline(always)]
    #[track_caller]
    fn swap<T: AtomicWord>(&self, at: impl Into<Cell<T>>, value: T) -> T {
        // SAFETY: as for `atomic_store`.
        unsafe { word::swap(self.cell(at.into()), value) }
    }
}
