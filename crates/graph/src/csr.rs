//! A graph in this process's memory.

use crate::build::Builder;
use crate::error::GraphError;
use crate::load::Load;
use crate::progress::Progress;

/// An edge, from a vertex to a vertex.
pub type Edge = (u32, u32);

/// The most vertices: identifiers fit the 32-bit signed ones of GAPBS' `.sg`.
pub const MAX_VERTICES: u64 = i32::MAX as u64;

/// Rows of one direction: the neighbours of each vertex, sorted, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjacency {
    /// `[V + 1]`: row `v` is `targets[offsets[v]..offsets[v + 1]]`.
    offsets: Vec<u64>,
    /// `[E]`, sorted within each row.
    targets: Vec<u32>,
}

impl Adjacency {
    /// Takes rows that are in order already; the caller knows that.
    pub(crate) fn from_parts(offsets: Vec<u64>, targets: Vec<u32>) -> Self {
        debug_assert_eq!(offsets.last().copied(), Some(targets.len() as u64));
        Self { offsets, targets }
    }

    /// `[V + 1]`: where each row starts in [`targets`](Self::targets), and where the last ends.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The neighbours, row after row.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The neighbours of `vertex`, sorted.
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn row(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.targets[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }

    /// Every row, by vertex.
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> {
        let bounds = self.offsets.windows(2);
        bounds.map(|bounds| &self.targets[bounds[0] as usize..bounds[1] as usize])
    }
}

fn arcs_of((from, row): (u32, &[u32])) -> impl Iterator<Item = Edge> {
    row.iter().map(move |&to| (from, to))
}

/// A graph as compressed sparse rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr {
    outgoing: Adjacency,
    /// Of a directed graph.
    incoming: Option<Adjacency>,
}

impl Csr {
    /// A graph of `vertices` vertices. An undirected one gets each edge in both directions; self
    /// loops and doubled edges are left out.
    ///
    /// # Panics
    /// If an edge names a vertex that is not there, or there are more than [`MAX_VERTICES`].
    pub fn from_edges(vertices: usize, edges: &[Edge], directed: bool) -> Self {
        assert!(
            vertices as u64 <= MAX_VERTICES,
            "{vertices} vertices; at most {MAX_VERTICES}"
        );
        let there = |&(from, to): &Edge| (from.max(to) as usize) < vertices;
        let absent = edges.iter().find(|edge| !there(edge));
        assert!(
            absent.is_none(),
            "edge {absent:?} of {vertices} vertices leads outside"
        );
        Self::assemble(vertices, edges, directed, 1, &Progress::default()).expect("nobody stops it")
    }

    /// As [`from_edges`](Self::from_edges), on `threads` threads; the caller knows that every
    /// vertex is there.
    pub(crate) fn assemble(
        vertices: usize,
        edges: &[Edge],
        directed: bool,
        threads: usize,
        progress: &Progress,
    ) -> Result<Self, GraphError> {
        let builder = Builder::expecting(edges.len() as u64, directed);
        let pieces = builder.pieces(edges, threads, progress)?;
        builder.finish(vertices, pieces, threads, progress)
    }

    /// Takes symmetric rows; the caller knows that they are.
    pub(crate) fn undirected(rows: Adjacency) -> Self {
        Self {
            outgoing: rows,
            incoming: None,
        }
    }

    /// Takes rows and their transpose; the caller knows that they are.
    pub(crate) fn of_both(outgoing: Adjacency, incoming: Adjacency) -> Self {
        Self {
            outgoing,
            incoming: Some(incoming),
        }
    }

    /// The same edges, each in both directions.
    pub(crate) fn without_direction(self, how: &Load) -> Result<Self, GraphError> {
        let Self {
            outgoing, incoming, ..
        } = self;
        drop(incoming);
        let vertices = outgoing.vertices();
        let edges: Vec<Edge> = (0..).zip(outgoing.rows()).flat_map(arcs_of).collect();
        drop(outgoing);
        Self::assemble(vertices, &edges, false, how.threads, &how.progress)
    }

    /// An undirected graph, if every edge also goes back; otherwise the same.
    #[must_use]
    pub fn settled(mut self) -> Self {
        if self.incoming.as_ref() == Some(&self.outgoing) {
            self.incoming = None;
        }
        self
    }

    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.outgoing.vertices()
    }

    /// Stored arcs: the edges of a directed graph, twice the edges of an undirected one.
    pub fn arcs(&self) -> u64 {
        self.outgoing.targets.len() as u64
    }

    /// Edges: each counted once.
    pub fn edges(&self) -> u64 {
        if self.is_directed() {
            self.arcs()
        } else {
            self.arcs() / 2
        }
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.incoming.is_some()
    }

    /// The rows of edges that leave.
    pub fn outgoing(&self) -> &Adjacency {
        &self.outgoing
    }

    /// The rows of edges that arrive; those of [`outgoing`](Self::outgoing) if undirected.
    pub fn incoming(&self) -> &Adjacency {
        self.incoming.as_ref().unwrap_or(&self.outgoing)
    }

    /// Where the edges of `vertex` lead.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        self.outgoing.row(vertex)
    }

    /// Where the edges into `vertex` come from.
    pub fn sources(&self, vertex: u32) -> &[u32] {
        self.incoming().row(vertex)
    }
}
