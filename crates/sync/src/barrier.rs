//! Barriers: all-to-all epochs and others between hosts, a counter inside each host.
//!
//! Lane 0 of each host meets the other hosts through a [`HostBarrier`]; inside a host, lanes count
//! in on a hardware atomic and wait for lane 0's release. Epochs only grow: a toggled bit could be
//! satisfied by a stale line of two barriers ago, a growing number cannot.
//!
//! # Cost
//!
//! P is one publish, O one observe of any number of lines; each wait looks until it is satisfied,
//! one O a look. One-way is one publish and the look that finds it. N hosts, four in the right
//! columns, all of them arriving at once. A test counts the publishes.
//!
//! | barrier | host publishes | critical path | publishes, N = 4 | lines |
//! |---|---|---|---|---|
//! | [`AllToAll`] | 1 | 1 one-way | 4 | N |
//! | [`Dissemination`] | log2 N | log2 N one-ways | 8 | N |
//! | [`Central`] | 1 | 2 one-ways | 4 | N + 1 |
//! | [`RcceLinear`] | 1; the root 1 of N-1 lines | 2 one-ways, N-1 lines | 4 (6 lines) | 2 N |
//! | [`Tournament`] | 1 | log2 N + 1 one-ways | 4 | N + 1 |
//! | [`TreeBarrier`] | 1 | depth + 1 one-ways | 4 | N + 1 |
//!
//! No barrier is shorter than one one-way trip: the last host must publish, and everyone must
//! observe it. All-to-all takes one. It needs every host to look at N-1 lines, which one batched
//! observe makes as cheap as one, so nothing is gained by trees at any number of hosts that a pod
//! has today.
//!
//! A dead host stops every barrier. The wait ends with the trial ([`Gone`]), which names the host
//! whose heart has stopped.

mod all_to_all;
mod central;
mod dissemination;
mod hardware;
mod rcce_linear;
mod registry;
mod tournament;
mod tree;

use std::cell::Cell;

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, Seat, wait_until};

pub use all_to_all::AllToAll;
pub use central::Central;
pub use dissemination::Dissemination;
pub use hardware::HardwareBarrier;
pub use rcce_linear::RcceLinear;
pub use registry::{AnyBarrier, BarrierAlgorithm, BarrierVisitor};
pub use tournament::Tournament;
pub use tree::TreeBarrier;

/// A barrier between hosts, one lane of each.
pub trait HostBarrier: Sized + Sync {
    /// Lays its lines out for the hosts of `pod`. `arity` is the number of children in a tree.
    fn lay_out(arena: &mut Arena, name: &str, pod: Pod, arity: u32) -> Self;

    /// Waits until every host has called it with `epoch`. Each host calls it with consecutive
    /// epochs, all with the same.
    ///
    /// # Errors
    /// Whatever ended the wait.
    fn meet<P: HostAtomics>(&self, port: &P, host: u32, epoch: u64) -> Result<(), Gone>;
}

/// Where a barrier lies; `B` is the one between hosts.
#[derive(Clone, Debug)]
pub struct BarrierLayout<B = AllToAll> {
    between: B,
    lanes: HostSlice<u64>,
}

impl BarrierLayout {
    /// Lays out a barrier for `pod`: all-to-all between hosts.
    pub fn lay_out(arena: &mut Arena, name: &str, pod: Pod) -> Self {
        Self::over(arena, name, pod, 2)
    }
}

impl<B: HostBarrier> BarrierLayout<B> {
    /// Lays out a barrier of another kind.
    pub fn over(arena: &mut Arena, name: &str, pod: Pod, arity: u32) -> Self {
        Self {
            between: B::lay_out(arena, name, pod, arity),
            // Arrivals and release apart: waiting lanes poll one while others count on the other.
            lanes: arena.host_shared(format!("{name}.lanes"), 32),
        }
    }
}

/// One lane's end of a barrier.
#[derive(Debug)]
pub struct Barrier<'l, B = AllToAll> {
    layout: &'l BarrierLayout<B>,
    pod: Pod,
    seat: Seat,
    /// Epoch of the last barrier passed.
    epoch: Cell<u64>,
    /// Epoch at which the host's shared words were zeroed.
    base: u64,
}

impl<'l, B> Barrier<'l, B> {
    /// The end of `seat`; all lanes start from the same `epoch`, with the host's words zeroed.
    pub fn new(layout: &'l BarrierLayout<B>, pod: Pod, seat: Seat, epoch: u64) -> Self {
        Self {
            layout,
            pod,
            seat,
            epoch: Cell::new(epoch),
            base: epoch,
        }
    }

    /// The end of `seat` at `epoch`, over lines and host's words that were zero at epoch 0.
    pub fn resumed(layout: &'l BarrierLayout<B>, pod: Pod, seat: Seat, epoch: u64) -> Self {
        Self {
            base: 0,
            ..Self::new(layout, pod, seat, epoch)
        }
    }

    /// The last epoch passed: where the next barrier over these lines must start.
    pub fn epoch(&self) -> u64 {
        self.epoch.get()
    }
}

impl<B: HostBarrier> Barrier<'_, B> {
    /// Waits until every lane of the pod has called it. What a lane published before is at the
    /// device afterwards; readers still observe.
    ///
    /// Cost at lane 0: that of the barrier between hosts; no cost at a one-host pod.
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn wait<P: HostAtomics>(&self, port: &P) -> Result<(), Gone> {
        let epoch = self.epoch.get() + 1;
        let (arrived, released) = (self.layout.lanes.at(0), self.layout.lanes.at(16));
        let turns = epoch - self.base;
        if !self.seat.leads_host() {
            port.fetch_add(arrived, 1u64);
            wait_until(port, || (port.atomic_load(released) >= turns).then_some(()))?;
            self.epoch.set(epoch);
            return Ok(());
        }
        let others = u64::from(self.pod.lanes) - 1;
        if others > 0 {
            wait_until(port, || {
                (port.atomic_load(arrived) >= others * turns).then_some(())
            })?;
        }
        if self.pod.hosts > 1 {
            self.layout.between.meet(port, self.seat.host, epoch)?;
        }
        if others > 0 {
            port.atomic_store(released, turns);
        }
        self.epoch.set(epoch);
        Ok(())
    }
}
