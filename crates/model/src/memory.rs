//! The machine: caches, buffers, held writes, device; and what a program's instructions do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use fabric::{Coherence, Fence, Flush, LINE_BYTES, Line};

use crate::cached::CachedLine;
use crate::content::{Access, Content};
use crate::order::{Buffered, ordered};

/// Whether a fence means that a write has arrived at the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WriteMode {
    /// It does.
    Synchronous,
    /// A write may be held after its fence; held writes of one host leave in fence order, and the
    /// host's own read of a line waits behind its held write of it.
    Posted,
    /// As posted, but between devices there is no order.
    PostedUnordered,
}

impl WriteMode {
    /// Every mode, strictest first.
    pub const ALL: [Self; 3] = [Self::Synchronous, Self::Posted, Self::PostedUnordered];

    /// Its name in pod files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Posted => "posted",
            Self::PostedUnordered => "posted-unordered",
        }
    }
}

impl fmt::Display for WriteMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WriteMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| format!("write mode {text:?} is none of {known}"))
    }
}

/// What is fixed about a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Hosts.
    pub hosts: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// Between hosts.
    pub coherence: Coherence,
    /// What a fence means.
    pub writes: WriteMode,
    /// Devices that the region is interleaved over.
    pub devices: u64,
    /// Bytes of one device before the next one's begin.
    pub interleave_bytes: u64,
}

impl Shape {
    /// A pod without coherence between hosts, on one device.
    pub fn software(hosts: u32, lanes: u32, writes: WriteMode) -> Self {
        Self {
            hosts,
            lanes,
            coherence: Coherence::Software,
            writes,
            devices: 1,
            interleave_bytes: LINE_BYTES,
        }
    }

    /// The same with hardware coherence between hosts: one domain.
    #[must_use]
    pub fn coherent(self) -> Self {
        Self {
            coherence: Coherence::Hardware,
            ..self
        }
    }

    /// The coherence domain of a lane, lanes numbered host by host.
    pub fn domain(self, lane: usize) -> usize {
        match self.coherence {
            Coherence::Software => self.host(lane),
            Coherence::Hardware => 0,
        }
    }

    /// The host of a lane.
    pub fn host(self, lane: usize) -> usize {
        lane / self.lanes as usize
    }

    pub(crate) fn domains(self) -> usize {
        match self.coherence {
            Coherence::Software => self.hosts as usize,
            Coherence::Hardware => 1,
        }
    }

    pub(crate) fn device(self, line: Line) -> u64 {
        line.offset() / self.interleave_bytes % self.devices
    }
}

/// A write that has left a host and not yet arrived at the device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Held {
    pub(crate) line: Line,
    pub(crate) content: Content,
    /// Bytes that it carries, one bit each.
    pub(crate) bytes: u64,
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

