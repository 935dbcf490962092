//! What read-modify-write of one word costs.
//!
//! *Kernel.* Each contender, `rounds` times: the operation, or with probability `read_share` a
//! read. A compare-exchange expects what this contender saw last and puts one more.
//!
//! *Sharing, maintenance an operation.* Those of the way chosen (crate `sync`). What a server does
//! is left out of the census: it does it all the time. Its lane is not among the contenders.
//!
//! *Metrics.* `op_ns`: operations and reads alike, by each contender's own clock.
//! `throughput_per_s`: those of all contenders by the longest span. Between hosts also
//! `op_bound_ns`, two trips: what an operation by a server cannot beat.
//!
//! *Verified.* Contender 0 reads the word before and after each repetition. The difference must be
//! the sum of all adds, or the number of exchanges that succeeded; with swaps, everything put and
//! everything found must cancel but for those two values; with or, the bits that were set.

use fabric::{Arena, Gone, HostAtomics, Pod, SplitMix64, Ticks, wait_until};
use serde::{Deserialize, Serialize};
use sync::Arrival;
use sync::atomic::{AnyAtomic, Atomic64, AtomicVisitor, Rmw, ValueDesk, Via};
use sync::lock::Options;
use workload::{Gather, Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::cast::{Cast, Done, Role, Spread};
use crate::verdict::Verdict;
use crate::yardstick::Yardstick;

/// Rounds of a server between two looks at who is done.
const ROUNDS_PER_LOOK: u32 = 64;

/// An operation's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Adds 1.
    FetchAdd,
    /// Puts one more than was seen last, if it is still there.
    CompareExchange,
    /// Puts a number that nobody else puts.
    Swap,
    /// Sets one bit.
    FetchOr,
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Which operation.
    pub op: Operation,
    /// Who operates.
    pub via: Via,
    /// Lanes that operate at once.
    pub contenders: u32,
    /// Where they sit.
    pub spread: Spread,
    /// Share of reads among the operations, 0 to 1.
    pub read_share: f64,
    /// Whether a fence means arrival on this pod; matters to `via = lock`.
    pub arrival: Arrival,
    /// Operations of each contender in a repetition.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            op: Operation::FetchAdd,
            via: Via::Server,
            contenders: 1,
            spread: Spread::Hosts,
            read_share: 0.0,
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
            spread: self.spread,
            served: self.via.is_served(),
        }
    }

    /// Why there is nothing to measure, where there is not: a sweep over all operations and all
    /// ways has such a pair.
    fn refused<P: HostAtomics>(&self, cast: &Cast, port: &P) -> Option<String> {
        if !self.via.can(self.operation(0, 0, 0)) {
            let via = self.via;
            return Some(format!(
                "via = {via} only adds, without a result: use op = fetch-add, or via = server"
            ));
        }
        cast.refuses_hardware(port)
            .filter(|_| self.via.is_hardware())
    }

    /// A contender's n-th operation, if it saw `seen` last.
    fn operation(&self, contender: u32, number: u64, seen: u64) -> Rmw {
        match self.op {
            Operation::FetchAdd => Rmw::FetchAdd(1),
            Operation::CompareExchange => Rmw::CompareExchange {
                current: seen,
                new: seen.wrapping_add(1),
            },
            Operation::Swap => Rmw::Swap((number << 16) + u64::from(contender) + 1),
            Operation::FetchOr => Rmw::FetchOr(1 << ((number + u64::from(contender)) % 64)),
        }
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    atomic: AnyAtomic,
    done: Done,
    /// Of each contender: its span; the sum that `Sum` keeps.
    spans: Gather,
    verdict: Verdict,
    yardstick: Yardstick,
}

/// The workload.
#[derive(Debug)]
pub struct Atomic;

