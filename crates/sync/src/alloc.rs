//! A pool allocator: memory of the region, handed out by whole lines.
//!
//! Each *keeper* (a lane) keeps an arena of its own: slabs of 64 lines, each cut into blocks of one
//! size class. A slab's header line says its class and which blocks are out; its keeper alone
//! writes it, so that nobody ever waits for anybody to get memory. A block that another lane gives
//! back goes home through a ring, seven to a line.
//!
//! ```text
//! header of a slab   word 0  class + 1 (blocks of 1, 2, 4 .. 64 lines); 0: the slab is unused
//!                    word 1  bit b: block b is out
//! ```
//!
//! A header is at the device before its block is handed out, and no line of a block is a line of
//! anything else. So a crash costs nobody else anything, and what the dead keeper had handed out
//! stands in its headers: whoever [recovers](Pool::recover) its arena says which of these blocks
//! are still in use, and the others are free again. A block whose last owner died with it on its
//! way home is found likewise.
//!
//! Costs: to allocate, and to free at home, 1 publish; to free elsewhere, 1 publish for seven
//! blocks, and at home 1 observe of a line a keeper, a look.

use fabric::{Arena, Gone, Line, MAX_HOSTS, Port, Ptr, Slice};
use serde::Serialize;
use thiserror::Error;

use crate::ring::{Funnel, FunnelConsumer, PAYLOAD_WORDS, Producer};

/// Lines of a slab, and of the largest block: a bit a line in one word.
pub const SLAB_LINES: u32 = 64;

/// Sizes of blocks: 1, 2, 4 .. 64 lines.
pub const CLASSES: usize = 7;

const LINE_BYTES: u64 = 64;
const WORDS_PER_LINE: usize = 8;
/// "dsmpool" and a version, to know a pool by.
const MAGIC: u64 = 0x0064_736d_706f_6f6c;
/// Messages that a ring of returned blocks holds.
const RETURNS: u32 = 64;

/// A block that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block {
    first: Line,
    lines: u32,
}

impl Block {
    /// Its first line.
    pub fn first(self) -> Line {
        self.first
    }

    /// Its lines: a power of two.
    pub fn lines(self) -> u32 {
        self.lines
    }

    /// Its words.
    pub fn words(self) -> Slice<u64> {
        self.first
            .start()
            .slice(self.lines as usize * WORDS_PER_LINE)
    }

    /// One word, for a message: what [`Pool::block`] reads.
    pub fn token(self) -> u64 {
        self.first.0 << 8 | u64::from(self.lines)
    }
}

/// Why no block was had, or none taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AllocError {
    /// Larger than any block.
    #[error("{bytes} bytes; blocks have up to {most}: use several")]
    TooLarge {
        /// As asked for.
        bytes: u64,
        /// The most.
        most: u64,
    },
    /// No slab is left.
    #[error(
        "keeper {keeper} has no block of {lines} lines left in {slabs} slabs; free some, collect \
         what others have freed, or lay out more slabs"
    )]
    Exhausted {
        /// Whose arena.
        keeper: u32,
        /// Lines of the class.
        lines: u32,
        /// Slabs of the arena.
        slabs: u32,
    },
    /// What was freed is not out: freed twice, or never handed out.
    #[error("the block at line {line} is not out; it was freed before, or was never a block")]
    NotOut {
        /// Its first line.
        line: u64,
    },
    /// The lane must give up.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// Where a pool lies.
#[derive(Clone, Debug)]
pub struct Pool {
    anchor: Ptr<u64>,
    headers: Vec<Slice<u64>>,
    slabs: Vec<Slice<u64>>,
    returns: Vec<Funnel>,
}

/// What one arena's headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArenaState {
    /// Slabs there are.
    pub slabs: u64,
    /// Slabs that are cut into blocks.
    pub slabs_in_use: u64,
    /// Blocks that are out.
    pub blocks: u64,
    /// Lines of these.
    pub lines: u64,
    /// Blocks that are out, by class.
    pub by_class: [u64; CLASSES],
}

impl Pool {
    /// Lays out arenas of `slabs` slabs for each of `keepers`.
    ///
    /// # Panics
    /// If there are no slabs, or more than [`MAX_HOSTS`] keepers.
    pub fn lay_out(arena: &mut Arena, name: &str, keepers: u32, slabs: u32) -> Self {
        assert!(
            slabs > 0 && (1..=MAX_HOSTS).contains(&keepers),
            "{name}: {keepers} keepers with {slabs} slabs; use 1 to {MAX_HOSTS} with 1 or more"
        );
        let words = slabs as usize * WORDS_PER_LINE;
        let anchor = Self::anchor(arena, name);
        let headers = arena.per_host(&format!("{name}.header"), keepers, words);
        let slab_words = words * SLAB_LINES as usize;
        let slabs = arena.per_host(&format!("{name}.slab"), keepers, slab_words);
        let returns = |keeper| {
            let name = format!("{name}.return{keeper}.");
            Funnel::lay_out(arena, &name, keepers, RETURNS, PAYLOAD_WORDS)
        };
        let returns = (0..keepers).map(returns).collect();
        Self {
            anchor,
            headers,
            slabs,
            returns,
        }
    }

