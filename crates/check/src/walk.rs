//! Single runs: where there are too many states to visit them all.
//!
//! Four ways to choose. *Random*: every move alike, the environment's rarer. *PCT* (Burckhardt,
//! Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): actors have priorities, the first that can goes
//! on, and at d - 1 random moments the one that goes on becomes the last; a fault that takes d
//! ordering constraints is found with a probability of at least 1 / (n k^(d-1)) a run of k steps of
//! n actors. *Swarm* (Holzmann, Joshi, Groce, 2011): random runs, each with a random choice of what
//! the environment does at all. *Adverse*: see [`crate::adversary`]. What is found is shrunk.

use fabric::SplitMix64;
use model::{Scripted, Step};

use crate::adversary::Adversary;
use crate::check::{Checker, Report, Verdict};
use crate::edit::Edits;
use crate::moves::Futures;
use crate::search::{Bounds, Path, Taken, Ways};
use crate::state::{Fault, Move, State};

/// How single runs choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Every move alike, the environment's rarer.
    Random,
    /// Priorities, changed this many times less one.
    Pct {
        /// Ordering constraints of the fault looked for.
        depth: u32,
    },
    /// As random, with a random part of the environment switched off in each run.
    Swarm,
    /// What is buffered for some lines late, some lines fetched whenever they change.
    Adverse,
}

/// Moves of one run, at most: a run that is longer polls for ever.
const LONGEST_RUN: usize = 4_000;

/// One in this many moves is the environment's, where there is a choice.
const UNASKED_EVERY: u64 = 8;

/// Kinds of moves that swarm switches on and off.
const KINDS: u32 = 4;

/// What decides the moves of one run.
struct Chance {
    strategy: Strategy,
    draw: SplitMix64,
    /// PCT: priorities of actors, lanes first, then their buffers, then the environment.
    priorities: Vec<u64>,
    /// PCT: moments at which the actor that goes on becomes the last.
    changes: Vec<usize>,
    /// Swarm: which kinds of unasked moves happen.
    kinds: u32,
    adversary: Option<Adversary>,
}

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.draw.below(limit as u64) as usize
    }

    fn new(strategy: Strategy, seed: u64, lanes: usize, length: usize) -> Self {
        let mut draw = SplitMix64::new(seed);
        let priorities = (0..=2 * lanes).map(|_| (draw.word() >> 1) + 1).collect();
        let depth = match strategy {
            Strategy::Pct { depth } => depth,
            _ => 1,
        };
        let changes = (1..depth)
            .map(|_| draw.below(length.max(1) as u64) as usize)
            .collect();
        let kinds = match strategy {
            Strategy::Swarm => draw.word() as u32 % (1 << KINDS),
            _ => u32::MAX,
        };
        let is_adverse = strategy == Strategy::Adverse;
        let adversary = is_adverse.then(|| Adversary::new(&mut draw, lanes, length));
        Self {
            strategy,
            draw,
            priorities,
            changes,
            kinds,
            adversary,
        }
    }

    /// One of the moves, of which the first `certain` happen in the end.
    fn pick(&mut self, state: &State, moves: &[Move], certain: usize, at: usize) -> usize {
        if let Some(adversary) = &mut self.adversary {
            return adversary.pick((state, moves), at, &mut self.draw);
        }
        if let Strategy::Pct { .. } = self.strategy {
            return self.pick_by_priority(moves, at);
        }
        let allowed = |index: &usize| self.kinds >> kind(moves[*index]) & 1 == 1;
        let unasked: Vec<usize> = (certain..moves.len()).filter(allowed).collect();
        let rare = self.draw.word().is_multiple_of(UNASKED_EVERY);
        if certain == 0 || rare && !unasked.is_empty() {
            if unasked.is_empty() {
                return certain;
            }
            return unasked[self.below(unasked.len())];
        }
        self.below(certain)
    }

    fn pick_by_priority(&mut self, moves: &[Move], at: usize) -> usize {
        let lanes = self.priorities.len() / 2;
        let actor = |chosen: Move| match chosen {
            Move::Lane(lane) | Move::GoOn { lane, .. } => lane,
            Move::Step(Step::Drain { lane, .. }) => lanes + lane,
            Move::Step(_) => 2 * lanes,
        };
        let best = moves.iter().map(|it| self.priorities[actor(*it)]).max();
        let best = best.expect("there is a move");
        let first: Vec<usize> = (0..moves.len())
            .filter(|&index| self.priorities[actor(moves[index])] == best)
            .collect();
        let chosen = first[self.below(first.len())];
        if self.changes.contains(&at) || actor(moves[chosen]) == 2 * lanes {
            // Lower than every other; an environment that kept its turn would starve the lanes.
            let lowest = self.priorities.iter().min().copied().unwrap_or(1);
            self.priorities[actor(moves[chosen])] = lowest.saturating_sub(1);
        }
        chosen
    }
}

fn kind(chosen: Move) -> u32 {
    match chosen {
        Move::Step(Step::Evict { .. }) => 0,
        Move::Step(Step::Fetch { .. }) => 1,
        Move::Step(Step::Crash { .. }) => 2,
        _ => KINDS - 1,
    }
}

