//! Frames of hosts that nobody started as processes of his own: they reach host 0 between trials.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fabric::{Gone, Port, Seat, Substrate, Watch};
use sync::heart::ANOTHER_FAILED;

use crate::agree::{Effective, Placement, Verdict, judge};
use crate::frame::{Blame, Failure, Frame};
use crate::hosts::{Event, Hosts};
use crate::post::{Between, Post};
use crate::wire::{Arrived, Carrier};

/// Collects frames at host 0, and brings them there from every other host.
pub struct Courier<'a, C> {
    carrier: C,
    effective: Effective,
    /// Told its place on its machine, once that is known.
    settle: &'a (dyn Fn(&Placement) + Sync),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What this host has to say, one JSON object a line; at host 0 nothing, it says it at once.
    outbox: Vec<u8>,
    /// At host 0: who collects.
    events: Option<Sender<Event>>,
    /// At host 0: what each host is about to run.
    effective: BTreeMap<u32, Effective>,
    /// Why this host left early, in its last words.
    story: Option<Failure>,
    /// Whether these have arrived.
    heard: bool,
}

impl<'a, C: Carrier> Courier<'a, C> {
    /// A host's courier; `events` at host 0 alone.
    pub fn new(
        carrier: C,
        effective: Effective,
        settle: &'a (dyn Fn(&Placement) + Sync),
        events: Option<Sender<Event>>,
    ) -> Self {
        let state = State {
            events,
            ..State::default()
        };
        Self {
            carrier,
            effective,
            settle,
            state: Mutex::new(state),
        }
    }

    /// Whether host 0 has all that this host had to say.
    pub fn heard(&self) -> bool {
        self.state().heard
    }

    /// Why this host left early.
    pub fn story(&self) -> Option<Failure> {
        self.state().story.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A lane that panicked while it wrote left at most half a line, which is told as garbled.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings what hosts have to say to host 0, which passes it on.
    fn bring(&self, up: impl FnOnce(&C, &[u8]) -> Arrived) -> Result<(), Gone> {
        let outbox = std::mem::take(&mut self.state().outbox);
        let (arrived, ended) = up(&self.carrier, &outbox);
        for (host, bytes) in arrived {
            self.take_in(host, &bytes);
        }
        ended
    }

    /// Passes on what `host` said.
    fn take_in(&self, host: u32, bytes: &[u8]) {
        let mut state = self.state();
        for line in bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let event = match serde_json::from_slice(line) {
                Ok(Frame::Effective { effective }) => {
                    state.effective.insert(host, effective);
                    continue;
                }
                Ok(frame) => Event::Frame(host, Box::new(frame)),
                Err(_) => Event::Garbled(host, String::from_utf8_lossy(line).into()),
            };
            if let Some(events) = &state.events {
                let _ = events.send(event);
            }
        }
    }

    fn verdict(&self, hosts: u32, lanes: u32) -> Verdict {
        let mut state = self.state();
        state.effective.insert(0, self.effective.clone());
        let all: Vec<_> = (0..hosts)
            .map(|host| state.effective.remove(&host))
            .collect();
        judge(&all, lanes)
    }
}

/// How long a host that hears of another's failure still waits for what host 0 decided.
const DECIDED: Duration = Duration::from_secs(2);

/// Whoever is refused leaves as failed as soon as it knows why. That must not end the waits of
/// those who do not know yet, be it that they have not noticed that host 0 has heard them: the
/// reason is on its way to them too. Host 0, which decides, is not to be kept.
struct Undeterred<'a, W> {
    watch: &'a W,
    host: u32,
    /// When another's failure was first heard of.
    heard: OnceLock<Instant>,
}

impl<'a, W: Watch> Undeterred<'a, W> {
    fn new(watch: &'a W, host: u32) -> Self {
        Self {
            watch,
            host,
            heard: OnceLock::new(),
        }
    }
}

impl<W: Watch> Watch for Undeterred<'_, W> {
    fn look<P: Port>(&self, seat: Seat, port: &P) -> Result<(), Gone> {
        match self.watch.look(seat, port) {
            Err(Gone::Teardown {
                why: ANOTHER_FAILED,
            }) if self.host != 0 && self.heard.get_or_init(Instant::now).elapsed() < DECIDED => {
                Ok(())
            }
            looked => looked,
        }
    }
}

