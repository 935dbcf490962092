//! Changes that are sent to the owner of a part.
//!
//! Lane `l` of a host sends to lane `l` of each other host, through a ring of requests, and gets
//! its answers through a ring back. A batch leaves with one fence; its first message says how many
//! follow. The owner makes the changes, publishes them with one fence, and answers all with one
//! line. A lane that waits for answers serves meanwhile, so that two hosts that ask each other both
//! get on.
//!
//! A lane has one batch under way to each owner, so no ring ever fills: nobody waits for a host
//! that is gone, but the lane whose requests it had.

use fabric::{Arena, Fence, HostAtomics, HostSlice, Line, Pod, Port, Seat, wait_until};
use sync::ring::{Consumer, Producer, Ring};

use crate::error::TableError;
use crate::handle::{Handle, deadline};
use crate::section::Change;
use crate::shape::{Config, MAX_BATCH};

/// Words before a request's value: the key, and what is to be done.
const HEAD: usize = 2;
/// Words of an answer: outcomes, two bits each, and how many.
const ANSWER: usize = 2;
/// A ring holds more than two batches: one that is under way, and what its consumer has taken
/// without having said so (less than half a ring).
const REQUESTS: u32 = 4 * MAX_BATCH;
const ANSWERS: u32 = 16;

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    WasThere,
    WasAbsent,
}

/// Two bits of an answer.
fn code(done: Result<bool, TableError>) -> u64 {
    match done {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(TableError::Duplicate { .. }) => 2,
        Err(_) => 3,
    }
}

/// Where the rings lie, by lane, sender, receiver.
#[derive(Debug)]
pub(crate) struct Mail {
    requests: Vec<Ring>,
    answers: Vec<Ring>,
    /// Messages that each end has moved: four words for each lane and other host.
    moved: HostSlice<u64>,
    pod: Pod,
    value_words: usize,
    group_slots: u64,
}

impl Mail {
    pub(crate) fn lay_out(arena: &mut Arena, name: &str, pod: Pod, config: &Config) -> Self {
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for lane in 0..pod.lanes {
            for from in 0..pod.hosts {
                for to in 0..pod.hosts {
                    let name = |what| format!("{name}.{what}{lane}.{from}.{to}");
                    // None to oneself: the smallest there is keeps the index simple.
                    let (slots, words) = if from == to {
                        (1, 1)
                    } else {
                        (REQUESTS, HEAD + config.value_words)
                    };
                    requests.push(Ring::lay_out(arena, &name("request"), 1, slots, words));
                    answers.push(Ring::lay_out(arena, &name("answer"), 1, ANSWERS, ANSWER));
                }
            }
        }
        let words = (pod.lanes * pod.hosts) as usize * 4;
        Self {
            requests,
            answers,
            moved: arena.host_shared(format!("{name}.moved"), words),
            pod,
            value_words: config.value_words,
            group_slots: u64::from(config.group_buckets) * crate::bucket::SLOTS as u64,
        }
    }

    fn index(&self, lane: u32, from: u32, to: u32) -> usize {
        ((lane * self.pod.hosts + from) * self.pod.hosts + to) as usize
    }

    /// The ends of the lane at `seat`, which go on where it closed them.
    pub(crate) fn open<P: HostAtomics>(&self, port: &P, seat: Seat) -> Post<'_> {
        let peers = (0..self.pod.hosts).filter(|&host| host != seat.host);
        let peer = |host| {
            let word = |index| {
                let at = (seat.lane * self.pod.hosts + host) as usize * 4 + index;
                port.atomic_load(self.moved.at(at))
            };
            let out = self.index(seat.lane, seat.host, host);
            let back = self.index(seat.lane, host, seat.host);
            Peer {
                host,
                requests: Producer::new(&self.requests[out], word(0)),
                asked: Consumer::new(&self.requests[back], 0, word(1)),
                answers: Producer::new(&self.answers[out], word(2)),
                answered: Consumer::new(&self.answers[back], 0, word(3)),
                outbox: Vec::new(),
                sent: Vec::new(),
                inbox: Vec::new(),
                expected: 0,
                waits: false,
                lost: false,
            }
        };
        Post {
            mail: self,
            lane: seat.lane,
            peers: peers.map(peer).collect(),
        }
    }
}

/// One lane's ends of all rings.
pub(crate) struct Post<'a> {
    mail: &'a Mail,
    lane: u32,
    peers: Vec<Peer<'a>>,
}