    fn anchor(arena: &mut Arena, name: &str) -> Ptr<u64> {
        arena.per_host(&format!("{name}.anchor"), 1, WORDS_PER_LINE)[0].start()
    }

    /// The pool that comes next in `arena`, if the region holds one there: for whoever looks at a
    /// region from outside.
    pub fn found<P: Port>(port: &P, arena: &Arena, region_bytes: u64) -> Option<Self> {
        let at = Self::anchor(&mut arena.clone(), "pool");
        if at.offset() + LINE_BYTES > region_bytes {
            return None;
        }
        // Serves the loads below.
        port.observe(at.line());
        let words = at.slice(3);
        let (keepers, slabs) = (port.load(words.at(1)), port.load(words.at(2)));
        let sane = (1..=u64::from(MAX_HOSTS)).contains(&keepers) && (1..1 << 32).contains(&slabs);
        if port.load(words.at(0)) != MAGIC || !sane {
            return None;
        }
        let mut arena = arena.clone();
        let pool = Self::lay_out(&mut arena, "pool", keepers as u32, slabs as u32);
        (arena.region_bytes() <= region_bytes).then_some(pool)
    }

    /// Says that a pool lies here. One lane says it once.
    pub fn announce<P: Port>(&self, port: &P) {
        let words = [MAGIC, self.keepers().into(), self.slabs_each().into()];
        // Serves whoever looks at the region from outside.
        port.write_published(self.anchor, &words);
    }

    /// Keepers.
    pub fn keepers(&self) -> u32 {
        self.headers.len() as u32
    }

    /// Slabs of each.
    pub fn slabs_each(&self) -> u32 {
        (self.headers[0].len() / WORDS_PER_LINE) as u32
    }

    /// The block that a token stands for, if it can be one: it may have come out of the region.
    pub fn block(&self, token: u64) -> Option<Block> {
        let block = Block {
            first: Line(token >> 8),
            lines: token as u32 & 0xff,
        };
        self.place(block).map(|_| block)
    }

    /// Whose arena a block is of.
    pub fn keeper(&self, block: Block) -> Option<u32> {
        self.place(block).map(|place| place.keeper)
    }

    fn place(&self, block: Block) -> Option<Place> {
        if !block.lines.is_power_of_two() || block.lines > SLAB_LINES {
            return None;
        }
        let covers = |slabs: &Slice<u64>| slabs.lines().contains(block.first);
        let keeper = self.slabs.iter().position(covers)?;
        let line = block.first.0 - self.slabs[keeper].start().line().0;
        let (slab, within) = (line / u64::from(SLAB_LINES), line % u64::from(SLAB_LINES));
        within.is_multiple_of(block.lines.into()).then_some(Place {
            keeper: keeper as u32,
            slab: slab as u32,
            index: (within / u64::from(block.lines)) as u32,
        })
    }

    fn header(&self, keeper: u32, slab: u32) -> Slice<u64> {
        let first = slab as usize * WORDS_PER_LINE;
        self.headers[keeper as usize].range(first, first + 2)
    }

    fn read<P: Port>(&self, port: &P, keeper: u32, slab: u32) -> Slab {
        let header = self.header(keeper, slab);
        Slab {
            class: port.load(header.at(0)),
            out: port.load(header.at(1)),
        }
    }

    fn write<P: Port>(&self, port: &P, keeper: u32, slab: u32, state: Slab) {
        let header = self.header(keeper, slab);
        // A slab is cut while nothing of it is out, so the words need no order between them.
        port.store(header.at(0), state.class);
        port.store(header.at(1), state.out);
        // Serves a recovery. The store fence puts it before whatever says where the block is.
        port.post(header.lines());
    }

    /// What each arena's headers say at the device.
    ///
    /// Cost: 1 observe of each arena's headers.
    pub fn state<P: Port>(&self, port: &P) -> Vec<ArenaState> {
        let state = |keeper: u32| {
            // Serves the loads of the headers.
            port.observe(self.headers[keeper as usize].lines());
            let slabs = self.slabs_each();
            let mut state = ArenaState {
                slabs: slabs.into(),
                ..ArenaState::default()
            };
            for slab in 0..slabs {
                let slab = self.read(port, keeper, slab);
                if let Some(class) = slab.class() {
                    let blocks = u64::from(slab.out.count_ones());
                    state.slabs_in_use += 1;
                    state.blocks += blocks;
                    state.lines += blocks << class;
                    state.by_class[class] += blocks;
                }
            }
            state
        };
        (0..self.keepers()).map(state).collect()
    }

