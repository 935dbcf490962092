//! What sharing costs: bytes that are republished, or operations that order them?
//!
//! The central statement of the SC26 study is that the volume of republished state decides how
//! programs scale over several hosts, not the count of synchronization operations. Here both are
//! knobs of their own, and so are who writes where, and how much is touched besides.
//!
//! *Kernel.* In each round every host rewrites `republished_bytes` of a shared area and publishes
//! them; then come `sync_ops` barriers; then it reads what its left neighbour has published, and
//! `footprint_bytes` of its own that nobody changes.
//!
//! *Sharing.* A host's part of the area has two halves. It writes one itself; a share
//! `remote_write_share` of what it writes goes to the other half of its right neighbour's part. So
//! each line has one writer. With `placement = blocked` a part is contiguous; with `interleaved`
//! lines of all hosts alternate, two by two, so that no burst is longer than a pair.
//!
//! *Maintenance an operation.* An operation is a round of a host: 1 publish and 1 observe of the
//! lines, one for each pair if they alternate, and those of the barriers.
//!
//! *Metrics.* `time_ns`: a round of a host. `throughput_per_s`: rounds of all hosts. One lane of
//! each host takes part.
//!
//! *Verified.* Each word says its round and its place; readers check every word.

use fabric::{Arena, Gone, HostAtomics, Lines, Pod, Private, Slice, Ticks};
use serde::{Deserialize, Serialize};
use workload::{Gather, Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::verdict::Verdict;

const LINE_BYTES: u64 = 64;
const WORDS_PER_LINE: usize = 8;

/// Lines that stay together where hosts alternate: x86's adjacent-line prefetcher fetches pairs
/// (Intel optimization manual), so that a smaller grain would have hosts fetch each other's lines.
const GRAIN: usize = 2;

/// How the hosts' parts of the area lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each in one piece.
    #[default]
    Blocked,
    /// Pairs of lines in turn.
    Interleaved,
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Bytes that each host republishes in a round: whole lines.
    pub republished_bytes: u64,
    /// Barriers of a round.
    pub sync_ops: u32,
    /// Share of the bytes that a host writes into its neighbour's part, 0 to 1.
    pub remote_write_share: f64,
    /// How parts lie.
    pub placement: Placement,
    /// Bytes that each host reads besides in a round, and nobody changes.
    pub footprint_bytes: u64,
    /// Rounds of a repetition.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            republished_bytes: 4_096,
            sync_ops: 1,
            remote_write_share: 0.0,
            placement: Placement::Blocked,
            footprint_bytes: 0,
            rounds: 20,
        }
    }
}

impl Params {
    fn lines(&self) -> usize {
        (self.republished_bytes / LINE_BYTES) as usize
    }

    /// Lines that go to the neighbour's part.
    fn remote_lines(&self) -> usize {
        (self.lines() as f64 * self.remote_write_share).round() as usize
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    /// Each host's part: the half that it writes, the half that its left neighbour writes.
    area: Slice<u64>,
    /// What each host reads besides.
    footprints: Vec<Slice<u64>>,
    spans: Gather,
    verdict: Verdict,
}

/// The workload.
#[derive(Debug)]
pub struct Sharing;

impl Workload for Sharing {
    const NAME: &'static str = "sharing";
    const ABOUT: &'static str = "what sharing costs, by bytes republished and by operations";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let words = half_lines(params) * 2 * pod.hosts as usize * WORDS_PER_LINE;
        let footprint = (params.footprint_bytes / 8) as usize;
        Layout {
            area: arena.per_host("sharing.area", 1, words)[0],
            footprints: arena.per_host("sharing.footprint", pod.hosts, footprint),
            spans: Gather::lay_out(arena, "sharing.span", pod.hosts, 1),
            verdict: Verdict::lay_out(arena, "sharing.wrong"),
        }
    }

