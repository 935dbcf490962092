//! In round r each host tells the one 2^r further (Hensgen, Finkel and Manber, IJPP 17(1), 1988).

use fabric::{Arena, Gone, HostAtomics, Pod, wait_until};

use super::HostBarrier;
use crate::board::Board;
use crate::tree::Tree;

/// Dissemination. A host's line counts its rounds over all barriers, so one line serves all rounds:
/// whoever finds it further on knows the more.
#[derive(Clone, Debug)]
pub struct Dissemination {
    rounds_done: Board,
    rounds: u32,
}

impl HostBarrier for Dissemination {
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, _: u32) -> Self {
        Self {
            rounds_done: Board::lay_out(arena, &format!("{name}.round"), pod.hosts),
            rounds: Tree::over(pod.hosts).levels(),
        }
    }

    /// Cost: 1 publish a round, 1 observe of 1 line a look; log2 N rounds.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone> {
        let hosts = self.rounds_done.participants();
        for round in 0..self.rounds {
            let done = (epoch - 1) * u64::from(self.rounds) + u64::from(round) + 1;
            self.rounds_done.post(port, host, done);
            let from = (host + hosts - (1 << round)) % hosts;
            wait_until(port, || {
                (self.rounds_done.look(port, from) >= done).then_some(())
            })?;
        }
        Ok(())
    }
}
