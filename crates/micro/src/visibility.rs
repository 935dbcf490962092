//! How long until one host's update is seen by another.
//!
//! *Kernel.* A ping-pong between two hosts: a message of `lines` lines is published, the peer polls
//! for it and publishes its own. Every pair of hosts in turn, lane 0 of each; the others wait.
//!
//! *Sharing.* Each host writes its own message only; a message's first line is its flag, the rest
//! payload. Flags count up for the whole trial, so an old copy delays and never misleads.
//!
//! *Maintenance a message.* `lines` = 1: one publish. More: the payload is posted, then the flag
//! published. The reader observes the flag's line at each poll, then the payload once.
//!
//! *Metrics.* `half_round_trip_ns`: half the time from one publish to having seen the answer, one
//! sample a round, by one clock. `one_way_ns`: from before the publish until the peer has seen it,
//! by two clocks, so only where they are comparable without the path under test; in rounds of its
//! own, since each hop then carries a clock reading.
//!
//! *Verified.* Every payload line carries its round; at the end each flag must hold the number that
//! follows from the trial's shape alone.

use fabric::{Across, Arena, Discipline, Gone, HostAtomics, ObserveBy, Pod, Port, Ptr, PublishBy};
use fabric::{Private, Slice, Ticks, wait_until};
use serde::{Deserialize, Serialize};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

const WORDS_PER_LINE: usize = 8;

/// The most lines of a message.
pub const MAX_LINES: u32 = 64;

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// How the writer publishes.
    pub publish: PublishBy,
    /// How the reader observes.
    pub observe: ObserveBy,
    /// Lines of a message, 1 to [`MAX_LINES`].
    pub lines: u32,
    /// Rounds a repetition, for each pair and metric.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            publish: PublishBy::ClFlushOpt,
            observe: ObserveBy::ClFlushOpt,
            lines: 1,
            rounds: 1_000,
        }
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    /// Each host's message; word 0 is the flag.
    messages: Vec<Slice<u64>>,
    /// Each host's arrival times, for its peer to subtract from.
    arrivals: Vec<Slice<u64>>,
    /// How often a host saw a payload that did not belong to its flag.
    torn: Vec<Slice<u64>>,
}

/// The workload.
#[derive(Debug)]
pub struct Visibility;

impl Workload for Visibility {
    const NAME: &'static str = "visibility";
    const ABOUT: &'static str = "how long until one host's published update is observed by another";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let words = params.lines as usize * WORDS_PER_LINE;
        Layout {
            messages: arena.per_host("visibility.message", pod.hosts, words),
            arrivals: arena.per_host("visibility.arrival", pod.hosts, params.rounds as usize),
            torn: arena.per_host("visibility.torn", pod.hosts, 1),
        }
    }

    fn discipline(params: &Params) -> Option<Discipline> {
        Some(Discipline {
            publish: params.publish,
            observe: params.observe,
        })
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if pod.hosts < 2 {
            return Err("visibility is between hosts: use --hosts 2 or more".into());
        }
        if params.lines == 0 || params.lines > MAX_LINES {
            return Err(format!("lines = {}: use 1 to {MAX_LINES}", params.lines));
        }
        if params.rounds == 0 {
            return Err("rounds = 0: use 1 or more".into());
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let mut outcome = Outcome::default();
        let seat = worker.seat();
        let clocks = worker.port().clock().across_hosts;
        for (turn, (first, second)) in pairs(worker.pod()).enumerate() {
            worker.line_up()?;
            if seat.lane != 0 || (seat.host != first && seat.host != second) {
                continue;
            }
            let start = first_number(worker.repetition(), worker.pod(), turn, params);
            let peer = if seat.host == first { second } else { first };
            let link = Link::new(layout, params, seat.host, peer);
            run_pair(
                worker.port(),
                &link,
                clocks,
                seat.host == first,
                start,
                &mut outcome,
            )?;
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_host() {
            return Ok(Verified::Nothing);
        }
        for host in 0..worker.pod().hosts {
            let flag = layout.messages[host as usize].start();
            let torn = layout.torn[host as usize].start();
            // Serves the two loads below.
            worker.port().observe_each(&[flag.line(), torn.line()]);
            let expected = last_number(host, worker.pod(), params, repetitions);
            demand(
                &format!("flag of host {host}"),
                expected,
                worker.port().load(flag),
            )?;
            demand(
                &format!("torn messages at host {host}"),
                0,
                worker.port().load(torn),
            )?;
        }
        Ok(Verified::Right)
    }
}

fn demand(what: &str, expected: u64, found: u64) -> Result<(), Mismatch> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Mismatch {
        what: what.to_owned(),
        expected,
        found,
    })
}

