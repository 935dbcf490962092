//! Yang and Anderson's lock (Distributed Computing 9(1), 1995): a tree of two-process locks in
//! which each waiter spins on a word of its own.
//!
//! On memory with caches that spares the others traffic; in a pool every shared line is equally
//! far, so that what remains is the cost of telling the rival. At a node: `C[side]` says who
//! competes, `T` who came last, `P[member, level]` how far a member may go (0: wait, 1: the rival
//! has seen you, 2: enter). All three are words that several members write, each alone in its line.
//!
//! Invariant: of two that compete at a node, the one that `T` names waits until the other has left
//! and told it so.
//!
//! Giving up at a node is leaving it: the rival, if it waits, is let in. A late `P` of the rival
//! cannot mislead a member that comes back, since the rival sends it before it competes again and
//! the member resets `P` after it has written `T`.

use fabric::{Arena, Gone, HostAtomics, Ptr, Slice};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::Arrival;
use crate::patience::{Ended, Patience, wait};
use crate::tree::Tree;

const NOBODY: u64 = 0;
const SEEN: u64 = 1;
const ENTER: u64 = 2;

/// The words of one node.
#[derive(Clone, Copy, Debug)]
struct Node {
    competing: [Ptr<u64>; 2],
    last: Ptr<u64>,
}

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct YangAnderson {
    tree: Tree,
    /// By level, then by node.
    nodes: Vec<Vec<Node>>,
    /// By level, then by member.
    may: Vec<Vec<Ptr<u64>>>,
    arrival: Arrival,
}

impl Lock for YangAnderson {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let members = options.pod.hosts;
        let tree = Tree::over(members);
        let mut words = |what: &str, level: u32, count: u32| -> Vec<Ptr<u64>> {
            let lines = arena.per_host(&format!("{name}.{what}{level}"), count, 1);
            lines.into_iter().map(Slice::start).collect()
        };
        let (mut nodes, mut may) = (Vec::new(), Vec::new());
        for level in 0..tree.levels() {
            let count = tree.nodes(level);
            let competing = words("competing", level, 2 * count);
            let last = words("last", level, count);
            let pairs = competing.chunks_exact(2).zip(last);
            let node = |(pair, last): (&[Ptr<u64>], _)| Node {
                competing: [pair[0], pair[1]],
                last,
            };
            nodes.push(pairs.map(node).collect());
            may.push(words("may", level, members));
        }
        Self {
            tree,
            nodes,
            may,
            arrival: options.arrival,
        }
    }

    /// Cost a level: 3 publishes, 1 observe of 2 lines if the rival is not there; otherwise up to
    /// an observe of 1 line and a publish besides, and the wait. A side without members costs
    /// nothing.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        for level in self.contested(me.who) {
            if let Err((ended, rival)) = self.enter(port, me.who, level, patience) {
                self.leave(port, me.who, level);
                return Err(ended.at(Some((rival - 1) as u32), false));
            }
        }
        Ok(())
    }

    /// Cost a level: 1 publish, 1 observe of 1 line; a publish besides if the rival waits.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.leave(port, me.who, self.tree.levels());
        Ok(())
    }
}

impl YangAnderson {
    /// The levels at which `who` has rivals.
    fn contested(&self, who: u32) -> impl DoubleEndedIterator<Item = u32> {
        let tree = self.tree;
        (0..tree.levels()).filter(move |&level| !tree.rivals(who, level).is_empty())
    }

    /// Enters one node; what ended a wait, and for whom.
    fn enter<P: HostAtomics>(
        &self,
        port: &P,
        who: u32,
        level: u32,
        patience: Patience,
    ) -> Result<(), (Ended, u64)> {
        let (index, side) = Tree::place(who, level);
        let node = self.nodes[level as usize][index];
        let (id, mine) = (u64::from(who) + 1, self.may[level as usize][who as usize]);
        // Before T: whoever finds itself named last no more finds this member competing.
        post(port, node.competing[side], id);
        // Before P is reset: an earlier permission must not outlive this T.
        post(port, node.last, id);
        port.store(mine, 0);
        // All three words must be at the device before the look.
        self.arrival.settle(port, mine.line());
        // Serves the two loads below.
        port.observe_each(&[node.competing[1 - side].line(), node.last.line()]);
        let rival = port.load(node.competing[1 - side]);
        if rival == NOBODY || port.load(node.last) != id {
            return Ok(());
        }
        let theirs = self.may[level as usize][(rival - 1) as usize];
        if look(port, theirs) == 0 {
            post(port, theirs, SEEN);
        }
        let until = |least| wait(port, patience, || (look(port, mine) >= least).then_some(()));
        until(SEEN).map_err(|ended| (ended, rival))?;
        if look(port, node.last) == id {
            until(ENTER).map_err(|ended| (ended, rival))?;
        }
        Ok(())
    }

    /// Leaves the nodes up to level `highest`, the highest first: a node's side is held by whoever
    /// holds the node below.
    fn leave<P: HostAtomics>(&self, port: &P, who: u32, highest: u32) {
        let id = u64::from(who) + 1;
        for level in self.contested(who).rev() {
            if level > highest {
                continue;
            }
            let (index, side) = Tree::place(who, level);
            let node = self.nodes[level as usize][index];
            port.store(node.competing[side], NOBODY);
            // Before the look: a rival that still finds this member is seen in T.
            self.arrival.settle(port, node.competing[side].line());
            let last = look(port, node.last);
            if last != id && last != NOBODY {
                // Serves the wait of the rival.
                post(port, self.may[level as usize][(last - 1) as usize], ENTER);
            }
        }
    }
}

/// A word that several write is never written around the cache: its writers also load it.
#[track_caller]
fn post<P: HostAtomics>(port: &P, at: Ptr<u64>, value: u64) {
    port.store(at, value);
    // Serves the rival's looks; the caller says what has to come after it.
    port.post(at.line());
}

#[track_caller]
fn look<P: HostAtomics>(port: &P, at: Ptr<u64>) -> u64 {
    // Serves the load below, anew for each look.
    port.observe(at.line());
    port.load(at)
}
