//! Bytes over the region: every host's to host 0, and host 0's to all.
//!
//! Between hosts that share nothing but the pool, results have no other way home. They take it
//! between trials, when nobody measures, through the rings of crate `sync`: numbered messages of
//! `LINES` lines. A message's first word holds its number of bytes, and whether it is the last of
//! what its sender has to say.

use std::sync::{Mutex, PoisonError};

use fabric::{Arena, Gone, HostAtomics, Pod, Port, Program, Seat, Substrate, Watch};
use sync::ring::{Consumer, Funnel, FunnelConsumer, PAYLOAD_WORDS, Producer, Ring};

use crate::post::Between;

/// Lines of a message: few enough that 64 hosts cost the region a megabyte, enough that a fence
/// is not what takes the time.
const LINES: usize = 8;
const WORDS: usize = LINES * PAYLOAD_WORDS;
const BYTES: usize = (WORDS - 1) * 8;
/// Messages that a ring holds: two bursts on the way while a third is read.
const SLOTS: u32 = 32;
/// In a message's first word, beside its length: nothing follows.
const LAST: u64 = 1 << 32;

/// Where the rings lie.
#[derive(Clone, Debug)]
pub struct Wire {
    up: Funnel,
    down: Ring,
}

impl Wire {
    /// Lays out a ring for each host, and one for all.
    pub fn lay_out(arena: &mut Arena, pod: Pod) -> Self {
        Self {
            up: Funnel::lay_out(arena, "harness.up", pod.hosts, SLOTS, WORDS),
            down: Ring::lay_out(arena, "harness.down", pod.hosts - 1, SLOTS, WORDS),
        }
    }
}

/// What a host received, by sender, and how the wait for it ended.
pub type Arrived = (Vec<(u32, Vec<u8>)>, Result<(), Gone>);

/// Moves bytes between hosts. Every host makes the same calls.
pub trait Carrier: Sync {
    /// Brings `bytes` of every other host to host 0. What arrived before a wait ended is kept.
    fn up<S: Substrate, W: Watch>(&self, on: &Between<'_, S>, watch: &W, bytes: &[u8]) -> Arrived;

    /// As [`up`](Self::up), for the last words of a run: other hosts may be gone.
    fn last<S: Substrate, W: Watch>(
        &self,
        on: &Between<'_, S>,
        watch: &W,
        bytes: &[u8],
    ) -> Arrived {
        self.up(on, watch, bytes)
    }

    /// Brings `bytes` of host 0 to every host.
    ///
    /// # Errors
    /// The reason why a wait ended.
    fn down<S: Substrate, W: Watch>(
        &self,
        on: &Between<'_, S>,
        watch: &W,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Gone>;
}

/// One host's ends of a [`Wire`], for a whole run.
#[derive(Debug)]
pub struct WireEnds<'w> {
    ends: Mutex<Ends<'w>>,
}

#[derive(Debug)]
enum Ends<'w> {
    /// Host 0.
    Collects {
        up: FunnelConsumer<'w>,
        down: Producer<'w>,
    },
    /// Any other.
    Delivers {
        up: Producer<'w>,
        down: Consumer<'w>,
    },
}

impl<'w> WireEnds<'w> {
    /// The ends of `host`, of a wire that has carried nothing yet.
    pub fn new(wire: &'w Wire, host: u32) -> Self {
        let ends = if host == 0 {
            Ends::Collects {
                up: wire.up.consumer(),
                down: Producer::new(&wire.down, 0),
            }
        } else {
            Ends::Delivers {
                up: wire.up.producer(host),
                down: Consumer::new(&wire.down, host - 1, 0),
            }
        };
        Self {
            ends: Mutex::new(ends),
        }
    }

    /// Does `what` on lane 0 of this host, with its ends.
    fn run<S: Substrate, W: Watch>(&self, on: &Between<'_, S>, watch: &W, what: Do<'_>) -> Arrived {
        let turn = Turn {
            ends: &self.ends,
            hosts: on.pod.hosts,
            what,
        };
        let done = on.substrate.run(&on.setting(), watch, &turn);
        let done = done.into_iter().find_map(|(_, arrived)| arrived);
        done.expect("lane 0 ran")
    }
}