/// Every unordered pair of hosts, in the order in which they take turns.
fn pairs(pod: Pod) -> impl Iterator<Item = (u32, u32)> {
    (0..pod.hosts).flat_map(move |first| (first + 1..pod.hosts).map(move |second| (first, second)))
}

/// Both passes of a turn use `rounds` numbers each; numbers start at 1, above zeroed memory.
fn first_number(repetition: u32, pod: Pod, turn: usize, params: &Params) -> u64 {
    let turns = u64::from(pod.hosts) * u64::from(pod.hosts - 1) / 2;
    let index = u64::from(repetition) * turns + turn as u64;
    index * 2 * u64::from(params.rounds) + 1
}

/// What the flag of `host` must hold at the end: from the shape of the trial alone.
fn last_number(host: u32, pod: Pod, params: &Params, repetitions: u32) -> u64 {
    let last_turn = pairs(pod)
        .enumerate()
        .filter(|&(_, (first, second))| first == host || second == host)
        .map(|(turn, _)| turn)
        .last()
        .expect("every host of two or more is in a pair");
    let Some(last_repetition) = repetitions.checked_sub(1) else {
        return 0;
    };
    first_number(last_repetition, pod, last_turn, params) + 2 * u64::from(params.rounds) - 1
}

/// One host's view of a pair.
struct Link<'a> {
    params: &'a Params,
    mine: Slice<u64>,
    theirs: Slice<u64>,
    my_arrivals: Slice<u64>,
    their_arrivals: Slice<u64>,
    torn: Ptr<u64>,
    peer: u32,
}

impl<'a> Link<'a> {
    fn new(layout: &Layout, params: &'a Params, me: u32, peer: u32) -> Self {
        let (me, other) = (me as usize, peer as usize);
        Self {
            params,
            mine: layout.messages[me],
            theirs: layout.messages[other],
            my_arrivals: layout.arrivals[me],
            their_arrivals: layout.arrivals[other],
            torn: layout.torn[me].start(),
            peer,
        }
    }

    /// Publishes message `number`. Cost: 1 publish; with payload 1 post before it.
    #[inline(always)]
    fn send<P: Port>(&self, port: &P, number: u64) {
        let flag = self.mine.start();
        if self.params.lines > 1 {
            self.post_payload(port, number);
        }
        if self.params.publish == PublishBy::Line64 {
            // MOVDIR64B writes lines, not words.
            port.write_published(flag, &[number, 0, 0, 0, 0, 0, 0, 0]);
        } else {
            // Serves the peer's poll; the full fence keeps this lane's next poll behind it.
            port.write_published(flag, &[number]);
        }
    }

    fn post_payload<P: Port>(&self, port: &P, number: u64) {
        let payload = self.mine.range(WORDS_PER_LINE, self.mine.len());
        let message = [number; (MAX_LINES as usize - 1) * WORDS_PER_LINE];
        // Before the flag: serves the peer's read of the payload once it has seen the flag.
        port.write_posted(payload.start(), &message[..payload.len()]);
    }

    /// Waits for message `number`. Cost: observes of the flag's line; with payload 1 more observe.
    #[inline(always)]
    fn receive<P: Port>(&self, port: &P, number: u64) -> Result<(), Gone> {
        let flag = self.theirs.start();
        wait_until(port, || {
            // Serves the load below, anew for each look.
            port.observe(flag.line());
            (port.load(flag) == number).then_some(())
        })?;
        if self.params.lines > 1 {
            self.read_payload(port, number);
        }
        Ok(())
    }

    fn read_payload<P: Port>(&self, port: &P, number: u64) {
        let payload = self.theirs.range(WORDS_PER_LINE, self.theirs.len());
        let mut message = [0; (MAX_LINES as usize - 1) * WORDS_PER_LINE];
        let message = &mut message[..payload.len()];
        // Serves the read below: the last message's lines may still be in this host's cache.
        port.observe(payload.lines());
        port.read_into(payload.start(), message);
        if message.iter().any(|&word| word != number) {
            let count: u64 = port.load(self.torn);
            // A plain store: this host has just loaded the line, which `movnti` would not survive.
            port.store(self.torn, count + 1);
            port.publish(self.torn.line());
        }
    }
}

