//! The machine: caches, buffers, held writes, device; and what a program's instructions do to it.

use std::hash::{Hash, Hasher};

use fabric::{Fence, Flush, Line};

use crate::cells::{Cells, Copy, Entry, HostWord, Table, Tag};
use crate::content::{Access, Content};
use crate::order::{Buffered, ordered};
use crate::shape::{Shape, WriteMode};

/// A write that has left a host and not yet arrived at the device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Held {
    pub(crate) line: Line,
    pub(crate) cells: Cells,
    /// Bytes that it carries, one bit each.
    pub(crate) bytes: u64,
    /// Those of them that its host has stored since it fetched the line.
    pub(crate) own: u64,
    pub(crate) domain: usize,
    /// The lanes that asked for it, one bit each; an eviction's are none, until one flushes the
    /// line.
    pub(crate) askers: u64,
    /// Whether one of them has fenced since.
    pub(crate) fenced: bool,
    /// Held writes that must leave first: fenced before this one was issued.
    pub(crate) behind: Vec<u32>,
    pub(crate) id: u32,
}

/// A write-back put bytes that its host had not written over newer ones of another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clobber {
    /// Whose write-back.
    pub domain: usize,
    /// The first word that was lost.
    pub at: Access,
    /// What stood there.
    pub lost: u64,
    /// Who had written that.
    pub lost_tag: Tag,
    /// What stands there now.
    pub put: u64,
}

/// The memory of a pod. It compares by value, so that a search can tell states apart, and lies in a
/// few small vectors, so that a search can copy it.
///
/// What is written may carry a [`Tag`], which travels with the word and which loads report: a
/// sanitizer's way to know whose store a load has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub(crate) shape: Shape,
    /// Lines that were ever written, in order.
    pub(crate) device: Table<Line, Cells>,
    /// By domain and line.
    pub(crate) copies: Table<(u32, Line), Copy>,
    /// By lane, each in program order.
    pub(crate) buffers: Vec<Entry>,
    /// In the order in which they left.
    pub(crate) held: Vec<Held>,
    /// DRAM of each host, by host and offset.
    pub(crate) host_words: Table<(u32, u64), HostWord>,
    /// One bit a host.
    pub(crate) crashed: u64,
}

impl Hash for Memory {
    /// Without the shape, which is the same for all that anybody compares.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.device.hash(state);
        self.copies.hash(state);
        self.buffers.hash(state);
        self.held.hash(state);
        self.host_words.hash(state);
        state.write_u64(self.crashed);
    }
}

