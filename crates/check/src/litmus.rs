//! Litmus tests: tiny programs whose whole outcome set is known.
//!
//! A test is a TOML file: threads as columns of instructions, the words they share, and for each
//! write mode what may come out. The exact sets are computed from [`model`]; what a source says
//! about them stands beside, written by hand: the outcome that is the point of the test, and
//! whether it is allowed. `docs/MODEL.md` names the tests of each rule.
//!
//! ```
//! let test = check::litmus::find("mp+post+observe").expect("it is built in");
//! let mode = model::WriteMode::Synchronous;
//! assert_eq!(&test.outcomes(mode), test.set(mode).expect("it is listed").exact());
//! ```
//!
//! Each test runs on every substrate: [`Litmus::outcomes`] exhausts the model, [`Litmus::perform`]
//! runs one thread on a port, and [`stress`] repeats it on real lanes and counts.
//!
//! # A file
//!
//! | key | is |
//! |---|---|
//! | `name` | the file's name |
//! | `about` | one sentence |
//! | `source` | who says so |
//! | `lines` | words by line: `[["x"], ["y", "z"]]`; lines lie 128 bytes apart |
//! | `threads` | a table; its head says which host each thread runs on |
//! | `outcome` | what is looked at: registers, and words for their value in the end |
//! | `coherence` | `hardware` makes the pod one domain; otherwise each host is one |
//! | `devices` | how many the lines alternate between; otherwise 1 |
//! | `sets` | per write mode: `writes`, `allowed`, `forbidden`, `why`, `exact` |
//!
//! # Sources
//!
//! What a `source` says was compared with the text or the code that it names, or with another's
//! transcription: Intel's examples (by their titles, as Sewell et al. and the litmus suite of
//! `phlo/concubine` have them), n7 and amd10 of x86-TSO (`goens/lost-pop-lean`,
//! `moukos/perpetual`), the shapes of *Herding cats* (`herd/herdtools7`, catalogue), famfs, Tigon,
//! and the issues that have a number. Written from memory, and not compared: amd5, n4b, n5 and n6
//! of x86-TSO, single examples of the two POPL papers (that they exist and what they are about
//! was), what is said of Intel's manuals beyond the examples, Embarcadero, and the trials of
//! FUSEE-CXL. The exact sets depend on none of them.
//!
//! Instructions: `x = 1`, `r0 = x`, `nt x = 1` (MOVNTI), `line x = 1` (MOVDIR64B, every word),
//! `flush x` (CLFLUSHOPT), `clflush x`, `clwb x`, `sfence`, `lfence`, `mfence`.

mod error;
mod file;
mod instr;
mod library;
mod run;
pub mod stress;

use std::collections::BTreeSet;
use std::fmt;

use fabric::{Coherence, Pod, Ptr};
use model::explore::{self, Instr, Outcome, Pruning, Thread};
use model::{Shape, WriteMode};

pub use error::LitmusError;
pub use library::{FILES, all, find};

/// Bytes from one line of a test to the next, and of one device before the next one's begin.
const LINE_STRIDE: u64 = 128;

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Litmus {
    name: String,
    about: String,
    source: String,
    pod: Pod,
    coherence: Coherence,
    devices: u64,
    threads: Vec<Thread>,
    /// The words of the outcome, in its order.
    watched: Vec<Ptr<u64>>,
    region_bytes: u64,
    labels: Vec<String>,
    seen: Vec<Seen>,
    sets: Vec<Set>,
}

/// Where one value of an outcome comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// The `load`th load of a thread.
    Register { thread: usize, load: usize },
    /// A word in the end, by place in `watched`.
    Word(usize),
}

/// What may come out under some write modes.
#[derive(Clone, Debug)]
pub struct Set {
    writes: Vec<WriteMode>,
    allowed: Vec<Condition>,
    forbidden: Vec<Condition>,
    why: String,
    exact: BTreeSet<Vec<u64>>,
}

/// Some values of an outcome; what it does not name may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    text: String,
    /// Place in the outcome, value.
    values: Vec<(usize, u64)>,
}

