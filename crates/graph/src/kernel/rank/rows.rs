//! The rows that a step goes through.

use std::ops::Range;

use fabric::{HostAtomics, View};

use crate::region::FrozenCsr;

/// Rows by number: of vertices, or of their places where they are ordered.
pub(super) trait Rows {
    /// Where in [`sources`](Self::sources) a row is.
    fn row(&self, number: usize) -> Range<usize>;

    /// Who gives to whom: numbers, row by row.
    fn sources(&self) -> &impl View<u32>;

    /// To how many a number gives.
    fn degree(&self, number: usize) -> u64;

    /// What a number with this score gives each out-neighbour; nobody asks one that has none.
    #[inline(always)]
    fn contribution(&self, number: usize, score: f32) -> f32 {
        match self.degree(number) {
            0 => 0.0,
            degree => score / degree as f32,
        }
    }
}

/// The rows of the graph, as they are frozen.
pub(super) struct Given<'a, P: HostAtomics + 'a> {
    pub(super) offsets: P::View<'a, u64>,
    pub(super) targets: P::View<'a, u32>,
    out_offsets: P::View<'a, u64>,
}

impl<'a, P: HostAtomics> Given<'a, P> {
    pub(super) fn new(port: &'a P, graph: FrozenCsr) -> Self {
        Self {
            offsets: port.view(graph.incoming.offsets),
            targets: port.view(graph.incoming.targets),
            out_offsets: port.view(graph.outgoing.offsets),
        }
    }
}

impl<P: HostAtomics> Clone for Given<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: HostAtomics> Copy for Given<'_, P> {}

impl<P: HostAtomics> Rows for Given<'_, P> {
    #[inline(always)]
    fn row(&self, vertex: usize) -> Range<usize> {
        self.offsets.get(vertex) as usize..self.offsets.get(vertex + 1) as usize
    }

    #[inline(always)]
    fn sources(&self) -> &impl View<u32> {
        &self.targets
    }

    #[inline(always)]
    fn degree(&self, vertex: usize) -> u64 {
        self.out_offsets.get(vertex + 1) - self.out_offsets.get(vertex)
    }
}
