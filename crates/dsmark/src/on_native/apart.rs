//! Hosts that a launcher has started apart: this process is one of them.
//!
//! Every host reads its own command line; host 0 plans and collects besides. Results come to it
//! over the region ([`harness::courier`]), so that hosts need share nothing but the pool.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::Context;
use fabric::{Coherence, Pod};
use harness::agree::{Effective, Placement, Site};
use harness::collect::Place;
use harness::courier::{Courier, Ranks};
use harness::frame::Frame;
use harness::host::{Ending, HostConfig, Serving};
use harness::job::Membership;
use harness::post::Post;
use harness::timekeeper::Timekeeper;
use harness::trial::Control;
use harness::wire::WireEnds;
use harness::{Ended, Session, TrialSpec};
use native::{Host, Pins, Region, Request, TscClock, available_cpus, backing, plan_pins};
use serde_json::json;

use super::{
    checked, description, device, disagreement_ns, join_timeout_ms, label, nonce, refuse_region,
    registry,
};
use crate::build::build_id;
use crate::cli::Clocks;
use crate::compose::region_bytes;
use crate::failure::Failure;
use crate::job::{Job, Ready, Run};

/// How long hosts wait for each other: a scheduler may start the last a while after the first.
const JOIN_TIMEOUT_MS: u64 = 60_000;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Everything that can be refused, before this host joins.
pub(super) fn prepare<'a>(
    job: &Job<'a>,
    member: &Membership,
    lanes: u32,
    first: u32,
) -> Result<Ready<'a>, Failure> {
    let registry = registry();
    let pod = Pod::new(member.hosts, lanes);
    if pod.hosts > fabric::MAX_HOSTS {
        return Err(Failure::usage(format!(
            "{} started {} processes; use 1 to {}",
            member.by,
            pod.hosts,
            fabric::MAX_HOSTS
        )));
    }
    let trials = checked(&job.plan.with_lanes(lanes), &registry, pod, first)?;
    let needed = region_bytes(&registry, &Control::lay_out_apart(pod), &trials);
    let hostname = hostname();
    let path = device_path(job, member, &hostname)?;
    let region = Region::open(&Request::new(&path, needed, member.host))?;
    if member.host == 0 {
        refuse_region(&region, pod)?;
    }
    let config = HostConfig {
        device: path,
        region_bytes: needed,
        pod,
        host: member.host,
        launcher_pid: 0,
        run_key: member.run_key,
        nonce: nonce()?,
        build_id: build_id().context("cannot read this program to identify the build")?,
        join_timeout_ms: join_timeout_ms(job, JOIN_TIMEOUT_MS)?,
        trials: trials.clone(),
    };
    let place = place(&region);
    let own = Apart {
        config,
        region,
        hostname,
        clock: job.place.clock,
        #[cfg(feature = "mpi")]
        in_job: member.in_job(),
    };
    let specs = trials.clone();
    let start = move |run: &mut Run<'_>| {
        if own.config.host == 0 {
            Ok(own.lead(&specs, place, run))
        } else {
            own.follow(run.interrupted)
        }
    };
    Ok(Ready {
        trials,
        start: Box::new(start),
    })
}

/// What rows have in common; the hosts find out together whether they share machines.
fn place(region: &Region) -> Place {
    Place {
        substrate: record::Substrate::Native,
        label: label(region.device()),
        pod: "cluster".into(),
        coherence: Coherence::Software,
        device: device(region.device()),
        oversubscribed: false,
    }
}

/// The pool's path on this host.
fn device_path(job: &Job<'_>, member: &Membership, hostname: &str) -> Result<PathBuf, Failure> {
    for named in &job.place.device_for {
        let Some((host, path)) = named.split_once('=') else {
            return Err(Failure::usage(format!(
                "--device-for {named}: write it as HOST=PATH"
            )));
        };
        let ours = match host.parse::<u32>() {
            Ok(host) if host >= member.hosts => {
                return Err(Failure::usage(format!(
                    "--device-for {named}: there are hosts 0 to {}",
                    member.hosts - 1
                )));
            }
            Ok(host) => host == member.host,
            Err(_) => host == hostname,
        };
        if ours {
            return Ok(path.into());
        }
    }
    job.place.device.clone().ok_or_else(|| {
        Failure::usage(format!(
            "{} started {} hosts apart, which need a pool that all of them can open: name it with \
             --device, or with --device-for {}=PATH",
            member.by, member.hosts, member.host
        ))
    })
}

fn hostname() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// One host, ready to join.
struct Apart {
    config: HostConfig,
    region: Region,
    hostname: String,
    clock: Clocks,
    /// Whether an MPI launcher or a scheduler started this process.
    #[cfg(feature = "mpi")]
    in_job: bool,
}

