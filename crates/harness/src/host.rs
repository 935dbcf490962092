//! What one host process does: join, run every trial, leave.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fabric::{Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
use serde::{Deserialize, Serialize};
use sync::{Heart, HeartRates, HostState, Identity, JoinError, join};

use crate::frame::{Frame, FrameWriter};
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

/// Runs a host process: joins, runs every trial, leaves; frames go to `out`. `stop` ends every wait.
pub fn serve<S: Substrate, O: Write + Send>(
    config: &HostConfig,
    substrate: &S,
    registry: &Registry<S, Heart>,
    stop: Arc<AtomicBool>,
    out: &FrameWriter<O>,
) -> Ending {
    let control = Control::lay_out(config.pod);
    if let Err(error) = rendezvous(config, substrate, registry, &control, out) {
        let consequence = matches!(error, JoinError::Gone(_));
        // A launcher that is gone is noticed by its death signal; there is nobody left to tell.
        let _ = out.send(&Frame::Bye {
            error: Some(error.to_string()),
            consequence,
        });
        return Ending::Bad;
    }
    let header = control.header.clone();
    let heart = Heart::new(header, config.pod, config.host, HeartRates::DEFAULT, stop);
    let failure = run_trials(config, substrate, registry, &control, &heart, out);
    let state = if failure.is_some() {
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
    let (error, consequence) = failure.map_or((None, false), |f| (Some(f.what), f.consequence));
    let _ = out.send(&Frame::Bye { error, consequence });
    ending
}

struct Failure {
    what: String,
    consequence: bool,
}

fn rendezvous<S: Substrate, O: Write>(
    config: &HostConfig,
    substrate: &S,
    registry: &Registry<S, Heart>,
    control: &Control,
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
    let joined = substrate.run(&alone(config), &NoWatch, &joining);
    let cookie = joined.into_iter().next().expect("lane 0 ran").1?;
    let _ = out.send(&Frame::Joined { cookie });
    Ok(())
}

/// One lane, the full discipline: what the rendezvous runs under, whatever the trials do.
fn alone(config: &HostConfig) -> Setting {
    let pod = Pod::new(config.pod.hosts, 1);
    Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    }
}

struct Join<'a> {
    control: &'a Control,
    identity: Identity,
}

impl Program for Join<'_> {
    type Out = Result<u64, JoinError>;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Self::Out {
        join(port, &self.control.header, &self.identity)
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
        self.control.header.leave(port, self.host, self.state);
        if seat.host == 0 {
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
        let failure = failure(&lanes, spec);
        let _ = out.send(&Frame::Trial {
            trial: spec.index,
            lanes,
        });
        match failure {
            // A wrong answer is a result: the protocol went through, and the next trial can start.
            Some(failure) if failure.consequence => return Some(failure),
            Some(failure) => wrong = wrong.or(Some(failure)),
            None => {}
        }
    }
    wrong
}

/// What went wrong in a trial on this host.
fn failure(lanes: &[LaneReport], spec: &TrialSpec) -> Option<Failure> {
    let lane = lanes.iter().find(|lane| lane.error.is_some())?;
    let what = format!(
        "{}: {}",
        spec.title(),
        lane.error.as_deref().unwrap_or_default()
    );
    Some(Failure {
        what,
        consequence: lane.verified.is_none(),
    })
}
