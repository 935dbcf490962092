//! The kernels over a graph of eight vertices between two hosts, for a checker.
//!
//! Each host owns four vertices. They are numbered from 0 and from 64, as hosts' vertices start in
//! any graph, so that no line has two writers; nothing goes over the numbers in between. (Triangles
//! have no such split: there the numbers are 0 to 7.) Host 0 writes where rows begin and host 1 what
//! stands in them, as hosts that build a graph write parts of both; they freeze it, run the kernel,
//! and both read the answer.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Pod, Seat, Slice, Word};
use sync::{Barrier, BarrierLayout};
use workload::Worker;

use super::bfs::{self, NONE};
use super::crew::Crew;
use super::rank::{self, Arrays, Ask, Ordering, Rank, SpmvVariant};
use super::split::Split;
use super::{triangles, verify};
use crate::csr::{Csr, Edge};
use crate::region::{FrozenCsr, FrozenRows};

/// Two triangles, a tail each, and two edges between the hosts; host 1's vertices from 4.
const EDGES: [Edge; 10] = [
    (0, 1),
    (1, 2),
    (2, 0),
    (2, 3),
    (3, 4),
    (4, 5),
    (5, 6),
    (6, 4),
    (6, 7),
    (1, 5),
];

const HOSTS: u32 = 2;

/// Three steps: each reads what the one before has published, the third from lines that the first
/// has used.
const ASK: Ask = Ask {
    iterations: 3,
    tolerance: 0.0,
    damping: 0.85,
};

/// Columns of a tile: two tiles, one of each host.
const TILE: usize = 64;

/// A kernel in a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Breadth-first search.
    Bfs(bfs::Variant),
    /// PageRank.
    PageRank(rank::Variant),
    /// PageRank by `pull` over ordered rows.
    OrderedPageRank,
    /// PageRank by products.
    Spmv(SpmvVariant),
    /// Triangle counting.
    Triangles(triangles::Variant),
}

impl Kernel {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let searches = bfs::Variant::ALL.map(Self::Bfs).to_vec();
        let ranks = rank::Variant::ALL.map(Self::PageRank).to_vec();
        let products = SpmvVariant::ALL.map(Self::Spmv).to_vec();
        let counts = triangles::Variant::ALL.map(Self::Triangles).to_vec();
        let ordered = vec![Self::OrderedPageRank];
        [searches, ranks, ordered, products, counts].concat()
    }

    /// `bfs-shared`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bfs(bfs::Variant::Shared) => "bfs-shared",
            Self::Bfs(bfs::Variant::Partitioned) => "bfs-partitioned",
            Self::Bfs(bfs::Variant::DirectionOptimizing) => "bfs-direction-optimizing",
            Self::PageRank(rank::Variant::Pull) => "pagerank-pull",
            Self::PageRank(rank::Variant::Push) => "pagerank-push",
            Self::PageRank(rank::Variant::Residual) => "pagerank-residual",
            Self::OrderedPageRank => "pagerank-ordered",
            Self::Spmv(SpmvVariant::Rows) => "spmv-rows",
            Self::Spmv(SpmvVariant::Tiled) => "spmv-tiled",
            Self::Triangles(triangles::Variant::Static) => "triangles-static",
            Self::Triangles(triangles::Variant::Dynamic) => "triangles-dynamic",
        }
    }
}

#[derive(Debug)]
enum Words {
    Bfs(bfs::Tree),
    Rank(Arrays),
    Triangles(triangles::Rows),
}

/// A kernel, its graph and its words.
#[derive(Debug)]
pub struct Toy {
    kernel: Kernel,
    arena: Arena,
    barrier: BarrierLayout,
    csr: Csr,
    offsets: Slice<u64>,
    targets: Slice<u32>,
    words: Words,
}

