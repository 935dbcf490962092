//! The lanes of one host at work on one phase after another, and what each phase took.
//!
//! *Sharing.* Inside a host, lanes share a cache: a counter that they all count up hands out chunks
//! of a phase, another lets them wait for each other. Between hosts there is the pod's barrier and
//! a line a host that carries what is summed up over the pod.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, Slice, Ticks, wait_until};
use workload::{Outcome, Series, Worker};

/// Words between two of a host's counters: lanes that poll one must not slow those that count on
/// the other (two lines, for the adjacent-line prefetcher).
const APART: usize = 16;

/// Sets of counters that phases use in turn. With four, the set of the phase after next is nobody's:
/// a barrier lies between any two phases.
const TURNS: usize = 4;

/// Numbers that are summed up at once.
pub(crate) const SUMS: usize = 4;

/// Words of a host's line of sums; two lines that rounds use in turn, so that nobody overwrites
/// what another still reads.
const LINE_WORDS: usize = 8;

/// What is timed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Reading the graph and writing results.
    Compute,
    /// Making lines visible to the other hosts.
    Publish,
    /// Dropping stale copies, and taking over what the others published.
    Observe,
    /// Waiting for other lanes and hosts.
    Barrier,
}

const PHASES: usize = 4;

/// Where a crew's words lie.
#[derive(Clone, Debug)]
pub(crate) struct CrewLayout {
    arrived: HostSlice<u64>,
    chunks: HostSlice<u64>,
    sums: HostSlice<u64>,
    lines: Vec<Slice<u64>>,
    times: Vec<Slice<u64>>,
}

impl CrewLayout {
    pub(crate) fn lay_out(arena: &mut Arena, name: &str, pod: Pod) -> Self {
        Self {
            arrived: arena.host_shared(format!("{name}.arrived"), APART),
            chunks: arena.host_shared(format!("{name}.chunks"), APART * TURNS),
            sums: arena.host_shared(format!("{name}.sums"), APART * TURNS),
            lines: arena.per_host(&format!("{name}.sums"), pod.hosts, 2 * LINE_WORDS),
            times: arena.per_host(&format!("{name}.times"), pod.hosts * pod.lanes, PHASES + 1),
        }
    }
}

/// One lane's place in its host's crew.
pub(crate) struct Crew<'a, P> {
    worker: &'a Worker<'a, P>,
    layout: &'a CrewLayout,
    port: &'a P,
    /// Which set of counters the phase uses; the same on every lane of the host.
    turn: usize,
    rounds: usize,
    barriers: u64,
    start: Ticks,
    last: Ticks,
    took: [u64; PHASES],
}

impl<'a, P: HostAtomics> Crew<'a, P> {
    /// Lines all lanes up and starts the clock. Collective over the pod.
    pub(crate) fn begin(worker: &'a Worker<'a, P>, layout: &'a CrewLayout) -> Result<Self, Gone> {
        let port = worker.port();
        if worker.seat().leads_host() {
            port.aside(|port| {
                for turn in 0..TURNS {
                    port.atomic_store(layout.chunks.at(turn * APART), 0u64);
                    for sum in 0..SUMS {
                        port.atomic_store(layout.sums.at(turn * APART + sum), 0u64);
                    }
                }
            });
        }
        worker.line_up()?;
        let start = port.now();
        Ok(Self {
            worker,
            layout,
            port,
            turn: 0,
            rounds: 0,
            barriers: 0,
            start,
            last: start,
            took: [0; PHASES],
        })
    }

