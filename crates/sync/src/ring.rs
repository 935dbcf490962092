//! Messages between hosts: a ring with one producer, for one consumer or for several.
//!
//! A message is one or more lines; each line carries seven payload words and the message's number
//! in its last word. Stores reach a line in their order and a line leaves whole, so whoever finds
//! the number finds the words before it: there is no flag to publish after the payload, and a batch
//! of messages leaves in one burst with one fence. A look observes all lines of the batch that is
//! waited for, also with one fence, and looks again if any number is still missing.
//!
//! Numbers count messages and never repeat, so what the last lap left in a slot is known as such. A
//! consumer says in a line of its own how many it has taken, every half ring; a producer looks at
//! these lines only when the ring seems full.
//!
//! Invariant: no slot is written before all consumers have taken what it held. (Plain stores are
//! used whatever the discipline: words that go around the caches may leave in any order.)
//!
//! * [`Ring`]: one producer, one consumer; with more consumers, a broadcast: each takes every
//!   message.
//! * [`Funnel`]: many producers, a ring each, one consumer that looks at all of them at once.
//!
//! A dead consumer stops the producer once the ring is full, a dead producer its consumers; both
//! waits end with the trial.

use fabric::{Arena, Gone, Line, MAX_HOSTS, Port, Slice, wait_until};

use crate::board::Board;

const WORDS_PER_LINE: usize = 8;

/// Payload words of a line.
pub const PAYLOAD_WORDS: usize = WORDS_PER_LINE - 1;

/// The most lines of one batch.
pub const MAX_BATCH_LINES: usize = 64;

/// Where a ring lies.
#[derive(Clone, Debug)]
pub struct Ring {
    lines: Slice<u64>,
    taken: Board,
    slots: u64,
    message_lines: usize,
    message_words: usize,
}

impl Ring {
    /// Lays out a ring of `slots` messages of `message_words` words for `consumers`.
    ///
    /// # Panics
    /// If there are no slots, or a message has no words or more than [`MAX_BATCH_LINES`] lines.
    pub fn lay_out(
        arena: &mut Arena,
        name: &str,
        consumers: u32,
        slots: u32,
        message_words: usize,
    ) -> Self {
        let message_lines = message_words.div_ceil(PAYLOAD_WORDS);
        assert!(
            slots > 0 && (1..=MAX_BATCH_LINES).contains(&message_lines),
            "{name}: {slots} slots of {message_words} words; use 1 slot or more, of 1 to {} words",
            MAX_BATCH_LINES * PAYLOAD_WORDS
        );
        let words = slots as usize * message_lines * WORDS_PER_LINE;
        Self {
            lines: arena.per_host(&format!("{name}.slot"), 1, words)[0],
            taken: Board::lay_out(arena, &format!("{name}.taken"), consumers),
            slots: u64::from(slots),
            message_lines,
            message_words,
        }
    }

    /// Words of a message.
    pub fn message_words(&self) -> usize {
        self.message_words
    }

    /// Messages that one burst may hold from message `number` on: up to the ring's end, and a
    /// quarter of the ring. A consumer keeps less than half a ring to itself and waits for a burst;
    /// a producer must have room for one all the same, or both would wait: 1/2 + 1/4 + 1/4.
    fn burst(&self, number: u64, wanted: usize) -> usize {
        let to_end = self.slots - number % self.slots;
        let fit = MAX_BATCH_LINES / self.message_lines;
        let quarter = self.slots / 4 + 1;
        wanted.min(to_end.min(quarter) as usize).min(fit)
    }

    /// The words of `count` slots from that of message `number`, which do not wrap.
    fn words(&self, number: u64, count: usize) -> Slice<u64> {
        let each = self.message_lines * WORDS_PER_LINE;
        let from = (number % self.slots) as usize * each;
        self.lines.range(from, from + count * each)
    }
}

/// The producer's end; one lane holds it.
#[derive(Debug)]
pub struct Producer<'r> {
    ring: &'r Ring,
    sent: u64,
    freed: u64,
}

impl<'r> Producer<'r> {
    /// The end of a ring that has carried `sent` messages, all of them taken.
    pub fn new(ring: &'r Ring, sent: u64) -> Self {
        Self {
            ring,
            sent,
            freed: sent,
        }
    }

