//! Graphs from a seed.
//!
//! Edges are made in blocks, each from its own random sequence, so that a graph is the same
//! whoever makes which block. Vertices get random labels, since otherwise a Kronecker graph's
//! degrees would follow from the number of one-bits in a label.

use std::ops::Range;

use fabric::SplitMix64;

use crate::build::Builder;
use crate::csr::{Csr, Edge, MAX_VERTICES};
use crate::error::GraphError;
use crate::parallel;
use crate::progress::{Phase, Progress};

/// Edges a vertex, where nothing else is said: Graph500's edge factor, and GAPBS' degree.
pub const DEGREE: u32 = 16;

/// Edges of a block.
const BLOCK_EDGES: u64 = 1 << 16;

/// The random sequence of the labels: no block has that number.
const LABELS: u64 = u64::MAX / 2;

/// Graph500's initiator (specification, "Kronecker generator"): the chances that an edge falls into
/// the upper left, upper right and lower left quarter of the adjacency matrix.
const INITIATOR: [f64; 3] = [0.57, 0.19, 0.19];

/// How edges are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Recursively, by Graph500's initiator: degrees follow a power law.
    Kronecker,
    /// Both ends uniformly (Erdos and Renyi's `G(n, M)`, with doubled edges then dropped).
    Uniform,
}

/// What makes a graph of `2^scale` vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    /// How.
    pub model: Model,
    /// Binary logarithm of the number of vertices, 0 to 30.
    pub scale: u32,
    /// Edges drawn, a vertex; self loops and doubled ones among them are dropped.
    pub degree: u32,
    /// Where the random sequences start.
    pub seed: u64,
}

impl Generator {
    /// Refuses what no graph here can hold.
    ///
    /// # Errors
    /// The number that is too large.
    pub fn check(&self) -> Result<(), GraphError> {
        let most = u64::from(MAX_VERTICES.ilog2());
        let range = |what, given: u32, least, most| {
            let given = u64::from(given);
            if (least..=most).contains(&given) {
                return Ok(());
            }
            Err(GraphError::Range {
                what,
                given,
                least,
                most,
            })
        };
        range("a scale", self.scale, 0, most)?;
        range("a degree", self.degree, 1, 1 << 12)
    }

    /// Vertices.
    pub fn vertices(&self) -> u64 {
        1 << self.scale
    }

    /// Edges that are drawn.
    pub fn drawn(&self) -> u64 {
        self.vertices() * u64::from(self.degree)
    }

    /// Makes the graph, on `threads` threads.
    ///
    /// # Errors
    /// A scale or degree out of range, or somebody stopped it.
    pub fn generate(
        &self,
        directed: bool,
        threads: usize,
        progress: &Progress,
    ) -> Result<Csr, GraphError> {
        let all = 0..self.vertices() as usize;
        self.generate_rows(directed, &all, threads, progress)
    }

    /// As [`generate`](Self::generate), but rows outside `rows` are empty: every edge is drawn, and
    /// sorted where it is wanted.
    pub(crate) fn generate_rows(
        &self,
        directed: bool,
        rows: &Range<usize>,
        threads: usize,
        progress: &Progress,
    ) -> Result<Csr, GraphError> {
        self.check()?;
        progress.start(Phase::Generate, self.drawn());
        let labels = self.labels();
        let builder = Builder::expecting(self.drawn(), directed).only(rows);
        let blocks = 0..self.drawn().div_ceil(BLOCK_EDGES);
        let pieces = parallel::each(threads, blocks, |block| {
            let edges = self.block(block, &labels);
            progress.advance(edges.len() as u64)?;
            Ok(builder.piece(&edges))
        })?;
        drop(labels);
        builder.finish(self.vertices() as usize, pieces, threads, progress)
    }

    /// A random permutation of the vertices (Fisher and Yates's shuffle, Knuth vol. 2, 3.4.2).
    fn labels(&self) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..self.vertices() as u32).collect();
        if self.model == Model::Uniform {
            return labels;
        }
        let mut random = SplitMix64::new(mixed(self.seed, LABELS));
        for last in (1..labels.len()).rev() {
            labels.swap(last, random.below(last as u64 + 1) as usize);
        }
        labels
    }

    /// The edges of one block.
    fn block(&self, block: u64, labels: &[u32]) -> Vec<Edge> {
        let mut random = SplitMix64::new(mixed(self.seed, block));
        let count = BLOCK_EDGES.min(self.drawn() - block * BLOCK_EDGES);
        let mut edges = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let (from, to) = match self.model {
                Model::Kronecker => kronecker(&mut random, self.scale),
                Model::Uniform => uniform(&mut random, self.scale),
            };
            edges.push((labels[from as usize], labels[to as usize]));
        }
        edges
    }
}

/// A seed of its own for each block: neighbouring seeds of `SplitMix64` alone would give
/// overlapping sequences, which its output function scatters.
fn mixed(seed: u64, block: u64) -> u64 {
    SplitMix64::of_lane(SplitMix64::new(seed).word(), block).word()
}

fn uniform(random: &mut SplitMix64, scale: u32) -> Edge {
    let word = random.word();
    let bits = (1u64 << scale) - 1;
    ((word & bits) as u32, (word >> 32 & bits) as u32)
}

/// The initiator's sums, as thresholds of a 32-bit draw.
const LIMITS: [u32; 3] = [
    limit(INITIATOR[0]),
    limit(INITIATOR[0] + INITIATOR[1]),
    limit(INITIATOR[0] + INITIATOR[1] + INITIATOR[2]),
];

const fn limit(chance: f64) -> u32 {
    (chance * (1u64 << 32) as f64) as u32
}

/// Draws a quarter of the matrix for each bit, two bits a random word.
fn kronecker(random: &mut SplitMix64, scale: u32) -> Edge {
    let (mut from, mut to, mut word) = (0, 0, 0);
    for bit in 0..scale {
        if bit % 2 == 0 {
            word = random.word();
        }
        let draw = word as u32;
        word >>= 32;
        let quarter: u32 = LIMITS.map(|limit| u32::from(draw >= limit)).iter().sum();
        from = from << 1 | quarter >> 1;
        to = to << 1 | quarter & 1;
    }
    (from, to)
}