struct Peer<'a> {
    host: u32,
    requests: Producer<'a>,
    asked: Consumer<'a>,
    answers: Producer<'a>,
    answered: Consumer<'a>,
    /// Requests that were not sent yet, back to back.
    outbox: Vec<u64>,
    /// The index and key of each, in the caller's list.
    sent: Vec<(usize, u64)>,
    /// Requests of this host's that have come.
    inbox: Vec<u64>,
    /// How many words its batch has; 0: none has begun.
    expected: usize,
    /// Whether an answer is waited for.
    waits: bool,
    /// Whether it was waited for in vain, and has not come since.
    lost: bool,
}

/// What is told of a change: its index, and what became of it.
type Done<'d> = dyn FnMut(usize, Result<bool, TableError>) + 'd;

impl Post<'_> {
    fn message_words(&self) -> usize {
        HEAD + self.mail.value_words
    }

    /// Puts a request into the next batch for `owner`; sends it if it is full.
    pub(crate) fn put<P: HostAtomics>(
        &mut self,
        handle: &mut Handle<'_, P>,
        owner: u32,
        (index, key, change): (usize, u64, Change<'_>),
        done: &mut Done<'_>,
    ) {
        let words = self.message_words();
        let at = self.peers.iter().position(|peer| peer.host == owner);
        let peer = &mut self.peers[at.expect("every other host has its rings")];
        if peer.lost {
            let host = Some(owner);
            return done(index, Err(TableError::Held { key, host }));
        }
        let value = change.value().unwrap_or_default();
        let end = peer.outbox.len() + words;
        peer.outbox.extend([key, head(change)]);
        peer.outbox.extend(value);
        peer.outbox.resize(end, 0);
        peer.sent.push((index, key));
        if peer.sent.len() == MAX_BATCH as usize {
            self.finish(handle, done);
        }
    }

    /// Sends what is left and waits for all answers.
    pub(crate) fn finish<P: HostAtomics>(
        &mut self,
        handle: &mut Handle<'_, P>,
        done: &mut Done<'_>,
    ) {
        let words = self.message_words();
        for peer in &mut self.peers {
            if peer.sent.is_empty() {
                continue;
            }
            for (number, request) in peer.outbox.chunks_mut(words).enumerate() {
                request[1] |= ((peer.sent.len() - number - 1) as u64) << 32;
            }
            let sent = peer.requests.send(handle.port, &peer.outbox);
            peer.outbox.clear();
            match sent {
                Ok(()) => peer.waits = true,
                Err(gone) => peer.give_up(|_| TableError::Gone(gone), done),
            }
        }
        let until = handle.patience_ns().map(|ns| deadline(handle.port, ns));
        let port = handle.port;
        let waited = wait_until(port, || {
            match self.turn(handle, done) {
                Err(error) => return Some(Err(error)),
                Ok(()) if self.peers.iter().all(|peer| !peer.waits) => return Some(Ok(())),
                Ok(()) => {}
            }
            if until.is_some_and(|end| port.now() >= end) {
                for peer in self.peers.iter_mut().filter(|peer| peer.waits) {
                    let host = Some(peer.host);
                    peer.lost = true;
                    peer.give_up(|key| TableError::Held { key, host }, done);
                }
                return Some(Ok(()));
            }
            None
        });
        let failed = match waited {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(gone) => TableError::Gone(gone),
        };
        for peer in &mut self.peers {
            peer.give_up(|_| failed, done);
        }
    }

    /// Makes the changes that have been asked for so far.
    pub(crate) fn serve<P: HostAtomics>(
        &mut self,
        handle: &mut Handle<'_, P>,
    ) -> Result<(), TableError> {
        self.turn(handle, &mut |_, _| {})
    }

    /// One look at all rings: takes answers, serves requests. Cost: 1 observe of up to two lines a
    /// host; for each batch 1 observe, 1 fence, 1 publish.
    fn turn<P: HostAtomics>(
        &mut self,
        handle: &mut Handle<'_, P>,
        done: &mut Done<'_>,
    ) -> Result<(), TableError> {
        let port = handle.port;
        let mut lines = [Line(0); 2 * fabric::MAX_HOSTS as usize];
        let mut count = 0;
        for peer in &self.peers {
            lines[count] = peer.asked.next_line();
            count += 1;
            if peer.waits || peer.lost {
                lines[count] = peer.answered.next_line();
                count += 1;
            }
        }
        // Serves the looks below: one fence for all of them.
        port.observe_each(&lines[..count]);
        let (words, slots) = (self.message_words(), self.mail.group_slots);
        for peer in &mut self.peers {
            if (peer.waits || peer.lost) && peer.answered.peek(port, 1).is_some() {
                peer.take_answer(port, slots, done);
            }
            if peer.has_batch(port, words) {
                peer.answer(handle, words)?;
            }
        }
        Ok(())
    }

    /// Says how far each ring has come, for the next end.
    pub(crate) fn close<P: HostAtomics>(&self, port: &P) {
        for peer in &self.peers {
            let words = [
                peer.requests.sent(),
                peer.asked.taken(),
                peer.answers.sent(),
                peer.answered.taken(),
            ];
            for (index, word) in words.into_iter().enumerate() {
                let at = (self.lane * self.mail.pod.hosts + peer.host) as usize * 4 + index;
                port.atomic_store(self.mail.moved.at(at), word);
            }
        }
    }
}

