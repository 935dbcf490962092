//! What a lane asks for: its operations as values.

use std::fmt;
use std::panic::Location;

use fabric::{Fence, Flush, Line};
use model::{Access, Content};

/// Where an operation stands in the source.
pub(crate) type Caller = &'static Location<'static>;

/// One operation of a lane, as the memory sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    Load(Access),
    Store(Access, u64),
    StoreNt(Access, u64),
    StoreLine(Line, Content),
    Writeback(Line),
    Flush(Line, Flush),
    Fence(Fence),
    Atomic(Place, Change),
    /// A view of a frozen range: bytes `from..to`.
    Freeze {
        from: u64,
        to: u64,
    },
    /// A wait begins.
    Wait,
    /// What the turns of a wait have left so far.
    Carries(u64),
    Enter(u32),
    Leave(u32),
    Pause {
        /// Whether its turn has read the clock: the wait may end by time.
        timed: bool,
    },
}

/// What an atomic instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A word of DRAM that one host's lanes share.
    Host { offset: u64 },
    /// A word of the region.
    Pool(Access),
}

/// What an atomic instruction does to a word, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    Load,
    Store(u64),
    Exchange { current: u64, new: u64 },
    Add { add: u64, bytes: u8 },
    Swap(u64),
}

impl Change {
    /// The value after, if it stores at all.
    pub(crate) fn apply(self, before: u64) -> Option<u64> {
        match self {
            Self::Load => None,
            Self::Store(bits) | Self::Swap(bits) => Some(bits),
            Self::Exchange { current, new } => (before == current).then_some(new),
            Self::Add { add, bytes } => {
                let mask = u64::MAX >> (64 - 8 * u64::from(bytes));
                Some(before.wrapping_add(add) & mask)
            }
        }
    }
}

impl Ask {
    /// Whether its answer is always the same, so that what follows is known without waiting.
    pub(crate) fn is_unit(&self) -> bool {
        !matches!(self, Self::Load(_) | Self::Atomic(..) | Self::Pause { .. })
    }

    /// Whether it ends a turn of a wait.
    pub(crate) fn is_pause(&self) -> bool {
        matches!(self, Self::Pause { .. })
    }

    /// The region line that it is about.
    pub(crate) fn line(&self) -> Option<Line> {
        match self {
            Self::Load(at)
            | Self::Store(at, _)
            | Self::StoreNt(at, _)
            | Self::Atomic(Place::Pool(at), _) => Some(at.line()),
            Self::StoreLine(line, _) | Self::Writeback(line) | Self::Flush(line, _) => Some(*line),
            _ => None,
        }
    }

    /// Whether what a cache holds can make a difference to it.
    pub(crate) fn looks_at_a_copy(&self) -> bool {
        matches!(
            self,
            Self::Load(_) | Self::Store(..) | Self::StoreNt(..) | Self::Atomic(Place::Pool(_), _)
        )
    }

    /// The lines of a store of any kind.
    pub(crate) fn stored_line(&self) -> Option<Line> {
        match self {
            Self::Store(at, _) | Self::StoreNt(at, _) => Some(at.line()),
            Self::StoreLine(line, _) => Some(*line),
            _ => None,
        }
    }
}

/// Which recipe an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Recipe {
    /// Flushes, full fence.
    Publish,
    /// Flushes, store fence.
    Post,
    /// Publish, observe, load.
    Confirm,
    /// Flushes, full fence, before loads.
    Observe,
}

impl Recipe {
    /// The verb of a port.
    pub fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Post => "post",
            Self::Confirm => "confirm",
            Self::Observe => "observe",
        }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An operation with its place in the source and in its recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Op {
    pub(crate) ask: Ask,
    pub(crate) caller: Caller,
    pub(crate) recipe: Option<Recipe>,
    /// Which of its recipe's fences has passed: tells a confirm's two flushes apart.
    pub(crate) part: u8,
}

/// The answer of a pause that lets the lane go on.
pub(crate) const GO_ON: u64 = 0;
/// The answer of a pause whose deadline has passed.
pub(crate) const DEADLINE: u64 = 1;
/// The answer of a pause after which the clock has moved on, further than anybody waits for.
pub(crate) const TIME_PASSES: u64 = u64::MAX;
/// The answer of a pause that misses host h is this plus h.
pub(crate) const LOST_HOST: u64 = 2;
