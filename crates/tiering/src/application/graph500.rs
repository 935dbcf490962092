//! Graph500: breadth-first searches from 64 roots of a Kronecker graph.
//!
//! Source: the Graph 500 specification; generator R-MAT with A 0.57, B 0.19, C 0.19, permuted
//! labels; search: Beamer, Asanovic and Patterson, "Direction-optimizing breadth-first search",
//! SC 2012, alpha 14, beta 24. Memtis runs scale 27 with 15 edges a vertex, 64 GB.
//! Layout: edge list (16 bytes an edge), read twice to build the rows and then cold for ever;
//! adjacency (two 8-byte entries an edge); two offsets a vertex; tree and queue of a search (8
//! bytes a vertex each); bitmaps. The algorithm runs on the real graph; what it reads and writes of
//! these arrays is what the model sees.

use std::sync::Arc;

use super::{Application, Phase, Step};
use crate::machine::Area;
use crate::random::Random;
use crate::scale::{Grain, Scale};
use crate::world::Lane;

const FULL_SCALE: u32 = 27;
const EDGE_FACTOR: u32 = 15;
const ROOTS: usize = 64;
const THREADS: usize = 20;
const ALPHA: u64 = 14;
const BETA: u64 = 24;

/// Vertices or edges that one operation takes up.
const CHUNK: usize = 16;

/// Assumption: instructions for an edge without its misses.
const EDGE_WORK_NS: f64 = 1.0;

/// A graph in compressed rows, with the edges that it came from.
#[derive(Clone, Debug)]
pub struct Graph {
    edges: Vec<[u32; 2]>,
    offsets: Vec<u32>,
    adjacency: Vec<u32>,
}

impl Graph {
    /// Scaled. The graph is the same for every seed of a run: seeds choose roots.
    pub fn scaled(scale: Scale) -> Self {
        Self::new(FULL_SCALE.saturating_sub(scale.size().ilog2()).max(4))
    }

    /// With `2^log_vertices` vertices.
    pub fn new(log_vertices: u32) -> Self {
        let vertices = 1_usize << log_vertices;
        let mut random = Random::new(u64::from(log_vertices), 500);
        let labels = permutation(vertices, &mut random);
        let edges: Vec<[u32; 2]> = (0..vertices * EDGE_FACTOR as usize)
            .map(|_| rmat(log_vertices, &mut random).map(|end| labels[end as usize]))
            .collect();
        let mut offsets = vec![0_u32; vertices + 1];
        for end in edges.iter().flatten() {
            offsets[*end as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut next = offsets.clone();
        let mut adjacency = vec![0; edges.len() * 2];
        for &[from, to] in &edges {
            for (from, to) in [(from, to), (to, from)] {
                adjacency[next[from as usize] as usize] = to;
                next[from as usize] += 1;
            }
        }
        Self {
            edges,
            offsets,
            adjacency,
        }
    }

    fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    fn row(&self, vertex: u32) -> std::ops::Range<usize> {
        let vertex = vertex as usize;
        self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize
    }
}

/// One edge by recursive descent into quadrants.
fn rmat(log_vertices: u32, random: &mut Random) -> [u32; 2] {
    let (mut from, mut to) = (0, 0);
    for _ in 0..log_vertices {
        let at = random.unit();
        let (down, right) = match at {
            _ if at < 0.57 => (0, 0),
            _ if at < 0.76 => (0, 1),
            _ if at < 0.95 => (1, 0),
            _ => (1, 1),
        };
        from = from << 1 | down;
        to = to << 1 | right;
    }
    [from, to]
}

fn permutation(length: usize, random: &mut Random) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..length as u32).collect();
    for index in (1..length).rev() {
        labels.swap(index, random.below(index as u64 + 1) as usize);
    }
    labels
}

/// Where the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    Generate,
    Count,
    Fill,
    TopDown,
    BottomUp,
}

const NONE: u32 = u32::MAX;

/// The application.
#[derive(Clone, Debug)]
pub struct Graph500 {
    graph: Arc<Graph>,
    roots: Vec<u32>,
    root: usize,
    stage: Stage,
    /// The next vertex, edge or place in the queue that no thread has taken.
    next: usize,
    /// How much of its row is taken, in a top-down level.
    next_entry: usize,
    parents: Vec<u32>,
    frontier: Vec<u32>,
    found: Vec<u32>,
    unexplored: u64,
    edge_list: Area,
    adjacency: Area,
    offsets: Area,
    tree: Area,
    queues: [Area; 2],
    bitmaps: [Area; 2],
    /// Which queue and bitmap hold the frontier.
    flip: usize,
    in_frontier: Vec<bool>,
}

const NOWHERE: Area = Area { start: 0, bytes: 0 };

