//! What both ports run, unchanged: the mailbox, and `visibility` as a trial runs it.

use std::sync::Mutex;

use fabric::{Arena, Gone, HostAtomics, Omit, Pod, Program, Seat, Setting, Site, Tapped};
use micro::Visibility;
use micro::visibility::{Layout, Params};
use sync::{Barrier, BarrierLayout, Mailbox, Receiver, Sender};
use workload::{Mismatch, Series, Verified, Worker, Workload};

/// The words of message `number`: all the number itself, so that a stale or torn one shows.
pub(crate) fn message(number: u64, words: usize) -> Vec<u64> {
    vec![number; words]
}

/// Host 0 sends `messages` messages to host 1, which brings them back.
pub(crate) struct Exchange {
    mailbox: Mailbox,
    messages: u64,
    words: usize,
    pub(crate) region_bytes: u64,
}

impl Exchange {
    pub(crate) fn new(messages: u64, words: usize) -> Self {
        let mut arena = Arena::new();
        Self {
            mailbox: Mailbox::lay_out(&mut arena, "exchange", words),
            messages,
            words,
            region_bytes: arena.region_bytes(),
        }
    }
}

impl Program for Exchange {
    type Out = Result<Vec<Vec<u64>>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut received = Vec::new();
        if seat.host == 0 {
            let mut sender = Sender::new(self.mailbox);
            for number in 1..=self.messages {
                sender.send(port, &message(number, self.words))?;
            }
        } else {
            let mut receiver = Receiver::new(self.mailbox);
            for _ in 0..self.messages {
                let mut words = message(0, self.words);
                receiver.receive(port, &mut words)?;
                received.push(words);
            }
        }
        Ok(received)
    }
}

/// `repetitions` of `visibility`, then its verifier, on every lane.
pub(crate) struct Trial {
    pod: Pod,
    params: Params,
    repetitions: u32,
    /// What the verifier is told; `repetitions`, but in a test of the verifier.
    expected: u32,
    layout: Layout,
    barrier: BarrierLayout,
    pub(crate) region_bytes: u64,
    host_bytes: u64,
}

/// What a lane of a [`Trial`] brings back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ran {
    pub(crate) series: Vec<Series>,
    pub(crate) verified: Result<Verified, Mismatch>,
}

impl Trial {
    pub(crate) fn new(pod: Pod, params: Params, repetitions: u32) -> Self {
        Visibility::check(pod, &params).expect("a pod and parameters that can run");
        let mut arena = Arena::new();
        Self {
            pod,
            layout: Visibility::layout(&mut arena, pod, &params),
            barrier: BarrierLayout::lay_out(&mut arena, "trial", pod),
            params,
            repetitions,
            expected: repetitions,
            region_bytes: arena.region_bytes(),
            host_bytes: arena.host_bytes(),
        }
    }

    /// The same, with a verifier that expects another number of repetitions.
    pub(crate) fn expecting(self, expected: u32) -> Self {
        Self { expected, ..self }
    }

    pub(crate) fn setting(&self) -> Setting {
        Setting {
            pod: self.pod,
            discipline: Visibility::discipline(&self.params).expect("visibility sets its own"),
            host_bytes: self.host_bytes,
        }
    }
}

impl Program for Trial {
    type Out = Result<Ran, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
        let worker = |repetition| Worker::new(port, self.pod, seat, &barrier, 1, repetition);
        let mut series = Vec::new();
        for repetition in 0..self.repetitions {
            barrier.wait(port)?;
            let outcome = Visibility::run(&worker(repetition), &self.layout, &self.params)?;
            series.extend(outcome.series);
        }
        barrier.wait(port)?;
        let done = worker(self.repetitions);
        let verified = Visibility::verify(&done, &self.layout, &self.params, self.expected);
        Ok(Ran { series, verified })
    }
}

/// A program with one maintenance operation left out, or, without a target, one that tells which
/// could be.
pub(crate) struct Twin<'g, G> {
    program: &'g G,
    target: Option<Site>,
    sites: Mutex<Vec<Site>>,
}

impl<'g, G> Twin<'g, G> {
    pub(crate) fn new(program: &'g G, target: Option<Site>) -> Self {
        let sites = Mutex::default();
        Self {
            program,
            target,
            sites,
        }
    }

    /// The sites met by any lane, in the order of the source.
    pub(crate) fn into_sites(self) -> Vec<Site> {
        let mut sites = self.sites.into_inner().expect("no lane panicked");
        sites.sort();
        sites.dedup();
        sites
    }
}

impl<G: Program> Program for Twin<'_, G> {
    type Out = G::Out;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let omit = Omit::new(self.target);
        let out = self.program.lane(seat, &Tapped::new(port, &omit));
        let mut sites = self.sites.lock().expect("no lane panicked");
        sites.extend(omit.sites());
        out
    }
}
