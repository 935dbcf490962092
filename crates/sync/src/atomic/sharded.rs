//! A counter in as many words as lanes: each adds to its own, a read adds them up.

use fabric::{Arena, Gone, HostAtomics, HostShared, HostSlice};

use super::{Atomic64, Rmw};
use crate::board::Board;
use crate::lock::Options;

/// Words between two lanes' shares: two lines.
const STRIDE: usize = 16;

/// One line a lane; at most 64 lanes. Adds only, without a result.
#[derive(Clone, Debug)]
pub struct ShardedAtomic {
    shards: Board,
    /// What each lane has in its shard: it does not load the line that it publishes.
    shares: HostSlice<u64>,
    lanes: u32,
}

impl Atomic64 for ShardedAtomic {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let lanes = options.pod.hosts * options.pod.lanes;
        let lanes_of_host = options.pod.lanes as usize;
        Self {
            shards: Board::lay_out(arena, &format!("{name}.shard"), lanes),
            shares: arena.host_shared(format!("{name}.share"), lanes_of_host * STRIDE),
            lanes: options.pod.lanes,
        }
    }

    fn can(op: Rmw) -> bool {
        matches!(op, Rmw::Load | Rmw::FetchAdd(_))
    }

    /// Cost: 1 publish.
    fn apply<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<Option<u64>, Gone> {
        match op {
            Rmw::FetchAdd(add) => {
                let share = port.atomic_load(self.share(who)).wrapping_add(add);
                port.atomic_store(self.share(who), share);
                self.shards.post(port, who, share);
                Ok(None)
            }
            Rmw::Load => self.load(port, who).map(Some),
            _ => panic!("a sharded counter cannot do {op:?}: use via = server"),
        }
    }

    /// Cost: 1 observe of the other lanes' lines.
    fn load<P: HostAtomics>(&self, port: &P, who: u32) -> Result<u64, Gone> {
        let mut sum = port.atomic_load(self.share(who));
        let mut others = self.shards.watch_others(who);
        others.scan(port, |_, shard| sum = sum.wrapping_add(shard));
        Ok(sum)
    }
}

impl ShardedAtomic {
    fn share(&self, who: u32) -> HostShared<u64> {
        self.shares.at((who % self.lanes) as usize * STRIDE)
    }
}
