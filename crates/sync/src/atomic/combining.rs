//! Lanes of a host send their operations to the server together.
//!
//! Flat combining (Hendler, Incze, Shavit and Tzafrir, SPAA 2010), across a pool: a lane leaves its
//! operation in DRAM that the host's lanes share; whichever lane gets the host's lock takes up to
//! three that wait, sends them in one line, and hands the results out. So the server has one line a
//! host to look at, and a trip between hosts carries as many operations as a line holds.
//!
//! A lane's slot: 0 if it holds nothing, 1 an operation, 2 a result; then the operation's words or
//! the result.

use fabric::{Arena, Gone, HostAtomics, HostShared, HostSlice, wait_until};

use super::delegated::{BATCH, Delegated, ValueDesk};
use super::{Atomic64, Rmw};
use crate::lock::Options;

/// Words between two lanes' slots: two lines.
const STRIDE: usize = 16;

const EMPTY: u64 = 0;
const ASKS: u64 = 1;
const ANSWERED: u64 = 2;

/// One request line a host, one slot a lane.
#[derive(Clone, Debug)]
pub struct CombiningAtomic {
    lines: Delegated,
    slots: HostSlice<u64>,
    /// The host's lock; beside it, the host's last request.
    combiner: HostSlice<u64>,
    lanes: u32,
}

impl Atomic64 for CombiningAtomic {
    const SERVED: bool = true;

    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let lanes = options.pod.lanes;
        let words = lanes as usize * STRIDE;
        Self {
            lines: Delegated::lay_out(arena, name, options.pod.hosts),
            slots: arena.host_shared(format!("{name}.slot"), words),
            combiner: arena.host_shared(format!("{name}.combiner"), STRIDE),
            lanes,
        }
    }

    /// Cost: 1 publish, 1 observe of 1 line a look, for up to three operations.
    fn apply<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<Option<u64>, Gone> {
        self.operate(port, who, op).map(Some)
    }

    /// Cost: as [`apply`](Self::apply).
    fn load<P: HostAtomics>(&self, port: &P, who: u32) -> Result<u64, Gone> {
        self.operate(port, who, Rmw::Load)
    }

    fn desk<P: HostAtomics>(&self, port: &P) -> ValueDesk {
        self.lines.desk(port)
    }

    /// Cost: 1 observe of a line a host; 1 publish if somebody asks.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut ValueDesk) {
        self.lines.serve(port, desk);
    }
}

impl CombiningAtomic {
    fn operate<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<u64, Gone> {
        let (host, lane) = (who / self.lanes, who % self.lanes);
        for (index, word) in op.encode().into_iter().enumerate() {
            port.atomic_store(self.slot(lane, 1 + index), word);
        }
        port.atomic_store(self.slot(lane, 0), ASKS);
        let lock = self.combiner.at(0);
        loop {
            let combines = wait_until(port, || {
                if port.atomic_load(self.slot(lane, 0)) == ANSWERED {
                    return Some(false);
                }
                let free = port.atomic_load(lock) == 0 && port.swap(lock, 1) == 0;
                free.then_some(true)
            })?;
            if combines {
                let combined = self.combine(port, host, lane);
                port.atomic_store(lock, 0);
                combined?;
            }
            if port.atomic_load(self.slot(lane, 0)) == ANSWERED {
                port.atomic_store(self.slot(lane, 0), EMPTY);
                return Ok(port.atomic_load(self.slot(lane, 1)));
            }
        }
    }

    /// Sends what waits, this lane's own operation among the first.
    fn combine<P: HostAtomics>(&self, port: &P, host: u32, first: u32) -> Result<(), Gone> {
        let (mut ops, mut from) = ([Rmw::Load; BATCH], [0; BATCH]);
        let mut count = 0;
        for lane in (first..self.lanes).chain(0..first) {
            if count == BATCH {
                break;
            }
            if port.atomic_load(self.slot(lane, 0)) == ASKS {
                let words = [1, 2, 3].map(|index| port.atomic_load(self.slot(lane, index)));
                ops[count] = Rmw::decode(words).expect("the lane encoded it before it asked");
                from[count] = lane;
                count += 1;
            }
        }
        if count == 0 {
            return Ok(());
        }
        let number = port.atomic_load(self.combiner.at(1)) + 1;
        port.atomic_store(self.combiner.at(1), number);
        let results = self.lines.submit(port, host, number, &ops[..count])?;
        for (&lane, result) in from.iter().zip(results).take(count) {
            port.atomic_store(self.slot(lane, 1), result);
            port.atomic_store(self.slot(lane, 0), ANSWERED);
        }
        Ok(())
    }

    fn slot(&self, lane: u32, word: usize) -> HostShared<u64> {
        self.slots.at(lane as usize * STRIDE + word)
    }
}
