//! What messages cost: one at a time, and in streams.
//!
//! *Kernel.* Between hosts 0 and 1, lane 0 of each. First `rounds` messages there and back, one at
//! a time; then `rounds` batches from host 0 to host 1, as fast as they are taken. The other lanes
//! wait. `pairs = "all"`: host n of the lower half and host n of the upper half, all pairs at once,
//! as the multi-pair latency of the OSU micro-benchmarks has its ranks.
//!
//! *Sharing.* Each pair has a ring each way (crate `sync`): its producer writes its slots, its
//! consumer one line.
//!
//! *Maintenance an operation.* 1 publish and 1 observe a batch, of all its lines; an operation is a
//! message sent or received.
//!
//! *Metrics.* `message_ns`: half the time from sending a message to having its answer.
//! `throughput_per_s`: messages of the stream, by the consumer's clock from the first batch on.
//!
//! *Verified.* Each message carries words that follow from its number alone; the receiver expects
//! them in order, so a message that is lost, doubled, overtaken or torn is noticed.

use fabric::{Arena, Gone, HostAtomics, Pod, Seat, Ticks};
use serde::{Deserialize, Serialize};
use sync::ring::{Consumer, MAX_BATCH_LINES, PAYLOAD_WORDS, Producer};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::verdict::Verdict;

/// The most bytes of a batch: what one burst carries.
const MAX_BATCH_WORDS: usize = MAX_BATCH_LINES * PAYLOAD_WORDS;

/// Who exchanges messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Hosts 0 and 1.
    #[default]
    One,
    /// Each host of the lower half with its like of the upper half; of an odd number the last host
    /// waits.
    All,
}

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Who exchanges messages: `one` pair, or `all`.
    pub pairs: Pairs,
    /// Bytes of a message, a multiple of 8.
    pub payload_bytes: u32,
    /// Messages that are sent together.
    pub batch: u32,
    /// Messages that a ring holds.
    pub slots: u32,
    /// Messages there and back, and batches of the stream, of a repetition.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            pairs: Pairs::One,
            payload_bytes: 56,
            batch: 1,
            slots: 64,
            rounds: 200,
        }
    }
}

impl Params {
    fn words(&self) -> usize {
        self.payload_bytes as usize / 8
    }

    fn batch_words(&self) -> usize {
        self.words() * self.batch as usize
    }

    fn pairs(&self, pod: Pod) -> u32 {
        match self.pairs {
            Pairs::One => 1,
            Pairs::All => pod.hosts / 2,
        }
    }

    /// The pair of a lane, and whether it leads; none for who waits.
    fn part(&self, pod: Pod, seat: Seat) -> Option<(usize, Role)> {
        let pairs = self.pairs(pod);
        let role = if seat.host < pairs {
            Role::Lead
        } else {
            Role::Follow
        };
        let takes_part = seat.leads_host() && seat.host < 2 * pairs;
        takes_part.then_some(((seat.host % pairs) as usize, role))
    }

    /// Messages that the leader's ring carries in a repetition; the other carries `rounds`.
    fn carried(&self) -> u64 {
        u64::from(self.rounds) * (1 + u64::from(self.batch))
    }
}

/// What a host of a pair does.
#[derive(Clone, Copy, Debug)]
enum Role {
    Lead,
    Follow,
}

/// The rings of one pair.
#[derive(Debug)]
struct Both {
    there: sync::ring::Ring,
    back: sync::ring::Ring,
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    pairs: Vec<Both>,
    verdict: Verdict,
}

/// The workload.
#[derive(Debug)]
pub struct Ring;