    /// Sends messages, back to back in `words`.
    ///
    /// Cost: 1 publish of all their lines; one more where the ring ends in between or they exceed
    /// [`MAX_BATCH_LINES`] or a quarter of the ring; 1 observe of a line a consumer, a look, when
    /// the ring seems full.
    ///
    /// # Errors
    /// Whatever ended the wait for a free slot.
    ///
    /// # Panics
    /// If `words` is not a whole number of messages.
    pub fn send<P: Port>(&mut self, port: &P, words: &[u64]) -> Result<(), Gone> {
        let each = self.ring.message_words;
        assert!(
            words.len().is_multiple_of(each),
            "{} words sent, in messages of {each}",
            words.len()
        );
        let mut from = 0;
        while from < words.len() {
            let burst = self.ring.burst(self.sent, (words.len() - from) / each);
            self.wait_for_room(port, burst as u64)?;
            let slots = self.ring.words(self.sent, burst);
            for index in 0..burst {
                let message = &words[from + index * each..from + (index + 1) * each];
                self.write(port, slots, index, message);
            }
            // Serves the consumers' looks.
            port.post(slots.lines());
            self.sent += burst as u64;
            from += burst * each;
        }
        Ok(())
    }

    /// Whether there is room for `messages` more. Cost: 1 observe of a line a consumer, when the
    /// ring seems full.
    pub fn has_room<P: Port>(&mut self, port: &P, messages: u64) -> bool {
        if self.sent + messages > self.freed + self.ring.slots {
            self.look_for_room(port);
        }
        self.sent + messages <= self.freed + self.ring.slots
    }

    fn look_for_room<P: Port>(&mut self, port: &P) {
        let mut least = u64::MAX;
        let mut consumers = self.ring.taken.watch(|_| true);
        consumers.scan(port, |_, taken| least = least.min(taken));
        self.freed = least;
    }

    /// Messages sent so far: what a new end of this ring starts from once all are taken.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    fn write<P: Port>(&self, port: &P, slots: Slice<u64>, index: usize, message: &[u64]) {
        let number = self.sent + index as u64 + 1;
        let first = index * self.ring.message_lines * WORDS_PER_LINE;
        for (line, payload) in message.chunks(PAYLOAD_WORDS).enumerate() {
            let at = first + line * WORDS_PER_LINE;
            port.write_from(slots.at(at), payload);
            // The number last: a line that has it has the payload.
            port.store(slots.at(at + PAYLOAD_WORDS), number);
        }
    }

    /// Waits until every consumer has taken all that was sent, and told so.
    ///
    /// Cost: 1 observe of a line a consumer, a look.
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn drain<P: Port>(&mut self, port: &P) -> Result<(), Gone> {
        wait_until(port, || {
            self.look_for_room(port);
            (self.freed == self.sent).then_some(())
        })
    }

    fn wait_for_room<P: Port>(&mut self, port: &P, burst: u64) -> Result<(), Gone> {
        if self.sent + burst <= self.freed + self.ring.slots {
            return Ok(());
        }
        wait_until(port, || {
            self.look_for_room(port);
            (self.sent + burst <= self.freed + self.ring.slots).then_some(())
        })
    }
}

/// A consumer's end; one lane holds it.
#[derive(Debug)]
pub struct Consumer<'r> {
    ring: &'r Ring,
    who: u32,
    taken: u64,
    told: u64,
}

impl<'r> Consumer<'r> {
    /// The end of consumer `who` of a ring that has carried `taken` messages, all of them taken.
    pub fn new(ring: &'r Ring, who: u32, taken: u64) -> Self {
        Self {
            ring,
            who,
            taken,
            told: taken,
        }
    }

