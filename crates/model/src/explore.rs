//! Every outcome of a tiny program, by exhausting the model.
//!
//! Not the checker: no spin loops, no findings, no traces. It gives the exact outcome sets that
//! litmus tests are held against.

use std::collections::{BTreeSet, HashSet};

use fabric::{Fence, Flush, Line, Ptr};

use crate::choose::Scripted;
use crate::content::{Access, Content};
use crate::memory::Memory;
use crate::order::Buffered;
use crate::shape::{Shape, WriteMode};
use crate::step::Step;

/// One instruction of a litmus program; words are 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are the verbs' operands
pub enum Instr {
    /// Loads into the thread's next register.
    Load(Ptr<u64>),
    Store(Ptr<u64>, u64),
    StoreNt(Ptr<u64>, u64),
    /// Writes a whole line whose every word is this.
    StoreLine(Line, u64),
    Writeback(Line),
    Flush(Line, Flush),
    Fence(Fence),
}

/// One lane's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Host of the lane.
    pub host: u32,
    /// In program order.
    pub instrs: Vec<Instr>,
}

/// A program: its memory, its threads, the words looked at in the end.
#[derive(Clone, Debug)]
pub struct Program {
    /// The memory that it runs on; lanes of a host in the order of `threads`.
    pub shape: Shape,
    /// What runs.
    pub threads: Vec<Thread>,
    /// Words whose final value is part of the outcome.
    pub watched: Vec<Ptr<u64>>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outcome {
    /// What each thread loaded, in program order.
    pub loads: Vec<Vec<u64>>,
    /// What the watched words hold once everything buffered or held has arrived: at the device, or,
    /// where the pod is one coherence domain, for every lane of it.
    pub memory: Vec<u64>,
}

/// How much of the environment is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// Evictions of clean lines and fetches only where a later access can notice; instructions that
    /// only enter a buffer at once.
    Relevant,
    /// None: every line of the program, at every moment. The reference for the other.
    None,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    memory: Memory,
    /// Instructions done, by thread.
    done: Vec<usize>,
    loads: Vec<Vec<u64>>,
}

/// Every outcome of `program` that the model allows.
pub fn outcomes(program: &Program, pruning: Pruning) -> BTreeSet<Outcome> {
    let explorer = Explorer::new(program, pruning);
    let threads = program.threads.len();
    let mut found = BTreeSet::new();
    let mut visited = HashSet::new();
    let mut open = vec![State {
        memory: Memory::new(program.shape),
        done: vec![0; threads],
        loads: vec![Vec::new(); threads],
    }];
    while let Some(state) = open.pop() {
        if let Some(outcome) = explorer.outcome(&state) {
            found.insert(outcome);
        }
        explorer.successors(&state, |next| {
            if visited.insert(next.clone()) {
                open.push(next);
            }
        });
    }
    found
}

struct Explorer<'p> {
    program: &'p Program,
    pruning: Pruning,
    /// Every line that the program names.
    lines: Vec<Line>,
    /// The lane of each thread.
    lanes: Vec<usize>,
}

impl<'p> Explorer<'p> {
    fn new(program: &'p Program, pruning: Pruning) -> Self {
        let named = program.threads.iter().flat_map(|thread| &thread.instrs);
        let lines: BTreeSet<Line> = named.filter_map(line_of).collect();
        let mut taken = vec![0; program.shape.hosts as usize];
        let lanes = program.threads.iter().map(|thread| {
            let host = thread.host as usize;
            taken[host] += 1;
            assert!(
                taken[host] <= program.shape.lanes as usize,
                "host {host} has too few lanes"
            );
            host * program.shape.lanes as usize + taken[host] - 1
        });
        Self {
            lanes: lanes.collect(),
            lines: lines.into_iter().collect(),
            program,
            pruning,
        }
    }

    /// The outcome, if every thread has ended and nothing is on its way.
    fn outcome(&self, state: &State) -> Option<Outcome> {
        let mut pending = Vec::new();
        state.memory.certain_steps(&mut pending);
        let ended =
            |(thread, &done): (usize, &usize)| done == self.program.threads[thread].instrs.len();
        let over = pending.is_empty() && state.done.iter().enumerate().all(ended);
        let memory = self.program.watched.iter();
        over.then(|| Outcome {
            loads: state.loads.clone(),
            memory: memory
                .map(|&at| state.memory.in_the_end(Access::of(at)))
                .collect(),
        })
    }

