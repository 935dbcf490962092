//! Edits of a program between its lanes and the memory: operations left out, weakened, put in.
//!
//! A lane's script holds what it asks for; an edit changes what of that the memory is told. So a
//! twin costs no run of a lane, and a placement of maintenance that nobody wrote can be tried.

use std::fmt;

use fabric::{Fence, Flush, Line, Maintenance};
use model::Access;

use crate::ask::{Ask, Caller, Op, Recipe};
use crate::script::{NONE, Script};

/// A maintenance operation in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Who asked for it.
    pub caller: Caller,
    /// What was asked for.
    pub kind: Maintenance,
    /// The recipe that it is part of.
    pub recipe: Option<Recipe>,
    /// 0, or which of a confirm's two.
    pub part: u8,
}

impl Site {
    pub(crate) fn of(op: &Op) -> Option<Self> {
        let kind = match op.ask {
            Ask::Writeback(_) => Maintenance::Writeback,
            Ask::Flush(..) => Maintenance::Flush,
            Ask::Fence(_) => Maintenance::Fence,
            _ => return None,
        };
        Some(Self {
            caller: op.caller,
            kind,
            recipe: op.recipe,
            part: op.part,
        })
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.part > 0 {
            f.write_str("second ")?;
        }
        f.write_str(self.kind.name())?;
        if let Some(recipe) = self.recipe {
            write!(f, " of the {recipe}")?;
        }
        write!(f, " at {}", self.caller)
    }
}

/// A weaker operation in place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weakening {
    /// CLWB where a flush stands: the copy stays.
    Writeback,
    /// SFENCE where a full fence stands.
    StoreFence,
    /// Performed in the first turn of its wait only, as if it stood before the loop.
    Hoist,
}

impl Weakening {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writeback => "clwb instead of the flush",
            Self::StoreFence => "store fence instead of the full fence",
            Self::Hoist => "only in the first turn of its wait",
        }
    }
}

/// Maintenance that does not stand in the source: before a load (observe) or after a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Insertion {
    /// The load's or the store's line of source.
    pub at: Caller,
    /// What is put in.
    pub recipe: Recipe,
}

/// What is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Edits {
    /// Leaves out all maintenance that stands in the source.
    pub bare: bool,
    /// Left out.
    pub omit: Vec<Site>,
    /// Weakened.
    pub weaken: Vec<(Site, Weakening)>,
    /// Put in.
    pub insert: Vec<Insertion>,
}

impl Edits {
    /// One site left out.
    pub fn without(site: Site) -> Self {
        Self {
            omit: vec![site],
            ..Self::default()
        }
    }

    /// One site weakened.
    pub fn weakening(site: Site, how: Weakening) -> Self {
        Self {
            weaken: vec![(site, how)],
            ..Self::default()
        }
    }

    /// These and one insertion.
    #[must_use]
    pub fn with(&self, insertion: Insertion) -> Self {
        let mut edits = self.clone();
        edits.insert.push(insertion);
        edits
    }

    /// Whether nothing is changed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn hoists(&self) -> bool {
        self.weaken.iter().any(|(_, how)| *how == Weakening::Hoist)
    }
}

/// One operation that a lane performs at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The node's own.
    Own(Ask),
    /// The node's own, but not in a later turn of its wait.
    Once(Ask),
    /// One that was put in; it has no result.
    Put(Ask),
}

impl Act {
    pub(crate) fn ask(&self) -> &Ask {
        match self {
            Self::Own(ask) | Self::Once(ask) | Self::Put(ask) => ask,
        }
    }
}

