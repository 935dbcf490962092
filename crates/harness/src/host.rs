//! What one host process does: join, run every trial, leave.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fabric::{
    Discipline, Gone, HostAtomics, NoWatch, Pod, Port, Program, Seat, Setting, Substrate, Watch,
};
use serde::{Deserialize, Serialize};
use sync::heart::INTERRUPTED;
use sync::rendezvous::join_and_clear;
use sync::{Heart, HeartRates, HostState, Identity, JoinError};

use crate::frame::{Blame, Failure, Frame, FrameWriter};
use crate::registry::Registry;
use crate::spec::TrialSpec;
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
    /// A hash of the plan and of every trial's layout: what hosts compare before they start.
    ///
    /// # Panics
    /// If a trial did not come from this registry.
    pub fn layout_hash<S: Substrate>(&self, registry: &Registry<S, Heart>) -> u64 {
        use std::hash::Hasher;
        let mut hash = fnv::FnvHasher::default();
        let trials = serde_json::to_vec(&self.trials).expect("trials are plain values");
        hash.write(&trials);
        let control = Control::lay_out(self.pod);
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

/// Runs a host process: joins, runs every trial, leaves; frames go to `out`. `stop` ends every
/// wait.
pub fn serve<S: Substrate, O: Write + Send>(
    config: &HostConfig,
    substrate: &S,
    registry: &Registry<S, Heart>,
    stop: Arc<AtomicBool>,
    out: &FrameWriter<O>,
) -> Ending {
    let control = Control::lay_out(config.pod);
    let interrupt = Interrupt(&stop);
    if let Err(error) = rendezvous(config, substrate, registry, &control, &interrupt, out) {
        let failure = Some(refused(&error));
        // A launcher that is gone is noticed by its death signal; there is nobody left to tell.
        let _ = out.send(&Frame::Bye { failure });
        return Ending::Bad;
    }
    let header = control.header.clone();
    let heart = Heart::new(header, config.pod, config.host, HeartRates::DEFAULT, stop);
    let failure = run_trials(config, substrate, registry, &control, &heart, out);
    // Not for a wrong answer: a host that still waits in the last barrier would give up.
    let early = |failure: &Failure| failure.blame != Blame::Answer;
    let state = if failure.as_ref().is_some_and(early) {
        HostState::Failed
    } else {
        HostState::Done
    };
    let leaving = Leave {
        control: &control,
        host: config.host,
        state,
    };
    substrate.run(&alone(config), &NoWatch, &leaving);
    let ending = if failure.is_some() {
        Ending::Bad
    } else {
        Ending::Good
    };
    let _ = out.send(&Frame::Bye { failure });
    ending
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

fn rendezvous<S: Substrate, O: Write>(
    config: &HostConfig,
    substrate: &S,
    registry: &Registry<S, Heart>,
    control: &Control,
    interrupt: &Interrupt<'_>,
    out: &FrameWriter<O>,
) -> Result<(), JoinError> {
    let identity = Identity {
        pod: config.pod,
        host: config.host,
        run_key: config.run_key,
        nonce: config.nonce,
        build_id: config.build_id,
        layout_hash: config.layout_hash(registry),
        pid: std::process::id(),
        region_bytes: config.region_bytes,
        timeout_ms: config.join_timeout_ms,
    };
    let joining = Join { control, identity };
    let joined = substrate.run(&alone(config), interrupt, &joining);
    let joined = joined.into_iter().find_map(|(_, joined)| joined);
    let cookie = joined.expect("lane 0 ran")?;
    let _ = out.send(&Frame::Joined { cookie });
    Ok(())
}

/// The full discipline, whatever the trials do: what the rendezvous runs under, on lane 0 alone.
fn alone(config: &HostConfig) -> Setting {
    Setting {
        pod: config.pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
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

struct Leave<'a> {
    control: &'a Control,
    host: u32,
    state: HostState,
}

impl Program for Leave<'_> {
    type Out = ();

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) {
        if seat.leads_host() {
            self.control.header.leave(port, self.host, self.state);
        }
        if seat.leads_pod() {
            self.control.header.end_run(port);
        }
    }
}

fn run_trials<S: Substrate, O: Write + Send>(
    config: &HostConfig,
    substrate: &S,
    registry: &Registry<S, Heart>,
    control: &Control,
    heart: &Heart,
    out: &FrameWriter<O>,
) -> Option<Failure> {
    let mut epoch = 0;
    let mut wrong = None;
    for spec in &config.trials {
        heart.allow(spec.limits.deadline_seconds);
        let progress = |repetition| {
            let _ = out.send(&Frame::Progress {
                trial: spec.index,
                repetition,
            });
        };
        let stage = Stage {
            spec,
            control,
            epoch,
            watch: heart,
            progress: &progress,
        };
        let lanes = registry.run(substrate, &stage);
        epoch = lanes.iter().map(|lane| lane.epoch).max().unwrap_or(epoch);
        let failure = failure(&lanes);
        let _ = out.send(&Frame::Trial {
            trial: spec.index,
            lanes,
        });
        match failure {
            // A wrong answer is a result: the protocol went through, and the next trial can start.
            Some(failure) if failure.blame != Blame::Answer => return Some(failure),
            Some(failure) => wrong = wrong.or(Some(failure)),
            None => {}
        }
    }
    wrong
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
