//! Pairs meet; the lower host of each goes on (Hensgen, Finkel and Manber, IJPP 17(1), 1988).

use fabric::{Arena, Gone, HostAtomics, Pod, wait_until};

use super::HostBarrier;
use crate::board::Board;
use crate::tree::Tree;

const CHAMPION: u32 = 0;

/// A tournament whose winners are known beforehand; the champion releases all by one line.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// The champion's line is the release.
    epochs: Board,
    levels: u32,
}

impl HostBarrier for Tournament {
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, _: u32) -> Self {
        Self {
            epochs: Board::lay_out(arena, &format!("{name}.epoch"), pod.hosts),
            levels: Tree::over(pod.hosts).levels(),
        }
    }

    /// Cost: 1 publish; 1 observe of 1 line a look, for each pair won, and for the release.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone> {
        for level in 0..self.levels {
            if host >> level & 1 == 1 {
                break;
            }
            let loser = host + (1 << level);
            if loser < self.epochs.participants() {
                wait_until(port, || {
                    (self.epochs.look(port, loser) >= epoch).then_some(())
                })?;
            }
        }
        self.epochs.post(port, host, epoch);
        if host == CHAMPION {
            return Ok(());
        }
        wait_until(port, || {
            (self.epochs.look(port, CHAMPION) >= epoch).then_some(())
        })
    }
}
