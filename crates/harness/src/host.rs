//! What one host process does: join, run every trial, leave.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use fabric::{Gone, HostAtomics, NoWatch, Pod, Port, Program, Seat, Substrate, Watch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sync::heart::INTERRUPTED;
use sync::rendezvous::join_and_clear;
use sync::{Heart, HeartRates, HostState, Identity, JoinError};

use crate::frame::{Blame, Failure, Frame};
use crate::post::{Between, Post};
use crate::registry::Registry;
use crate::spec::TrialSpec;
use crate::timekeeper::Timekeeper;
use crate::trial::{Control, LaneReport, Stage};

/// What a host process is told: all of its configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostConfig {
    /// The region's path.
    pub device: PathBuf,
    /// Bytes of it that are used.
    pub region_bytes: u64,
    /// The pod.
    pub pod: Pod,
    /// This host's index.
    pub host: u32,
    /// The launcher, whose death ends this process.
    pub launcher_pid: u32,
    /// What all hosts of this run share, and no other run.
    pub run_key: u64,
    /// A random number for the rendezvous.
    pub nonce: u64,
    /// The build that the launcher runs.
    pub build_id: u64,
    /// Milliseconds to wait for the other hosts.
    pub join_timeout_ms: u64,
    /// What to run, in order.
    pub trials: Vec<TrialSpec>,
}

impl HostConfig {
    /// What hosts that were started apart compare, word by word: everything that a plan and a
    /// command line decide.
    ///
    /// # Panics
    /// If a trial did not come from this registry.
    pub fn settings<S: Substrate>(
        &self,
        registry: &Registry<S, Heart>,
        control: &Control,
    ) -> Value {
        let trial = |spec: &TrialSpec| {
            let mut arena = control.arena.clone();
            registry.lay_out(&mut arena, spec);
            let mut told = serde_json::to_value(spec).expect("trials are plain values");
            told["layout"] = format!("{:#018x}", arena.layout_hash()).into();
            told
        };
        json!({
            "hosts": self.pod.hosts,
            "lanes": self.pod.lanes,
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(),
            // After what it follows from: the first difference is the one that is told.
            "region_bytes": self.region_bytes,
        })
    }

    /// A hash of the plan and of every trial's layout: what hosts of one launcher compare before
    /// they start.
    ///
    /// # Panics
    /// If a trial did not come from this registry.
    pub fn layout_hash<S: Substrate>(&self, registry: &Registry<S, Heart>) -> u64 {
        use std::hash::Hasher;
        let mut hash = fnv::FnvHasher::default();
        let trials = serde_json::to_vec(&self.trials).expect("trials are plain values");
        hash.write(&trials);
        let control = Control::lay_out_local(self.pod);
        for spec in &self.trials {
            let mut arena = control.arena.clone();
            registry.lay_out(&mut arena, spec);
            hash.write(&arena.layout_hash().to_le_bytes());
        }
        hash.finish()
    }
}

/// How a host process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every trial ran and was right on this host.
    Good,
    /// A trial failed or the run was cut short; the frames say how.
    Bad,
}

/// One host's part in a run.
pub struct Serving<'a, S, P> {
    /// What is run.
    pub config: &'a HostConfig,
    /// The region's control lines.
    pub control: &'a Control,
    /// What runs lanes.
    pub substrate: &'a S,
    /// Every workload.
    pub registry: &'a Registry<S, Heart>,
    /// What is compared at the rendezvous, before anything else can be: see
    /// [`HostConfig::layout_hash`].
    pub layout_hash: u64,
    /// One time for all hosts.
    pub time: &'a Timekeeper<'a>,
    /// Where frames go.
    pub post: &'a P,
}