    fn successors(&self, state: &State, mut add: impl FnMut(State)) {
        if let Some(thread) = self.invisible(state) {
            let mut next = state.clone();
            self.advance(&mut next, thread);
            return add(next);
        }
        for thread in 0..self.program.threads.len() {
            let mut next = state.clone();
            if self.advance(&mut next, thread) {
                add(next);
            }
        }
        let mut steps = Vec::new();
        state.memory.certain_steps(&mut steps);
        let relevant = |domain, line| self.is_relevant(state, domain, line);
        state
            .memory
            .unasked_steps(relevant, &self.lines, &mut steps);
        for step in steps {
            take_every_way(state, step, &mut add);
        }
    }

    /// Whether a copy of `line` in `domain` can still make a difference: an instruction that is
    /// left, or a store on its way, looks at it. Whatever writes back a dirty copy is explored
    /// regardless.
    fn is_relevant(&self, state: &State, domain: usize, line: Line) -> bool {
        if self.pruning == Pruning::None {
            return true;
        }
        let shape = self.program.shape;
        self.lanes.iter().enumerate().any(|(thread, &lane)| {
            let left = &self.program.threads[thread].instrs[state.done[thread]..];
            let accesses = |instr: &Instr| {
                let looks = matches!(
                    instr,
                    Instr::Load(_) | Instr::Store(..) | Instr::StoreNt(..)
                );
                looks && line_of(instr) == Some(line)
            };
            let drains = |entry: &Buffered| {
                let looks = matches!(entry, Buffered::Store { .. } | Buffered::StoreNt { .. });
                looks && entry.line() == Some(line)
            };
            shape.domain(lane) == domain
                && (left.iter().any(accesses) || state.memory.buffered(lane).any(drains))
        })
    }

    /// A thread whose next instruction nobody can notice: it only enters the lane's buffer, where
    /// it may stay as long as it likes, so doing it at once loses nothing.
    fn invisible(&self, state: &State) -> Option<usize> {
        if self.pruning == Pruning::None {
            return None;
        }
        (0..self.program.threads.len()).find(|&thread| {
            match self.program.threads[thread].instrs.get(state.done[thread]) {
                None | Some(Instr::Load(_)) => false,
                // With nothing held, a full fence that has nothing to wait for changes nothing.
                Some(Instr::Fence(Fence::Full)) => {
                    let idle = state.memory.is_drained(self.lanes[thread]);
                    idle && self.program.shape.writes == WriteMode::Synchronous
                }
                // An empty buffer lets a store fence through, which orders held writes.
                Some(Instr::Fence(_)) => self.program.shape.writes == WriteMode::Synchronous,
                Some(_) => true,
            }
        })
    }

    /// Performs a thread's next instruction; false if it has none, or must wait.
    fn advance(&self, state: &mut State, thread: usize) -> bool {
        let instrs = &self.program.threads[thread].instrs;
        let Some(&instr) = instrs.get(state.done[thread]) else {
            return false;
        };
        let lane = self.lanes[thread];
        let memory = &mut state.memory;
        match instr {
            Instr::Load(at) => {
                let Some(value) = memory.load(lane, Access::of(at)) else {
                    return false;
                };
                state.loads[thread].push(value);
            }
            Instr::Store(at, bits) => memory.store(lane, Access::of(at), bits),
            Instr::StoreNt(at, bits) => memory.store_nt(lane, Access::of(at), bits),
            Instr::StoreLine(line, word) => {
                memory.store_line(lane, line, Content::of_words([word; 8]));
            }
            Instr::Writeback(line) => memory.writeback(lane, line),
            Instr::Flush(line, how) => memory.flush(lane, line, how),
            Instr::Fence(fence) => {
                if !memory.fence(lane, fence) {
                    return false;
                }
            }
        }
        state.done[thread] += 1;
        true
    }
}

/// A step may itself leave a choice: each way is a successor.
fn take_every_way(state: &State, step: Step, add: &mut impl FnMut(State)) {
    let mut script = Scripted::default();
    loop {
        let mut next = state.clone();
        next.memory.take(step, &mut script);
        add(next);
        if !script.advance() {
            return;
        }
    }
}

fn line_of(instr: &Instr) -> Option<Line> {
    match *instr {
        Instr::Load(at) | Instr::Store(at, _) | Instr::StoreNt(at, _) => Some(at.line()),
        Instr::StoreLine(line, _) | Instr::Writeback(line) | Instr::Flush(line, _) => Some(line),
        Instr::Fence(_) => None,
    }
}
