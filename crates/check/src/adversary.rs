//! Single runs against the worst that the memory may do with some of the lines.
//!
//! A missing fence matters if a flush is late while something behind it is in time, a missing
//! observe if a stale copy came in and stayed. By chance alone either takes many moves in a row. So
//! each run draws lines that are *late*: what is buffered for them takes effect only when nothing
//! else can go on; and lines that are *fetched* unasked, by whoever may hold them, whenever
//! somebody is about to change them. All else is prompt. Lanes go on by priorities that change at
//! random moments, as in PCT.

use std::cmp::Reverse;

use fabric::{Line, SplitMix64};
use model::{Buffered, Step};

use crate::state::{Move, State};

/// One in this many moves evicts, in runs that evict at all.
const EVICTS_EVERY: u64 = 32;

/// What is drawn for one run.
#[derive(Clone, Debug)]
pub(crate) struct Adversary {
    late: u64,
    fetched: u64,
    evicts: bool,
    /// Of lanes; the highest goes on.
    priorities: Vec<u64>,
    changes: Vec<usize>,
}

/// How soon a move is taken, the last first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// What is buffered for a late line.
    Last,
    /// A lane.
    Lane(u64),
    /// What is buffered for another line.
    Prompt,
    /// The environment's, where this run has it happen.
    Unasked,
}

impl Adversary {
    /// `length`: moves of a run, as far as is known.
    pub(crate) fn new(draw: &mut SplitMix64, lanes: usize, length: usize) -> Self {
        let mut moment = || draw.below(length.max(1) as u64) as usize;
        let changes = vec![moment(), moment()];
        Self {
            changes,
            late: draw.word(),
            fetched: draw.word(),
            evicts: draw.word().is_multiple_of(4),
            priorities: (0..lanes).map(|_| draw.word()).collect(),
        }
    }

    /// The number of the move to take.
    pub(crate) fn pick(
        &mut self,
        (state, moves): (&State, &[Move]),
        at: usize,
        draw: &mut SplitMix64,
    ) -> usize {
        if self.changes.contains(&at) {
            for priority in &mut self.priorities {
                *priority = draw.word();
            }
        }
        let evicting = self.evicts && draw.word().is_multiple_of(EVICTS_EVERY);
        let ranked = moves.iter().enumerate().filter_map(|(index, chosen)| {
            let rank = self.rank(state, *chosen, evicting)?;
            Some((rank, Reverse(draw.word()), index))
        });
        ranked.max().map_or(0, |(_, _, index)| index)
    }

    /// None of a move that this run does not take.
    fn rank(&self, state: &State, chosen: Move, evicting: bool) -> Option<Rank> {
        match chosen {
            Move::Lane(lane) | Move::GoOn { lane, .. } => Some(Rank::Lane(self.priorities[lane])),
            Move::Step(Step::Drain { lane, entry }) => {
                let mut buffered = state.memory.buffered(lane);
                let line = buffered.nth(entry).and_then(Buffered::line);
                let is_late = line.is_some_and(|line| is_drawn(self.late, line));
                Some(if is_late { Rank::Last } else { Rank::Prompt })
            }
            Move::Step(Step::Release { .. }) => Some(Rank::Last),
            Move::Step(Step::Fetch { line, .. }) => {
                is_drawn(self.fetched, line).then_some(Rank::Unasked)
            }
            Move::Step(Step::Evict { .. }) => evicting.then_some(Rank::Unasked),
            Move::Step(Step::Crash { .. }) => None,
        }
    }
}

/// Half of the lines are, by a hash with the run's salt.
fn is_drawn(salt: u64, line: Line) -> bool {
    SplitMix64::new(line.0 ^ salt).word().is_multiple_of(2)
}
