//! A binary tree over participants: who meets whom at which level.

use std::ops::Range;

/// The tree's shape; level 0 is where single participants meet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    participants: u32,
}

impl Tree {
    pub(crate) fn over(participants: u32) -> Self {
        Self { participants }
    }

    /// Levels, ceil(log2 participants).
    pub(crate) fn levels(self) -> u32 {
        self.participants.next_power_of_two().trailing_zeros()
    }

    /// Nodes of `level`.
    pub(crate) fn nodes(self, level: u32) -> u32 {
        self.participants.div_ceil(2 << level)
    }

    /// The node at which `who` is at `level`, and on which side, 0 or 1.
    pub(crate) fn place(who: u32, level: u32) -> (usize, usize) {
        ((who >> (level + 1)) as usize, (who >> level & 1) as usize)
    }

    /// The participants below the other side of that node; none where the tree is not full.
    pub(crate) fn rivals(self, who: u32, level: u32) -> Range<u32> {
        let from = ((who >> level) ^ 1) << level;
        from.min(self.participants)..(from + (1 << level)).min(self.participants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_two_participants_meet_exactly_once() {
        for participants in 1..20u32 {
            let tree = Tree::over(participants);
            for (a, b) in (0..participants).flat_map(|a| (0..participants).map(move |b| (a, b))) {
                let meet = |level: &u32| tree.rivals(a, *level).contains(&b);
                let meetings: Vec<_> = (0..tree.levels()).filter(meet).collect();
                assert_eq!(
                    meetings.len(),
                    usize::from(a != b),
                    "{a} and {b} of {participants}"
                );
                for level in meetings {
                    let ((node_a, side_a), (node_b, side_b)) =
                        (Tree::place(a, level), Tree::place(b, level));
                    assert_eq!((node_a, side_a), (node_b, 1 - side_b));
                    assert!(node_a < tree.nodes(level) as usize);
                }
            }
        }
    }
}
