//! What a graph looks like.

use crate::csr::{Adjacency, Csr};

/// How many neighbours vertices have.
#[derive(Clone, Debug, PartialEq)]
pub struct Degrees {
    /// The least.
    pub min: u64,
    /// Half of the vertices have at most this many.
    pub p50: u64,
    /// Nine tenths.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
    /// The most.
    pub max: u64,
    /// Arcs a vertex; none without vertices.
    pub mean: Option<f64>,
    /// Vertices by degree: 0, 1, 2 to 3, 4 to 7, and so on.
    pub histogram: Vec<Bin>,
}

/// Vertices whose degrees lie in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least degree.
    pub from: u64,
    /// The most.
    pub to: u64,
    /// Vertices.
    pub vertices: u64,
}

impl Degrees {
    /// Of rows in one direction. Percentiles are of nearest rank; all are 0 without vertices.
    pub fn of(rows: &Adjacency) -> Self {
        let mut degrees: Vec<u64> = rows.rows().map(|row| row.len() as u64).collect();
        degrees.sort_unstable();
        let count = degrees.len();
        let rank = |share: f64| (share * count as f64).ceil() as usize;
        let at = |share| degrees.get(rank(share).max(1) - 1).copied().unwrap_or(0);
        let arcs: u64 = degrees.iter().sum();
        Self {
            min: degrees.first().copied().unwrap_or(0),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: degrees.last().copied().unwrap_or(0),
            mean: (count > 0).then(|| arcs as f64 / count as f64),
            histogram: histogram(&degrees),
        }
    }
}

/// Bins of sorted degrees, up to the last that is not empty.
fn histogram(degrees: &[u64]) -> Vec<Bin> {
    let mut bins = Vec::new();
    let (mut from, mut left) = (0, degrees);
    while !left.is_empty() {
        let to = if from < 2 { from } else { 2 * from - 1 };
        let inside = left.partition_point(|&degree| degree <= to);
        bins.push(Bin {
            from,
            to,
            vertices: inside as u64,
        });
        left = &left[inside..];
        from = to + 1;
    }
    bins
}

/// Vertices of each component, largest first; directions do not count. By union and find with path
/// halving (Tarjan and van Leeuwen, "Worst-case analysis of set union algorithms", JACM 1984).
pub fn components(graph: &Csr) -> Vec<u64> {
    let mut parents: Vec<u32> = (0..graph.vertices() as u32).collect();
    for (from, row) in (0..).zip(graph.outgoing().rows()) {
        for &to in row {
            let (one, other) = (root(&mut parents, from), root(&mut parents, to));
            // The lesser wins: which one does not matter, but that it is always the same does.
            parents[one.max(other) as usize] = one.min(other);
        }
    }
    let mut sizes = vec![0u64; graph.vertices()];
    for vertex in 0..graph.vertices() as u32 {
        sizes[root(&mut parents, vertex) as usize] += 1;
    }
    sizes.retain(|&size| size > 0);
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes
}

fn root(parents: &mut [u32], vertex: u32) -> u32 {
    let mut at = vertex as usize;
    while parents[at] as usize != at {
        parents[at] = parents[parents[at] as usize];
        at = parents[at] as usize;
    }
    at as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_and_components_of_a_star_and_a_pair() {
        let graph = Csr::from_edges(8, &[(0, 1), (0, 2), (0, 3), (0, 4), (5, 6)], false);
        let degrees = Degrees::of(graph.outgoing());
        assert_eq!((degrees.min, degrees.p50, degrees.max), (0, 1, 4));
        assert_eq!(degrees.mean, Some(10.0 / 8.0));
        let bins: Vec<_> = degrees.histogram.iter().map(|bin| bin.vertices).collect();
        assert_eq!(bins, [1, 6, 0, 1]);
        assert_eq!(components(&graph), [5, 2, 1]);
        let nothing = Degrees::of(Csr::from_edges(0, &[], false).outgoing());
        assert_eq!((nothing.max, nothing.mean), (0, None));
    }
}