impl Graph500 {
    /// On a graph that was built before.
    pub fn new(graph: Arc<Graph>, seed: u64) -> Self {
        let vertices = graph.vertices();
        let mut random = Random::new(seed, 64);
        let mut roots = Vec::new();
        while roots.len() < ROOTS {
            let root = random.below(vertices as u64) as u32;
            if !graph.row(root).is_empty() {
                roots.push(root);
            }
        }
        Self {
            roots,
            root: 0,
            stage: Stage::Begin,
            next: 0,
            next_entry: 0,
            parents: vec![NONE; vertices],
            frontier: Vec::new(),
            found: Vec::new(),
            unexplored: 0,
            edge_list: NOWHERE,
            adjacency: NOWHERE,
            offsets: NOWHERE,
            tree: NOWHERE,
            queues: [NOWHERE; 2],
            bitmaps: [NOWHERE; 2],
            flip: 0,
            in_frontier: vec![false; vertices],
            graph,
        }
    }

    /// A chunk of what is left of a stage.
    fn chunk(&mut self, of: usize) -> Option<std::ops::Range<usize>> {
        let first = self.next;
        self.next = (first + CHUNK).min(of);
        (first < of).then_some(first..self.next)
    }

    fn build(&mut self, lane: &mut Lane<'_>) -> Step {
        let Some(chunk) = self.chunk(self.graph.edges.len()) else {
            return Step::Wait;
        };
        for index in chunk {
            lane.work(EDGE_WORK_NS);
            let address = self.edge_list.at(index as u64 * 16);
            let [from, to] = self.graph.edges[index];
            if self.stage == Stage::Generate {
                lane.store(address, u64::from(from) << 32 | u64::from(to) | 1 << 63);
                continue;
            }
            lane.gather(address);
            for end in [from, to] {
                let offset = self.offsets.at(u64::from(end) * 16);
                lane.gather(offset);
                lane.store(offset, 1);
                if self.stage == Stage::Fill {
                    // Rows fill from their start; one entry of a row is as good as another.
                    let row = self.graph.row(end);
                    let entry = row.start + index % row.len();
                    lane.store(self.adjacency.at(entry as u64 * 8), 1);
                }
            }
        }
        Step::Operated
    }

    fn discover(&mut self, lane: &mut Lane<'_>, vertex: u32, parent: u32) {
        self.parents[vertex as usize] = parent;
        let place = self.found.len() as u64;
        self.found.push(vertex);
        lane.store(self.tree.at(u64::from(vertex) * 8), u64::from(parent) + 1);
        lane.store(
            self.queues[1 - self.flip].at(place * 8),
            u64::from(vertex) + 1,
        );
        lane.store(bit(self.bitmaps[1 - self.flip], vertex), 1);
    }

    fn top_down(&mut self, lane: &mut Lane<'_>) -> Step {
        let Some(&vertex) = self.frontier.get(self.next) else {
            return Step::Wait;
        };
        let graph = Arc::clone(&self.graph);
        let row = graph.row(vertex);
        if self.next_entry == 0 {
            lane.gather(self.queues[self.flip].at(self.next as u64 * 8));
            lane.chase(self.offsets.at(u64::from(vertex) * 16));
        }
        // Long rows are shared: a hub of a small graph holds a larger part of its edges than one
        // of the full graph does, and would leave all other threads waiting.
        let first = row.start + self.next_entry;
        let last = (first + CHUNK).min(row.end);
        self.next_entry += CHUNK;
        if last == row.end {
            self.next += 1;
            self.next_entry = 0;
        }
        for entry in first..last {
            lane.work(EDGE_WORK_NS);
            lane.gather(self.adjacency.at(entry as u64 * 8));
            let to = graph.adjacency[entry];
            lane.gather(self.tree.at(u64::from(to) * 8));
            if self.parents[to as usize] == NONE {
                self.discover(lane, to, vertex);
            }
        }
        Step::Operated
    }

    fn bottom_up(&mut self, lane: &mut Lane<'_>) -> Step {
        let Some(chunk) = self.chunk(self.graph.vertices()) else {
            return Step::Wait;
        };
        let graph = Arc::clone(&self.graph);
        for vertex in chunk {
            let vertex = vertex as u32;
            lane.gather(self.tree.at(u64::from(vertex) * 8));
            if self.parents[vertex as usize] != NONE {
                continue;
            }
            lane.gather(self.offsets.at(u64::from(vertex) * 16));
            for entry in graph.row(vertex) {
                lane.work(EDGE_WORK_NS);
                lane.gather(self.adjacency.at(entry as u64 * 8));
                let from = graph.adjacency[entry];
                lane.gather(bit(self.bitmaps[self.flip], from));
                if self.in_frontier[from as usize] {
                    self.discover(lane, vertex, from);
                    break;
                }
            }
        }
        Step::Operated
    }

    /// Starts the next search; false after the last.
    fn next_root(&mut self) -> bool {
        let Some(&root) = self.roots.get(self.root) else {
            return false;
        };
        self.root += 1;
        self.parents.fill(NONE);
        self.parents[root as usize] = root;
        self.frontier = vec![root];
        self.in_frontier.fill(false);
        self.in_frontier[root as usize] = true;
        self.unexplored = self.graph.adjacency.len() as u64;
        self.stage = Stage::TopDown;
        true
    }

