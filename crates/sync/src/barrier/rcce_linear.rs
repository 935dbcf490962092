//! As in RCCE, the library of Intel's non-coherent SCC (van der Wijngaart et al., SIGOPS OSR 45(1),
//! 2011): members set flags at the root, the root sets one flag for each member.
//!
//! RCCE puts each flag into the buffer of whoever waits for it; in a pool all lines are equally
//! far. What remains is that the root writes N-1 lines. They follow each other, since one host
//! writes them all, and leave in one burst with one fence.

use fabric::{Arena, Gone, HostAtomics, Pod, Slice, wait_until};

use super::HostBarrier;
use crate::board::Board;

const ROOT: u32 = 0;
const WORDS_PER_LINE: usize = 8;

/// Gather at the root, one flag a member.
#[derive(Clone, Debug)]
pub struct RcceLinear {
    arrived: Board,
    /// The root's flag for each member, a line each.
    released: Slice<u64>,
}

impl HostBarrier for RcceLinear {
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, _: u32) -> Self {
        let words = pod.hosts as usize * WORDS_PER_LINE;
        Self {
            arrived: Board::lay_out(arena, &format!("{name}.arrived"), pod.hosts),
            released: arena.per_host(&format!("{name}.released"), 1, words)[0],
        }
    }

    /// Cost: 1 publish, at the root of N-1 lines; 1 observe of 1 line a look, at the root of the
    /// lines still missing.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone> {
        if host != ROOT {
            self.arrived.post(port, host, epoch);
            let flag = self.released.at(host as usize * WORDS_PER_LINE);
            return wait_until(port, || {
                // Serves the load below, anew for each look.
                port.observe(flag.line());
                (port.load(flag) >= epoch).then_some(())
            });
        }
        let mut missing = self.arrived.watch_others(ROOT);
        wait_until(port, || {
            missing
                .look(port, |_, reached| reached >= epoch)
                .then_some(())
        })?;
        for member in 1..self.arrived.participants() as usize {
            port.store(self.released.at(member * WORDS_PER_LINE), epoch);
        }
        // Serves the members' looks.
        port.post(
            self.released
                .range(WORDS_PER_LINE, self.released.len())
                .lines(),
        );
        Ok(())
    }
}
