//! Lines, caches of whole lines, and what a port needs besides its verbs. Shared by both ports.

use std::collections::BTreeMap;

use fabric::{Cell, LINE_BYTES, Line, Port, Private, Ptr, Slice, View, Word};

/// The words of one line.
pub(crate) type Words = [u64; 8];

/// The word at byte `offset` of the region, from its line.
pub(crate) fn get<T: Word>(line: &Words, offset: u64) -> T {
    T::from_bits(line[word_index(offset)] >> (8 * (offset % 8)))
}

/// Puts the `bytes` low bytes of `bits` at byte `offset` of the region into its line.
pub(crate) fn put(line: &mut Words, offset: u64, bytes: usize, bits: u64) {
    let mask = (u64::MAX >> (64 - 8 * bytes)) << (8 * (offset % 8));
    let word = &mut line[word_index(offset)];
    *word = (*word & !mask) | ((bits << (8 * (offset % 8))) & mask);
}

fn word_index(offset: u64) -> usize {
    (offset % LINE_BYTES / 8) as usize
}

/// A host's copy of a line.
#[derive(Clone, Debug)]
struct Copy {
    words: Words,
    dirty: bool,
}

/// One coherence domain: a cache of whole lines, and DRAM that its lanes share.
#[derive(Clone, Debug)]
struct Host {
    cache: BTreeMap<Line, Copy>,
    dram: Vec<u64>,
}

/// Device lines and hosts. Every access panics outside the region.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    device: Vec<Words>,
    hosts: Vec<Host>,
}

impl Memory {
    /// Empty caches over `device`.
    pub(crate) fn new(device: Vec<Words>, hosts: u32, host_bytes: u64) -> Self {
        let host = Host {
            cache: BTreeMap::new(),
            dram: vec![0; host_bytes.div_ceil(8) as usize],
        };
        Self {
            device,
            hosts: vec![host; hosts as usize],
        }
    }

    /// The device as it is once every dirty line has been written back.
    pub(crate) fn into_device(mut self) -> Vec<Words> {
        for host in 0..self.hosts.len() as u32 {
            for line in self.cached(host) {
                self.drop_copy(host, line);
            }
        }
        self.device
    }

    /// The lines that `host` holds.
    pub(crate) fn cached(&self, host: u32) -> Vec<Line> {
        self.hosts[host as usize].cache.keys().copied().collect()
    }

    /// Whether `host` holds `line`.
    pub(crate) fn holds(&self, host: u32, line: Line) -> bool {
        self.hosts[host as usize].cache.contains_key(&line)
    }

    /// Whether `host` holds `line` dirty.
    pub(crate) fn is_dirty(&self, host: u32, line: Line) -> bool {
        let copy = self.hosts[host as usize].cache.get(&line);
        copy.is_some_and(|copy| copy.dirty)
    }

    /// The line as `host` sees it; a miss brings it in.
    pub(crate) fn read(&mut self, host: u32, line: Line) -> Words {
        self.copy(host, line).words
    }

    /// A store into the cache.
    pub(crate) fn write(&mut self, host: u32, offset: u64, bytes: usize, bits: u64) {
        let copy = self.copy(host, Line(offset / LINE_BYTES));
        put(&mut copy.words, offset, bytes, bits);
        copy.dirty = true;
    }

    /// A store around the cache: the masked bytes reach the device, the copy is dropped.
    pub(crate) fn write_around(&mut self, host: u32, offset: u64, bytes: usize, bits: u64) {
        let line = Line(offset / LINE_BYTES);
        self.drop_copy(host, line);
        put(&mut self.device[line.0 as usize], offset, bytes, bits);
    }

    /// A whole line around the cache.
    pub(crate) fn write_line(&mut self, host: u32, line: Line, words: &Words) {
        self.drop_copy(host, line);
        self.device[line.0 as usize] = *words;
    }

    /// Writes the line back if dirty, whole, and keeps it clean.
    pub(crate) fn write_back(&mut self, host: u32, line: Line) {
        if let Some(copy) = self.hosts[host as usize].cache.get_mut(&line) {
            if copy.dirty {
                self.device[line.0 as usize] = copy.words;
            }
            copy.dirty = false;
        }
    }

    /// Writes the line back if dirty, whole, and drops it.
    pub(crate) fn drop_copy(&mut self, host: u32, line: Line) {
        self.write_back(host, line);
        self.hosts[host as usize].cache.remove(&line);
    }

    /// A read-modify-write of host-shared DRAM; `change` answers with the new value, if any.
    ///
    /// # Panics
    /// On a word of the region: each host would do its own atomic on its own copy.
    pub(crate) fn atomic<T: Word>(
        &mut self,
        host: u32,
        at: Cell<T>,
        change: impl FnOnce(T) -> Option<T>,
    ) -> T {
        let Cell::Host(at) = at else {
            panic!("an atomic instruction on the region of a pod without hardware coherence");
        };
        let word = &mut self.hosts[host as usize].dram[(at.offset() / 8) as usize];
        let mut line = [*word; 8];
        let before = get(&line, at.offset());
        if let Some(value) = change(before) {
            put(&mut line, at.offset(), T::BYTES, value.to_bits());
            *word = line[word_index(at.offset())];
        }
        before
    }

    fn copy(&mut self, host: u32, line: Line) -> &mut Copy {
        let words = self.device[line.0 as usize];
        let cache = &mut self.hosts[host as usize].cache;
        cache.entry(line).or_insert(Copy {
            words,
            dirty: false,
        })
    }
}

/// A view that loads through its port.
#[derive(Debug)]
pub(crate) struct Window<'a, P, T> {
    pub(crate) port: &'a P,
    pub(crate) slice: Slice<T>,
}

impl<P, T> Clone for Window<'_, P, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, T> std::marker::Copy for Window<'_, P, T> {}

impl<P: Port, T: Word> View<T> for Window<'_, P, T> {
    fn len(&self) -> usize {
        self.slice.len()
    }

    fn get(&self, index: usize) -> T {
        let place: Ptr<T> = self.slice.at(index);
        self.port.load(place)
    }
}

/// A lane's own memory.
#[derive(Debug)]
pub(crate) struct Own<T>(pub(crate) Vec<T>);

impl<T: Word> Private<T> for Own<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> T {
        self.0[index]
    }

    fn set(&mut self, index: usize, value: T) {
        self.0[index] = value;
    }
}
