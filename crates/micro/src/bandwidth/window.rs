//! A window: all active lanes of a host start together, and the slowest ends it.

use std::cell::Cell;

use fabric::{Arena, Fence, Gone, HostAtomics, HostSlice, Pod, Ticks, wait_until};
use workload::Worker;

use crate::turns::HostsActive;

/// Words between two lanes' times: two lines.
const STRIDE: usize = 16;
const START: usize = 0;
const END: usize = 1;
const BYTES: usize = 2;

/// Where the lanes of a host meet and leave their times.
#[derive(Debug)]
pub(super) struct WindowLayout {
    arrived: HostSlice<u64>,
    refused: HostSlice<u64>,
    times: HostSlice<u64>,
    /// The window that lane 0 has ended, for lanes that go on until it does.
    pub(super) ended: HostSlice<u64>,
}

impl WindowLayout {
    pub(super) fn lay_out(arena: &mut Arena, pod: Pod) -> Self {
        Self {
            arrived: arena.host_shared("bandwidth.arrived", STRIDE),
            refused: arena.host_shared("bandwidth.refused", STRIDE),
            times: arena.host_shared("bandwidth.times", pod.lanes as usize * STRIDE),
            ended: arena.host_shared("bandwidth.ended", STRIDE),
        }
    }
}

/// One lane's end of the windows of one repetition.
pub(super) struct Window<'a, P> {
    worker: &'a Worker<'a, P>,
    layout: &'a WindowLayout,
    lanes: u64,
    /// Arrivals at the host's gate after which it opens next.
    opens_at: Cell<u64>,
}

impl<'a, P: HostAtomics> Window<'a, P> {
    pub(super) fn new(
        worker: &'a Worker<'a, P>,
        layout: &'a WindowLayout,
        active_lanes: u32,
    ) -> Self {
        let lanes = u64::from(active_lanes);
        // Every lane is past the last gate of the repetition before, and none has arrived since:
        // a pod barrier lies between.
        let arrived = worker.port().atomic_load(layout.arrived.at(0));
        let opens_at = Cell::new(arrived / lanes * lanes);
        Self {
            worker,
            layout,
            lanes,
            opens_at,
        }
    }

    fn port(&self) -> &'a P {
        self.worker.port()
    }

    /// Waits for all active lanes of this host. Not the pod's barrier: hosts that wait for their
    /// turn would be woken each time.
    pub(super) fn gate(&self) -> Result<(), Gone> {
        let opens_at = self.opens_at.get() + self.lanes;
        self.opens_at.set(opens_at);
        let port = self.port();
        let arrived = self.layout.arrived.at(0);
        port.fetch_add(arrived, 1);
        wait_until(port, || {
            (port.atomic_load(arrived) >= opens_at).then_some(())
        })
    }

    /// How many active lanes of this host have a reason not to measure.
    pub(super) fn count_refusals(&self, mine: bool) -> Result<u64, Gone> {
        let refused = self.layout.refused.at(0);
        self.port().fetch_add(refused, u64::from(mine));
        self.gate()?;
        Ok(self.port().atomic_load(refused))
    }

    /// Runs `f`, which returns the bytes it moved, on all active lanes at once. Lane 0 gets the
    /// host's bandwidth in gigabytes a second.
    pub(super) fn measure(
        &self,
        hosts: HostsActive,
        f: impl FnOnce() -> u64,
    ) -> Result<Option<f64>, Gone> {
        self.start(hosts)?;
        self.time(f);
        self.gate()?;
        Ok(self.worker.seat().leads_host().then(|| self.gb_per_s(0)))
    }

    /// Lines up for a window.
    pub(super) fn start(&self, hosts: HostsActive) -> Result<(), Gone> {
        match hosts {
            // The hosts of a pair come out of one barrier; the others wait in the next.
            HostsActive::Each | HostsActive::Pairs | HostsActive::Noisy => self.gate(),
            // Between hosts as well; the gate keeps the count in step.
            HostsActive::All => self.worker.line_up().and_then(|()| self.gate()),
        }
    }

    /// Leaves when `f` started and ended, and the bytes it moved, for lane 0.
    pub(super) fn time(&self, f: impl FnOnce() -> u64) {
        let port = self.port();
        let before = port.now();
        let bytes = f();
        // Stores that are still on their way belong to the window.
        port.fence(Fence::Full);
        let after = port.now();
        let first = self.worker.seat().lane as usize * STRIDE;
        port.atomic_store(self.layout.times.at(first + START), before.0);
        port.atomic_store(self.layout.times.at(first + END), after.0);
        port.atomic_store(self.layout.times.at(first + BYTES), bytes);
    }

    /// All bytes of the lanes from `from` by the time from the first start to the last end. The
    /// lanes of a host read one clock.
    pub(super) fn gb_per_s(&self, from: u64) -> f64 {
        let port = self.port();
        let lanes = from as usize..self.lanes as usize;
        let (mut start, mut end, mut bytes) = (u64::MAX, 0, 0);
        for lane in lanes {
            let word = |which| port.atomic_load(self.layout.times.at(lane * STRIDE + which));
            start = start.min(word(START));
            end = end.max(word(END));
            bytes += word(BYTES);
        }
        bytes as f64 / port.clock().span_ns(Ticks(start), Ticks(end))
    }
}
