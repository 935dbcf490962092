//! The lines between clients and a server that operates for them.
//!
//! A request is one line: its number, then the kinds of up to three operations packed in one word,
//! then two operands each. An answer is one line: the request's number, then a result each. Both
//! are written with plain stores, the number last: stores reach the line in their order and a line
//! leaves whole, so whoever finds the number finds the rest. (Stores around the caches may leave in
//! any order; they are not used.)
//!
//! A client has one request under way. Answers follow each other line by line, since one host
//! writes them all: however many there are, they leave in one burst with one fence.

use fabric::{Arena, Gone, HostAtomics, Line, Lines, MAX_HOSTS, Slice, wait_until};

use super::Rmw;

const WORDS_PER_LINE: usize = 8;

/// Operations of one request.
pub(super) const BATCH: usize = 3;

/// Bits of a packed kind.
const KIND_BITS: usize = 4;

/// A server's private state: the word itself, and which requests it has answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueDesk {
    value: u64,
    answered: [u64; MAX_HOSTS as usize],
}

impl Default for ValueDesk {
    /// That of a word whose lines are zero: nobody has ever asked.
    fn default() -> Self {
        Self {
            value: 0,
            answered: [0; MAX_HOSTS as usize],
        }
    }
}

/// The lines.
#[derive(Clone, Debug)]
pub(super) struct Delegated {
    requests: Vec<Slice<u64>>,
    answers: Slice<u64>,
}

impl Delegated {
    /// Lines for `clients`.
    ///
    /// # Panics
    /// If there are more than [`MAX_HOSTS`].
    pub(super) fn lay_out(arena: &mut Arena, name: &str, clients: u32) -> Self {
        assert!(
            clients <= MAX_HOSTS,
            "{name}: {clients} clients of one server; use {MAX_HOSTS} at most, or combining"
        );
        let answers = clients as usize * WORDS_PER_LINE;
        Self {
            requests: arena.per_host(&format!("{name}.request"), clients, WORDS_PER_LINE),
            answers: arena.per_host(&format!("{name}.answer"), 1, answers)[0],
        }
    }

    /// Has the server apply up to [`BATCH`] operations in their order; `number` is the client's
    /// last plus 1. Cost: 1 publish, 1 observe of 1 line a look.
    #[track_caller]
    pub(super) fn submit<P: HostAtomics>(
        &self,
        port: &P,
        client: u32,
        number: u64,
        ops: &[Rmw],
    ) -> Result<[u64; BATCH], Gone> {
        let request = self.requests[client as usize];
        let mut kinds = 0;
        for (index, op) in ops.iter().enumerate() {
            let [kind, first, second] = op.encode();
            kinds |= kind << (index * KIND_BITS);
            port.store(request.at(2 + 2 * index), first);
            port.store(request.at(3 + 2 * index), second);
        }
        port.store(request.at(1), kinds);
        port.store(request.at(0), number);
        // Serves the server's look.
        port.post(request.lines());
        refetch(port, request);
        let answer = self.answer(client);
        wait_until(port, || {
            // Serves the loads below: a line arrives whole.
            port.observe(answer.lines());
            (port.load(answer.at(0)) == number).then(|| {
                let mut results = [0; BATCH];
                for (index, result) in results.iter_mut().enumerate().take(ops.len()) {
                    *result = port.load(answer.at(1 + index));
                }
                results
            })
        })
    }

    /// What a server knows while nobody asks, for a word that starts anew as 0. Cost: 1 observe of
    /// all clients' lines.
    #[track_caller]
    pub(super) fn desk<P: HostAtomics>(&self, port: &P) -> ValueDesk {
        let mut desk = ValueDesk::default();
        self.observe_requests(port);
        for (request, answered) in self.requests.iter().zip(&mut desk.answered) {
            *answered = port.load(request.start());
        }
        desk
    }

    #[track_caller]
    fn observe_requests<P: HostAtomics>(&self, port: &P) {
        let mut lines = [Line(0); MAX_HOSTS as usize];
        for (line, request) in lines.iter_mut().zip(&self.requests) {
            *line = request.start().line();
        }
        // Serves the caller's loads: k flushes, one fence.
        port.observe_each(&lines[..self.requests.len()]);
    }

    /// Answers all new requests, in the order of clients. Cost: 1 observe of all clients' lines; 1
    /// publish of the lines of answers if there are any.
    #[track_caller]
    pub(super) fn serve<P: HostAtomics>(&self, port: &P, desk: &mut ValueDesk) {
        self.observe_requests(port);
        let mut answered: Option<(Line, Line)> = None;
        for (client, &request) in self.requests.iter().enumerate() {
            let number = port.load(request.at(0));
            if number == desk.answered[client] {
                continue;
            }
            desk.answered[client] = number;
            let answer = self.answer(client as u32);
            operate(port, request, answer, &mut desk.value);
            port.store(answer.at(0), number);
            let line = answer.start().line();
            answered = Some((answered.map_or(line, |(first, _)| first), line));
        }
        if let Some((first, last)) = answered {
            // Serves the clients' looks. Lines in between without news are clean.
            let lines = Lines::from_first(first, last.0 - first.0 + 1);
            port.post(lines);
            refetch(
                port,
                first.start().slice(lines.count() as usize * WORDS_PER_LINE),
            );
        }
    }

    fn answer(&self, client: u32) -> Slice<u64> {
        let from = client as usize * WORDS_PER_LINE;
        self.answers.range(from, from + WORDS_PER_LINE)
    }
}

/// Brings lines back that a flush has dropped, while there is nothing to do but wait: the next
/// store to them then need not fetch them, which would be on the way of a message. Only their
/// writer's host writes them, so what it finds is never stale.
fn refetch<P: HostAtomics>(port: &P, lines: Slice<u64>) {
    let mut words = [0; MAX_HOSTS as usize * WORDS_PER_LINE];
    port.read_into(lines.start(), &mut words[..lines.len()]);
    std::hint::black_box(&words);
}

fn operate<P: HostAtomics>(port: &P, request: Slice<u64>, answer: Slice<u64>, value: &mut u64) {
    let kinds = port.load(request.at(1));
    for index in 0..BATCH {
        let kind = kinds >> (index * KIND_BITS) & ((1 << KIND_BITS) - 1);
        let [first, second] = [2, 3].map(|word| port.load(request.at(word + 2 * index)));
        let Some(op) = Rmw::decode([kind, first, second]) else {
            break;
        };
        port.store(answer.at(1 + index), *value);
        *value = op.apply(*value);
    }
}