/// The memory of a pod. It compares by value, so that a search can tell states apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    pub(crate) shape: Shape,
    pub(crate) device: BTreeMap<Line, Content>,
    /// By domain.
    pub(crate) caches: Vec<BTreeMap<Line, CachedLine>>,
    /// Copies that an access of the domain used, by domain; the others only a prefetch brought.
    pub(crate) accessed: Vec<BTreeSet<Line>>,
    /// By lane, in program order.
    pub(crate) buffers: Vec<Vec<Buffered>>,
    /// In the order in which they left.
    pub(crate) held: Vec<Held>,
    /// DRAM of each host, by offset.
    pub(crate) host_words: Vec<BTreeMap<u64, u64>>,
    pub(crate) crashed: Vec<bool>,
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
            device: BTreeMap::new(),
            caches: vec![BTreeMap::new(); shape.domains()],
            accessed: vec![BTreeSet::new(); shape.domains()],
            buffers: vec![Vec::new(); hosts * lanes],
            held: Vec::new(),
            host_words: vec![BTreeMap::new(); hosts],
            crashed: vec![false; hosts],
        }
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What the device holds, which is what a host without a copy would read.
    pub fn at_device(&self, at: Access) -> u64 {
        self.device_line(at.line()).get(at)
    }

    pub(crate) fn device_line(&self, line: Line) -> Content {
        self.device.get(&line).copied().unwrap_or_default()
    }

    /// What is buffered in a lane, in program order.
    pub fn buffered(&self, lane: usize) -> &[Buffered] {
        &self.buffers[lane]
    }

    /// Loads a word: from the lane's own buffered writes, byte by byte, over the host's copy, which
    /// is fetched if there is none. Nothing if the fetch must wait for a held write of this host.
    pub fn load(&mut self, lane: usize, at: Access) -> Option<u64> {
        let mut content = Content::ZERO;
        if !self.covered_by_buffer(lane, at) {
            content = self.copy_of(self.shape.domain(lane), at.line())?.content;
        }
        for entry in &self.buffers[lane] {
            match entry {
                Buffered::Store { at: own, bits } | Buffered::StoreNt { at: own, bits }
                    if own.line() == at.line() =>
                {
                    content.put(*own, *bits);
                }
                Buffered::StoreLine { line, content: all } if *line == at.line() => content = *all,
                _ => {}
            }
        }
        Some(content.get(at))
    }

    fn covered_by_buffer(&self, lane: usize, at: Access) -> bool {
        let own = self.buffers[lane].iter();
        let written = own
            .filter(|entry| entry.line() == Some(at.line()))
            .fold(0, |bytes, entry| bytes | entry.bytes_written());
        written & at.byte_mask() == at.byte_mask()
    }

    /// This domain's copy, for an access: fetched if absent and if no held write of its own is in
    /// the way.
    pub(crate) fn copy_of(&mut self, domain: usize, line: Line) -> Option<&mut CachedLine> {
        if !self.caches[domain].contains_key(&line) {
            if !self.may_fetch(domain, line) {
                return None;
            }
            let fetched = CachedLine::fetched(self.device_line(line));
            self.caches[domain].insert(line, fetched);
        }
        self.accessed[domain].insert(line);
        self.caches[domain].get_mut(&line)
    }

    /// The fabric keeps a host's read of a line behind that host's held write of it.
    pub(crate) fn may_fetch(&self, domain: usize, line: Line) -> bool {
        let mut held = self.held.iter();
        !held.any(|held| held.domain == domain && held.line == line)
    }

    /// Stores a word.
    pub fn store(&mut self, lane: usize, at: Access, bits: u64) {
        self.enter(lane, Buffered::Store { at, bits });
    }

    /// Stores a word around the caches.
    pub fn store_nt(&mut self, lane: usize, at: Access, bits: u64) {
        self.enter(lane, Buffered::StoreNt { at, bits });
    }

    /// Writes a whole line in one transaction.
    pub fn store_line(&mut self, lane: usize, line: Line, content: Content) {
        self.enter(lane, Buffered::StoreLine { line, content });
    }

    /// Starts to write a dirty line back.
    pub fn writeback(&mut self, lane: usize, line: Line) {
        self.enter(lane, Buffered::Writeback(line));
    }

    /// Starts to write a line back if dirty, and to drop it.
    pub fn flush(&mut self, lane: usize, line: Line, how: Flush) {
        self.enter(lane, Buffered::flush(line, how));
    }

    /// Fences. A store fence enters the buffer and is done at once; a load fence has nothing to
    /// wait for, since loads take their value in program order; a full fence is done only when the
    /// lane's buffer is empty: false means "not yet", and the environment must go on.
    pub fn fence(&mut self, lane: usize, fence: Fence) -> bool {
        match fence {
            Fence::Load => true,
            Fence::Store => {
                self.enter(lane, Buffered::Fence);
                self.pass_fences(lane);
                true
            }
            Fence::Full => {
                let empty = self.buffers[lane].is_empty();
                if empty {
                    self.order_held(lane);
                }
                empty
            }
        }
    }

    /// A locked read-modify-write of a region word: a full fence, then one step on this domain's
    /// copy. Returns the value before; nothing while it must wait.
    ///
    /// Between hosts without hardware coherence it is atomic only against lanes of its own host.
    pub fn update(
        &mut self,
        lane: usize,
        at: Access,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<u64> {
        if !self.buffers[lane].is_empty() {
            return None;
        }
        let domain = self.shape.domain(lane);
        let copy = self.copy_of(domain, at.line())?;
        let before = copy.content.get(at);
        if let Some(after) = change(before) {
            copy.store(at, after);
        }
        self.order_held(lane);
        Some(before)
    }

    /// Loads a word of this host's shared DRAM.
    pub fn host_load(&self, lane: usize, offset: u64) -> u64 {
        let own = self.buffers[lane].iter().rev();
        let forwarded = own.filter_map(|entry| match entry {
            Buffered::HostStore { offset: at, bits } if *at == offset => Some(*bits),
            _ => None,
        });
        let words = &self.host_words[self.shape.host(lane)];
        let stored = || words.get(&offset).copied().unwrap_or(0);
        forwarded.take(1).next().unwrap_or_else(stored)
    }

    /// Stores a word of this host's shared DRAM, in order with the lane's other plain stores.
    pub fn host_store(&mut self, lane: usize, offset: u64, bits: u64) {
        self.enter(lane, Buffered::HostStore { offset, bits });
    }

    /// A locked read-modify-write of host-shared DRAM; as [`update`](Self::update).
    pub fn host_update(
        &mut self,
        lane: usize,
        offset: u64,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<u64> {
        if !self.buffers[lane].is_empty() {
            return None;
        }
        let word = self.host_words[self.shape.host(lane)]
            .entry(offset)
            .or_insert(0);
        let before = *word;
        if let Some(after) = change(before) {
            *word = after;
        }
        self.order_held(lane);
        Some(before)
    }

    fn enter(&mut self, lane: usize, entry: Buffered) {
        if !self.crashed[self.shape.host(lane)] {
            self.buffers[lane].push(entry);
        }
    }

    /// Whether an entry of a lane's buffer may take effect now.
    pub(crate) fn may_drain(&self, lane: usize, entry: usize) -> bool {
        let buffer = &self.buffers[lane];
        let later = &buffer[entry];
        if buffer[..entry].iter().any(|first| ordered(first, later)) {
            return false;
        }
        match later {
            // A store needs the line: it waits where a load would.
            Buffered::Store { at, .. } => {
                let domain = self.shape.domain(lane);
                let here = self.caches[domain].contains_key(&at.line());
                here || self.may_fetch(domain, at.line())
            }
            _ => true,
        }
    }

    /// Store fences at the head of a buffer have nothing left to wait for.
    pub(crate) fn pass_fences(&mut self, lane: usize) {
        while self.buffers[lane].first() == Some(&Buffered::Fence) {
            self.buffers[lane].remove(0);
            self.order_held(lane);
        }
    }

    /// A fence of `lane` orders its held writes before whatever leaves later.
    fn order_held(&mut self, lane: usize) {
        for held in self
            .held
            .iter_mut()
            .filter(|held| held.askers >> lane & 1 == 1)
        {
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
    pub(crate) fn send(
        &mut self,
        domain: usize,
        lane: Option<usize>,
        line: Line,
        content: Content,
        bytes: u64,
    ) {
        if self.shape.writes == WriteMode::Synchronous {
            self.arrive(line, &content, bytes);
            return;
        }
        let unordered = self.shape.writes == WriteMode::PostedUnordered;
        let device = |line| self.shape.device(line);
        let behind = self.held.iter().filter(|first| {
            let fenced = first.fenced && (!unordered || device(first.line) == device(line));
            first.domain == domain && (first.line == line || fenced)
        });
        let behind = behind.map(|first| first.id).collect();
        let id = self.held.iter().map(|held| held.id + 1).max().unwrap_or(0);
        let held = Held {
            line,
            content,
            bytes,
            domain,
            askers: lane.map_or(0, |lane| 1 << lane),
            fenced: false,
            behind,
            id,
        };
        self.held.push(held);
    }

    pub(crate) fn arrive(&mut self, line: Line, content: &Content, bytes: u64) {
        self.device.entry(line).or_default().merge(content, bytes);
    }
}
