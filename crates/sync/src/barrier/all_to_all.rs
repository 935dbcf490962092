//! Each host publishes its epoch in a line of its own and waits for all the others'.

use fabric::{Arena, Gone, HostAtomics, Pod, wait_until};

use super::HostBarrier;
use crate::board::Board;

/// All-to-all epochs: one one-way trip, the fewest possible.
#[derive(Clone, Debug)]
pub struct AllToAll {
    epochs: Board,
}

impl HostBarrier for AllToAll {
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, _: u32) -> Self {
        Self {
            epochs: Board::lay_out(arena, &format!("{name}.epoch"), pod.hosts),
        }
    }

    /// Cost: 1 publish, 1 observe of the lines of the hosts still missing, a look. Critical path:
    /// one publish and one observe.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone> {
        self.epochs.post(port, host, epoch);
        let mut missing = self.epochs.watch_others(host);
        wait_until(port, || {
            missing
                .look(port, |_, reached| reached >= epoch)
                .then_some(())
        })
    }
}
