//! Words for atomic instructions.

use fabric::{Arena, Cell};

use crate::lock::Options;

/// Words between two that different lanes wait on: two lines, as in [`Arena::per_host`].
const STRIDE: usize = 16;

/// `count` atomic words, each with its lines to itself: in the DRAM of the only host, or in the
/// pool.
pub(crate) fn cells(
    arena: &mut Arena,
    name: &str,
    options: &Options,
    count: u32,
) -> Vec<Cell<u64>> {
    if options.pod.hosts == 1 {
        let words = arena.host_shared(name, count as usize * STRIDE);
        (0..count as usize)
            .map(|index| words.at(index * STRIDE).into())
            .collect()
    } else {
        let lines = arena.per_host(name, count, 1);
        lines.into_iter().map(|line| line.start().into()).collect()
    }
}