    /// Ends a level: what was found is the next frontier, and its size says the direction.
    fn next_level(&mut self) -> bool {
        if self.stage == Stage::Fill {
            return self.next_root();
        }
        for &vertex in &self.frontier {
            self.in_frontier[vertex as usize] = false;
        }
        self.frontier = std::mem::take(&mut self.found);
        self.flip = 1 - self.flip;
        if self.frontier.is_empty() {
            return self.next_root();
        }
        let mut edges = 0;
        for &vertex in &self.frontier {
            self.in_frontier[vertex as usize] = true;
            edges += self.graph.row(vertex).len() as u64;
        }
        self.unexplored = self.unexplored.saturating_sub(edges);
        let vertices = self.graph.vertices() as u64;
        self.stage = match self.stage {
            Stage::TopDown if edges > self.unexplored / ALPHA => Stage::BottomUp,
            Stage::BottomUp if (self.frontier.len() as u64) < vertices / BETA => Stage::TopDown,
            stage => stage,
        };
        true
    }
}

fn bit(bitmap: Area, vertex: u32) -> u64 {
    bitmap.at(u64::from(vertex) / 64 * 8)
}

impl Application for Graph500 {
    fn grain(&self) -> Grain {
        Grain::Stream
    }

    fn layout(&mut self, lane: &mut Lane<'_>) {
        let (vertices, edges) = (self.graph.vertices() as u64, self.graph.edges.len() as u64);
        self.edge_list = lane.map(edges * 16, true);
        self.offsets = lane.map(vertices * 16, true);
        self.adjacency = lane.map(edges * 16, true);
        self.tree = lane.map(vertices * 8, true);
        self.queues = [(); 2].map(|()| lane.map(vertices * 8, true));
        self.bitmaps = [(); 2].map(|()| lane.map(vertices.div_ceil(64) * 8, true));
    }

    fn operate(&mut self, lane: &mut Lane<'_>) -> Step {
        debug_assert!(lane.thread() < THREADS);
        match self.stage {
            Stage::TopDown => self.top_down(lane),
            Stage::BottomUp => self.bottom_up(lane),
            _ => self.build(lane),
        }
    }

    fn next_phase(&mut self) -> Phase {
        self.next = 0;
        self.next_entry = 0;
        self.stage = match self.stage {
            Stage::Begin => Stage::Generate,
            Stage::Generate => Stage::Count,
            Stage::Count => Stage::Fill,
            _ => {
                return if self.next_level() {
                    Phase::Measured
                } else {
                    Phase::End
                };
            }
        };
        Phase::Setup
    }

    fn progress(&self) -> f64 {
        self.root.saturating_sub(1) as f64 / ROOTS as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::machine::{Mechanism, Setup};
    use crate::policy::FirstTouch;
    use crate::preset::{CapacityTier, machine};
    use crate::world::World;

    /// Levels by the textbook search.
    fn levels(graph: &Graph, root: u32) -> Vec<u32> {
        let mut levels = vec![NONE; graph.vertices()];
        levels[root as usize] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(vertex) = queue.pop_front() {
            for entry in graph.row(vertex) {
                let to = graph.adjacency[entry] as usize;
                if levels[to] == NONE {
                    levels[to] = levels[vertex as usize] + 1;
                    queue.push_back(to as u32);
                }
            }
        }
        levels
    }

    #[test]
    fn parents_are_one_level_above_their_children() {
        let graph = Arc::new(Graph::new(10));
        let mut search = Graph500::new(Arc::clone(&graph), 3);
        let scale = Scale::new(1 << 17, 16).unwrap();
        let setup = Setup {
            scale,
            grain: Grain::Stream,
            capacity_tier: CapacityTier::Nvm,
            fast_pages: 1 << 20,
            seed: 3,
        };
        let mut world = World::new(Mechanism::new(&machine(), setup), Box::new(FirstTouch));
        let mut lane = Lane {
            world: &mut world,
            thread: 0,
        };
        search.layout(&mut lane);
        let mut searches = 0;
        while search.next_phase() != Phase::End {
            while search.operate(&mut lane) == Step::Operated {}
            let ended =
                search.found.is_empty() && matches!(search.stage, Stage::TopDown | Stage::BottomUp);
            if ended {
                searches += 1;
                let root = search.roots[search.root - 1];
                let levels = levels(&graph, root);
                for (vertex, &parent) in search.parents.iter().enumerate() {
                    let reached = parent != NONE;
                    assert_eq!(reached, levels[vertex] != NONE);
                    if reached && vertex as u32 != root {
                        assert_eq!(levels[vertex], levels[parent as usize] + 1);
                    }
                }
            }
        }
        assert_eq!(searches, ROOTS);
    }
}
