//! The word lives with a server; everyone else asks.
//!
//! Delegation: a request travels one way, the answer the other. The value itself never travels and
//! stays in the server's cache. One look of the server sees the requests of all clients.

use fabric::{Arena, Gone, HostAtomics, HostSlice};

use super::delegated::{Delegated, ValueDesk};
use super::{Atomic64, Rmw};
use crate::lock::Options;

/// Words between two lanes' numbers: two lines.
const STRIDE: usize = 16;

/// One request line a lane; at most 64 lanes.
#[derive(Clone, Debug)]
pub struct ServerAtomic {
    lines: Delegated,
    /// Each lane's last request.
    numbers: HostSlice<u64>,
    lanes: u32,
}

impl Atomic64 for ServerAtomic {
    const SERVED: bool = true;

    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let lanes = options.pod.hosts * options.pod.lanes;
        let lanes_of_host = options.pod.lanes as usize;
        Self {
            lines: Delegated::lay_out(arena, name, lanes),
            numbers: arena.host_shared(format!("{name}.number"), lanes_of_host * STRIDE),
            lanes: options.pod.lanes,
        }
    }

    /// Cost: 1 publish, 1 observe of 1 line a look.
    fn apply<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<Option<u64>, Gone> {
        self.ask(port, who, op).map(Some)
    }

    /// Cost: as [`apply`](Self::apply).
    fn load<P: HostAtomics>(&self, port: &P, who: u32) -> Result<u64, Gone> {
        self.ask(port, who, Rmw::Load)
    }

    fn desk<P: HostAtomics>(&self, port: &P) -> ValueDesk {
        self.lines.desk(port)
    }

    /// Cost: 1 observe of a line a lane; 1 publish if somebody asks.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut ValueDesk) {
        self.lines.serve(port, desk);
    }
}

impl ServerAtomic {
    #[track_caller]
    fn ask<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<u64, Gone> {
        // This lane's own word; no other touches it.
        let last = self.numbers.at((who % self.lanes) as usize * STRIDE);
        let number = port.atomic_load(last) + 1;
        port.atomic_store(last, number);
        Ok(self.lines.submit(port, who, number, &[op])?[0])
    }
}
