//! Whether answers are right, by other algorithms, on the graph in the verifier's own memory.
//!
//! * A search by the five rules of Graph500 ("Graph 500 Benchmark", version 2.0, section 8), and by
//!   the levels of a serial search.
//! * PageRank by one more step in double precision: how far it moves the scores bounds how far they
//!   are from the right ones.
//! * Triangles by the forward algorithm, with other sets in another order.

use std::fmt::Display;

use fabric::{Port, Slice, Word};
use workload::Mismatch;

use super::bfs::NONE;
use crate::csr::{Adjacency, Csr};

fn mismatch(what: String, expected: &dyn Display, found: &dyn Display) -> Mismatch {
    Mismatch {
        what,
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

/// An array as it is at the device.
pub(crate) fn read<P: Port, T: Word>(port: &P, array: Slice<T>) -> Vec<T> {
    // Serves the loads below: copies of this host may be older.
    port.observe(array.lines());
    let mut words = vec![T::default(); array.len()];
    port.read_into(array.start(), &mut words);
    words
}

/// The level of each vertex from `source`, and the number of vertices of each level; [`NONE`] for
/// what is not reached.
pub(crate) fn levels(graph: &Csr, source: u32) -> (Vec<u32>, Vec<u64>) {
    let mut level = vec![NONE; graph.vertices()];
    let (mut front, mut sizes) = (vec![source], Vec::new());
    level[source as usize] = 0;
    while !front.is_empty() {
        sizes.push(front.len() as u64);
        let mut next = Vec::new();
        for &from in &front {
            for &to in graph.neighbours(from) {
                if level[to as usize] == NONE {
                    level[to as usize] = sizes.len() as u32;
                    next.push(to);
                }
            }
        }
        front = next;
    }
    (level, sizes)
}

/// Checks a tree of parents; the number of vertices of each level.
///
/// # Errors
/// The rule that is broken, and where.
pub(crate) fn tree(graph: &Csr, source: u32, parents: &[u32]) -> Result<Vec<u64>, Mismatch> {
    let depth = depths(source, parents)?;
    for (vertex, (&parent, &depth_here)) in parents.iter().zip(&depth).enumerate() {
        let vertex = vertex as u32;
        // Rule 5: a tree edge is an edge of the graph.
        let is_edge = || graph.neighbours(parent).binary_search(&vertex).is_ok();
        if parent != NONE && vertex != source && !is_edge() {
            return Err(mismatch(
                format!("parent of {vertex}"),
                &"a vertex with an edge to it",
                &parent,
            ));
        }
        // Rules 3 and 4: an edge joins levels that differ by at most one (a directed one leads at
        // most one level down), and nothing is left out that an edge of the tree reaches.
        for &to in graph.neighbours(vertex) {
            let below = depth[to as usize];
            if depth_here != NONE && (below == NONE || below > depth_here + 1) {
                return Err(mismatch(
                    format!("level of {to}, which an edge from {vertex} leads to"),
                    &format!("at most {}", depth_here + 1),
                    &if below == NONE {
                        "not reached".to_owned()
                    } else {
                        below.to_string()
                    },
                ));
            }
        }
    }
    let (expected, sizes) = levels(graph, source);
    match (0..expected.len()).find(|&vertex| expected[vertex] != depth[vertex]) {
        Some(vertex) => Err(mismatch(
            format!("level of {vertex}"),
            &expected[vertex],
            &depth[vertex],
        )),
        None => Ok(sizes),
    }
}

/// The depth of each vertex in the tree.
///
/// Rules 1 and 2: it is a tree, rooted at the source, and each vertex one level below its parent.
fn depths(source: u32, parents: &[u32]) -> Result<Vec<u32>, Mismatch> {
    let mut depth = vec![NONE; parents.len()];
    if parents.get(source as usize) != Some(&source) {
        let found = parents.get(source as usize).copied().unwrap_or(NONE);
        return Err(mismatch(
            format!("parent of the source {source}"),
            &source,
            &found,
        ));
    }
    depth[source as usize] = 0;
    let mut path = Vec::new();
    for vertex in 0..parents.len() as u32 {
        let mut at = vertex;
        while parents[at as usize] != NONE && depth[at as usize] == NONE {
            path.push(at);
            at = parents[at as usize];
            if at as usize >= parents.len() || path.len() > parents.len() {
                return Err(mismatch(
                    format!("way up from {vertex}"),
                    &format!("one that ends at {source}"),
                    &format!("one through {at} that does not"),
                ));
            }
        }
        if depth[at as usize] == NONE && !path.is_empty() {
            return Err(mismatch(
                format!("way up from {vertex}"),
                &format!("one that ends at {source}"),
                &format!("one that ends at {at}"),
            ));
        }
        while let Some(below) = path.pop() {
            depth[below as usize] = depth[parents[below as usize] as usize] + 1;
        }
    }
    Ok(depth)
}

/// One step of PageRank in double precision: how far it moves `scores`, in sum.
pub(crate) fn residual(graph: &Csr, scores: &[f32], damping: f64) -> f64 {
    let vertices = graph.vertices();
    let offsets = graph.outgoing().offsets();
    let contributions: Vec<f64> = scores
        .iter()
        .zip(offsets.windows(2))
        .map(|(&score, bounds)| f64::from(score) / (bounds[1] - bounds[0]).max(1) as f64)
        .collect();
    let base = (1.0 - damping) / vertices as f64;
    let moved = |(row, &score): (&[u32], &f32)| {
        let sum: f64 = row.iter().map(|&from| contributions[from as usize]).sum();
        (base + damping * sum - f64::from(score)).abs()
    };
    graph.incoming().rows().zip(scores).map(moved).sum()
}

/// The vertices with the highest scores, and the sum of all.
pub(crate) fn top(scores: &[f32], count: usize) -> (Vec<(u32, f64)>, f64) {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&a, &b| {
        scores[b as usize]
            .total_cmp(&scores[a as usize])
            .then(a.cmp(&b))
    });
    let best = order.iter().take(count);
    let best = best.map(|&vertex| (vertex, f64::from(scores[vertex as usize])));
    let sum = scores.iter().map(|&score| f64::from(score)).sum();
    (best.collect(), sum)
}

/// Triangles of an undirected graph; `alive` is called now and then.
///
/// The forward algorithm (Schank and Wagner, WEA 2005): edges point to the vertex of higher degree;
/// for each vertex its successors are marked, then the successors of each of them looked up. Other
/// sets than the workload's, on identifiers as they are.
pub(crate) fn triangles(rows: &Adjacency, mut alive: impl FnMut()) -> u64 {
    let degree = |vertex: u32| (rows.row(vertex).len(), vertex);
    let (mut starts, mut successors) = (vec![0], Vec::new());
    for vertex in 0..rows.vertices() as u32 {
        let own = degree(vertex);
        let higher = |&&to: &&u32| degree(to) > own;
        successors.extend(rows.row(vertex).iter().filter(higher));
        starts.push(successors.len());
    }
    let of = |vertex: u32| &successors[starts[vertex as usize]..starts[vertex as usize + 1]];
    let mut marked = vec![u32::MAX; rows.vertices()];
    let mut triangles = 0;
    for vertex in 0..rows.vertices() as u32 {
        if vertex % 1024 == 0 {
            alive();
        }
        for &to in of(vertex) {
            marked[to as usize] = vertex;
        }
        for &middle in of(vertex) {
            let closes = |&&last: &&u32| marked[last as usize] == vertex;
            triangles += of(middle).iter().filter(closes).count() as u64;
        }
    }
    triangles
}
