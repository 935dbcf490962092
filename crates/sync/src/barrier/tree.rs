//! Arrivals go up a tree of any arity; the root releases all by one line.
//!
//! After the arrival tree of Mellor-Crummey and Scott (TOCS 9(1), 1991). Their wake-up tree would
//! add a one-way trip a level, where one line that all look at costs one.

use fabric::{Arena, Gone, HostAtomics, Pod, wait_until};

use super::HostBarrier;
use crate::board::Board;

const ROOT: u32 = 0;

/// A tree; host h's children are `arity * h + 1` to `arity * h + arity`.
#[derive(Clone, Debug)]
pub struct TreeBarrier {
    /// The root's line is the release.
    epochs: Board,
    arity: u32,
}

impl HostBarrier for TreeBarrier {
    /// # Panics
    /// If `arity` is 0.
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, arity: u32) -> Self {
        assert!(arity > 0, "{name}: a tree of arity 0; use 1 or more");
        Self {
            epochs: Board::lay_out(arena, &format!("{name}.epoch"), pod.hosts),
            arity,
        }
    }

    /// Cost: 1 publish; 1 observe of the lines of the children still missing, a look; of the
    /// root's.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone> {
        let parent = |child: u32| child.checked_sub(1).map(|before| before / self.arity);
        let mut missing = self.epochs.watch(|child| parent(child) == Some(host));
        if missing.first().is_some() {
            wait_until(port, || {
                missing
                    .look(port, |_, reached| reached >= epoch)
                    .then_some(())
            })?;
        }
        self.epochs.post(port, host, epoch);
        if host == ROOT {
            return Ok(());
        }
        wait_until(port, || {
            (self.epochs.look(port, ROOT) >= epoch).then_some(())
        })
    }
}