impl Peer<'_> {
    fn give_up(&mut self, why: impl Fn(u64) -> TableError, done: &mut Done<'_>) {
        self.waits = false;
        self.outbox.clear();
        for (index, key) in self.sent.drain(..) {
            done(index, Err(why(key)));
        }
    }

    fn take_answer<P: Port>(&mut self, port: &P, slots: u64, done: &mut Done<'_>) {
        let mut answer = [0; ANSWER];
        if !self.answered.try_receive(port, &mut answer) {
            return;
        }
        // One that comes too late finds nobody who asked, and says that its host lives.
        (self.waits, self.lost) = (false, false);
        for (number, (index, key)) in self.sent.drain(..).enumerate() {
            let outcome = match (answer[0] >> (2 * number)) & 3 {
                0 => Ok(true),
                1 => Ok(false),
                2 => Err(TableError::Duplicate { key }),
                _ => Err(TableError::Full { key, slots }),
            };
            done(index, outcome);
        }
    }

    /// Whether a whole batch of this host's is here.
    fn has_batch<P: Port>(&mut self, port: &P, words: usize) -> bool {
        if self.expected == 0 {
            let Some(head) = self.asked.peek(port, 1) else {
                return false;
            };
            self.expected = ((head >> 32) as usize + 1) * words;
        }
        while self.inbox.len() < self.expected {
            let from = self.inbox.len();
            let burst = self.asked.burst((self.expected - from) / words);
            self.inbox.resize(from + burst * words, 0);
            if !self.asked.try_receive(port, &mut self.inbox[from..]) {
                self.inbox.truncate(from);
                return false;
            }
        }
        true
    }

    /// Does what a batch asks for, and says what became of it.
    fn answer<P: HostAtomics>(
        &mut self,
        handle: &mut Handle<'_, P>,
        words: usize,
    ) -> Result<(), TableError> {
        let (mut outcomes, mut count) = (0, 0);
        let lazy = handle.may_be_lazy();
        for request in self.inbox.chunks(words) {
            let (key, change) = parse(request);
            let done = handle.change_here(key, change, lazy);
            if let Err(gone @ TableError::Gone(_)) = done {
                return Err(gone);
            }
            outcomes |= code(done) << (2 * count);
            count += 1;
        }
        if lazy {
            // Serves every reader of the changed lines: all are at the device before the answer.
            handle.port.fence(Fence::Full);
        }
        self.inbox.clear();
        self.expected = 0;
        self.answers.send(handle.port, &[outcomes, count])?;
        Ok(())
    }
}

fn head(change: Change<'_>) -> u64 {
    let kind = match change {
        Change::Insert(_) => 0,
        Change::Update(_) => 1,
        Change::Upsert(_) => 2,
        Change::Remove => 3,
    };
    kind | ((change.value().unwrap_or_default().len() as u64) << 8)
}

fn parse(request: &[u64]) -> (u64, Change<'_>) {
    let head = request[1];
    let value = &request[HEAD..HEAD + (head >> 8) as usize % 256];
    let change = match head & 3 {
        0 => Change::Insert(value),
        1 => Change::Update(value),
        2 => Change::Upsert(value),
        _ => Change::Remove,
    };
    (request[0], change)
}
