//! Random programs over a few lines, and litmus programs, as lanes of a simulated pod.

use fabric::{Fence, Flush, HostAtomics, HostSlice, Port, Private, Program, Ptr, Seat, Slice};
use model::explore::{self, Instr};

/// What a lane of a random program does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Load(usize),
    Store(usize, u64),
    StoreNt(usize, u64),
    StoreLine(usize, u64),
    Writeback(usize),
    Flush(usize, bool),
    Fence(u8),
    ReadInto(usize, usize),
    /// Loads of a line, again and again: hits, mostly.
    Dwell(usize, u32),
    /// Stores into a line, again and again.
    Scribble(usize, u32),
    Observe(usize, usize),
    Publish(usize),
    Add(usize),
    Swap(usize, u64),
    Work(u32),
    Private(usize),
    Pause,
    Now,
}

/// Every lane's acts, over `words`.
pub(crate) struct Random {
    pub(crate) words: Slice<u64>,
    pub(crate) shared: HostSlice<u64>,
    pub(crate) acts: Vec<Vec<Act>>,
    pub(crate) lanes: u32,
}

impl Program for Random {
    /// Everything that the lane saw, and when it was done.
    type Out = (Vec<u64>, u64);

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut seen = Vec::new();
        let mut own = port.private(2_000, 0u64);
        let acts = &self.acts[(seat.host * self.lanes + seat.lane) as usize];
        for act in acts {
            self.act(port, act, &mut own, &mut seen);
        }
        (seen, port.now().0)
    }
}

impl Random {
    fn act<P: HostAtomics>(
        &self,
        port: &P,
        act: &Act,
        own: &mut impl Private<u64>,
        seen: &mut Vec<u64>,
    ) {
        let at = |word: usize| self.words.at(word % self.words.len());
        match *act {
            Act::Load(word) => seen.push(port.load(at(word))),
            Act::Store(word, value) => port.store(at(word), value),
            Act::StoreNt(word, value) => port.store_nt(at(word), value),
            Act::StoreLine(word, value) => port.store_line(at(word).line(), &[value; 8]),
            Act::Writeback(word) => port.writeback(at(word).line()),
            Act::Flush(word, opt) => {
                let how = if opt {
                    Flush::ClFlushOpt
                } else {
                    Flush::ClFlush
                };
                port.flush(at(word).line(), how);
            }
            Act::Fence(kind) => {
                let all = [Fence::Store, Fence::Load, Fence::Full];
                port.fence(all[usize::from(kind) % 3]);
            }
            Act::ReadInto(word, len) => {
                let first = word % self.words.len();
                let mut words = vec![0; len.min(self.words.len() - first)];
                port.read_into(self.words.at(first), &mut words);
                seen.extend(words);
            }
            Act::Dwell(word, times) => {
                let sum = (0..times)
                    .map(|_| port.load(at(word)))
                    .fold(0, u64::wrapping_add);
                seen.push(sum);
            }
            Act::Scribble(word, times) => {
                for value in 0..times {
                    port.store(at(word), u64::from(value));
                }
            }
            Act::Observe(first, second) => {
                port.observe_each(&[at(first).line(), at(second).line()]);
                seen.extend([port.load(at(first)), port.load(at(second))]);
            }
            Act::Publish(word) => port.publish(at(word).line()),
            Act::Add(word) => seen.push(port.fetch_add(self.shared.at(word % 16), 1)),
            Act::Swap(word, value) => seen.push(port.swap(self.shared.at(word % 16), value)),
            Act::Work(cycles) => port.work(cycles),
            Act::Private(index) => {
                let index = index % own.len();
                let value = own.get(index);
                own.set(index, value + 1);
            }
            Act::Pause => port.pause().expect("nobody waits long here"),
            Act::Now => seen.push(port.now().0),
        }
    }
}

/// A litmus program whose threads start at different times.
pub(crate) struct Litmus<'p> {
    pub(crate) program: &'p explore::Program,
    /// Cycles of work before each thread.
    pub(crate) skews: Vec<u32>,
    /// Lanes of each host.
    pub(crate) lanes: u32,
}

/// Longer than any litmus thread: what a late reader of the device waits.
const SETTLED: u32 = 1_000_000;

impl Program for Litmus<'_> {
    type Out = Vec<u64>;

    /// Each lane is one thread of the program, in their order; the next one, on a host of its own,
    /// reads the watched words in the end.
    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<u64> {
        let index = (seat.host * self.lanes + seat.lane) as usize;
        let Some(thread) = self.program.threads.get(index) else {
            if index > self.program.threads.len() {
                return Vec::new();
            }
            port.work(SETTLED);
            let watched = self.program.watched.iter();
            return watched.map(|&at| observed(port, at)).collect();
        };
        port.work(self.skews[index]);
        thread
            .instrs
            .iter()
            .filter_map(|&instr| perform(port, instr))
            .collect()
    }
}

fn observed<P: Port>(port: &P, at: Ptr<u64>) -> u64 {
    port.flush(at.line(), Flush::ClFlushOpt);
    port.fence(Fence::Full);
    port.load(at)
}

fn perform<P: Port>(port: &P, instr: Instr) -> Option<u64> {
    match instr {
        Instr::Load(at) => return Some(port.load(at)),
        Instr::Store(at, value) => port.store(at, value),
        Instr::StoreNt(at, value) => port.store_nt(at, value),
        Instr::StoreLine(line, word) => port.store_line(line, &[word; 8]),
        Instr::Writeback(line) => port.writeback(line),
        Instr::Flush(line, how) => port.flush(line, how),
        Instr::Fence(fence) => port.fence(fence),
    }
    None
}