impl Carrier for WireEnds<'_> {
    fn up<S: Substrate, W: Watch>(&self, on: &Between<'_, S>, watch: &W, bytes: &[u8]) -> Arrived {
        self.run(on, watch, Do::Up(bytes))
    }

    fn down<S: Substrate, W: Watch>(
        &self,
        on: &Between<'_, S>,
        watch: &W,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Gone> {
        let (mut arrived, ended) = self.run(on, watch, Do::Down(bytes));
        ended?;
        Ok(arrived
            .pop()
            .map_or_else(|| bytes.to_vec(), |(_, bytes)| bytes))
    }
}

#[derive(Clone, Copy)]
enum Do<'a> {
    Up(&'a [u8]),
    Down(&'a [u8]),
}

struct Turn<'a, 'w> {
    ends: &'a Mutex<Ends<'w>>,
    hosts: u32,
    what: Do<'a>,
}

impl Program for Turn<'_, '_> {
    type Out = Option<Arrived>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if !seat.leads_host() {
            return None;
        }
        // A wait that ended leaves the counters as they are, which is right.
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match (&mut *ends, self.what) {
            (Ends::Collects { up, .. }, Do::Up(_)) => collect(port, up, self.hosts),
            (Ends::Collects { down, .. }, Do::Down(bytes)) => (Vec::new(), send(port, down, bytes)),
            // Not before host 0 has it: what lies in a ring when host 0 dies has reached nobody.
            (Ends::Delivers { up, .. }, Do::Up(bytes)) => (
                Vec::new(),
                send(port, up, bytes).and_then(|()| up.drain(port)),
            ),
            (Ends::Delivers { down, .. }, Do::Down(_)) => receive(port, down),
        })
    }
}

fn send<P: Port>(port: &P, to: &mut Producer<'_>, bytes: &[u8]) -> Result<(), Gone> {
    let count = bytes.len().div_ceil(BYTES).max(1);
    for index in 0..count {
        let message = piece(bytes, index);
        let last = if index + 1 == count { LAST } else { 0 };
        let mut words = [0; WORDS];
        words[0] = message.len() as u64 | last;
        for (word, bytes) in words[1..].iter_mut().zip(message.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(eight);
        }
        to.send(port, &words)?;
    }
    Ok(())
}

fn piece(bytes: &[u8], index: usize) -> &[u8] {
    let from = (index * BYTES).min(bytes.len());
    &bytes[from..(from + BYTES).min(bytes.len())]
}

/// Appends a message's bytes; whether it is the last.
fn unpack(words: &[u64; WORDS], to: &mut Vec<u8>) -> bool {
    let length = (words[0] & (LAST - 1)) as usize;
    let bytes = words[1..].iter().flat_map(|word| word.to_le_bytes());
    to.extend(bytes.take(length));
    words[0] & LAST != 0
}

/// What every other host has to say.
fn collect<P: Port>(port: &P, from: &mut FunnelConsumer<'_>, hosts: u32) -> Arrived {
    let mut arrived: Vec<(u32, Vec<u8>)> = (1..hosts).map(|host| (host, Vec::new())).collect();
    // By host, not by count: one that gave up may have its farewell behind its last report already.
    let mut done = vec![false; hosts as usize];
    done[0] = true;
    let mut words = [0; WORDS];
    while done.contains(&false) {
        let host = match from.receive(port, &mut words) {
            Ok(host) => host as usize,
            Err(gone) => return (arrived, Err(gone)),
        };
        if unpack(&words, &mut arrived[host - 1].1) {
            done[host] = true;
            from.tell(port);
        }
    }
    (arrived, Ok(()))
}

/// What host 0 has to say.
fn receive<P: Port>(port: &P, from: &mut Consumer<'_>) -> Arrived {
    let mut bytes = Vec::new();
    let mut words = [0; WORDS];
    loop {
        if let Err(gone) = from.receive(port, &mut words) {
            return (Vec::new(), Err(gone));
        }
        if unpack(&words, &mut bytes) {
            return (vec![(0, bytes)], Ok(()));
        }
    }
}