impl Condition {
    /// Whether an outcome has these values.
    pub fn holds(&self, outcome: &[u64]) -> bool {
        self.values
            .iter()
            .all(|&(place, value)| outcome[place] == value)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Set {
    /// The write modes that it holds for.
    pub fn writes(&self) -> &[WriteMode] {
        &self.writes
    }

    /// Outcomes that a source allows; each must be possible.
    pub fn allowed(&self) -> &[Condition] {
        &self.allowed
    }

    /// Outcomes that a source forbids; each must be impossible.
    pub fn forbidden(&self) -> &[Condition] {
        &self.forbidden
    }

    /// Why, from the rules.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Every outcome, and no other.
    pub fn exact(&self) -> &BTreeSet<Vec<u64>> {
        &self.exact
    }

    /// What the source says and a set of outcomes contradicts.
    pub fn contradictions(&self, outcomes: &BTreeSet<Vec<u64>>) -> Vec<String> {
        let possible = |condition: &Condition| outcomes.iter().any(|row| condition.holds(row));
        let missing = self.allowed.iter().filter(|it| !possible(it));
        let present = self.forbidden.iter().filter(|it| possible(it));
        let missing = missing.map(|it| format!("{it} is allowed, and impossible"));
        let present = present.map(|it| format!("{it} is forbidden, and possible"));
        missing.chain(present).collect()
    }
}

impl Litmus {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it asks, in a sentence.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Who says what is allowed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Hosts, and lanes of each: as many as the host with the most threads has.
    pub fn pod(&self) -> Pod {
        self.pod
    }

    /// Between its hosts.
    pub fn coherence(&self) -> Coherence {
        self.coherence
    }

    /// Its threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// How many loads each thread has.
    pub fn loads(&self) -> impl Iterator<Item = usize> {
        let is_load = |instr: &&Instr| matches!(instr, Instr::Load(_));
        let threads = self.threads.iter();
        threads.map(move |thread| thread.instrs.iter().filter(is_load).count())
    }

    /// What an outcome's values are called.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The words whose final value is part of the outcome.
    pub fn watched(&self) -> &[Ptr<u64>] {
        &self.watched
    }

    /// Bytes of region that it needs.
    pub fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    /// The sets, by write mode.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// What may come out under `writes`, if the file says.
    pub fn set(&self, writes: WriteMode) -> Option<&Set> {
        self.sets.iter().find(|set| set.writes.contains(&writes))
    }

    /// The write modes that the file speaks of.
    pub fn modes(&self) -> impl Iterator<Item = WriteMode> {
        self.sets.iter().flat_map(|set| set.writes.iter().copied())
    }

    /// The memory that it runs on.
    pub fn shape(&self, writes: WriteMode) -> Shape {
        Shape {
            coherence: self.coherence,
            devices: self.devices,
            interleave_bytes: LINE_STRIDE,
            ..Shape::software(self.pod.hosts, self.pod.lanes, writes)
        }
    }

    /// The program, for the model.
    pub fn program(&self, writes: WriteMode) -> explore::Program {
        explore::Program {
            shape: self.shape(writes),
            threads: self.threads.clone(),
            watched: self.watched.clone(),
        }
    }

    /// Every outcome that the model allows.
    pub fn outcomes(&self, writes: WriteMode) -> BTreeSet<Vec<u64>> {
        explore::outcomes(&self.program(writes), Pruning::Relevant)
            .iter()
            .map(|Outcome { loads, memory }| self.row(loads, memory))
            .collect()
    }

    /// The values of one outcome, from what each thread loaded and what the watched words hold.
    pub fn row(&self, loads: &[Vec<u64>], memory: &[u64]) -> Vec<u64> {
        let value = |seen: &Seen| match *seen {
            Seen::Register { thread, load } => loads[thread][load],
            Seen::Word(place) => memory[place],
        };
        self.seen.iter().map(value).collect()
    }

    /// An outcome in words: `r0=1 r1=0`.
    pub fn say(&self, outcome: &[u64]) -> String {
        let values = self.labels.iter().zip(outcome);
        let values = values.map(|(label, value)| format!("{label}={value}"));
        values.collect::<Vec<_>>().join(" ")
    }
}
