//! What every lane does, learned once: a tree of operations, branching by their results.
//!
//! A lane is a deterministic function from the results of its operations so far to its next
//! operation. So its behaviour is a tree, and a state of the whole system names one node for each
//! lane. The lane itself is run only when a search comes to a node that nobody has seen: from its
//! start, fed with the results on the way, up to the operation that is asked for. Whatever the
//! search then tries, twins with operations left out included, costs no run at all.
//!
//! # Waits
//!
//! A wait repeats its closure, so its tree would be endless. Where the closure is *pure*, that is,
//! where it asks for the same whatever it has asked before, the tree is folded: after the pause
//! stands the node of the wait's beginning. Purity is not believed but tested: what is learned
//! below a wait is run a second time with one more turn before it, and a closure that then differs
//! is unrolled instead ([`Script::restart`]). A closure that remembers something may say what
//! ([`fabric::Mark::Carries`]): then turns are folded that leave the same, and tested likewise.

mod learn;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use fabric::Line;

use crate::ask::{Ask, Caller, GO_ON, Op, Place};
use crate::port::Oracle;
use crate::runner::{Lanes, Stop};
use learn::{Learner, Learning};

/// Operations of one lane without a load, an atomic or a pause among them: a loop that never looks
/// at anything.
const LONGEST_CHAIN: usize = 100_000;

/// Turns that a wait with a memory may take although it has seen the same as in the turn before.
const IDLE_TURNS: u32 = 2;

/// Turns of a wait that are tested on what was known below it before they were found.
const TESTED_TURNS: u32 = 4;

/// Leaves below a wait that a newly found turn is tested on.
const TESTED_LEAVES: usize = 32;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// What a lane does at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Op(Op),
    /// It has ended; see [`Lanes::verdict`].
    Ended(u32),
    Panicked(String),
}

/// A word that a turn of a wait looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) place: Place,
    pub(crate) value: u64,
    /// The node of the load.
    pub(crate) node: u32,
    /// The flushes of its line before it, in the same turn.
    pub(crate) flushes: Vec<u32>,
}

/// One node of a lane's tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) parent: u32,
    /// The result that leads here from the parent.
    pub(crate) answer: u64,
    pub(crate) what: What,
    next: Vec<(u64, u32)>,
    /// At a pause: what the turn before it looked at.
    pub(crate) reads: Vec<Read>,
    /// At a pause: how many turns in a row, before this one, have seen the same.
    idle: u32,
    /// At a pause: what its turn says that it carries on.
    carried: Option<u64>,
    /// At a pause: whether its turn began with something else.
    changes: bool,
}

/// Turns that begin with the same node, though they come after different pauses.
#[derive(Clone, Copy, Debug)]
struct Fold {
    wait: u32,
    /// The first pause that was folded.
    pause: u32,
    count: u32,
}

#[derive(Clone, Debug, Default)]
struct Tree {
    nodes: Vec<Node>,
    /// By the first node of a turn.
    folds: HashMap<u32, Fold>,
    /// The first node of a turn, by its wait and by what it carries.
    heads: HashMap<(u32, u64), u32>,
}

/// A lane that was run twice with the same results and did not do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Differs {
    pub(crate) lane: usize,
    pub(crate) before: String,
    pub(crate) now: String,
    pub(crate) at: Option<Caller>,
}

/// The trees of all lanes.
pub(crate) struct Script<'l> {
    lanes: &'l dyn Lanes,
    trees: Vec<Tree>,
    folding: bool,
    /// Waits whose closure was seen to be impure.
    unfolded: BTreeSet<Caller>,
    /// Whether an impure wait was found since the last [`restart`](Self::restart).
    pub(crate) stale: bool,
    pub(crate) differs: Option<Differs>,
    /// Lines that any lane names, in the order in which they were met.
    pub(crate) lines: Vec<Line>,
}

impl<'l> Script<'l> {
    /// The scripts of `count` lanes, as far as their first operation with an open result.
    pub(crate) fn new(lanes: &'l dyn Lanes, count: usize, folding: bool) -> Self {
        let mut script = Self {
            lanes,
            trees: vec![Tree::default(); count],
            folding,
            unfolded: BTreeSet::new(),
            stale: false,
            differs: None,
            lines: Vec::new(),
        };
        script.restart();
        script
    }

    /// Forgets what was learned, but not which waits are impure.
    pub(crate) fn restart(&mut self) {
        self.stale = false;
        for lane in 0..self.trees.len() {
            self.trees[lane] = Tree::default();
            self.learn(lane, NONE, 0);
        }
    }