impl Workload for Atomic {
    const NAME: &'static str = "atomic";
    const ABOUT: &'static str = "what read-modify-write of one word costs between hosts";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let cast = params.cast(pod);
        let alone = params.via.is_hardware() && cast.contending_hosts() == 1;
        let pod = if alone { Pod::new(1, pod.lanes) } else { pod };
        let options = Options {
            arrival: params.arrival,
            ..Options::of(pod)
        };
        Layout {
            atomic: AnyAtomic::lay_out(params.via, arena, "atomic", &options),
            done: Done::lay_out(arena, "atomic.done", &cast),
            spans: Gather::lay_out(arena, "atomic.span", params.contenders, 2),
            verdict: Verdict::lay_out(arena, "atomic.wrong"),
            yardstick: Yardstick::lay_out(arena, "atomic.yardstick"),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if params.rounds == 0 {
            return Err("rounds = 0: use 1 or more".into());
        }
        if !(0.0..=1.0).contains(&params.read_share) {
            return Err(format!("read_share = {}: use 0 to 1", params.read_share));
        }
        let lines = match params.via {
            Via::Server | Via::Sharded => pod.hosts * pod.lanes,
            _ => pod.hosts,
        };
        if lines > fabric::MAX_HOSTS {
            let most = fabric::MAX_HOSTS;
            return Err(format!(
                "via = {}: for {most} lanes at most; use combining",
                params.via
            ));
        }
        params.cast(pod).check()
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let cast = params.cast(worker.pod());
        let mut outcome = Outcome::default();
        let leads = worker.seat().leads_pod();
        if let Some(why) = params.refused(&cast, worker.port()) {
            if leads {
                let series = &mut outcome.series;
                series.push(Series::absent("op_ns", "ns", &why));
                series.push(Series::absent("throughput_per_s", "1/s", why));
            }
            return Ok(outcome);
        }
        let bounds = layout.yardstick.measure(worker)?;
        outcome.series.extend(bounds.of_trips("op_bound_ns", 2));
        let ends = layout.atomic.visit(Lane {
            worker,
            layout,
            params,
            cast,
            outcome: &mut outcome,
        })?;
        worker.line_up()?;
        if leads {
            digest(worker.port(), layout, params, ends, &mut outcome);
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let port = worker.port();
        let refused = params.refused(&params.cast(worker.pod()), port);
        if !worker.seat().leads_pod() || refused.is_some() {
            return Ok(Verified::Nothing);
        }
        let what = "the word after a repetition, against all operations";
        layout.verdict.demand(port, repetitions, what)?;
        Ok(Verified::Right)
    }
}

/// What a contender's operations must have done to the word, whatever their order.
#[derive(Clone, Copy, Debug)]
struct Sum {
    op: Operation,
    sum: u64,
}

impl Sum {
    fn of(op: Operation) -> Self {
        Self { op, sum: 0 }
    }

    /// Notes an operation that found `old`; nothing is known of what sharded adds find.
    fn note(&mut self, op: Rmw, old: Option<u64>) {
        self.sum = match op {
            Rmw::Load => self.sum,
            Rmw::FetchAdd(add) => self.sum.wrapping_add(add),
            Rmw::CompareExchange { current, .. } => self.sum + u64::from(old == Some(current)),
            Rmw::Swap(value) => self.sum ^ value ^ old.unwrap_or(0),
            Rmw::FetchOr(bits) => self.sum | bits,
        };
    }

    fn merge(&mut self, other: u64) {
        self.sum = match self.op {
            Operation::FetchAdd | Operation::CompareExchange => self.sum.wrapping_add(other),
            Operation::Swap => self.sum ^ other,
            Operation::FetchOr => self.sum | other,
        };
    }

    /// Whether the word went from `first` to `last` by what was noted.
    fn explains(self, first: u64, last: u64) -> bool {
        match self.op {
            Operation::FetchAdd | Operation::CompareExchange => {
                last == first.wrapping_add(self.sum)
            }
            Operation::Swap => first ^ last == self.sum,
            Operation::FetchOr => last == first | self.sum,
        }
    }
}

/// One lane in one repetition, for an atomic of known type.
struct Lane<'a, 'w, P> {
    worker: &'a Worker<'w, P>,
    layout: &'a Layout,
    params: &'a Params,
    cast: Cast,
    outcome: &'a mut Outcome,
}

impl<P: HostAtomics> AtomicVisitor for Lane<'_, '_, P> {
    /// The word before and after, at contender 0.
    type Out = Result<[u64; 2], Gone>;