impl Toy {
    /// A kernel over the small graph.
    pub fn new(kernel: Kernel) -> Self {
        let counts = matches!(kernel, Kernel::Triangles(_));
        let number = |vertex: u32| match vertex {
            4.. if !counts => vertex - 4 + 64,
            _ => vertex,
        };
        let edges = EDGES.map(|(from, to)| (number(from), number(to)));
        let csr = Csr::from_edges(number(7) as usize + 1, &edges, false);
        let (mut arena, pod) = (Arena::new(), Pod::new(HOSTS, 1));
        let barrier = BarrierLayout::lay_out(&mut arena, "barrier", pod);
        let (vertices, arcs) = (csr.vertices(), csr.arcs() as usize);
        let offsets = arena.slice("graph.offsets", vertices + 1);
        let targets = arena.slice("graph.targets", arcs);
        let size = (vertices, arcs);
        let rank = |arena: &mut Arena, needs| Arrays::lay_out(arena, pod, size, needs);
        let words = match kernel {
            Kernel::Bfs(variant) => {
                Words::Bfs(bfs::Tree::lay_out(&mut arena, pod, vertices, variant))
            }
            Kernel::PageRank(variant) => {
                Words::Rank(rank(&mut arena, variant.needs(Ordering::AsGiven)))
            }
            Kernel::OrderedPageRank => Words::Rank(rank(
                &mut arena,
                rank::Variant::Pull.needs(Ordering::EachRun),
            )),
            Kernel::Spmv(variant) => Words::Rank(rank(&mut arena, variant.needs())),
            Kernel::Triangles(variant) => Words::Triangles(triangles::Rows::lay_out(
                &mut arena, pod, vertices, arcs, variant,
            )),
        };
        Self {
            kernel,
            arena,
            barrier,
            csr,
            offsets,
            targets,
            words,
        }
    }

    /// Which kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Hosts, of one lane each.
    pub fn hosts(&self) -> u32 {
        HOSTS
    }

    /// The layout.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Vertices that hosts own.
    fn owned() -> Vec<Range<usize>> {
        vec![0..4, 64..68]
    }

    /// Runs the kernel on a lane; the answer as it finds it afterwards.
    ///
    /// # Errors
    /// The reason why a wait ended.
    pub fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Result<Vec<u64>, Gone> {
        let pod = Pod::new(HOSTS, 1);
        let barrier = Barrier::new(&self.barrier, pod, seat, 0);
        let worker = Worker::new(port, pod, seat, &barrier, 1, 0);
        let rows = self.build(&worker)?;
        let graph = FrozenCsr {
            vertices: self.csr.vertices(),
            arcs: self.csr.arcs(),
            directed: false,
            outgoing: rows,
            incoming: rows,
        };
        self.run(&worker, graph)?;
        Ok(match &self.words {
            Words::Bfs(tree) => Self::answer(port, tree.parents()),
            Words::Rank(arrays) => Self::answer(port, arrays.scores),
            Words::Triangles(rows) if seat.leads_pod() => vec![rows.total(port)],
            Words::Triangles(_) => Vec::new(),
        })
    }

    /// Writes this host's part of the graph, and freezes all of it.
    fn build<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<FrozenRows, Gone> {
        let rows = self.csr.outgoing();
        let (mut offsets, mut targets) = (self.offsets.range(0, 0), self.targets.range(0, 0));
        if worker.seat().host == 0 {
            offsets = self.offsets;
            worker.port().write_from(offsets.start(), rows.offsets());
        } else {
            targets = self.targets;
            worker.port().write_from(targets.start(), rows.targets());
        }
        Ok(FrozenRows {
            offsets: worker.freeze(self.offsets, offsets)?,
            targets: worker.freeze(self.targets, targets)?,
        })
    }

