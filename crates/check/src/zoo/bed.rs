//! What the programs of the zoo share: a few lines of region, and how a lane ends.

use fabric::{Arena, Gone, Port, Ptr, Slice, wait_until};

use crate::subject::Violation;

/// Words of a line.
pub(super) const LINE_WORDS: usize = 8;

/// The lines of a program of the zoo. Each uses some.
pub(super) struct Bed {
    pub(super) arena: Arena,
    /// Whether the program is to do it right.
    pub(super) cured: bool,
    /// Two lines, written by host 0.
    pub(super) payload: Slice<u64>,
    /// Says that the payload is there; written by host 0.
    pub(super) flag: Ptr<u64>,
    /// A line with words of several hosts.
    pub(super) shared: Slice<u64>,
    /// A line for each host.
    pub(super) own: Vec<Slice<u64>>,
    /// Lines that hold one slot a host, at a place that depends on how many hosts one assumes.
    pub(super) slots: Slice<u64>,
}

impl Bed {
    pub(super) fn new(hosts: u32, cured: bool) -> Self {
        let mut arena = Arena::new();
        Self {
            cured,
            payload: arena.slice("payload", 2 * LINE_WORDS),
            flag: arena.word("flag"),
            shared: arena.slice("shared", LINE_WORDS),
            own: arena.per_host("own", hosts, 2),
            slots: arena.slice("slots", 4 * LINE_WORDS),
            arena,
        }
    }

    /// The second line of the payload.
    pub(super) fn second(&self) -> Ptr<u64> {
        self.payload.at(LINE_WORDS)
    }

    /// The host's own first word.
    pub(super) fn word_of(&self, host: u32) -> Ptr<u64> {
        self.own[host as usize].start()
    }
}

/// Why a lane ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Gone(Gone),
    Wrong(Violation),
}

impl From<Gone> for Stop {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        Self::Wrong(violation)
    }
}

/// Polls a word rightly, observing for each look, until it is at least `value`.
#[track_caller]
pub(super) fn await_at_least<P: Port>(port: &P, at: Ptr<u64>, value: u64) -> Result<(), Gone> {
    wait_until(port, || {
        // Serves the load below.
        port.observe(at.line());
        (port.load(at) >= value).then_some(())
    })
}

/// A message that is sent rightly: payload, then flag.
pub(super) fn send<P: Port>(bed: &Bed, port: &P) {
    // Serves the reader's loads of the payload after it has seen the flag.
    port.write_posted(bed.payload.at(0), &[1]);
    port.write_posted(bed.second(), &[1]);
    // Serves its poll.
    port.write_posted(bed.flag, &[1]);
}

/// What a reader must have read.
///
/// # Errors
/// If it did not.
#[track_caller]
pub(super) fn expect(what: &str, found: u64, expected: u64) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    Err(Violation::stale(format!(
        "{what} is {found}, not {expected}"
    )))
}