impl Checker<'_> {
    /// Runs the program `runs` times by chance; the verdict is never better than bounded.
    pub fn walk_randomly(&mut self, strategy: Strategy, runs: u64, seed: u64) -> Report {
        let before = self.machine.steps;
        let (done, found) = self.runs_by_chance(&Edits::default(), strategy, runs, seed);
        let found = found.map(|(path, fault)| self.shrink(path, fault));
        let bounds = Bounds {
            environment: None,
            preemptions: None,
            states: usize::MAX,
        };
        let finding = found
            .as_ref()
            .map(|(path, fault)| self.explain(&Edits::default(), path, fault));
        Report {
            verdict: if found.is_some() {
                Verdict::Fail
            } else {
                Verdict::Bounded
            },
            bounds,
            exhausted: false,
            states: 0,
            ends: done,
            runs: done as u64,
            steps: self.machine.steps - before,
            finding,
            fault: found,
        }
    }

    /// Runs the program with these edits until something is wrong: how many runs were made, and
    /// the last one's fault.
    pub(crate) fn runs_by_chance(
        &mut self,
        edits: &Edits,
        strategy: Strategy,
        runs: u64,
        seed: u64,
    ) -> (usize, Option<(Path, Fault)>) {
        self.machine.edit(edits.clone());
        let (mut length, mut done) = (100, 0);
        for run in 0..runs {
            if self.machine.is_late() {
                break;
            }
            let lanes = self.machine.script.count();
            let seed = seed.wrapping_add(run.wrapping_mul(0xd134_2543_de82_ef95));
            let chance = Chance::new(strategy, seed, lanes, length);
            let (path, fault) = self.run_once(chance);
            if self.machine.script.stale {
                self.machine.script.restart();
                self.machine.forget_plans();
                continue;
            }
            done += 1;
            length = length.max(path.len());
            if let Some(fault) = fault {
                return (done, Some((path, fault)));
            }
        }
        (done, None)
    }

    fn run_once(&mut self, mut chance: Chance) -> (Path, Option<Fault>) {
        let mut path = Vec::new();
        let mut state = match self.machine.start() {
            Ok(state) => state,
            Err(fault) => return (path, Some(fault)),
        };
        let mut moves = Vec::new();
        while path.len() < LONGEST_RUN {
            let certain = self.machine.moves(&state, &Futures::default(), &mut moves);
            if certain == 0 {
                if let Some(fault) = self.machine.at_the_end(&state) {
                    return (path, Some(fault));
                }
                if moves.is_empty() || self.machine.is_over(&state) {
                    return (path, None);
                }
            }
            let picked = chance.pick(&state, &moves, certain, path.len());
            let chosen = moves[picked.min(moves.len() - 1)];
            let (inner, fault) = self.take_any(&mut state, chosen, &mut chance);
            path.push(Taken { chosen, inner });
            let fault = self.machine.differs().or(fault);
            if fault.is_some() || self.machine.script.stale {
                return (path, fault);
            }
        }
        (path, None)
    }

    /// Takes a move with a random one of its outcomes.
    fn take_any(
        &mut self,
        state: &mut State,
        chosen: Move,
        chance: &mut Chance,
    ) -> (u16, Option<Fault>) {
        let mut script = Scripted::default();
        let mut inner = 0;
        loop {
            let mut next = state.clone();
            let mut ways = Ways {
                script: &mut script,
                kept: false,
            };
            let taken = self.machine.take(&mut next, chosen, &mut ways);
            let mut more = script.clone();
            if chance.draw.word().is_multiple_of(2) || !more.advance() {
                *state = next;
                return (inner, taken.err());
            }
            script = more;
            inner += 1;
        }
    }

    /// Takes moves out of a path, the environment's first, while it leads to a fault of the same
    /// kind.
    pub(crate) fn shrink(&mut self, path: Path, fault: Fault) -> (Path, Fault) {
        let mut best = (path, fault);
        let mut size = best.0.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < best.0.len() {
                let mut shorter = best.0.clone();
                shorter.drain(at..(at + size).min(shorter.len()));
                match self.run_along(&shorter) {
                    Some((path, fault))
                        if fault.kind == best.1.kind && weight(&path) < weight(&best.0) =>
                    {
                        best = (path, fault);
                    }
                    _ => at += size,
                }
            }
            size /= 2;
        }
        best
    }

    /// Takes those moves of `path` that are possible, then the first possible ones to the end.
    fn run_along(&mut self, path: &Path) -> Option<(Path, Fault)> {
        let mut state = self.machine.start().ok()?;
        let mut taken_path = Vec::new();
        let mut moves = Vec::new();
        let mut left = path.iter().copied();
        loop {
            let certain = self.machine.moves(&state, &Futures::default(), &mut moves);
            if certain == 0
                && let Some(fault) = self.machine.at_the_end(&state)
            {
                return Some((taken_path, fault));
            }
            let wanted = left.find(|taken| moves.contains(&taken.chosen));
            let first = (certain > 0).then(|| Taken {
                chosen: moves[0],
                inner: 0,
            });
            let taken = wanted.or(first)?;
            let fault = self.machine.follow(&mut state, taken).err();
            taken_path.push(taken);
            if let Some(fault) = fault {
                return Some((taken_path, fault));
            }
            if taken_path.len() > path.len() + LONGEST_RUN / 10 || self.machine.script.stale {
                return None;
            }
        }
    }
}

/// What a path weighs: its environment moves above all, then its length.
fn weight(path: &Path) -> (usize, usize) {
    let unasked = path.iter().filter(|taken| kind(taken.chosen) < KINDS - 1);
    (unasked.count(), path.len())
}