    fn run<P: HostAtomics>(&self, worker: &Worker<'_, P>, graph: FrozenCsr) -> Result<(), Gone> {
        let split = || Some(Split::of_ranges(Self::owned()));
        match (self.kernel, &self.words) {
            (Kernel::Bfs(variant), Words::Bfs(tree)) => {
                let crew = Crew::begin(worker, &tree.crew)?;
                bfs::search(crew, tree, graph, split(), variant, 0)?;
            }
            (Kernel::PageRank(variant), Words::Rank(arrays)) => {
                let crew = Crew::begin(worker, &arrays.crew)?;
                let rank = Rank::new(crew, arrays, graph, split(), ASK);
                rank::compute(rank, variant, Ordering::AsGiven)?;
            }
            (Kernel::OrderedPageRank, Words::Rank(arrays)) => {
                let crew = Crew::begin(worker, &arrays.crew)?;
                let rank = Rank::new(crew, arrays, graph, split(), ASK);
                rank::compute(rank, rank::Variant::Pull, Ordering::EachRun)?;
            }
            (Kernel::Spmv(variant), Words::Rank(arrays)) => {
                let crew = Crew::begin(worker, &arrays.crew)?;
                let tile = (variant == SpmvVariant::Tiled).then_some(TILE);
                rank::multiply(Rank::new(crew, arrays, graph, split(), ASK), tile)?;
            }
            (Kernel::Triangles(variant), Words::Triangles(rows)) => {
                rows.reset(worker)?;
                let crew = Crew::begin(worker, &rows.crew)?;
                triangles::count(crew, rows, graph, variant, triangles::Ordering::EachRun)?;
            }
            _ => unreachable!("the words are the kernel's"),
        }
        Ok(())
    }

    /// The words of all vertices that somebody owns.
    fn answer<P: HostAtomics, T: Word>(port: &P, array: Slice<T>) -> Vec<u64> {
        let mut words = Vec::new();
        for range in Self::owned() {
            let part = array.range(range.start, range.end);
            words.extend(verify::read(port, part).into_iter().map(Word::to_bits));
        }
        words
    }

    /// Whether an answer is right.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn judge(&self, answer: &[u64]) -> Result<(), String> {
        if answer.is_empty() {
            return Ok(());
        }
        match self.kernel {
            Kernel::Bfs(_) => {
                let mut parents = vec![NONE; self.csr.vertices()];
                for (vertex, &word) in Self::owned().into_iter().flatten().zip(answer) {
                    parents[vertex] = u32::from_bits(word);
                }
                let levels = verify::tree(&self.csr, 0, &parents);
                levels.map(drop).map_err(|mismatch| mismatch.to_string())
            }
            Kernel::PageRank(_) | Kernel::OrderedPageRank | Kernel::Spmv(_) => {
                self.judge_scores(answer)
            }
            Kernel::Triangles(_) => {
                let expected = verify::triangles(self.csr.outgoing(), || ());
                if answer == [expected] {
                    return Ok(());
                }
                Err(format!("{answer:?} triangles, not {expected}"))
            }
        }
    }

    /// By as many steps in double precision.
    fn judge_scores(&self, answer: &[u64]) -> Result<(), String> {
        let vertices = self.csr.vertices();
        let base = (1.0 - ASK.damping) / vertices as f64;
        let mut scores = vec![1.0 / vertices as f64; vertices];
        for _ in 0..ASK.iterations {
            let gives =
                |from: &u32| scores[*from as usize] / self.csr.neighbours(*from).len() as f64;
            let sums = self.csr.incoming().rows();
            let sums: Vec<f64> = sums.map(|row| row.iter().map(gives).sum()).collect();
            scores = sums.iter().map(|sum| base + ASK.damping * sum).collect();
        }
        for (vertex, &word) in Self::owned().into_iter().flatten().zip(answer) {
            let (found, expected) = (f64::from(f32::from_bits(word as u32)), scores[vertex]);
            // Single precision: some units in the last place.
            if (found - expected).abs() > 8.0 * f64::from(f32::EPSILON) * expected {
                return Err(format!("score of {vertex} is {found:e}, not {expected:e}"));
            }
        }
        Ok(())
    }
}