    /// Receives as many messages as `words` holds.
    ///
    /// Cost: 1 observe of all their lines, a look; one more where the producer's send would be
    /// cut; 1 publish every half ring.
    ///
    /// # Errors
    /// Whatever ended the wait.
    ///
    /// # Panics
    /// If `words` is not a whole number of messages.
    pub fn receive<P: Port>(&mut self, port: &P, words: &mut [u64]) -> Result<(), Gone> {
        let each = self.ring.message_words;
        assert!(
            words.len().is_multiple_of(each),
            "{} words to receive, in messages of {each}",
            words.len()
        );
        let mut from = 0;
        while from < words.len() {
            let burst = self.ring.burst(self.taken, (words.len() - from) / each);
            let to = from + burst * each;
            wait_until(port, || self.look(port, &mut words[from..to]).then_some(()))?;
            self.take(port, burst as u64);
            from = to;
        }
        Ok(())
    }

    /// Looks once for as many messages as `words` holds, and takes them if all are there.
    ///
    /// Cost: 1 observe of all their lines; 1 publish every half ring.
    ///
    /// # Panics
    /// If `words` is not a whole number of messages, or they are more than one burst may carry: use
    /// [`receive`](Self::receive) for those.
    pub fn try_receive<P: Port>(&mut self, port: &P, words: &mut [u64]) -> bool {
        let count = words.len() / self.ring.message_words;
        assert!(
            count * self.ring.message_words == words.len()
                && self.ring.burst(self.taken, count) == count,
            "{} words to look for, in messages of {}",
            words.len(),
            self.ring.message_words
        );
        let there = self.look(port, words);
        if there {
            self.take(port, count as u64);
        }
        there
    }

    /// Messages taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Messages of `wanted` that one look may take.
    pub fn burst(&self, wanted: usize) -> usize {
        self.ring.burst(self.taken, wanted)
    }

    /// The line that says whether the next message is there, for looks at several rings at once.
    pub fn next_line(&self) -> Line {
        self.ring.words(self.taken, 1).start().line()
    }

    /// Word `word` of the next message, if it is there, in a copy of [`next_line`](Self::next_line)
    /// that the caller has observed.
    ///
    /// # Panics
    /// If the word is not in the message's first line.
    pub fn peek<P: Port>(&self, port: &P, word: usize) -> Option<u64> {
        assert!(word < PAYLOAD_WORDS, "word {word} of a line of a message");
        let slot = self.ring.words(self.taken, 1);
        // The number first: whatever is loaded later is as new.
        (port.load(slot.at(PAYLOAD_WORDS)) == self.taken + 1).then(|| port.load(slot.at(word)))
    }

    /// Looks once for the messages that `words` holds; true if all of them were there.
    fn look<P: Port>(&self, port: &P, words: &mut [u64]) -> bool {
        let each = self.ring.message_words;
        let slots = self.ring.words(self.taken, words.len() / each);
        // Serves the loads below: those of the last lap, or prefetched, may be here.
        port.observe(slots.lines());
        for (index, message) in words.chunks_mut(each).enumerate() {
            let number = self.taken + index as u64 + 1;
            let first = index * self.ring.message_lines * WORDS_PER_LINE;
            for (line, payload) in message.chunks_mut(PAYLOAD_WORDS).enumerate() {
                let at = first + line * WORDS_PER_LINE;
                // The number first: whatever is loaded later is as new.
                if port.load(slots.at(at + PAYLOAD_WORDS)) != number {
                    return false;
                }
                port.read_into(slots.at(at), payload);
            }
        }
        true
    }

    fn take<P: Port>(&mut self, port: &P, count: u64) {
        self.taken += count;
        if self.taken - self.told >= self.ring.slots.div_ceil(2) {
            self.tell(port);
        }
    }

    /// Says how many messages have been taken, at the end of a run of them. Cost: 1 publish.
    pub fn tell<P: Port>(&mut self, port: &P) {
        self.told = self.taken;
        // Serves the producer's wait. The loads of the messages come before it (TSO).
        self.ring.taken.post(port, self.who, self.taken);
    }
}

/// Many producers, one consumer.
#[derive(Clone, Debug)]
pub struct Funnel {
    rings: Vec<Ring>,
}

