//! States of lanes and memory, moves between them, and what may be wrong.

use std::hash::{Hash, Hasher};

use fabric::Line;
use model::{Memory, Shape, Step};

use crate::ask::{Caller, Place};
use crate::edit::Act;
use crate::finding::Kind;
use crate::subject::Timeouts;
use crate::trace::Names;

/// Where a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneState {
    pub(crate) node: u32,
    /// How many of the node's acts are done.
    pub(crate) act: u8,
    /// Whether its host lives.
    pub(crate) alive: bool,
    /// Whether it is in a later turn of its wait; known only where an edit asks for it.
    pub(crate) again: bool,
    /// What it knows: see [`Sanitizer`].
    pub(crate) know: u32,
}

impl Hash for LaneState {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let flags = u64::from(self.alive) | u64::from(self.again) << 1;
        state.write_u64(u64::from(self.node) << 16 | u64::from(self.act) << 8 | flags);
        state.write_u64(u64::from(self.know));
    }
}

/// Everything that the future depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) memory: Memory,
    pub(crate) lanes: Vec<LaneState>,
    /// Sections that are taken, and by which lane.
    pub(crate) inside: Vec<(u32, u32)>,
    /// Frozen ranges, in bytes.
    pub(crate) frozen: Vec<(u64, u64)>,
    /// The lane that took the last step; 0 where pre-emptions are not counted.
    pub(crate) current: u32,
    /// One bit for each host that crashed.
    pub(crate) crashed: u64,
    /// Lanes in a delay, and the lanes that come to their next wait before it ends, one bit each;
    /// kept in timely programs only.
    pub(crate) delays: Vec<(u32, u64)>,
}

/// One way to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// A lane performs its next operation.
    Lane(usize),
    /// A paused lane goes on, with this answer.
    GoOn { lane: usize, answer: u64 },
    /// The environment takes a step.
    Step(Step),
}

/// Something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// A sentence without its full stop.
    pub(crate) what: String,
    pub(crate) lane: Option<usize>,
    /// The source line that noticed.
    pub(crate) noticed: Option<Caller>,
    pub(crate) line: Option<Line>,
    /// The source line that is likely at fault, where the fault itself tells.
    pub(crate) blamed: Option<Caller>,
}

/// What is fixed while a subject is searched.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches that have nothing to do with each other
pub(crate) struct Setup {
    pub(crate) shape: Shape,
    pub(crate) presets: Vec<(u64, u64)>,
    pub(crate) crashes: bool,
    pub(crate) deadlines: bool,
    pub(crate) timeouts: Timeouts,
    /// Whether delays outlast every lane's way to its next wait.
    pub(crate) timely: bool,
    /// Lanes that serve the others, one bit each.
    pub(crate) serving: u64,
    pub(crate) sanitize: bool,
    pub(crate) prune: bool,
    pub(crate) count_preemptions: bool,
    pub(crate) region_bytes: u64,
    pub(crate) names: Names,
}

/// A word that a paused lane waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    pub(crate) place: Place,
    pub(crate) value: u64,
    /// Whether each turn drops its copy first, so that the device decides.
    pub(crate) observed: bool,
}

/// What a lane performs at a node under the edits at hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) acts: Vec<Act>,
    pub(crate) watched: Vec<Watched>,
}

/// The line of a place in the region.
pub(crate) fn line_of(place: Place) -> Option<Line> {
    match place {
        Place::Host { .. } => None,
        Place::Pool(at) => Some(at.line()),
    }
}