impl Apart {
    /// Host 0: measures on a thread of its own, and collects.
    fn lead(self, trials: &[TrialSpec], place: Place, run: &mut Run<'_>) -> Ended {
        let (sender, events) = channel();
        // Not the signals': what a signal means is decided in one place, by the session.
        let stop = Arc::new(AtomicBool::new(false));
        let hosts = Ranks::new(self.config.pod.hosts, events, Arc::clone(&stop));
        let serving = thread::spawn(move || self.serve(&stop, Some(sender)).err());
        let session = Session {
            hosts,
            trials,
            place,
            recorder: run.recorder,
            progress: run.progress,
            interrupted: run.interrupted,
        };
        let mut ended = session.run();
        // A lane that does not look up keeps its thread; what was measured is closed without it.
        if serving.is_finished()
            && let Ok(Some(failure)) = serving.join()
        {
            ended.cause = Some(failure.what());
        }
        ended
    }

    /// Any other host.
    fn follow(self, stop: &Arc<AtomicBool>) -> Result<Ended, Failure> {
        let trials = self.config.trials.len();
        let served = self.serve(stop, None)?;
        match (served.ending, served.story) {
            (Ending::Good, _) | (_, None) => Ok(Ended {
                trials,
                cause: None,
            }),
            (Ending::Bad, Some(story)) if served.heard => Err(Failure::Told(story)),
            (Ending::Bad, Some(story)) => Err(Failure::Measured(story)),
        }
    }

    fn serve(
        &self,
        stop: &Arc<AtomicBool>,
        events: Option<Sender<harness::hosts::Event>>,
    ) -> Result<Served, Failure> {
        let config = &self.config;
        let tsc = TscClock::calibrate()?;
        let cpus = available_cpus()?;
        // Until the hosts know whether they share a machine: a lane that gives its CPU away at once
        // is right in any case.
        let pins = Pins {
            oversubscribed: true,
            ..plan_pins(config.pod, config.host, &cpus)?
        };
        let mut machine = description(&self.region, &tsc, &pins.cpus);
        machine["process"] = json!(std::process::id());
        let control = Control::lay_out_apart(config.pod);
        let (wire, lines) = control
            .wire
            .as_ref()
            .zip(control.clocks.as_ref())
            .context("hosts apart have a wire")?;
        let time = Timekeeper::asking(lines);
        let host = Host::new(&self.region, config.host, pins, tsc.clock(false));
        let settle = |placement: &Placement| {
            if let Ok(pins) = plan(placement, config.pod.lanes, &cpus) {
                host.place(pins);
            }
            if placement.machines == 1 && self.clock == Clocks::Auto {
                let clock = tsc.clock(true);
                host.set_clock(clock);
                time.share(disagreement_ns(&clock));
            }
        };
        let registry = registry();
        let effective = self.effective(config.settings(&registry, &control), cpus.clone());
        let ends = WireEnds::new(wire, config.host);
        #[cfg(feature = "mpi")]
        let ends = crate::mpi::ByMpi {
            region: ends,
            in_job: self.in_job,
        };
        let courier = Courier::new(ends, effective, &settle, events);
        courier.send(Frame::Hello { machine });
        let serving = Serving {
            config,
            control: &control,
            time: &time,
            substrate: &host,
            registry: &registry,
            layout_hash: control.arena.layout_hash(),
            post: &courier,
        };
        let ending = serving.run(stop);
        Ok(Served {
            ending,
            heard: courier.heard(),
            story: courier.story().map(|failure| failure.what),
        })
    }

    /// What this host is about to run, on what, and where.
    fn effective(&self, mut settings: serde_json::Value, cpus: Vec<usize>) -> Effective {
        settings["clock"] = match self.clock {
            Clocks::Auto => "auto",
            Clocks::RoundTrips => "round-trips",
        }
        .into();
        let boot_id = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        Effective {
            settings,
            pool: pool(&self.config.device),
            site: Site {
                hostname: self.hostname.clone(),
                boot_id: boot_id.trim().to_owned(),
                cpus,
            },
        }
    }
}

/// How this host's part ended.
struct Served {
    ending: Ending,
    /// Whether host 0 has its last words.
    heard: bool,
    story: Option<String>,
}

/// The CPUs of this host's lanes, once its neighbours are known.
fn plan(placement: &Placement, lanes: u32, cpus: &[usize]) -> Result<Pins, native::AffinityError> {
    let pod = Pod::new(placement.sharing, lanes);
    Ok(Pins {
        oversubscribed: placement.oversubscribed,
        ..plan_pins(pod, placement.index, cpus)?
    })
}

/// The pool as its device identifies itself.
fn pool(path: &Path) -> Option<serde_json::Value> {
    let found = backing(path, Path::new("/sys"))?;
    Some(json!({ "serials": found.serials, "device_addresses": found.device_addresses }))
}