    fn visit<A: Atomic64>(mut self, atomic: &A) -> Result<[u64; 2], Gone> {
        let (port, role) = (self.worker.port(), self.cast.role(self.worker.seat()));
        let serves = A::SERVED && role == Role::Server;
        // While nobody asks: what has been asked so far has been answered.
        let desk = serves.then(|| port.aside(|port| atomic.desk(port)));
        let who = self.cast.lane(self.worker.seat());
        let read = |port: &P| port.aside(|port| atomic.load(port, who));
        // Likewise. With a server the word starts as 0 in each repetition.
        let reads_first = role == Role::Contender(0) && !A::SERVED;
        let first = if reads_first { read(port)? } else { 0 };
        self.worker.line_up()?;
        if let Some(desk) = desk {
            self.serve(atomic, desk)?;
            return Ok([0; 2]);
        }
        let Role::Contender(number) = role else {
            return Ok([0; 2]);
        };
        self.contend(atomic, who, number)?;
        let repetition = self.worker.repetition();
        if number > 0 {
            self.layout.done.say(port, number, repetition);
            return Ok([0; 2]);
        }
        wait_until(port, || {
            self.layout.done.all(port, 1, repetition).then_some(())
        })?;
        let last = read(port)?;
        self.layout.done.say(port, 0, repetition);
        Ok([first, last])
    }
}

impl<P: HostAtomics> Lane<'_, '_, P> {
    fn contend<A: Atomic64>(&mut self, atomic: &A, who: u32, number: u32) -> Result<(), Gone> {
        let (port, rounds) = (self.worker.port(), u64::from(self.params.rounds));
        let first = u64::from(self.worker.repetition()) * rounds;
        let mut draw = SplitMix64::of_lane(self.worker.seed(), who.into());
        let mut sum = Sum::of(self.params.op);
        let mut spans = Vec::with_capacity(rounds as usize);
        let (start, mut seen) = (port.now(), 0);
        for index in first..first + rounds {
            let reads = draw.unit() < self.params.read_share;
            let began = port.now();
            let (op, old) = if reads {
                (Rmw::Load, Some(atomic.load(port, who)?))
            } else {
                let op = self.params.operation(number, index, seen);
                (op, atomic.apply(port, who, op)?)
            };
            spans.push(port.now().0 - began.0);
            sum.note(op, old);
            seen = old.map_or(seen, |old| op.apply(old));
        }
        let (span, clock) = (port.now().0 - start.0, port.clock());
        let ns = |&span: &u64| clock.span_ns(Ticks(0), Ticks(span));
        let samples = spans.iter().map(ns).collect();
        self.outcome.series.push(Series::of("op_ns", "ns", samples));
        self.outcome.operations = rounds;
        self.layout.spans.put(port, number, &[span, sum.sum]);
        Ok(())
    }

    fn serve<A: Atomic64>(&self, atomic: &A, mut desk: ValueDesk) -> Result<(), Gone> {
        let (port, repetition) = (self.worker.port(), self.worker.repetition());
        wait_until(port, || {
            port.aside(|port| {
                for _ in 0..ROUNDS_PER_LOOK {
                    atomic.serve(port, &mut desk);
                }
            });
            self.layout.done.all(port, 0, repetition).then_some(())
        })
    }
}

/// What only all contenders together know.
fn digest<P: HostAtomics>(
    port: &P,
    layout: &Layout,
    params: &Params,
    [first, last]: [u64; 2],
    outcome: &mut Outcome,
) {
    let (mut sum, mut longest) = (Sum::of(params.op), 0);
    for words in layout.spans.get(port, 2) {
        longest = longest.max(words[0]);
        sum.merge(words[1]);
    }
    let wrong = u64::from(!sum.explains(first, last));
    port.aside(|port| layout.verdict.note(port, wrong));
    let seconds = port.clock().span_ns(Ticks(0), Ticks(longest)) / 1e9;
    let operations = f64::from(params.contenders * params.rounds);
    outcome.series.push(Series::of(
        "throughput_per_s",
        "1/s",
        vec![operations / seconds],
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_explains_the_word_and_nothing_else_does() {
        let mut swaps = Sum::of(Operation::Swap);
        // 5 -> 1 -> 2 -> 3, by two lanes.
        swaps.note(Rmw::Swap(1), Some(5));
        swaps.note(Rmw::Swap(3), Some(2));
        swaps.merge(2 ^ 1);
        assert!(swaps.explains(5, 3) && !swaps.explains(5, 2));
        let mut exchanges = Sum::of(Operation::CompareExchange);
        let op = Rmw::CompareExchange { current: 4, new: 5 };
        exchanges.note(op, Some(4));
        exchanges.note(op, Some(5));
        assert!(exchanges.explains(4, 5) && !exchanges.explains(4, 6));
    }
}
