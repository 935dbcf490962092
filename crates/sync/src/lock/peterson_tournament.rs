//! Peterson's two-process lock (IPL 12(3), 1981) at every node of a tree (Peterson and Fischer,
//! STOC 1977): the winner of a pair goes on to the next level.
//!
//! A member says in one word, in its own line, at which levels it competes: bit l for level l. So a
//! node's flag of one side is whether any member below that side has the bit, all of them looked at
//! together; and leaving all levels is one publish instead of one a level. The turn of a node has a
//! line to itself that both sides write.
//!
//! Invariant: at each node, of two sides that compete, the one that wrote the turn last waits. At
//! most one member competes for a side: it holds the node below.
//!
//! Giving up at a level is leaving: in Peterson's lock, to withdraw and to release are one.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Line, MAX_HOSTS, Ptr, Slice};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::{Arrival, Board};
use crate::patience::{Patience, wait};
use crate::tree::Tree;

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct PetersonTournament {
    tree: Tree,
    competing: Board,
    /// Turns, level by level, from the leaves; the lowest level has the most nodes.
    turns: Vec<Vec<Ptr<u64>>>,
    arrival: Arrival,
}

impl Lock for PetersonTournament {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let members = options.pod.hosts;
        let tree = Tree::over(members);
        let competing = Board::lay_out(arena, &format!("{name}.competing"), members);
        let turns = (0..tree.levels()).map(|level| {
            let nodes = tree.nodes(level);
            let lines = arena.per_host(&format!("{name}.turn{level}"), nodes, 1);
            lines.into_iter().map(Slice::start).collect()
        });
        Self {
            tree,
            competing,
            turns: turns.collect(),
            arrival: options.arrival,
        }
    }

    /// Cost a level: 2 publishes, 1 observe of the turn's line and of one for each member of the
    /// other side, a look. A side without members costs nothing.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        for level in 0..self.tree.levels() {
            let rivals = self.tree.rivals(me.who, level);
            if rivals.is_empty() {
                continue;
            }
            me.number |= 1 << level;
            // Before the turn: a rival that finds the turn changed finds this bit.
            self.competing.post(port, me.who, me.number);
            if let Err(error) = self.win(port, me, level, rivals, patience) {
                self.leave(port, me);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.leave(port, me);
        Ok(())
    }
}

impl PetersonTournament {
    fn win<P: HostAtomics>(
        &self,
        port: &P,
        me: &Member,
        level: u32,
        rivals: Range<u32>,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let (node, side) = Tree::place(me.who, level);
        let (turn, side) = (self.turns[level as usize][node], side as u64);
        // The turn says who wrote it last: that side waits.
        port.store(turn, side);
        // Serves the rival's look, and must be at the device before this lane's own.
        self.arrival.settle(port, turn.line());
        let mut lines = [Line(0); MAX_HOSTS as usize + 1];
        let count = rivals.len() + 1;
        for (index, rival) in rivals.clone().enumerate() {
            lines[index] = self.competing.word(rival).line();
        }
        lines[count - 1] = turn.line();
        let mut rival = None;
        let waited = wait(port, patience, || {
            // Serves the loads below, all of them by one wait.
            port.observe_each(&lines[..count]);
            rival = self.competitor(port, level, rivals.clone());
            (rival.is_none() || port.load(turn) != side).then_some(())
        });
        waited.map_err(|ended| ended.at(rival, false))
    }

    /// Which of `rivals` competes at `level`; their lines have just been observed.
    #[allow(clippy::manual_find)] // iterator chains hide the caller of the load
    fn competitor<P: HostAtomics>(&self, port: &P, level: u32, rivals: Range<u32>) -> Option<u32> {
        for rival in rivals {
            if port.load(self.competing.word(rival)) >> level & 1 == 1 {
                return Some(rival);
            }
        }
        None
    }

    fn leave<P: HostAtomics>(&self, port: &P, me: &mut Member) {
        me.number = 0;
        // Serves the rivals' looks at all levels; behind what the holder posted.
        self.competing.post(port, me.who, 0);
    }
}
