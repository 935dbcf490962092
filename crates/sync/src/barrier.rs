//! The barrier of the harness: all-to-all epochs between hosts, a counter inside each host.
//!
//! Between hosts each lane 0 publishes its epoch in a line of its own and waits until every other
//! host's epoch has reached it: one one-way trip, the fewest possible. Epochs only grow; a toggled
//! bit could be satisfied by a stale line of two barriers ago, a growing number cannot.
//!
//! Inside a host, lanes count in on a hardware atomic and wait for lane 0's release.

use std::cell::Cell;

use fabric::{Arena, Gone, HostAtomics, HostSlice, Line, MAX_HOSTS, Pod, Seat, Slice, wait_until};

/// Where a barrier lies.
#[derive(Clone, Debug)]
pub struct BarrierLayout {
    epochs: Vec<Slice<u64>>,
    lanes: HostSlice<u64>,
}

impl BarrierLayout {
    /// Lays out a barrier for `pod`.
    pub fn lay_out(arena: &mut Arena, name: &str, pod: Pod) -> Self {
        Self {
            epochs: arena.per_host(&format!("{name}.epoch"), pod.hosts, 1),
            // Arrivals and release apart: waiting lanes poll one while others count on the other.
            lanes: arena.host_shared(format!("{name}.lanes"), 16),
        }
    }
}

/// One lane's end of a barrier.
#[derive(Debug)]
pub struct Barrier<'l> {
    layout: &'l BarrierLayout,
    pod: Pod,
    seat: Seat,
    /// Epoch of the last barrier passed.
    epoch: Cell<u64>,
    /// Epoch at which the host's shared words were zeroed.
    base: u64,
}

impl<'l> Barrier<'l> {
    /// The end of `seat`; all lanes start from the same `epoch`, with the host's words zeroed.
    pub fn new(layout: &'l BarrierLayout, pod: Pod, seat: Seat, epoch: u64) -> Self {
        Self {
            layout,
            pod,
            seat,
            epoch: Cell::new(epoch),
            base: epoch,
        }
    }

    /// The last epoch passed: where the next barrier over these lines must start.
    pub fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    /// Waits until every lane of the pod has called it. What a lane published before is at the
    /// device afterwards; readers still observe.
    ///
    /// Cost at lane 0: 1 publish, observes of the lines of the hosts still missing; no cost at a
    /// one-host pod. Critical path: one publish and one observe.
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn wait<P: HostAtomics>(&self, port: &P) -> Result<(), Gone> {
        let epoch = self.epoch.get() + 1;
        let (arrived, released) = (self.layout.lanes.at(0), self.layout.lanes.at(8));
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
        self.meet_hosts(port, epoch)?;
        if others > 0 {
            port.atomic_store(released, turns);
        }
        self.epoch.set(epoch);
        Ok(())
    }

    fn meet_hosts<P: HostAtomics>(&self, port: &P, epoch: u64) -> Result<(), Gone> {
        if self.pod.hosts == 1 {
            return Ok(());
        }
        let epochs = &self.layout.epochs;
        // Serves the others' polls; the full fence also orders it before the polls below.
        port.write_published(epochs[self.seat.host as usize].start(), &[epoch]);
        let mut missing = [Line(0); MAX_HOSTS as usize];
        let mut hosts = [0u32; MAX_HOSTS as usize];
        let mut count = 0;
        for host in (0..self.pod.hosts).filter(|&host| host != self.seat.host) {
            missing[count] = epochs[host as usize].start().line();
            hosts[count] = host;
            count += 1;
        }
        wait_until(port, || {
            // One fence for all that are missing; serves the loads just below.
            port.observe_each(&missing[..count]);
            let mut index = 0;
            while index < count {
                if port.load(epochs[hosts[index] as usize].start()) >= epoch {
                    count -= 1;
                    missing[index] = missing[count];
                    hosts[index] = hosts[count];
                } else {
                    index += 1;
                }
            }
            (count == 0).then_some(())
        })
    }
}
