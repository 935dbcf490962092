//! What a lane has at hand while it runs a workload.

use std::fmt;

use fabric::{Frozen, Gone, HostAtomics, Line, Lines, Pod, Seat, Slice, Word};
use sync::Barrier;

/// Lines that a freeze observes between two signs of life: at 1 us a flush, which no device takes,
/// a quarter of a second.
const PART_LINES: u64 = 1 << 18;

/// One lane's port, seat and barrier.
pub struct Worker<'a, P> {
    port: &'a P,
    pod: Pod,
    seat: Seat,
    barrier: &'a Barrier<'a>,
    seed: u64,
    repetition: u32,
    tell: Option<&'a dyn Fn(f64)>,
}

impl<P> fmt::Debug for Worker<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seat, repetition, ..
        } = self;
        write!(f, "Worker({seat:?}, repetition {repetition})")
    }
}

impl<'a, P: HostAtomics> Worker<'a, P> {
    /// The worker of `seat` for repetition `repetition`.
    pub fn new(
        port: &'a P,
        pod: Pod,
        seat: Seat,
        barrier: &'a Barrier<'a>,
        seed: u64,
        repetition: u32,
    ) -> Self {
        Self {
            port,
            pod,
            seat,
            barrier,
            seed,
            repetition,
            tell: None,
        }
    }

    /// This worker, with somebody to tell how far a repetition is.
    #[must_use]
    pub fn telling(self, tell: &'a dyn Fn(f64)) -> Self {
        Self {
            tell: Some(tell),
            ..self
        }
    }

    /// Beats this host's heart, and tells whoever waits how much of the repetition is done: a share
    /// from 0 to 1. For repetitions of seconds, some ten times a second, by every lane; lane 0 of
    /// host 0 tells.
    ///
    /// # Errors
    /// As [`fabric::Port::check_in`].
    pub fn tell(&self, share: f64) -> Result<(), Gone> {
        if let Some(tell) = self.tell.filter(|_| self.seat.leads_pod()) {
            tell(share);
        }
        self.port.check_in()
    }

    /// This lane's way into the region.
    pub fn port(&self) -> &'a P {
        self.port
    }

    /// The shape of the pod.
    pub fn pod(&self) -> Pod {
        self.pod
    }

    /// This lane's place in it.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The trial's seed, the same on every lane.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Repetitions done before this one, warm-up included; the same on every lane.
    pub fn repetition(&self) -> u32 {
        self.repetition
    }

    /// Waits for every lane of the pod. Cost: see [`Barrier::wait`].
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn barrier(&self) -> Result<(), Gone> {
        self.barrier.wait(self.port)
    }

    /// Lines lanes up for a measurement: the barrier, outside the census, since it belongs to the
    /// experiment and not to the algorithm.
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn line_up(&self) -> Result<(), Gone> {
        self.port.aside(|port| self.barrier.wait(port))
    }

    /// Ends writing to `slice` for good: afterwards plain loads of it are right on every host.
    ///
    /// Collective over the pod. `mine` is what this lane wrote and has not published; it may be
    /// empty. Cost: 1 publish of its lines, a barrier, 1 observe of the slice's lines a host (one
    /// for each 16 MiB), and a second barrier where hosts have several lanes.
    ///
    /// # Errors
    /// Whatever ended a wait.
    pub fn freeze<T: Word>(&self, slice: Slice<T>, mine: Slice<T>) -> Result<Frozen<T>, Gone> {
        // Serves the other hosts' loads after the barrier.
        self.port.publish(mine.lines());
        self.barrier()?;
        if self.seat.leads_host() {
            // Serves every later load of this host: older copies of these lines may be in its
            // cache. Nobody writes them any more, so what a prefetch brings back is right.
            self.observe_in_parts(slice.lines())?;
        }
        if self.pod.lanes > 1 {
            self.barrier()?;
        }
        Ok(Frozen::after_collective_freeze(slice))
    }

    /// Observes lines, beating in between: millions of flushes take longer than a silent host is
    /// waited for.
    fn observe_in_parts(&self, lines: Lines) -> Result<(), Gone> {
        let mut done = 0;
        while done < lines.count() {
            let part = PART_LINES.min(lines.count() - done);
            let first = Line(lines.first().0 + done);
            // Serves what the caller says.
            self.port.observe(Lines::from_first(first, part));
            self.port.check_in()?;
            done += part;
        }
        Ok(())
    }
}