    /// Takes back every block of `keeper`'s arena that is not in use, after its death: how many.
    /// Whoever opens the arena next finds it so. One lane calls it, while nobody has the arena open
    /// and what was on its way home to it has been [collected](Allocator::collect) or does not
    /// matter.
    ///
    /// Cost: 1 observe of the headers; 1 publish of each that changes.
    pub fn recover<P: Port>(&self, port: &P, keeper: u32, in_use: impl Fn(Block) -> bool) -> u64 {
        // Serves the loads of the headers.
        port.observe(self.headers[keeper as usize].lines());
        let mut freed = 0;
        for index in 0..self.slabs_each() {
            let mut slab = self.read(port, keeper, index);
            let before = slab;
            for block in 0..slab.blocks() {
                let out = slab.out >> block & 1 == 1;
                if out && !in_use(self.nth(keeper, index, slab, block)) {
                    slab.out &= !(1 << block);
                    freed += 1;
                }
            }
            if slab.out == 0 {
                slab.class = 0;
            }
            if slab != before {
                self.write(port, keeper, index, slab);
            }
        }
        freed
    }

    fn nth(&self, keeper: u32, index: u32, slab: Slab, block: u32) -> Block {
        let lines = slab.class().map_or(1, |class| 1 << class);
        let first = self.slabs[keeper as usize].start().line().0;
        Block {
            first: Line(first + u64::from(index * SLAB_LINES + block * lines)),
            lines,
        }
    }
}

struct Place {
    keeper: u32,
    slab: u32,
    index: u32,
}

/// A slab's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slab {
    class: u64,
    out: u64,
}

impl Slab {
    fn class(self) -> Option<usize> {
        let class = self.class.checked_sub(1)? as usize;
        (class < CLASSES).then_some(class)
    }

    fn blocks(self) -> u32 {
        self.class().map_or(0, |class| SLAB_LINES >> class)
    }

    /// A block that is not out.
    fn free(self) -> Option<u32> {
        let free = (!self.out).trailing_zeros();
        (free < self.blocks()).then_some(free)
    }
}

/// A keeper's end; one lane holds it.
pub struct Allocator<'p> {
    pool: &'p Pool,
    keeper: u32,
    /// What the headers say: nobody else writes them.
    slabs: Vec<Slab>,
    /// Where the last block of each class came from.
    last: [u32; CLASSES],
    /// Blocks on their way home, by keeper.
    leaving: Vec<Vec<u64>>,
    home: Vec<Producer<'p>>,
    returns: FunnelConsumer<'p>,
}

impl<'p> Allocator<'p> {
    /// Opens an arena that is zero, or that was left or recovered. `moved` says how many messages
    /// each ring from and to this keeper has carried: zeroes in a new pool.
    ///
    /// Cost: 1 observe of the headers.
    pub fn open<P: Port>(pool: &'p Pool, port: &P, keeper: u32, moved: &Moved) -> Self {
        // Serves the loads of the headers: another host may have recovered them.
        port.observe(pool.headers[keeper as usize].lines());
        let slabs = (0..pool.slabs_each()).map(|slab| pool.read(port, keeper, slab));
        let producer =
            |to: u32| pool.returns[to as usize].producer_after(keeper, moved.sent[to as usize]);
        Self {
            pool,
            keeper,
            slabs: slabs.collect(),
            last: [0; CLASSES],
            leaving: vec![Vec::new(); pool.keepers() as usize],
            home: (0..pool.keepers()).map(producer).collect(),
            returns: pool.returns[keeper as usize].consumer_after(&moved.taken),
        }
    }

    /// Hands out a block of at least `bytes` bytes; its words hold anything.
    ///
    /// Cost: 1 publish.
    ///
    /// # Errors
    /// [`AllocError::TooLarge`], [`AllocError::Exhausted`].
    pub fn allocate<P: Port>(&mut self, port: &P, bytes: u64) -> Result<Block, AllocError> {
        let most = u64::from(SLAB_LINES) * LINE_BYTES;
        if bytes > most {
            return Err(AllocError::TooLarge { bytes, most });
        }
        let lines = bytes.div_ceil(LINE_BYTES).max(1).next_power_of_two() as u32;
        let class = lines.trailing_zeros() as usize;
        let (index, block) = self.find(class).ok_or(AllocError::Exhausted {
            keeper: self.keeper,
            lines,
            slabs: self.pool.slabs_each(),
        })?;
        let slab = &mut self.slabs[index as usize];
        slab.class = class as u64 + 1;
        slab.out |= 1 << block;
        self.last[class] = index;
        self.pool.write(port, self.keeper, index, *slab);
        Ok(self.pool.nth(self.keeper, index, *slab, block))
    }