fn run_pair<P: Port>(
    port: &P,
    link: &Link<'_>,
    clocks: Across,
    leads: bool,
    start: u64,
    outcome: &mut Outcome,
) -> Result<(), Gone> {
    let rounds = u64::from(link.params.rounds);
    outcome.operations += 2 * rounds;
    if !leads {
        answer(port, link, start, rounds)?;
        return answer_on_time(port, link, start + rounds, rounds);
    }
    let samples = round_trips(port, link, start, rounds)?;
    outcome
        .series
        .push(Series::of("half_round_trip_ns", "ns", samples).with_peer(link.peer));
    let one_way = one_way(port, link, start + rounds, rounds)?;
    let one_way = match clocks {
        Across::Incomparable(why) => Series::absent("one_way_ns", "ns", why),
        Across::Comparable { error_ns } => one_way_series(one_way, error_ns),
    };
    outcome.series.push(one_way.with_peer(link.peer));
    Ok(())
}

/// The leader's half of the first pass. Spans are kept raw and converted after the loop, so that a
/// round holds nothing but the two messages.
#[inline(never)]
fn round_trips<P: Port>(
    port: &P,
    link: &Link<'_>,
    start: u64,
    rounds: u64,
) -> Result<Vec<f64>, Gone> {
    let mut spans = Vec::with_capacity(rounds as usize);
    for number in start..start + rounds {
        let before = port.now();
        link.send(port, number);
        link.receive(port, number)?;
        spans.push(port.now().0 - before.0);
    }
    let clock = port.clock();
    let half = |&span: &u64| clock.span_ns(Ticks(0), Ticks(span)) / 2.0;
    Ok(spans.iter().map(half).collect())
}

/// The other half: no clock at all.
#[inline(never)]
fn answer<P: Port>(port: &P, link: &Link<'_>, start: u64, rounds: u64) -> Result<(), Gone> {
    for number in start..start + rounds {
        link.receive(port, number)?;
        link.send(port, number);
    }
    Ok(())
}

/// The second pass at the leader: when each message left; then when the peer saw it, from the peer.
fn one_way<P: Port>(port: &P, link: &Link<'_>, start: u64, rounds: u64) -> Result<Vec<f64>, Gone> {
    let mut departures = port.private(rounds as usize, 0u64);
    for number in start..start + rounds {
        departures.set((number - start) as usize, port.now().0);
        link.send(port, number);
        link.receive(port, number)?;
    }
    // The peer posted its arrivals before its last answer, which has been received. Aside: times
    // are the experiment's, not the message's.
    port.aside(|port| port.observe(link.their_arrivals.lines()));
    let clock = port.clock();
    let mut samples = Vec::with_capacity(rounds as usize);
    for index in 0..rounds as usize {
        let seen = Ticks(port.load(link.their_arrivals.at(index)));
        samples.push(clock.difference_ns(Ticks(departures.get(index)), seen));
    }
    Ok(samples)
}

/// The second pass at the peer.
fn answer_on_time<P: Port>(port: &P, link: &Link<'_>, start: u64, rounds: u64) -> Result<(), Gone> {
    let mut arrivals = port.private(rounds as usize, 0u64);
    for number in start..start + rounds {
        link.receive(port, number)?;
        let index = (number - start) as usize;
        arrivals.set(index, port.now().0);
        if number + 1 == start + rounds {
            port.aside(|port| post_arrivals(port, link, &arrivals));
        }
        link.send(port, number);
    }
    Ok(())
}

/// Before the last answer: serves the leader's read of the times after it.
fn post_arrivals<P: Port, T: Private<u64>>(port: &P, link: &Link<'_>, arrivals: &T) {
    for index in 0..arrivals.len() {
        port.store(link.my_arrivals.at(index), arrivals.get(index));
    }
    port.post(link.my_arrivals.lines());
}

/// A message cannot arrive before it left: where the clocks say so, they are not comparable.
fn one_way_series(samples: Vec<f64>, error_ns: f64) -> Series {
    match samples.iter().copied().reduce(f64::min) {
        Some(least) if least < 0.0 => Series::absent(
            "one_way_ns",
            "ns",
            format!(
                "the hosts' clocks disagree: a message took {least:.0} ns \
                 (claimed error {error_ns:.0} ns)"
            ),
        ),
        _ => Series::of("one_way_ns", "ns", samples),
    }
}