    pub(crate) fn lanes(&self) -> &'l dyn Lanes {
        self.lanes
    }

    pub(crate) fn count(&self) -> usize {
        self.trees.len()
    }

    pub(crate) fn node(&self, lane: usize, node: u32) -> &Node {
        &self.trees[lane].nodes[node as usize]
    }

    /// The operation at a node; none where the lane has ended.
    #[inline(always)]
    pub(crate) fn op(&self, lane: usize, node: u32) -> Option<&Op> {
        match &self.trees[lane].nodes[node as usize].what {
            What::Op(op) => Some(op),
            _ => None,
        }
    }

    /// Nodes known by now, of all lanes: grows whenever something is learned.
    pub(crate) fn known(&self) -> usize {
        self.trees.iter().map(|tree| tree.nodes.len()).sum()
    }

    /// Every node of a lane.
    pub(crate) fn nodes(&self, lane: usize) -> impl Iterator<Item = (u32, &Node)> {
        (0..).zip(&self.trees[lane].nodes)
    }

    /// Waits that could not be folded.
    pub(crate) fn impure(&self) -> impl Iterator<Item = Caller> {
        self.unfolded.iter().copied()
    }

    /// What follows `node` if its operation results in `answer`.
    #[inline(always)]
    pub(crate) fn child(&mut self, lane: usize, node: u32, answer: u64) -> u32 {
        let next = &self.trees[lane].nodes[node as usize].next;
        match next.iter().find(|(label, _)| *label == answer) {
            Some(&(_, child)) => child,
            None => self.grow(lane, node, answer),
        }
    }

    /// The children that are known.
    pub(crate) fn children(&self, lane: usize, node: u32) -> &[(u64, u32)] {
        &self.trees[lane].nodes[node as usize].next
    }

    #[inline(never)]
    fn grow(&mut self, lane: usize, node: u32, answer: u64) -> u32 {
        if let Some(wait) = self.wait_of(lane, node).filter(|_| answer == GO_ON) {
            let head = match self.node(lane, node).carried {
                None => Some(self.child(lane, wait, 0)),
                Some(carried) => self.trees[lane].heads.get(&(wait, carried)).copied(),
            };
            if let Some(head) = head {
                self.fold(lane, node, wait, head);
                return head;
            }
        }
        self.learn(lane, node, answer);
        let next = &self.trees[lane].nodes[node as usize].next;
        let learned = next.iter().find(|(label, _)| *label == answer);
        // A lane that differs from before has no such node: the search is told, and ends.
        learned.map_or(node, |&(_, child)| child)
    }

    /// Puts a turn that is known already after a pause.
    fn fold(&mut self, lane: usize, pause: u32, wait: u32, head: u32) {
        let tree = &mut self.trees[lane];
        tree.nodes[pause as usize].next.push((GO_ON, head));
        let first = Fold {
            wait,
            pause,
            count: 0,
        };
        let fold = tree.folds.entry(head).or_insert(first);
        fold.count += 1;
        if fold.count <= TESTED_TURNS {
            self.test_turn(lane, head, Fold { pause, ..first });
        }
    }

    /// The wait that a pause repeats, if it may be folded.
    fn wait_of(&self, lane: usize, pause: u32) -> Option<u32> {
        let op = self.op(lane, pause)?;
        if !self.folding || !op.ask.is_pause() || self.unfolded.contains(&op.caller) {
            return None;
        }
        let mut node = pause;
        while node != NONE {
            let it = self.node(lane, node);
            if let What::Op(wait) = &it.what
                && (wait.ask, wait.caller) == (Ask::Wait, op.caller)
            {
                return Some(node);
            }
            node = it.parent;
        }
        None
    }

    /// The nodes from the root to `node`.
    pub(crate) fn path(&self, lane: usize, node: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = node;
        while at != NONE {
            path.push(at);
            at = self.node(lane, at).parent;
        }
        path.reverse();
        path
    }

    /// The sections that a lane is inside of when it comes to `node`.
    pub(crate) fn inside(&self, lane: usize, node: u32) -> Vec<u32> {
        let mut inside = Vec::new();
        let path = self.path(lane, node);
        // The last node's own operation has not been performed.
        for &node in &path[..path.len().saturating_sub(1)] {
            match self.op(lane, node).map(|op| op.ask) {
                Some(Ask::Enter(section)) => inside.push(section),
                Some(Ask::Leave(section)) => inside.retain(|other| *other != section),
                _ => {}
            }
        }
        inside
    }

    /// Runs a lane to `node`, answers its operation with `answer`, and notes what it then does.
    fn learn(&mut self, lane: usize, node: u32, answer: u64) {
        let path = self.path(lane, node);
        let mut answers: Vec<u64> = path
            .iter()
            .skip(1)
            .map(|&node| self.node(lane, node).answer)
            .collect();
        if node != NONE {
            answers.push(answer);
        }
        let learner = Learner(RefCell::new(Learning {
            tree: &mut self.trees[lane],
            path,
            answers,
            at: 0,
            new: 0,
            differs: None,
        }));
        let stop = self.lanes.run(lane, &learner);
        let (differs, fresh) = learner.0.into_inner().stopped(stop);
        if let Some((before, now, at)) = differs {
            self.differs.get_or_insert(Differs {
                lane,
                before,
                now,
                at,
            });
            return;
        }
        for &node in &fresh {
            self.finish(lane, node);
            self.note_head(lane, node);
        }
        let last = self.trees[lane].nodes.len() as u32 - 1;
        self.test_path(lane, last);
    }

    /// A turn that was learned after a pause is the one for whatever the pause carries; the first
    /// turn of a wait, for what it says first.
    fn note_head(&mut self, lane: usize, node: u32) {
        let parent = self.node(lane, node).parent;
        let (Some(Ask::Carries(digest)), Some(before)) = (
            self.op(lane, node).map(|op| op.ask),
            (parent != NONE).then(|| self.op(lane, parent)).flatten(),
        ) else {
            return;
        };
        let wait = match before.ask {
            Ask::Wait => Some(parent),
            // Once time has passed, the same turn may end.
            Ask::Pause { .. } if self.node(lane, node).answer == GO_ON => {
                self.wait_of(lane, parent)
            }
            _ => None,
        };
        if let Some(wait) = wait {
            self.trees[lane].heads.insert((wait, digest), node);
        }
    }

    /// What can be said about a new node once it hangs in the tree.
    fn finish(&mut self, lane: usize, node: u32) {
        let Some(op) = self.op(lane, node) else {
            return;
        };
        let (line, pauses) = (op.ask.line(), op.ask.is_pause());
        if let Some(line) = line.filter(|line| !self.lines.contains(line)) {
            self.lines.push(line);
        }
        if pauses {
            let (turn, before) = self.turn(lane, node);
            let reads = reads(&turn);
            let carries = |(_, ask, _): &(u32, Ask, u64)| match ask {
                Ask::Carries(digest) => Some(*digest),
                _ => None,
            };
            let carried = turn.iter().rev().find_map(carries);
            let began_with = turn.first().and_then(carries);
            let before = before.map(|pause| self.node(lane, pause));
            let same = before.filter(|before| sees_the_same(&before.reads, &reads));
            let idle = same.map_or(0, |before| before.idle + 1);
            let changes = carried != began_with;
            let node = &mut self.trees[lane].nodes[node as usize];
            (node.reads, node.idle) = (reads, idle);
            (node.carried, node.changes) = (carried, changes);
        }
    }

    /// Whether a wait may take a turn more although nothing has changed: its closure remembers
    /// something, so that it may make more of the same.
    pub(crate) fn may_idle(&self, lane: usize, pause: u32) -> bool {
        let node = self.node(lane, pause);
        match self.wait_of(lane, pause) {
            Some(_) => node.changes,
            None => node.idle < IDLE_TURNS,
        }
    }

    /// The operations of the turn that ends at a pause, with their results, and the pause before.
    fn turn(&self, lane: usize, pause: u32) -> (Vec<(u32, Ask, u64)>, Option<u32>) {
        let mut before = None;
        let mut turn = Vec::new();
        let mut node = pause;
        loop {
            let it = self.node(lane, node);
            let (parent, answer) = (it.parent, it.answer);
            if parent == NONE {
                break;
            }
            match self.op(lane, parent).map(|op| op.ask) {
                Some(Ask::Pause { .. }) => {
                    before = Some(parent);
                    break;
                }
                Some(Ask::Wait) | None => break,
                Some(ask) => turn.push((parent, ask, answer)),
            }
            node = parent;
        }
        turn.reverse();
        (turn, before)
    }

    /// Runs the path to `leaf` again with one more turn of each folded wait on it.
    fn test_path(&mut self, lane: usize, leaf: u32) {
        let path = self.path(lane, leaf);
        let folds = &self.trees[lane].folds;
        let detours = path
            .iter()
            .filter_map(|head| Some((*head, *folds.get(head)?)));
        let detours: Vec<(u32, Fold)> = detours.collect();
        if !detours.is_empty() && !self.agrees(lane, &path, &detours) {
            for &detour in &detours {
                if !self.agrees(lane, &path, &[detour]) {
                    self.unfold(lane, detour.1.wait);
                }
            }
            // Only together: give up all.
            if !self.stale {
                for (_, fold) in detours {
                    self.unfold(lane, fold.wait);
                }
            }
        }
    }

    /// Tests a pause that was just found on what is known of the turn after it.
    fn test_turn(&mut self, lane: usize, head: u32, fold: Fold) {
        let mut open = vec![head];
        let mut leaves = Vec::new();
        while let Some(node) = open.pop() {
            let below: Vec<u32> = self.trees[lane].nodes[node as usize]
                .next
                .iter()
                .map(|&(_, child)| child)
                .filter(|&child| self.node(lane, child).parent == node)
                .collect();
            if below.is_empty() {
                leaves.push(node);
            }
            open.extend(below);
        }
        for leaf in leaves.into_iter().take(TESTED_LEAVES) {
            let path = self.path(lane, leaf);
            if !self.agrees(lane, &path, &[(head, fold)]) {
                return self.unfold(lane, fold.wait);
            }
        }
    }

    fn unfold(&mut self, lane: usize, wait: u32) {
        if let Some(op) = self.op(lane, wait) {
            let caller = op.caller;
            self.unfolded.insert(caller);
            self.stale = true;
        }
    }

    /// Whether a lane does what `path` says also where some of its turns come after other pauses.
    fn agrees(&self, lane: usize, path: &[u32], detours: &[(u32, Fold)]) -> bool {
        let mut expected: Vec<u32> = Vec::new();
        for &node in path {
            if let Some((_, fold)) = detours.iter().find(|(head, _)| *head == node) {
                // What leads to the other pause since the wait began, in place of what led here.
                let turn = self.path(lane, fold.pause);
                let below = "turns and pauses lie below their wait";
                let from = turn.iter().position(|&node| node == fold.wait);
                let kept = expected.iter().position(|&node| node == fold.wait);
                expected.truncate(kept.expect(below) + 1);
                expected.extend(&turn[from.expect(below) + 1..]);
            }
            expected.push(node);
        }
        let follower = Follower {
            script: self,
            lane,
            expected: &expected,
            at: RefCell::new((0, true)),
        };
        let stop = self.lanes.run(lane, &follower);
        let (at, same) = follower.at.into_inner();
        let leaf = path.last().map(|&leaf| &self.node(lane, leaf).what);
        same && match (leaf, stop) {
            (Some(What::Ended(out)), Stop::Ended(again)) => {
                at + 1 == expected.len() && self.lanes.same(*out, again)
            }
            (Some(What::Panicked(what)), Stop::Panicked(again)) => *what == again,
            (Some(What::Op(_)), Stop::FarEnough) => at == expected.len(),
            _ => false,
        }
    }
}