    pub(crate) fn port(&self) -> &'a P {
        self.port
    }

    pub(crate) fn pod(&self) -> Pod {
        self.worker.pod()
    }

    pub(crate) fn host(&self) -> usize {
        self.worker.seat().host as usize
    }

    pub(crate) fn lane(&self) -> usize {
        self.worker.seat().lane as usize
    }

    pub(crate) fn leads_host(&self) -> bool {
        self.worker.seat().leads_host()
    }

    pub(crate) fn leads_pod(&self) -> bool {
        self.worker.seat().leads_pod()
    }

    /// This lane among all lanes of the pod.
    pub(crate) fn member(&self) -> u32 {
        self.worker.seat().host * self.pod().lanes + self.worker.seat().lane
    }

    /// Charges what has passed since the last call to `phase`.
    pub(crate) fn took(&mut self, phase: Phase) {
        let now = self.port.now();
        self.took[phase as usize] += now.0.saturating_sub(self.last.0);
        self.last = now;
    }

    /// The next chunk of this phase that no lane of the host has taken yet, `grain` long.
    pub(crate) fn next(
        &self,
        all: &Range<usize>,
        grain: usize,
    ) -> Result<Option<Range<usize>>, Gone> {
        self.port.check_in()?;
        let word = self.layout.chunks.at(self.turn * APART);
        let start = all.start + self.port.fetch_add(word, 1u64) as usize * grain;
        Ok((start < all.end).then(|| start..(start + grain).min(all.end)))
    }

    /// This lane's share of what the lanes of the host divide evenly, by multiples of `grain`.
    pub(crate) fn share(&self, all: &Range<usize>, grain: usize) -> Range<usize> {
        let lanes = self.pod().lanes as usize;
        let each = all.len().div_ceil(lanes).next_multiple_of(grain);
        let bound = |lane: usize| (all.start + lane * each).min(all.end);
        bound(self.lane())..bound(self.lane() + 1)
    }

    /// Waits for the other lanes of this host: what they stored is in the cache that all share.
    pub(crate) fn lanes_meet(&mut self) -> Result<(), Gone> {
        let lanes = u64::from(self.pod().lanes);
        if lanes > 1 {
            let arrived = self.layout.arrived.at(0);
            let ticket = self.port.fetch_add(arrived, 1u64);
            // It only counts up, so the goal follows from the ticket, in whatever repetition.
            let goal = (ticket / lanes + 1) * lanes;
            let port = self.port;
            wait_until(port, || (port.atomic_load(arrived) >= goal).then_some(()))?;
        }
        self.next_turn();
        self.took(Phase::Barrier);
        Ok(())
    }

    /// Waits for every lane of the pod.
    pub(crate) fn pod_meets(&mut self) -> Result<(), Gone> {
        self.worker.barrier()?;
        self.barriers += 1;
        self.next_turn();
        self.took(Phase::Barrier);
        Ok(())
    }

    fn next_turn(&mut self) {
        self.turn = (self.turn + 1) % TURNS;
        if self.leads_host() {
            let clear = (self.turn + 2) % TURNS * APART;
            self.port.atomic_store(self.layout.chunks.at(clear), 0u64);
        }
    }

    /// Sums up over the pod, and waits for it: whatever any lane published before is at the device
    /// afterwards. Collective.
    ///
    /// Cost: 1 publish of a line a host, a barrier, 1 observe of the other hosts' lines a lane.
    pub(crate) fn sum(&mut self, mine: [u64; SUMS]) -> Result<[u64; SUMS], Gone> {
        let set = self.rounds % TURNS * APART;
        for (index, &number) in mine.iter().enumerate() {
            if number > 0 {
                self.port
                    .fetch_add(self.layout.sums.at(set + index), number);
            }
        }
        self.lanes_meet()?;
        let (port, line) = (self.port, self.rounds % 2 * LINE_WORDS);
        if self.leads_host() {
            let clear = (self.rounds + 2) % TURNS * APART;
            let place = self.layout.lines[self.host()].range(line, line + SUMS);
            for index in 0..SUMS {
                let sum: u64 = port.atomic_load(self.layout.sums.at(set + index));
                port.atomic_store(self.layout.sums.at(clear + index), 0u64);
                port.store(place.at(index), sum);
            }
            // Serves the other hosts' loads after the barrier. Plain stores before: the lanes of
            // this host load the line, too.
            port.post(place.lines());
            self.took(Phase::Publish);
        }
        self.pod_meets()?;
        self.rounds += 1;
        let mut total = [0; SUMS];
        for (host, words) in self.layout.lines.iter().enumerate() {
            let place = words.range(line, line + SUMS);
            if host != self.host() {
                // Serves the loads below: the sums of two rounds ago may be here.
                port.observe(place.lines());
            }
            for (index, total) in total.iter_mut().enumerate() {
                *total += port.load(place.at(index));
            }
        }
        self.took(Phase::Observe);
        Ok(total)
    }

    /// Stops the clock once the pod has met, and tells what the repetition took. `edges`: those
    /// that the pod went along, for rates and for the census, which is given per edge.
    pub(crate) fn end(mut self, edges: u64) -> Result<Outcome, Gone> {
        self.pod_meets()?;
        let span = self.port.now().0 - self.start.0;
        let place = self.layout.times[self.member() as usize];
        let mut words = self.took.to_vec();
        words.push(span);
        self.port.aside(|port| {
            port.write_from(place.start(), &words);
            // Serves lane 0 of host 0 after the line-up.
            port.publish(place.lines());
        });
        self.worker.line_up()?;
        if !self.leads_pod() {
            return Ok(Outcome::default());
        }
        let times = self.port.aside(|port| self.times_of_all(port));
        Ok(Outcome {
            series: self.series(&times, span, edges),
            operations: edges,
        })
    }

    fn times_of_all(&self, port: &P) -> Vec<[f64; PHASES]> {
        let clock = port.clock();
        let of = |place: &Slice<u64>| {
            // Serves the loads below: the last repetition's may be here.
            port.observe(place.lines());
            let ns = |index| clock.span_ns(Ticks(0), Ticks(port.load(place.at(index))));
            [ns(0), ns(1), ns(2), ns(3)]
        };
        self.layout.times.iter().map(of).collect()
    }

    fn series(&self, times: &[[f64; PHASES]], span: u64, edges: u64) -> Vec<Series> {
        let ns = self.port.clock().span_ns(Ticks(0), Ticks(span));
        let mean = |phase: Phase| {
            times.iter().map(|took| took[phase as usize]).sum::<f64>() / times.len() as f64
        };
        let compute = mean(Phase::Compute);
        let longest = times.iter().map(|took| took[Phase::Compute as usize]);
        let imbalance = longest.fold(0.0, f64::max) / compute.max(f64::MIN_POSITIVE);
        let one = |metric, unit, value| Series::of(metric, unit, vec![value]);
        vec![
            one("time_ns", "ns", ns),
            one("edges_per_s", "1/s", edges as f64 / ns * 1e9),
            one("compute_ns", "ns", compute),
            one("publish_ns", "ns", mean(Phase::Publish)),
            one("observe_ns", "ns", mean(Phase::Observe)),
            one("barrier_ns", "ns", mean(Phase::Barrier)),
            one("imbalance", "1", imbalance),
            one("barriers", "1", self.barriers as f64),
        ]
    }
}