impl Memory {
    /// Zeroed memory of this shape; nothing cached.
    ///
    /// # Panics
    /// If the pod has more than 64 lanes: no search gets through that many.
    pub fn new(shape: Shape) -> Self {
        let (hosts, lanes) = (shape.hosts as usize, shape.lanes as usize);
        assert!(
            hosts * lanes <= 64,
            "{hosts} hosts of {lanes} lanes: at most 64 lanes"
        );
        Self {
            shape,
            device: Table::default(),
            copies: Table::default(),
            buffers: Vec::new(),
            held: Vec::new(),
            host_words: Table::default(),
            crashed: 0,
        }
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What the device holds, which is what a host without a copy would read.
    pub fn at_device(&self, at: Access) -> u64 {
        self.device_line(at.line()).content.get(at)
    }

    /// What a word holds once everything buffered or held has arrived: one domain's copy is what
    /// all
    /// of its lanes see; of several domains' copies none is more true than another, and the device
    /// decides.
    pub fn in_the_end(&self, at: Access) -> u64 {
        let copy = match self.shape.domains() {
            1 => self.copies.get((0, at.line())),
            _ => None,
        };
        copy.map_or_else(|| self.at_device(at), |copy| copy.content.get(at))
    }

    /// Puts a word at the device before anything runs: memory that still holds the last run.
    pub fn preset(&mut self, at: Access, bits: u64) {
        let cells = self.device.entry(at.line(), Cells::default);
        cells.content.put(at, bits);
    }

    pub(crate) fn device_line(&self, line: Line) -> Cells {
        self.device.get(line).copied().unwrap_or_default()
    }

    /// What is buffered in a lane, in program order.
    pub fn buffered(&self, lane: usize) -> impl DoubleEndedIterator<Item = &Buffered> + Clone {
        self.entries(lane).iter().map(|entry| &entry.op)
    }

    /// Whether nothing is.
    pub fn is_drained(&self, lane: usize) -> bool {
        self.entries(lane).is_empty()
    }

    pub(crate) fn entries(&self, lane: usize) -> &[Entry] {
        let lane = lane as u32;
        let start = self.buffers.partition_point(|entry| entry.lane < lane);
        let count = self.buffers[start..].partition_point(|entry| entry.lane == lane);
        &self.buffers[start..start + count]
    }

    /// Takes entry `index` of a lane's buffer out.
    pub(crate) fn take_entry(&mut self, lane: usize, index: usize) -> Entry {
        let lane = lane as u32;
        let start = self.buffers.partition_point(|entry| entry.lane < lane);
        self.buffers.remove(start + index)
    }

    /// The copy of `line` that `domain` has, and whether it is dirty.
    pub fn copy(&self, domain: usize, line: Line) -> Option<(&Content, bool)> {
        let copy = self.copies.get((domain as u32, line))?;
        Some((&copy.content, copy.dirty))
    }

    /// Whether a write of `line` by `domain` is held.
    pub fn holds(&self, domain: usize, line: Line) -> bool {
        !self.may_fetch(domain, line)
    }

    /// Whether any write is held.
    pub fn holds_anything(&self) -> bool {
        !self.held.is_empty()
    }

    /// The domain and the line of every dirty copy.
    pub fn dirty_lines(&self) -> impl Iterator<Item = (usize, Line)> {
        let dirty = self.copies.iter().filter(|(_, copy)| copy.dirty);
        dirty.map(|((domain, line), _)| (domain as usize, line))
    }

    /// The domain and the line of every held write.
    pub fn held_lines(&self) -> impl Iterator<Item = (usize, Line)> {
        self.held.iter().map(|held| (held.domain, held.line))
    }

    /// What the device holds of a line.
    pub fn line_at_device(&self, line: Line) -> Content {
        self.device_line(line).content
    }

    /// Loads a word: from the lane's own buffered writes, byte by byte, over the host's copy, which
    /// is fetched if there is none. Nothing if the fetch must wait for a held write of this host.
    pub fn load(&mut self, lane: usize, at: Access) -> Option<u64> {
        self.load_tagged(lane, at).map(|(bits, _)| bits)
    }

    /// As [`load`](Self::load), with the tag of the store that was read.
    pub fn load_tagged(&mut self, lane: usize, at: Access) -> Option<(u64, Tag)> {
        let mut cells = Cells::default();
        if !self.covered_by_buffer(lane, at) {
            let copy = self.copy_of(self.shape.domain(lane), at.line())?;
            cells = Cells {
                content: copy.content,
                tags: copy.tags,
            };
        }
        self.forward(lane, at.line(), &mut cells);
        Some((cells.content.get(at), cells.tags.of(at)))
    }

    /// What a load would return now, without fetching; nothing where it would have to wait.
    pub fn peek(&self, lane: usize, at: Access) -> Option<u64> {
        let domain = self.shape.domain(lane);
        let mut cells = Cells::default();
        match self.copies.get((domain as u32, at.line())) {
            Some(copy) => cells.content = copy.content,
            None if self.may_fetch(domain, at.line()) => cells = self.device_line(at.line()),
            None if self.covered_by_buffer(lane, at) => {}
            None => return None,
        }
        self.forward(lane, at.line(), &mut cells);
        Some(cells.content.get(at))
    }

    fn forward(&self, lane: usize, line: Line, cells: &mut Cells) {
        for entry in self.entries(lane) {
            match &entry.op {
                Buffered::Store { at, bits } | Buffered::StoreNt { at, bits }
                    if at.line() == line =>
                {
                    cells.put(*at, *bits, entry.tag);
                }
                Buffered::StoreLine { line: own, content } if *own == line => {
                    *cells = Cells::whole(*content, entry.tag);
                }
                _ => {}
            }
        }
    }

    fn covered_by_buffer(&self, lane: usize, at: Access) -> bool {
        let own = self.buffered(lane);
        let written = own
            .filter(|entry| entry.line() == Some(at.line()))
            .fold(0, |bytes, entry| bytes | entry.bytes_written());
        written & at.byte_mask() == at.byte_mask()
    }

    /// This domain's copy, for an access: fetched if absent and if no held write of its own is in
    /// the way.
    pub(crate) fn copy_of(&mut self, domain: usize, line: Line) -> Option<&mut Copy> {
        if self.copies.get((domain as u32, line)).is_none() {
            if !self.may_fetch(domain, line) {
                return None;
            }
            self.fetch(domain, line);
        }
        let copy = self.copies.get_mut((domain as u32, line))?;
        copy.accessed = true;
        Some(copy)
    }

    pub(crate) fn fetch(&mut self, domain: usize, line: Line) {
        let fetched = Copy::fetched(self.device_line(line));
        self.copies.insert((domain as u32, line), fetched);
    }

    /// The fabric keeps a host's read of a line behind that host's held write of it.
    pub(crate) fn may_fetch(&self, domain: usize, line: Line) -> bool {
        let mut held = self.held.iter();
        !held.any(|held| held.domain == domain && held.line == line)
    }

    /// Stores a word.
    pub fn store(&mut self, lane: usize, at: Access, bits: u64) {
        self.enter(lane, Buffered::Store { at, bits }, Tag::NONE);
    }

    /// Stores a word around the caches.
    pub fn store_nt(&mut self, lane: usize, at: Access, bits: u64) {
        self.enter(lane, Buffered::StoreNt { at, bits }, Tag::NONE);
    }

    /// Writes a whole line in one transaction.
    pub fn store_line(&mut self, lane: usize, line: Line, content: Content) {
        self.enter(lane, Buffered::StoreLine { line, content }, Tag::NONE);
    }

    /// Starts to write a dirty line back.
    pub fn writeback(&mut self, lane: usize, line: Line) {
        self.enter(lane, Buffered::Writeback(line), Tag::NONE);
    }

    /// Starts to write a line back if dirty, and to drop it.
    pub fn flush(&mut self, lane: usize, line: Line, how: Flush) {
        self.enter(lane, Buffered::flush(line, how), Tag::NONE);
    }

    /// Fences. A store fence enters the buffer and is done at once; a load fence has nothing to
    /// wait for, since loads take their value in program order; a full fence is done only when the
    /// lane's buffer is empty: false means "not yet", and the environment must go on.
    pub fn fence(&mut self, lane: usize, fence: Fence) -> bool {
        match fence {
            Fence::Load => true,
            Fence::Store => {
                self.enter(lane, Buffered::Fence, Tag::NONE);
                self.pass_fences(lane);
                true
            }
            Fence::Full => {
                let empty = self.is_drained(lane);
                if empty {
                    self.order_held(lane);
                }
                empty
            }
        }
    }

    /// A locked read-modify-write of a region word: a full fence, then one step on this domain's
    /// copy. Returns the value before and its tag; nothing while it must wait.
    ///
    /// Between hosts without hardware coherence it is atomic only against lanes of its own host.
    pub fn update(
        &mut self,
        lane: usize,
        at: Access,
        tag: Tag,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<(u64, Tag)> {
        if !self.is_drained(lane) {
            return None;
        }
        let domain = self.shape.domain(lane);
        let copy = self.copy_of(domain, at.line())?;
        let before = (copy.content.get(at), copy.tags.of(at));
        if let Some(after) = change(before.0) {
            copy.store(at, after, tag);
        }
        self.order_held(lane);
        Some(before)
    }

    /// Loads a word of this host's shared DRAM, with its tag.
    pub fn host_load(&self, lane: usize, offset: u64) -> (u64, Tag) {
        let own = self.entries(lane).iter().rev();
        let mut forwarded = own.filter_map(|entry| match entry.op {
            Buffered::HostStore { offset: at, bits } if at == offset => Some((bits, entry.tag)),
            _ => None,
        });
        let host = self.shape.host(lane) as u32;
        let stored = || {
            let word = self.host_words.get((host, offset)).copied();
            word.map_or((0, Tag::NONE), |word| (word.bits, word.tag))
        };
        forwarded.next().unwrap_or_else(stored)
    }

    /// Stores a word of this host's shared DRAM, in order with the lane's other plain stores.
    pub fn host_store(&mut self, lane: usize, offset: u64, bits: u64) {
        self.enter(lane, Buffered::HostStore { offset, bits }, Tag::NONE);
    }

    /// A locked read-modify-write of host-shared DRAM; as [`update`](Self::update).
    pub fn host_update(
        &mut self,
        lane: usize,
        offset: u64,
        tag: Tag,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<(u64, Tag)> {
        if !self.is_drained(lane) {
            return None;
        }
        let host = self.shape.host(lane) as u32;
        let word = self.host_words.entry((host, offset), HostWord::default);
        let before = (word.bits, word.tag);
        if let Some(bits) = change(word.bits) {
            *word = HostWord { bits, tag };
        }
        self.order_held(lane);
        Some(before)
    }

    /// An operation that takes effect later enters its lane's buffer; what it writes has this tag.
    pub fn enter(&mut self, lane: usize, op: Buffered, tag: Tag) {
        if self.crashed >> self.shape.host(lane) & 1 == 1 {
            return;
        }
        let lane = lane as u32;
        let end = self.buffers.partition_point(|entry| entry.lane <= lane);
        self.buffers.insert(end, Entry { lane, op, tag });
    }

    /// Whether an entry of a lane's buffer may take effect now.
    pub(crate) fn may_drain(&self, lane: usize, entry: usize) -> bool {
        let buffer = self.entries(lane);
        let later = &buffer[entry].op;
        let mut before = buffer[..entry].iter();
        if before.any(|first| ordered(&first.op, later)) {
            return false;
        }
        match later {
            // A store needs the line: it waits where a load would.
            Buffered::Store { at, .. } => {
                let domain = self.shape.domain(lane);
                let here = self.copies.get((domain as u32, at.line())).is_some();
                here || self.may_fetch(domain, at.line())
            }
            _ => true,
        }
    }

    /// Store fences at the head of a buffer have nothing left to wait for.
    pub(crate) fn pass_fences(&mut self, lane: usize) {
        while self.buffered(lane).next() == Some(&Buffered::Fence) {
            self.take_entry(lane, 0);
            self.order_held(lane);
        }
    }

    /// A fence of `lane` orders its held writes before whatever leaves later.
    fn order_held(&mut self, lane: usize) {
        let asked = |held: &&mut Held| held.askers >> lane & 1 == 1;
        for held in self.held.iter_mut().filter(asked) {
            held.fenced = true;
        }
    }

    /// `lane` flushes a line whose last bytes are already on their way: its fence waits for them.
    pub(crate) fn adopt_held(&mut self, lane: usize, line: Line) {
        let domain = self.shape.domain(lane);
        for held in self.held.iter_mut().filter(|held| held.domain == domain) {
            if held.line == line {
                held.askers |= 1 << lane;
            }
        }
    }

    /// A write leaves a host: it arrives at once, or is held.
    pub(crate) fn send(&mut self, lane: Option<usize>, parcel: Parcel) -> Option<Clobber> {
        if self.shape.writes == WriteMode::Synchronous {
            return self.arrive(&parcel);
        }
        let Parcel {
            domain,
            line,
            cells,
            bytes,
            own,
        } = parcel;
        let unordered = self.shape.writes == WriteMode::PostedUnordered;
        let device = |line| self.shape.device(line);
        let behind = self.held.iter().filter(|first| {
            let fenced = first.fenced && (!unordered || device(first.line) == device(line));
            first.domain == domain && (first.line == line || fenced)
        });
        let behind = behind.map(|first| first.id).collect();
        let id = self.held.iter().map(|held| held.id + 1).max().unwrap_or(0);
        self.held.push(Held {
            line,
            cells,
            bytes,
            own,
            domain,
            askers: lane.map_or(0, |lane| 1 << lane),
            fenced: false,
            behind,
            id,
        });
        None
    }

    pub(crate) fn arrive(&mut self, parcel: &Parcel) -> Option<Clobber> {
        let device = self.device.entry(parcel.line, Cells::default);
        let clobber = parcel.clobbers(device);
        device.merge(&parcel.cells, parcel.bytes);
        clobber
    }
}

/// What leaves a host for the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    pub(crate) domain: usize,
    pub(crate) line: Line,
    pub(crate) cells: Cells,
    /// Bytes that it carries, one bit each.
    pub(crate) bytes: u64,
    /// Those of them that its host has stored since it fetched the line.
    pub(crate) own: u64,
}

impl Parcel {
    /// Whether it puts bytes that its host only read over other ones.
    fn clobbers(&self, device: &Cells) -> Option<Clobber> {
        let foreign = self.bytes & !self.own;
        if foreign == 0 {
            return None;
        }
        let mut merged = *device;
        merged.merge(&self.cells, foreign);
        if merged.content == device.content {
            return None;
        }
        let (old, new) = (device.content.words(), merged.content.words());
        let index = (0..8).find(|&index| old[index] != new[index])?;
        let at = Access::word(self.line.offset() + 8 * index as u64, 8);
        Some(Clobber {
            domain: self.domain,
            at,
            lost: old[index],
            lost_tag: device.tags.of(at),
            put: new[index],
        })
    }
}