    fn check(_: Pod, params: &Params) -> Result<(), String> {
        for (name, bytes) in [
            ("republished_bytes", params.republished_bytes),
            ("footprint_bytes", params.footprint_bytes),
        ] {
            if !bytes.is_multiple_of(LINE_BYTES) {
                return Err(format!("{name} = {bytes}: use a multiple of {LINE_BYTES}"));
            }
        }
        if !(0.0..=1.0).contains(&params.remote_write_share) {
            let share = params.remote_write_share;
            return Err(format!("remote_write_share = {share}: use 0 to 1"));
        }
        if params.sync_ops == 0 || params.rounds == 0 {
            return Err("sync_ops and rounds: use 1 or more".into());
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let (port, rounds) = (worker.port(), u64::from(params.rounds));
        let first = u64::from(worker.repetition()) * rounds + 1;
        let host = Host::new(worker, layout, params);
        let mut words = port.private(params.lines().max(1) * WORDS_PER_LINE, 0u64);
        let (mut spans, mut wrong) = (Vec::with_capacity(rounds as usize), 0);
        worker.line_up()?;
        let start = port.now();
        for round in first..first + rounds {
            let began = port.now();
            if worker.seat().leads_host() {
                host.write(round);
            }
            for _ in 0..params.sync_ops {
                worker.barrier()?;
            }
            if worker.seat().leads_host() {
                wrong += host.read(round, &mut words);
            }
            // Nobody overwrites what another still reads.
            worker.barrier()?;
            spans.push(port.now().0 - began.0);
        }
        let span = port.now().0 - start.0;
        let mut outcome = Outcome::default();
        if worker.seat().leads_host() {
            let clock = port.clock();
            let ns = |&span: &u64| clock.span_ns(Ticks(0), Ticks(span));
            let samples = spans.iter().map(ns).collect();
            outcome.series.push(Series::of("time_ns", "ns", samples));
            outcome.operations = rounds;
            layout.spans.put(port, worker.seat().host, &[span]);
            port.aside(|port| layout.verdict.note(port, wrong));
        }
        worker.line_up()?;
        if worker.seat().leads_pod() {
            outcome.series.push(throughput(worker, layout, rounds));
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        _: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_host() {
            return Ok(Verified::Nothing);
        }
        let what = "words that were not of their round";
        layout.verdict.demand(worker.port(), repetitions, what)?;
        Ok(Verified::Right)
    }
}

/// Lines of one half of a part, whole grains.
fn half_lines(params: &Params) -> usize {
    params.lines().next_multiple_of(GRAIN)
}

fn throughput<P: HostAtomics>(worker: &Worker<'_, P>, layout: &Layout, rounds: u64) -> Series {
    let spans = layout.spans.get(worker.port(), 1);
    let longest = spans.iter().map(|span| span[0]).max().unwrap_or(0);
    let clock = worker.port().clock();
    let seconds = clock.span_ns(Ticks(0), Ticks(longest)) / 1e9;
    let all = (u64::from(worker.pod().hosts) * rounds) as f64;
    Series::of("throughput_per_s", "1/s", vec![all / seconds])
}

/// One host's share in a round.
struct Host<'a, P> {
    port: &'a P,
    layout: &'a Layout,
    params: &'a Params,
    me: usize,
    hosts: usize,
}

/// Which half of a part.
#[derive(Clone, Copy)]
enum Half {
    Own,
    Neighbours,
}

impl<'a, P: HostAtomics> Host<'a, P> {
    fn new(worker: &Worker<'a, P>, layout: &'a Layout, params: &'a Params) -> Self {
        Self {
            port: worker.port(),
            layout,
            params,
            me: worker.seat().host as usize,
            hosts: worker.pod().hosts as usize,
        }
    }

    /// The runs of lines that hold lines `0..count` of a half of `host`'s part.
    fn runs(&self, host: usize, half: Half, count: usize) -> Vec<Slice<u64>> {
        let each = half_lines(self.params);
        let from = match half {
            Half::Own => 0,
            Half::Neighbours => each,
        };
        let run = |line: usize, lines: usize| {
            let first = line * WORDS_PER_LINE;
            self.layout
                .area
                .range(first, first + lines * WORDS_PER_LINE)
        };
        match self.params.placement {
            Placement::Blocked if count == 0 => Vec::new(),
            Placement::Blocked => vec![run(host * 2 * each + from, count)],
            Placement::Interleaved => (0..count)
                .step_by(GRAIN)
                .map(|line| {
                    let grain = (from + line) / GRAIN;
                    let at = (grain * self.hosts + host) * GRAIN;
                    run(at, GRAIN.min(count - line))
                })
                .collect(),
        }
    }

    /// What `writer` writes in a round: lines of its own part, then of its right neighbour's.
    fn written_by(&self, writer: usize) -> Vec<Slice<u64>> {
        let remote = self.params.remote_lines();
        let right = (writer + 1) % self.hosts;
        let mut runs = self.runs(writer, Half::Own, self.params.lines() - remote);
        runs.extend(self.runs(right, Half::Neighbours, remote));
        runs
    }

    fn write(&self, round: u64) {
        for run in self.written_by(self.me) {
            for index in 0..run.len() {
                let at = run.at(index);
                self.port.store(at, value(round, at.offset()));
            }
            // Serves the right neighbour's read after the barriers.
            self.port.post(run.lines());
        }
    }

    /// Reads what the left neighbour wrote, and the footprint; how many words were wrong.
    fn read<M: Private<u64>>(&self, round: u64, words: &mut M) -> u64 {
        let left = (self.me + self.hosts - 1) % self.hosts;
        let (mut wrong, mut next) = (0, 0);
        for run in self.written_by(left) {
            // Serves the loads below: those of the last round may be here.
            self.port
                .observe(Lines::spanning(run.start().offset(), run.bytes()));
            for index in 0..run.len() {
                let at = run.at(index);
                let found = self.port.load(at);
                wrong += u64::from(found != value(round, at.offset()));
                words.set(next, found);
                next += 1;
            }
        }
        let footprint = self.layout.footprints[self.me];
        if footprint.len() > 0 {
            wrong += self.port.stream(fabric::Stream::Read, footprint, 0);
        }
        wrong
    }
}

/// What a word holds in a round.
fn value(round: u64, offset: u64) -> u64 {
    (round << 40) ^ offset
}
