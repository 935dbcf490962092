//! What a lock costs where many read and few write.
//!
//! *Kernel.* Each contender, `rounds` times: with probability `read_share` it reads the protected
//! lines, otherwise it adds one to each; both under the lock of readers and writers. One lane of a
//! host contends: readers are hosts.
//!
//! *Sharing.* The protected lines are written by whoever writes. The lock's own lines are its
//! algorithm's (`sync::lock::ReadWrite`, over any lock among writers).
//!
//! *Maintenance an operation.* That of the lock; 1 observe of all protected lines, and for a write
//! 1 publish of them. A server's work is left out of the census; its lane does not contend.
//!
//! *Metrics.* `read_ns`, `write_ns`: until the contender is in, by its own clock.
//! `throughput_per_s`: operations of all contenders by the longest span. Where hosts are apart also
//! `acquire_bound_ns`, one write and one read in series: neither can be had for less.
//!
//! *Verified.* Readers find whole lines; in the end the lines count all writes, whose number
//! follows from the seed alone.

use fabric::{Arena, Gone, HostAtomics, Pod, Seat, Slice, SplitMix64, Ticks};
use serde::{Deserialize, Serialize};
use sync::lock::{
    Algorithm, AnyReadWrite, Lock, Member, NotAcquired, Options, ReadWriteVisitor, Reader,
};
use sync::{Arrival, Patience};
use workload::{Gather, Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::cast::{Cast, Done, Spread};
use crate::crew;
use crate::lock::MAX_PROTECTED;
use crate::stay::stay;
use crate::verdict::{Verdict, demand_each};
use crate::yardstick::Yardstick;

const WORDS_PER_LINE: usize = 8;

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The lock among writers.
    pub algorithm: Algorithm,
    /// Hosts that contend, one lane of each.
    pub contenders: u32,
    /// Share of reads among the operations, 0 to 1.
    pub read_share: f64,
    /// How long an operation stays inside besides what the lines cost, in nanoseconds.
    pub critical_section_ns: u32,
    /// Lines that are read and written, 1 to [`MAX_PROTECTED`].
    pub protected_lines: u32,
    /// Whether a fence means arrival on this pod; posted pods need `confirm`.
    pub arrival: Arrival,
    /// Operations of each contender in a repetition.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::BakeryFastPath,
            contenders: 1,
            read_share: 0.9,
            critical_section_ns: 0,
            protected_lines: 1,
            arrival: Arrival::Fence,
            rounds: 200,
        }
    }
}

impl Params {
    fn cast(&self, pod: Pod) -> Cast {
        Cast {
            pod,
            contenders: self.contenders,
            spread: Spread::Hosts,
            served: self.algorithm.is_served(),
        }
    }