impl Funnel {
    /// Lays out a ring for each of `producers`.
    ///
    /// # Panics
    /// As [`Ring::lay_out`], and if there are more than [`MAX_HOSTS`] producers.
    pub fn lay_out(
        arena: &mut Arena,
        name: &str,
        producers: u32,
        slots: u32,
        message_words: usize,
    ) -> Self {
        assert!(
            producers <= MAX_HOSTS,
            "{name}: {producers} producers; use {MAX_HOSTS} at most"
        );
        let ring = |producer| {
            let name = format!("{name}{producer}");
            Ring::lay_out(arena, &name, 1, slots, message_words)
        };
        Self {
            rings: (0..producers).map(ring).collect(),
        }
    }

    /// The producing end of `producer`.
    pub fn producer(&self, producer: u32) -> Producer<'_> {
        Producer::new(&self.rings[producer as usize], 0)
    }

    /// As [`producer`](Self::producer), after its ring has carried `sent` messages.
    pub fn producer_after(&self, producer: u32, sent: u64) -> Producer<'_> {
        Producer::new(&self.rings[producer as usize], sent)
    }

    /// The consuming end.
    pub fn consumer(&self) -> FunnelConsumer<'_> {
        self.consumer_after(&vec![0; self.rings.len()])
    }

    /// The consuming end, after it has taken so many messages from each producer.
    ///
    /// # Panics
    /// If there are fewer numbers than producers.
    pub fn consumer_after(&self, taken: &[u64]) -> FunnelConsumer<'_> {
        let end = |(index, ring)| {
            let taken: u64 = taken[index];
            Consumer::new(ring, 0, taken)
        };
        FunnelConsumer {
            ends: self.rings.iter().enumerate().map(end).collect(),
            next: 0,
        }
    }
}

/// The consuming end of a [`Funnel`]; one lane holds it.
#[derive(Debug)]
pub struct FunnelConsumer<'r> {
    ends: Vec<Consumer<'r>>,
    /// Who is asked first: whoever comes after the one that was served last.
    next: usize,
}

impl FunnelConsumer<'_> {
    /// Receives one message; who sent it.
    ///
    /// Cost: 1 observe of a line a producer, a look; 1 observe of the message's lines.
    ///
    /// # Errors
    /// Whatever ended the wait.
    ///
    /// # Panics
    /// If `message` is not as long as a message.
    pub fn receive<P: Port>(&mut self, port: &P, message: &mut [u64]) -> Result<u32, Gone> {
        let from = wait_until(port, || self.look(port))?;
        self.take(port, from, message)?;
        Ok(from as u32)
    }

    /// Receives one message, if there is any; who sent it. Cost: as [`receive`](Self::receive), for
    /// one look.
    ///
    /// # Errors
    /// Whatever ended a wait for the rest of the message.
    ///
    /// # Panics
    /// If `message` is not as long as a message.
    pub fn try_receive<P: Port>(
        &mut self,
        port: &P,
        message: &mut [u64],
    ) -> Result<Option<u32>, Gone> {
        let Some(from) = self.look(port) else {
            return Ok(None);
        };
        self.take(port, from, message)?;
        Ok(Some(from as u32))
    }

    /// Messages taken so far, by producer.
    pub fn taken(&self) -> Vec<u64> {
        self.ends.iter().map(Consumer::taken).collect()
    }

    /// Whose next message is there.
    fn look<P: Port>(&self, port: &P) -> Option<usize> {
        let count = self.ends.len();
        let mut lines = [Line(0); MAX_HOSTS as usize];
        for (line, end) in lines.iter_mut().zip(&self.ends) {
            *line = end.next_line();
        }
        // Serves the loads below: one fence for all producers.
        port.observe_each(&lines[..count]);
        let turns = (0..count).map(|turn| (self.next + turn) % count);
        let mut there = turns.filter(|&producer| self.ends[producer].peek(port, 0).is_some());
        there.next()
    }

    fn take<P: Port>(&mut self, port: &P, from: usize, message: &mut [u64]) -> Result<(), Gone> {
        self.next = (from + 1) % self.ends.len();
        self.ends[from].receive(port, message)
    }
    /// Says how many messages have been taken of each producer that does not know. Cost: 1 publish
    /// for each of these.
    pub fn tell<P: Port>(&mut self, port: &P) {
        for end in self.ends.iter_mut().filter(|end| end.told != end.taken) {
            end.tell(port);
        }
    }
}