impl<C: Carrier> Post for Courier<'_, C> {
    fn send(&self, frame: Frame) {
        let mut state = self.state();
        if let Some(events) = &state.events {
            let _ = events.send(Event::Frame(0, Box::new(frame)));
            return;
        }
        // Progress is host 0's to tell, and old when it arrives.
        if matches!(frame, Frame::Progress { .. }) {
            return;
        }
        serde_json::to_writer(&mut state.outbox, &frame).expect("a frame is plain values");
        state.outbox.push(b'\n');
    }

    fn agree<S: Substrate, W: Watch>(
        &self,
        between: &Between<'_, S>,
        watch: &W,
    ) -> Result<(), Failure> {
        if between.host != 0 {
            let effective = self.effective.clone();
            self.send(Frame::Effective { effective });
        }
        let watch = &Undeterred::new(watch, between.host);
        self.hand_over(between, watch)?;
        let own = if between.host == 0 {
            let verdict = self.verdict(between.pod.hosts, between.pod.lanes);
            serde_json::to_vec(&verdict).expect("a verdict is plain values")
        } else {
            Vec::new()
        };
        let told = self.carrier.down(between, watch, &own)?;
        let places = match serde_json::from_slice(&told) {
            Ok(Verdict::Agreed(places)) => places,
            Ok(Verdict::Refused(what)) => {
                // One story: host 0's.
                let blame = if between.host == 0 {
                    Blame::Own
                } else {
                    Blame::Another
                };
                return Err(Failure { what, blame });
            }
            Err(_) => {
                return Err(Failure {
                    what: "what host 0 decided did not arrive whole".into(),
                    blame: Blame::Own,
                });
            }
        };
        (self.settle)(&places[between.host as usize]);
        if between.host == 0 {
            self.send(Frame::Agreed {
                machines: places[0].machines,
                oversubscribed: places.iter().any(|place| place.oversubscribed),
            });
        }
        Ok(())
    }

    fn hand_over<S: Substrate, W: Watch>(
        &self,
        between: &Between<'_, S>,
        watch: &W,
    ) -> Result<(), Gone> {
        self.bring(|carrier, outbox| carrier.up(between, watch, outbox))
    }

    fn refused(&self, failure: Failure) {
        self.state().story = Some(failure.clone());
        let failure = Some(failure);
        self.send(Frame::Bye { failure });
    }

    fn farewell<S: Substrate, W: Watch>(
        &self,
        between: &Between<'_, S>,
        watch: &W,
        failure: Option<Failure>,
    ) {
        self.state().story.clone_from(&failure);
        // Host 0 leaves last: what the others say of a failure is part of the story.
        if between.host != 0 {
            self.send(Frame::Bye { failure });
            let heard = self.bring(|carrier, outbox| carrier.last(between, watch, outbox));
            self.state().heard = heard.is_ok();
            return;
        }
        let _ = self.bring(|carrier, outbox| carrier.last(between, watch, outbox));
        self.send(Frame::Bye { failure });
    }
}

/// How long host 0 may take to come to an end once it was told to stop, before its results are
/// closed without it.
const GRACE: Duration = Duration::from_secs(5);

/// The hosts of a run as host 0 hears of them.
#[derive(Debug)]
pub struct Ranks {
    events: Receiver<Event>,
    open: Vec<bool>,
    stop: Arc<AtomicBool>,
    stopping_since: Option<Instant>,
}

impl Ranks {
    /// `hosts` hosts, whose courier at host 0 sends to `events`; `stop` ends host 0's waits, and so
    /// the others'.
    pub fn new(hosts: u32, events: Receiver<Event>, stop: Arc<AtomicBool>) -> Self {
        Self {
            events,
            open: vec![true; hosts as usize],
            stop,
            stopping_since: None,
        }
    }

    fn close_one(&mut self) -> Event {
        match self.open.iter().position(|&open| open) {
            Some(host) => {
                self.open[host] = false;
                Event::Closed(host as u32)
            }
            None => Event::Quiet,
        }
    }
}

impl Hosts for Ranks {
    fn next(&mut self, patience: Duration) -> Event {
        match self.events.recv_timeout(patience) {
            Ok(event) => event,
            // The courier is gone, and with it whatever could still be heard.
            Err(RecvTimeoutError::Disconnected) => self.close_one(),
            Err(RecvTimeoutError::Timeout) => match self.stopping_since {
                Some(since) if since.elapsed() > GRACE => self.close_one(),
                _ => Event::Quiet,
            },
        }
    }

    fn open(&self) -> Vec<u32> {
        let hosts = (0..).zip(&self.open);
        hosts
            .filter_map(|(host, &open)| open.then_some(host))
            .collect()
    }

    fn name(&self, host: u32) -> String {
        format!("host {host}")
    }

    fn violent_end(&self, _: u32) -> Option<String> {
        None
    }

    fn stop(&mut self) {
        self.stopping_since.get_or_insert_with(Instant::now);
        self.stop.store(true, Relaxed);
    }
}
