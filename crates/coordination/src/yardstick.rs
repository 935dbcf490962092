//! What no algorithm between these hosts can do without, measured in the same trial as the
//! algorithm and by the same discipline, so that a figure can set one beside the other.
//!
//! * *Write, then read*: a publish, then an observe of another's line, in series. Every acquire of
//!   a lock of atomic registers does that once (Attiya et al., "Laws of Order", POPL 2011).
//! * *One way*: a publish and the look that finds it, half of a round trip. A hand-over takes one;
//!   so does a barrier, whose last host must be seen by all; an operation by a server takes two.
//!
//! A bound must not depend on what an algorithm leaves in its cache: the line that is written is
//! brought back beforehand, outside the clock. Samples differ in when a poll begins; the least of
//! them is the bound.

use fabric::{Arena, Gone, HostAtomics, Port, Slice, Ticks, wait_until};
use workload::{Series, Worker};

/// Samples of a repetition.
const ROUNDS: u64 = 12;

/// Each round starts later than the last by so many cycles more: a prime, so that the phases of two
/// hosts' polls do not repeat within [`ROUNDS`].
const STEP_CYCLES: u32 = 211;

/// A line of each of two hosts.
#[derive(Debug)]
pub(crate) struct Yardstick {
    lines: Vec<Slice<u64>>,
}

/// What it measured, in nanoseconds; empty on a pod of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    write_then_read: Vec<f64>,
    one_way: Vec<f64>,
}

impl Yardstick {
    pub(crate) fn lay_out(arena: &mut Arena, name: &str) -> Self {
        Self {
            lines: arena.per_host(name, 2, 1),
        }
    }

    /// Measures, on lane 0 of hosts 0 and 1; the others' call returns at once. Only host 0's says
    /// anything. Aside: it belongs to the experiment.
    pub(crate) fn measure<P: HostAtomics>(&self, worker: &Worker<'_, P>) -> Result<Bounds, Gone> {
        let seat = worker.seat();
        let mut bounds = Bounds::default();
        if worker.pod().hosts < 2 || seat.host > 1 || !seat.leads_host() {
            return Ok(bounds);
        }
        let first = u64::from(worker.repetition()) * ROUNDS;
        worker.port().aside(|port| {
            for number in first + 1..=first + ROUNDS {
                if seat.host == 1 {
                    self.answer(port, number)?;
                    continue;
                }
                let ns = |ticks: u64| port.clock().span_ns(Ticks(0), Ticks(ticks));
                port.work(STEP_CYCLES * (number - first) as u32);
                bounds
                    .one_way
                    .push(ns(self.round_trip(port, number)?) / 2.0);
                bounds
                    .write_then_read
                    .push(ns(self.write_then_read(port, number)));
            }
            Ok(())
        })?;
        Ok(bounds)
    }

    fn round_trip<P: Port>(&self, port: &P, number: u64) -> Result<u64, Gone> {
        let mine = self.bring_back(port, 0);
        let start = port.now();
        port.store(mine.start(), number);
        // Serves host 1's look.
        port.post(mine.lines());
        self.await_number(port, 1, number)?;
        Ok(port.now().0 - start.0)
    }

    fn answer<P: Port>(&self, port: &P, number: u64) -> Result<(), Gone> {
        let mine = self.bring_back(port, 1);
        self.await_number(port, 0, number)?;
        port.store(mine.start(), number);
        // Serves host 0's look.
        port.post(mine.lines());
        Ok(())
    }

    /// Nobody else writes meanwhile: what is observed is as cheap to observe as it can be.
    fn write_then_read<P: Port>(&self, port: &P, number: u64) -> u64 {
        let (mine, theirs) = (self.bring_back(port, 0), self.lines[1]);
        let start = port.now();
        // The same number again: host 1 waits for the next.
        port.store(mine.start(), number);
        // The full fence puts the look below behind the write.
        port.publish(mine.lines());
        // Serves the load below.
        port.observe(theirs.lines());
        std::hint::black_box(port.load(theirs.start()));
        port.now().0 - start.0
    }

    /// Host `host`'s own line, in its cache: what it finds is never stale, it alone writes it.
    fn bring_back<P: Port>(&self, port: &P, host: usize) -> Slice<u64> {
        let line = self.lines[host];
        std::hint::black_box(port.load(line.start()));
        line
    }

    fn await_number<P: Port>(&self, port: &P, host: usize, number: u64) -> Result<(), Gone> {
        let line = self.lines[host];
        wait_until(port, || {
            // Serves the load below, anew for each look.
            port.observe(line.lines());
            (port.load(line.start()) == number).then_some(())
        })
    }
}

impl Bounds {
    /// The least an acquire takes.
    pub(crate) fn of_acquire(&self, metric: &'static str) -> Option<Series> {
        series(metric, &self.write_then_read, 1.0)
    }

    /// The least that `trips` trips one after the other take.
    pub(crate) fn of_trips(&self, metric: &'static str, trips: u32) -> Option<Series> {
        series(metric, &self.one_way, f64::from(trips))
    }
}

fn series(metric: &'static str, samples: &[f64], times: f64) -> Option<Series> {
    let samples: Vec<f64> = samples.iter().map(|sample| sample * times).collect();
    (!samples.is_empty()).then(|| Series::of(metric, "ns", samples))
}
