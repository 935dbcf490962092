//! A lane being run to where it is known, and a little further.

use std::cell::RefCell;

use super::{LONGEST_CHAIN, NONE, Node, Tree, What, shown};
use crate::ask::{Caller, Op};
use crate::port::Oracle;
use crate::runner::Stop;

/// What was done before, what is done now, and where.
pub(super) type Difference = (String, String, Option<Caller>);

/// A lane being run to where it is known, and a little further.
pub(super) struct Learning<'t> {
    pub(super) tree: &'t mut Tree,
    pub(super) path: Vec<u32>,
    pub(super) answers: Vec<u64>,
    pub(super) at: usize,
    pub(super) new: usize,
    pub(super) differs: Option<Difference>,
}

pub(super) struct Learner<'t>(pub(super) RefCell<Learning<'t>>);

impl Oracle for Learner<'_> {
    fn answer(&self, op: Op) -> Option<u64> {
        self.0.borrow_mut().asked(op)
    }
}

impl Learning<'_> {
    fn asked(&mut self, op: Op) -> Option<u64> {
        if let Some(&node) = self.path.get(self.at) {
            let before = &self.tree.nodes[node as usize].what;
            if *before != What::Op(op) {
                let now = format!("{:?}", op.ask);
                self.differs = Some((shown(before), now, Some(op.caller)));
                return None;
            }
            let answer = self.answers[self.at];
            self.at += 1;
            return Some(answer);
        }
        assert!(
            self.new < LONGEST_CHAIN,
            "{LONGEST_CHAIN} operations at {} without a load among them: a loop that looks at \
             nothing never ends",
            op.caller
        );
        let unit = op.ask.is_unit();
        self.hang(What::Op(op));
        unit.then_some(0)
    }

    /// Hangs a node below the last one.
    fn hang(&mut self, what: What) {
        let parent = self.path.last().copied().unwrap_or(NONE);
        let answer = self.answers.last().copied().unwrap_or(0);
        let node = self.tree.nodes.len() as u32;
        self.tree.nodes.push(Node {
            parent,
            answer,
            what,
            next: Vec::new(),
            reads: Vec::new(),
            idle: 0,
            carried: None,
            changes: false,
        });
        if parent != NONE {
            self.tree.nodes[parent as usize].next.push((answer, node));
        }
        self.path.push(node);
        self.answers.push(0);
        self.at += 1;
        self.new += 1;
    }

    /// After the run: what differed, or which nodes are new.
    pub(super) fn stopped(mut self, stop: Stop) -> (Option<Difference>, Vec<u32>) {
        let end = match stop {
            Stop::FarEnough => None,
            Stop::Ended(out) => Some(What::Ended(out)),
            Stop::Panicked(message) => Some(What::Panicked(message)),
        };
        if let Some(end) = end {
            match self.path.get(self.at) {
                None => self.hang(end),
                Some(&node) => {
                    let before = shown(&self.tree.nodes[node as usize].what);
                    self.differs.get_or_insert((before, shown(&end), None));
                }
            }
        }
        let fresh = self.path.split_off(self.path.len() - self.new);
        (self.differs, fresh)
    }
}
