//! Whether one adjacency is another's transpose.

use crate::csr::Adjacency;
use crate::error::GraphError;
use crate::parallel;

/// The first arc `(from, to)` of `forth` without its counterpart `(to, from)` in `back`; nothing if
/// they are each other's transposes. Both have sorted rows and as many arcs.
///
/// Going through the sources in order, the arcs into a vertex come in the order of its row in
/// `back`: one cursor a vertex follows.
pub(crate) fn unanswered(
    forth: &Adjacency,
    back: &Adjacency,
    threads: usize,
) -> Option<(u32, u32)> {
    let vertices = forth.vertices();
    let share = vertices.div_ceil(threads.max(1)).max(1);
    // Each thread answers for a range of targets, which every row holds as one run.
    let ranges = (0..vertices).step_by(share);
    let found = parallel::each(threads, ranges, |first| {
        let targets = first as u32..(first + share).min(vertices) as u32;
        Ok::<_, GraphError>(unanswered_in(forth, back, &targets))
    });
    let found = found.expect("no part fails").into_iter().flatten();
    found.min()
}

fn unanswered_in(
    forth: &Adjacency,
    back: &Adjacency,
    targets: &std::ops::Range<u32>,
) -> Option<(u32, u32)> {
    let range = targets.start as usize..targets.end as usize;
    let mut cursors = back.offsets()[range.clone()].to_vec();
    let ends = &back.offsets()[range.start + 1..=range.end];
    for (from, row) in forth.rows().enumerate() {
        let start = row.partition_point(|&to| to < targets.start);
        for &to in row[start..].iter().take_while(|&&to| to < targets.end) {
            let index = (to - targets.start) as usize;
            let at = cursors[index];
            if at == ends[index] || back.targets()[at as usize] != from as u32 {
                return Some((from as u32, to));
            }
            cursors[index] = at + 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    #[test]
    fn transposes_are_known_and_others_are_not() {
        let edges = [(0, 1), (1, 2), (2, 0), (3, 0), (3, 4), (4, 3)];
        let graph = Csr::from_edges(5, &edges, true);
        let (out, into) = (graph.outgoing(), graph.incoming());
        for threads in 1..=6 {
            assert_eq!(unanswered(out, into, threads), None);
            assert_eq!(unanswered(out, out, threads), Some((0, 1)));
        }
    }
}