    /// A slab of the class with a free block, from the last one on; otherwise an unused slab.
    fn find(&self, class: usize) -> Option<(u32, u32)> {
        let count = self.slabs.len() as u32;
        let from = self.last[class];
        let mut unused = None;
        for turn in 0..count {
            let index = (from + turn) % count;
            let slab = self.slabs[index as usize];
            if slab.class() == Some(class)
                && let Some(block) = slab.free()
            {
                return Some((index, block));
            }
            if slab.class == 0 {
                unused = unused.or(Some((index, 0)));
            }
        }
        unused
    }

    /// Takes a block back. One of another arena leaves with the next full line, or with
    /// [`flush`](Self::flush).
    ///
    /// Cost: at home 1 publish; elsewhere 1 for seven blocks.
    ///
    /// # Errors
    /// [`AllocError::NotOut`], of a block of this arena; those of others are checked at home.
    pub fn free<P: Port>(&mut self, port: &P, block: Block) -> Result<(), AllocError> {
        let not_out = AllocError::NotOut {
            line: block.first.0,
        };
        let place = self.pool.place(block).ok_or(not_out)?;
        if place.keeper != self.keeper {
            let leaving = &mut self.leaving[place.keeper as usize];
            leaving.push(block.token());
            if leaving.len() >= PAYLOAD_WORDS {
                self.send(port, place.keeper as usize)?;
            }
            return Ok(());
        }
        let slab = &mut self.slabs[place.slab as usize];
        let lines = slab.class().map(|class| 1u32 << class);
        if lines != Some(block.lines) || slab.out >> place.index & 1 == 0 {
            return Err(not_out);
        }
        slab.out &= !(1 << place.index);
        if slab.out == 0 {
            slab.class = 0;
        }
        self.pool.write(port, self.keeper, place.slab, *slab);
        Ok(())
    }

    /// Sends what leaves for `keeper`, as long as there is room: nobody waits for a keeper that
    /// does not collect.
    fn send<P: Port>(&mut self, port: &P, keeper: usize) -> Result<(), Gone> {
        while !self.leaving[keeper].is_empty() && self.home[keeper].has_room(port, 1) {
            let leaving = &mut self.leaving[keeper];
            let mut message = [0; PAYLOAD_WORDS];
            let count = leaving.len().min(PAYLOAD_WORDS);
            message[..count].copy_from_slice(&leaving[..count]);
            leaving.drain(..count);
            self.home[keeper].send(port, &message)?;
        }
        Ok(())
    }

    /// Sends home what has been freed and not sent yet; how many blocks there was no room for.
    ///
    /// # Errors
    /// Whatever ended a wait.
    pub fn flush<P: Port>(&mut self, port: &P) -> Result<usize, Gone> {
        for keeper in 0..self.leaving.len() {
            self.send(port, keeper)?;
        }
        Ok(self.leaving.iter().map(Vec::len).sum())
    }

    /// Takes in what others have freed so far: how many blocks.
    ///
    /// Cost: 1 observe of a line a keeper, a look; for each line 1 observe and a publish a block.
    ///
    /// # Errors
    /// [`AllocError::NotOut`], if somebody freed what was not out.
    pub fn collect<P: Port>(&mut self, port: &P) -> Result<u64, AllocError> {
        let mut count = 0;
        let mut message = [0; PAYLOAD_WORDS];
        while self.returns.try_receive(port, &mut message)?.is_some() {
            for &token in message.iter().filter(|&&token| token != 0) {
                let not_out = AllocError::NotOut { line: token >> 8 };
                let block = self.pool.block(token).ok_or(not_out)?;
                self.free(port, block)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// How far its rings have come, for the next end.
    pub fn moved(&self) -> Moved {
        Moved {
            sent: self.home.iter().map(Producer::sent).collect(),
            taken: self.returns.taken(),
        }
    }
}

/// How many messages the rings of one keeper have carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// To each keeper.
    pub sent: Vec<u64>,
    /// From each.
    pub taken: Vec<u64>,
}

impl Moved {
    /// Those of a new pool.
    pub fn none(pool: &Pool) -> Self {
        let zeroes = vec![0; pool.keepers() as usize];
        Self {
            sent: zeroes.clone(),
            taken: zeroes,
        }
    }
}