impl<S: Substrate, P: Post> Serving<'_, S, P> {
    /// Joins, runs every trial, leaves. `stop` ends every wait.
    pub fn run(&self, stop: &Arc<AtomicBool>) -> Ending {
        let cookie = match self.rendezvous(stop) {
            Ok(cookie) => cookie,
            Err(error) => {
                let failure = refused(&error);
                self.post.refused(failure);
                return Ending::Bad;
            }
        };
        self.post.send(Frame::Joined { cookie });
        let Self {
            config, control, ..
        } = self;
        let header = control.header.clone();
        let (host, stop) = (config.host, Arc::clone(stop));
        let heart = Heart::new(header, config.pod, host, HeartRates::DEFAULT, stop.clone());
        heart.allow(config.join_timeout_ms as f64 / 1e3);
        let agreed = self.post.agree(&self.between(), &heart);
        let failure = match agreed {
            Ok(()) => self.run_trials(&heart),
            Err(failure) => Some(failure),
        };
        self.leave(failure, &stop)
    }

    fn between(&self) -> Between<'_, S> {
        Between {
            substrate: self.substrate,
            pod: self.config.pod,
            host: self.config.host,
        }
    }

    fn rendezvous(&self, stop: &AtomicBool) -> Result<u64, JoinError> {
        let config = self.config;
        let identity = Identity {
            pod: config.pod,
            host: config.host,
            run_key: config.run_key,
            nonce: config.nonce,
            build_id: config.build_id,
            layout_hash: self.layout_hash,
            pid: std::process::id(),
            region_bytes: config.region_bytes,
            timeout_ms: config.join_timeout_ms,
        };
        let joining = Join {
            control: self.control,
            identity,
        };
        let (setting, interrupt) = (self.between().setting(), Interrupt(stop));
        let joined = self.substrate.run(&setting, &interrupt, &joining);
        let joined = joined.into_iter().find_map(|(_, joined)| joined);
        joined.expect("lane 0 ran")
    }

    /// Says how it ended: first to the hosts that may still wait for this one, then to whoever
    /// collects.
    fn leave(&self, failure: Option<Failure>, stop: &AtomicBool) -> Ending {
        // Not for a wrong answer: a host that still waits in the last barrier would give up.
        let early = |failure: &Failure| failure.blame != Blame::Answer;
        let failed = failure.as_ref().is_some_and(early);
        let state = if failed {
            HostState::Failed
        } else {
            HostState::Done
        };
        let (control, host) = (self.control, self.config.host);
        let setting = self.between().setting();
        let leaving = Leave::Host {
            control,
            host,
            state,
        };
        self.substrate.run(&setting, &NoWatch, &leaving);
        let patience = match failed {
            _ if stop.load(Relaxed) => HURRY,
            true => STORY,
            false => FAREWELL,
        };
        let (ending, watch) = match failure {
            Some(_) => (Ending::Bad, Bounded::new(patience)),
            None => (Ending::Good, Bounded::new(patience)),
        };
        self.post.farewell(&self.between(), &watch, failure);
        self.substrate
            .run(&setting, &NoWatch, &Leave::Run { control });
        ending
    }

    fn run_trials(&self, heart: &Heart) -> Option<Failure> {
        let mut epoch = 0;
        let mut wrong = None;
        for spec in &self.config.trials {
            heart.allow(spec.limits.deadline_seconds);
            let progress = |repetition| {
                let trial = spec.index;
                self.post.send(Frame::Progress { trial, repetition });
            };
            let stage = Stage {
                spec,
                control: self.control,
                epoch,
                watch: heart,
                time: Some(self.time),
                progress: &progress,
            };
            let lanes = self.registry.run(self.substrate, &stage);
            epoch = lanes.iter().map(|lane| lane.epoch).max().unwrap_or(epoch);
            let failure = failure(&lanes);
            let trial = spec.index;
            self.post.send(Frame::Trial { trial, lanes });
            match failure {
                // A wrong answer is a result: the protocol went through, and the next trial can
                // start.
                Some(failure) if failure.blame != Blame::Answer => return Some(failure),
                Some(failure) => wrong = wrong.or(Some(failure)),
                None => {}
            }
            heart.allow(HAND_OVER_SECONDS);
            if let Err(gone) = self.post.hand_over(&self.between(), heart) {
                return Some(gone.into());
            }
        }
        wrong
    }
}

/// How long results of one trial may travel to host 0.
const HAND_OVER_SECONDS: f64 = 120.0;

/// How long hosts wait for each other's last words after a good run: as long as they bear each
/// other's silence.
const FAREWELL: Duration = Duration::from_millis(HeartRates::DEFAULT.silent_ms);

/// The same after a failure: hosts give up within moments of each other.
const STORY: Duration = Duration::from_secs(2);

/// The same after a signal: a launcher kills what it has told to end, Open MPI after a second
/// (`odls_base_sigkill_timeout`).
const HURRY: Duration = Duration::from_millis(300);

/// Ends every wait after a while.
struct Bounded {
    until: Instant,
    patience: Duration,
}

impl Bounded {
    fn new(patience: Duration) -> Self {
        Self {
            until: Instant::now() + patience,
            patience,
        }
    }
}

impl Watch for Bounded {
    fn look<P: Port>(&self, _: Seat, _: &P) -> Result<(), Gone> {
        if Instant::now() > self.until {
            let after_ms = self.patience.as_millis() as u64;
            return Err(Gone::Deadline { after_ms });
        }
        Ok(())
    }
}

/// Why a host did not join, and whose doing that was.
fn refused(error: &JoinError) -> Failure {
    let blame = match error {
        JoinError::Gone(gone) => return (*gone).into(),
        // Who waits in vain for host 0 is told more by host 0, if that can still speak.
        JoinError::NotWelcomed { .. } | JoinError::NotStarted { .. } => Blame::Another,
        _ => Blame::Own,
    };
    let what = error.to_string();
    Failure { what, blame }
}

/// Before a host has a heart, a signal alone ends its waits.
struct Interrupt<'a>(&'a AtomicBool);

impl Watch for Interrupt<'_> {
    fn look<P: Port>(&self, _: Seat, _: &P) -> Result<(), Gone> {
        if self.0.load(Relaxed) {
            return Err(Gone::Teardown { why: INTERRUPTED });
        }
        Ok(())
    }
}

struct Join<'a> {
    control: &'a Control,
    identity: Identity,
}

impl Program for Join<'_> {
    type Out = Option<Result<u64, JoinError>>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let Control {
            header, cleared, ..
        } = self.control;
        seat.leads_host()
            .then(|| join_and_clear(port, header, &self.identity, Some(*cleared)))
    }
}

/// What the header is told when a host leaves.
enum Leave<'a> {
    /// By that host, before its last words: others may be waiting for it.
    Host {
        control: &'a Control,
        host: u32,
        state: HostState,
    },
    /// By host 0, after everything: whoever comes next need not watch the region.
    Run { control: &'a Control },
}

impl Program for Leave<'_> {
    type Out = ();

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) {
        match self {
            Self::Host {
                control,
                host,
                state,
            } if seat.leads_host() => control.header.leave(port, *host, *state),
            Self::Run { control } if seat.leads_pod() => control.header.end_run(port),
            _ => {}
        }
    }
}

/// What went wrong in a trial on this host: of its lanes, the one that knows most.
fn failure(lanes: &[LaneReport]) -> Option<Failure> {
    let told = lanes
        .iter()
        .filter_map(|lane| Some((lane.blame?, lane.error.as_ref()?)));
    // A wrong answer never hides that a lane gave up.
    let rank = |blame| (blame != Blame::Answer, blame);
    let (blame, what) = told.max_by_key(|&(blame, _)| rank(blame))?;
    Some(Failure {
        what: what.clone(),
        blame,
    })
}