/// Follows a sequence of nodes, and sees whether the lane asks for the same.
struct Follower<'a, 'l> {
    script: &'a Script<'l>,
    lane: usize,
    expected: &'a [u32],
    at: RefCell<(usize, bool)>,
}

impl Oracle for Follower<'_, '_> {
    fn answer(&self, op: Op) -> Option<u64> {
        let mut at = self.at.borrow_mut();
        let &node = self.expected.get(at.0)?;
        if self.script.op(self.lane, node) != Some(&op) {
            at.1 = false;
            return None;
        }
        at.0 += 1;
        let next = *self.expected.get(at.0)?;
        let next = self.script.node(self.lane, next);
        // After a detour the next node hangs below the wait, and the pause says: go on.
        Some(if next.parent == node {
            next.answer
        } else {
            GO_ON
        })
    }
}

/// What a turn has looked at.
fn reads(turn: &[(u32, Ask, u64)]) -> Vec<Read> {
    let mut reads = Vec::new();
    for (index, &(node, ask, value)) in turn.iter().enumerate() {
        let place = match ask {
            Ask::Load(at) => Place::Pool(at),
            Ask::Atomic(place, _) => place,
            _ => continue,
        };
        let line = ask.line();
        let flushes = turn[..index].iter().filter_map(|(node, ask, _)| {
            let flushed = matches!(ask, Ask::Flush(..)) && ask.line() == line;
            flushed.then_some(*node)
        });
        reads.push(Read {
            place,
            value,
            node,
            flushes: flushes.collect(),
        });
    }
    reads
}

fn sees_the_same(before: &[Read], now: &[Read]) -> bool {
    let seen = |read: &Read| (read.place, read.value);
    before.iter().map(seen).eq(now.iter().map(seen))
}

fn shown(what: &What) -> String {
    match what {
        What::Op(op) => format!("{:?}", op.ask),
        What::Ended(_) => "its end".to_owned(),
        What::Panicked(message) => format!("a panic: {message}"),
    }
}
