//! Everyone tells host 0, which tells everyone by one line.

use fabric::{Arena, Gone, HostAtomics, Pod, wait_until};

use super::HostBarrier;
use crate::board::Board;

const ROOT: u32 = 0;

/// Central gather and one release line: two one-way trips, and the fewest lines looked at.
#[derive(Clone, Debug)]
pub struct Central {
    /// The root's line is the release.
    epochs: Board,
}

impl HostBarrier for Central {
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, _: u32) -> Self {
        Self {
            epochs: Board::lay_out(arena, &format!("{name}.epoch"), pod.hosts),
        }
    }

    /// Cost: 1 publish; 1 observe of 1 line a look, at the root of the lines still missing.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone> {
        if host == ROOT {
            let mut missing = self.epochs.watch_others(ROOT);
            wait_until(port, || {
                missing
                    .look(port, |_, reached| reached >= epoch)
                    .then_some(())
            })?;
            self.epochs.post(port, ROOT, epoch);
            return Ok(());
        }
        self.epochs.post(port, host, epoch);
        wait_until(port, || {
            (self.epochs.look(port, ROOT) >= epoch).then_some(())
        })
    }
}