/// What a lane performs at a node under these edits.
pub(crate) fn acts(script: &Script<'_>, lane: usize, node: u32, edits: &Edits) -> Vec<Act> {
    let Some(op) = script.op(lane, node) else {
        return Vec::new();
    };
    if let Some(site) = Site::of(op) {
        if edits.bare || edits.omit.contains(&site) {
            return Vec::new();
        }
        let weaker = edits.weaken.iter().find(|(weak, _)| *weak == site);
        return vec![weaker.map_or(Act::Own(op.ask), |(_, how)| weakened(op.ask, *how))];
    }
    if edits.bare && op.recipe == Some(Recipe::Confirm) {
        // The load of a confirm is part of the maintenance: left in, it would make a confirm of
        // each publish that is put in its place. Its result matters to nobody.
        return Vec::new();
    }
    let mut acts = Vec::new();
    let put = edits.insert.iter().filter(|put| put.at == op.caller);
    let put: Vec<Recipe> = put.map(|put| put.recipe).collect();
    if put.contains(&Recipe::Observe) && begins_a_look(script, lane, node, op) {
        acts.extend(recipe(Recipe::Observe, op.ask.line().as_slice()));
    }
    acts.push(Act::Own(op.ask));
    let after = put.iter().filter(|recipe| **recipe != Recipe::Observe);
    for which in after {
        if let Some(lines) = ends_a_write(script, lane, node, op) {
            acts.extend(recipe(*which, &lines));
        }
    }
    acts
}

fn weakened(ask: Ask, how: Weakening) -> Act {
    match (how, ask) {
        (Weakening::Hoist, _) => Act::Once(ask),
        (Weakening::Writeback, Ask::Flush(line, _)) => Act::Own(Ask::Writeback(line)),
        (Weakening::StoreFence, Ask::Fence(_)) => Act::Own(Ask::Fence(Fence::Store)),
        (Weakening::Writeback | Weakening::StoreFence, _) => Act::Own(ask),
    }
}

/// What a recipe consists of, by the default discipline.
fn recipe(which: Recipe, lines: &[Line]) -> Vec<Act> {
    let flushes = |lines: &[Line]| -> Vec<Ask> {
        let flush = |line: &Line| Ask::Flush(*line, Flush::ClFlushOpt);
        lines.iter().map(flush).collect()
    };
    let mut asks = flushes(lines);
    asks.push(Ask::Fence(match which {
        Recipe::Post => Fence::Store,
        Recipe::Publish | Recipe::Confirm | Recipe::Observe => Fence::Full,
    }));
    if which == Recipe::Confirm {
        asks.extend(flushes(lines));
        asks.push(Ask::Fence(Fence::Full));
        asks.extend(lines.iter().map(|line| Ask::Load(Access::of(line.start()))));
    }
    asks.into_iter().map(Act::Put).collect()
}

/// Whether a load is the first of its line in a run of loads of one call.
fn begins_a_look(script: &Script<'_>, lane: usize, node: u32, op: &Op) -> bool {
    if !matches!(op.ask, Ask::Load(_)) {
        return false;
    }
    let parent = script.node(lane, node).parent;
    let before = (parent != NONE).then(|| script.op(lane, parent)).flatten();
    !before.is_some_and(|before| {
        matches!(before.ask, Ask::Load(_))
            && before.caller == op.caller
            && before.ask.line() == op.ask.line()
    })
}

/// At the last store of a run of stores of one call: the lines of the run.
fn ends_a_write(script: &Script<'_>, lane: usize, node: u32, op: &Op) -> Option<Vec<Line>> {
    op.ask.stored_line()?;
    let same = |node: u32| {
        let other = script.op(lane, node)?;
        let line = other.ask.stored_line()?;
        (other.caller == op.caller).then_some(line)
    };
    // A store's result is known at once, so what follows it is.
    let &(_, next) = script.children(lane, node).first()?;
    if same(next).is_some() {
        return None;
    }
    let mut lines = Vec::new();
    let mut at = node;
    while at != NONE
        && let Some(line) = same(at)
    {
        if !lines.contains(&line) {
            lines.push(line);
        }
        at = script.node(lane, at).parent;
    }
    lines.sort();
    Some(lines)
}