impl Workload for Ring {
    const NAME: &'static str = "ring";
    const ABOUT: &'static str = "what a message through a ring between two hosts costs";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let mut ring =
            |name: &str| sync::ring::Ring::lay_out(arena, name, 1, params.slots, params.words());
        let both = |pair| Both {
            there: ring(&format!("ring.there{pair}")),
            back: ring(&format!("ring.back{pair}")),
        };
        Layout {
            pairs: (0..params.pairs(pod)).map(both).collect(),
            verdict: Verdict::lay_out(arena, "ring.wrong"),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if pod.hosts < 2 {
            return Err("ring is between hosts: use --hosts 2 or more".into());
        }
        let bytes = params.payload_bytes;
        if bytes == 0 || !bytes.is_multiple_of(8) || params.words() > MAX_BATCH_WORDS {
            let most = MAX_BATCH_WORDS * 8;
            return Err(format!(
                "payload_bytes = {bytes}: use a multiple of 8 up to {most}"
            ));
        }
        if params.batch == 0 || params.batch_words() > MAX_BATCH_WORDS {
            let most = MAX_BATCH_WORDS / params.words();
            return Err(format!("batch = {}: use 1 to {most}", params.batch));
        }
        if params.slots == 0 || params.rounds == 0 {
            return Err("slots and rounds: use 1 or more".into());
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        worker.line_up()?;
        let (port, seat) = (worker.port(), worker.seat());
        let repetition = u64::from(worker.repetition());
        let (there, back) = (
            repetition * params.carried(),
            repetition * u64::from(params.rounds),
        );
        let Some((pair, role)) = params.part(worker.pod(), seat) else {
            return Ok(Outcome::default());
        };
        let rings = &layout.pairs[pair];
        match role {
            Role::Lead => {
                let producer = Producer::new(&rings.there, there);
                let consumer = Consumer::new(&rings.back, 0, back);
                End::new(port, params, [there, back]).lead(producer, consumer, layout)
            }
            Role::Follow => {
                let consumer = Consumer::new(&rings.there, 0, there);
                let producer = Producer::new(&rings.back, back);
                End::new(port, params, [back, there]).follow(producer, consumer, layout)
            }
        }
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        if params.part(worker.pod(), worker.seat()).is_none() {
            return Ok(Verified::Nothing);
        }
        let what = "messages that were not the next, or not whole";
        layout.verdict.demand(worker.port(), repetitions, what)?;
        Ok(Verified::Right)
    }
}

/// Word `index` of message `number`: every word differs from its neighbours, and from the last
/// lap's (Fibonacci hashing, Knuth vol. 3, 6.4).
fn word(number: u64, index: usize) -> u64 {
    (number * MAX_BATCH_WORDS as u64 + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// One end of both rings.
struct End<'a, P> {
    port: &'a P,
    params: &'a Params,
    sent: u64,
    received: u64,
    wrong: u64,
    words: Vec<u64>,
}

impl<'a, P: HostAtomics> End<'a, P> {
    fn new(port: &'a P, params: &'a Params, [sent, received]: [u64; 2]) -> Self {
        let words = vec![0; params.batch_words()];
        Self {
            port,
            params,
            sent,
            received,
            wrong: 0,
            words,
        }
    }

    fn send(&mut self, producer: &mut Producer<'_>, messages: u32) -> Result<(), Gone> {
        let each = self.params.words();
        let words = &mut self.words[..each * messages as usize];
        for (index, place) in words.iter_mut().enumerate() {
            *place = word(self.sent + (index / each) as u64, index % each);
        }
        self.sent += u64::from(messages);
        producer.send(self.port, words)
    }

    fn receive(&mut self, consumer: &mut Consumer<'_>, messages: u32) -> Result<(), Gone> {
        let each = self.params.words();
        let words = &mut self.words[..each * messages as usize];
        consumer.receive(self.port, words)?;
        for (index, &found) in words.iter().enumerate() {
            let expected = word(self.received + (index / each) as u64, index % each);
            self.wrong += u64::from(found != expected);
        }
        self.received += u64::from(messages);
        Ok(())
    }

    fn lead(
        mut self,
        mut producer: Producer<'_>,
        mut consumer: Consumer<'_>,
        layout: &Layout,
    ) -> Result<Outcome, Gone> {
        let rounds = self.params.rounds;
        let mut spans = Vec::with_capacity(rounds as usize);
        for _ in 0..rounds {
            let start = self.port.now();
            self.send(&mut producer, 1)?;
            self.receive(&mut consumer, 1)?;
            spans.push(self.port.now().0 - start.0);
        }
        for _ in 0..rounds {
            self.send(&mut producer, self.params.batch)?;
        }
        let clock = self.port.clock();
        let half = |&span: &u64| clock.span_ns(Ticks(0), Ticks(span)) / 2.0;
        let samples = spans.iter().map(half).collect();
        let operations = u64::from(rounds) * (2 + u64::from(self.params.batch));
        let series = vec![Series::of("message_ns", "ns", samples)];
        Ok(self.end(&mut consumer, layout, series, operations))
    }

    fn follow(
        mut self,
        mut producer: Producer<'_>,
        mut consumer: Consumer<'_>,
        layout: &Layout,
    ) -> Result<Outcome, Gone> {
        let (rounds, batch) = (self.params.rounds, self.params.batch);
        for _ in 0..rounds {
            self.receive(&mut consumer, 1)?;
            self.send(&mut producer, 1)?;
        }
        self.receive(&mut consumer, batch)?;
        let start = self.port.now();
        for _ in 1..rounds {
            self.receive(&mut consumer, batch)?;
        }
        let span = self.port.clock().span_ns(start, self.port.now());
        let messages = f64::from((rounds - 1) * batch);
        let series = if rounds > 1 {
            Series::of("throughput_per_s", "1/s", vec![messages / span * 1e9])
        } else {
            Series::absent(
                "throughput_per_s",
                "1/s",
                "a stream of one batch has no rate",
            )
        };
        let operations = u64::from(rounds) * (2 + u64::from(batch));
        Ok(self.end(&mut consumer, layout, vec![series], operations))
    }

    /// All has been taken, so that the next repetition starts with empty rings.
    fn end(
        self,
        consumer: &mut Consumer<'_>,
        layout: &Layout,
        series: Vec<Series>,
        operations: u64,
    ) -> Outcome {
        self.port.aside(|port| {
            consumer.tell(port);
            layout.verdict.note(port, self.wrong);
        });
        Outcome { series, operations }
    }
}