    /// What a contender does in a repetition: whether each operation writes.
    fn writes(&self, seed: u64, repetition: u32, number: u32) -> impl Iterator<Item = bool> {
        let contender = u64::from(repetition) << 32 | u64::from(number);
        let (mut draw, share) = (SplitMix64::of_lane(seed, contender), self.read_share);
        (0..self.rounds).map(move |_| draw.unit() >= share)
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    lock: AnyReadWrite,
    protected: Slice<u64>,
    done: Done,
    spans: Gather,
    torn: Verdict,
    yardstick: Yardstick,
}

/// The workload.
#[derive(Debug)]
pub struct ReadWrite;

impl Workload for ReadWrite {
    const NAME: &'static str = "read-write";
    const ABOUT: &'static str =
        "what it costs to read or to write under a lock of readers and writers";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let cast = params.cast(pod);
        let options = Options {
            arrival: params.arrival,
            ..Options::of(pod)
        };
        let protected = params.protected_lines as usize * WORDS_PER_LINE;
        Layout {
            lock: AnyReadWrite::lay_out(params.algorithm, arena, "read-write", &options),
            protected: arena.per_host("read-write.protected", 1, protected)[0],
            done: Done::lay_out(arena, "read-write.done", &cast),
            spans: Gather::lay_out(arena, "read-write.span", params.contenders, 1),
            torn: Verdict::lay_out(arena, "read-write.torn"),
            yardstick: Yardstick::lay_out(arena, "read-write.yardstick"),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if params.rounds == 0 {
            return Err("rounds = 0: use 1 or more".into());
        }
        if !(0.0..=1.0).contains(&params.read_share) {
            return Err(format!("read_share = {}: use 0 to 1", params.read_share));
        }
        if !(1..=MAX_PROTECTED).contains(&params.protected_lines) {
            let lines = params.protected_lines;
            return Err(format!(
                "protected_lines = {lines}: use 1 to {MAX_PROTECTED}"
            ));
        }
        params.cast(pod).check()?;
        if params.contenders > pod.hosts {
            return Err(format!(
                "contenders = {}: readers are hosts, so use 1 to {}, or more --hosts",
                params.contenders, pod.hosts
            ));
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let (port, seat) = (worker.port(), worker.seat());
        let cast = params.cast(worker.pod());
        if let Some(why) = refused(&cast, port, params) {
            return Ok(absent(seat, &why));
        }
        let bounds = layout.yardstick.measure(worker)?;
        let mut outcome = Outcome::default();
        let bound = bounds.of_acquire("acquire_bound_ns");
        outcome.series.extend(bound);
        layout.lock.visit(Lane {
            worker,
            layout,
            params,
            cast,
            outcome: &mut outcome,
        })?;
        worker.line_up()?;
        if seat.leads_pod() {
            let spans = layout.spans.get(port, 1);
            let longest = spans.iter().map(|span| span[0]).max().unwrap_or(0);
            let seconds = port.clock().span_ns(Ticks(0), Ticks(longest)) / 1e9;
            let operations = f64::from(params.contenders * params.rounds);
            let throughput = vec![operations / seconds];
            let series = Series::of("throughput_per_s", "1/s", throughput);
            outcome.series.push(series);
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let (port, seat) = (worker.port(), worker.seat());
        let refused = refused(&params.cast(worker.pod()), port, params).is_some();
        if !seat.leads_host() || refused {
            return Ok(Verified::Nothing);
        }
        layout.torn.demand(port, 0, "protected lines torn")?;
        let seats = (0..repetitions).flat_map(|r| (0..params.contenders).map(move |n| (r, n)));
        let writes = seats.map(|(repetition, number)| {
            let writes = params.writes(worker.seed(), repetition, number);
            writes.filter(|&writes| writes).count() as u64
        });
        let writes: u64 = writes.sum();
        demand_each(port, layout.protected, writes, "writes")?;
        Ok(Verified::Right)
    }
}

/// Readers and writers are hosts, so atomic instructions alone will not do where hosts are apart.
fn refused<P: HostAtomics>(cast: &Cast, port: &P, params: &Params) -> Option<String> {
    let apart = cast.refuses_hardware(port);
    apart.filter(|_| params.algorithm.is_hardware())
}

fn absent(seat: Seat, why: &str) -> Outcome {
    let all = ["read_ns", "write_ns"].map(|metric| Series::absent(metric, "ns", why));
    let throughput = Series::absent("throughput_per_s", "1/s", why);
    let series = all.into_iter().chain([throughput]);
    Outcome {
        series: series.filter(|_| seat.leads_pod()).collect(),
        operations: 0,
    }
}

/// One lane in one repetition, for a lock of known type.
struct Lane<'a, 'w, P> {
    worker: &'a Worker<'w, P>,
    layout: &'a Layout,
    params: &'a Params,
    cast: Cast,
    outcome: &'a mut Outcome,
}

impl<P: HostAtomics> ReadWriteVisitor for Lane<'_, '_, P> {
    type Out = Result<(), Gone>;

    fn visit<L: Lock>(mut self, lock: &sync::lock::ReadWrite<L>) -> Result<(), Gone> {
        let (worker, done, cast) = (self.worker, &self.layout.done, self.cast);
        let writers = lock.writers();
        crew::play(worker, done, &cast, writers, |number| {
            self.contend(lock, number)
        })
    }
}

impl<P: HostAtomics> Lane<'_, '_, P> {
    fn contend<L: Lock>(
        &mut self,
        lock: &sync::lock::ReadWrite<L>,
        number: u32,
    ) -> Result<(), Gone> {
        let (worker, params) = (self.worker, self.params);
        let (port, clock) = (worker.port(), worker.port().clock());
        let reader = Reader::new(worker.seat().host);
        let mut me = Member::new(self.cast.lane(worker.seat()));
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let start = port.now();
        for writes_now in params.writes(worker.seed(), worker.repetition(), number) {
            let began = port.now();
            if writes_now {
                let tried = lock.write(port, &mut me, Patience::Endless);
                tried.map_err(NotAcquired::gone)?;
                writes.push(clock.span_ns(began, port.now()));
                self.inside(true)?;
                lock.end_write(port, &mut me)?;
            } else {
                let tried = lock.read(port, &reader, Patience::Endless);
                tried.map_err(NotAcquired::gone)?;
                reads.push(clock.span_ns(began, port.now()));
                self.inside(false)?;
                lock.end_read(port, &reader);
            }
        }
        let span = port.now().0 - start.0;
        self.outcome.operations = params.rounds.into();
        for (metric, samples) in [("read_ns", reads), ("write_ns", writes)] {
            if !samples.is_empty() {
                let series = Series::of(metric, "ns", samples);
                self.outcome.series.push(series);
            }
        }
        self.layout.spans.put(port, number, &[span]);
        Ok(())
    }

    /// What the lock protects.
    fn inside(&self, writes: bool) -> Result<(), Gone> {
        let (port, lines) = (self.worker.port(), self.layout.protected);
        let mut words = [0u64; MAX_PROTECTED as usize * WORDS_PER_LINE];
        let words = &mut words[..lines.len()];
        // Serves the read below: the last writer may have been another host.
        port.observe(lines.lines());
        port.read_into(lines.start(), words);
        stay(port, self.params.critical_section_ns.into())?;
        let count = words[0];
        if words.iter().any(|&word| word != count) {
            port.aside(|port| self.layout.torn.note(port, 1));
        }
        if writes {
            words.fill(count + 1);
            port.write_from(lines.start(), words);
            // Serves whoever is in next: it is before the end of the write.
            port.post(lines.lines());
        }
        Ok(())
    }
}
