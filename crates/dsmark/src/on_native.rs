//! The native substrate, composed: its registry, its launch, its host process.

mod apart;

use std::io::{BufRead, stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use fabric::{Coherence, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
use harness::collect::Place;
use harness::frame::{Blame, Failure as HostFailure, Frame};
use harness::host::{Ending, HostConfig, Serving};
use harness::local::{LaunchError, Pack};
use harness::post::{FrameWriter, Post};
use harness::timekeeper::Timekeeper;
use harness::trial::Control;
use harness::{Ended, Plan, Registry, Session, TrialSpec};
use native::{Cpu, Host, Region, Request, TscClock, available_cpus, plan_pins};
use record::{Device, Label};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde_json::{Value, json};
use sync::Heart;

use crate::build::build_id;
use crate::compose::{self, expand, region_bytes};
use crate::failure::Failure;
use crate::job::{Job, OnRegion, Ready, Run};
use crate::region::Pool;

/// How long local hosts wait for each other: they start within moments of each other.
const JOIN_TIMEOUT_MS: u64 = 10_000;

/// How long hosts wait for each other, in milliseconds.
fn join_timeout_ms(job: &Job<'_>, otherwise_ms: u64) -> Result<u64, Failure> {
    match job.place.join_timeout {
        None => Ok(otherwise_ms),
        Some(seconds) if seconds > 0.0 && seconds <= LONGEST_JOIN_SECONDS => {
            Ok((seconds * 1e3).ceil() as u64)
        }
        Some(seconds) => Err(Failure::usage(format!(
            "--join-timeout {seconds}: use seconds above 0, up to {LONGEST_JOIN_SECONDS}"
        ))),
    }
}

/// A day: who waits longer has forgotten the run.
const LONGEST_JOIN_SECONDS: f64 = 86_400.0;

/// Every workload on this substrate.
fn registry<'r>() -> Registry<Host<'r>, Heart> {
    compose::registry()
}

/// What `"*"` stands for in a plan.
fn supported(key: &str) -> Option<Vec<Value>> {
    let methods = methods();
    methods.get(key)?.as_array().cloned()
}

pub(crate) fn methods() -> Value {
    let cpu = Cpu::detect();
    // "none" is for coherent pods: nothing to sweep there.
    let publish = cpu
        .publish_methods()
        .into_iter()
        .map(fabric::PublishBy::name);
    let observe = cpu
        .observe_methods()
        .into_iter()
        .map(fabric::ObserveBy::name);
    json!({
        "publish": publish.filter(|&name| name != "none").collect::<Vec<_>>(),
        "observe": observe.filter(|&name| name != "none").collect::<Vec<_>>(),
    })
}

/// The trials of a plan, each checked against workload and CPU.
fn checked(
    plan: &Plan,
    registry: &Registry<Host<'_>, Heart>,
    pod: Pod,
    first: u32,
) -> Result<Vec<TrialSpec>, Failure> {
    let cpu = Cpu::detect();
    let on = record::Substrate::Native;
    let specs = expand(
        plan,
        on,
        registry,
        pod,
        Coherence::Software,
        first,
        supported,
    )?;
    for spec in &specs {
        cpu.supports(spec.discipline)?;
        refuse_undisciplined(spec)?;
    }
    Ok(specs)
}

/// Without coherent hardware between hosts, doing nothing is not a method.
fn refuse_undisciplined(spec: &TrialSpec) -> Result<(), Failure> {
    let Discipline { publish, observe } = spec.discipline;
    let none = publish == fabric::PublishBy::None || observe == fabric::ObserveBy::None;
    if spec.pod.hosts > 1 && none {
        return Err(Failure::usage(format!(
            "{}: `none` needs hardware that keeps {} hosts coherent; name a method (`dsmark list`)",
            spec.title(),
            spec.pod.hosts
        )));
    }
    Ok(())
}

/// Local host processes unless the plan or the command says how many.
const DEFAULT_HOSTS: u32 = 2;

/// Everything that can be refused, before a host process is started: the trials whose hosts have
/// `lanes` lanes.
pub(crate) fn prepare<'a>(job: &Job<'a>, lanes: u32, first: u32) -> Result<Ready<'a>, Failure> {
    if let Some(member) = &job.member {
        return apart::prepare(job, member, lanes, first);
    }
    let registry = registry();
    let pod = Pod::new(job.plan.hosts.unwrap_or(DEFAULT_HOSTS), lanes);
    let trials = checked(&job.plan.with_lanes(lanes), &registry, pod, first)?;
    let pins = plan_pins(pod, 0, &available_cpus()?)?;
    let region_bytes = region_bytes(&registry, &Control::lay_out_local(pod), &trials);
    let (pool, kind) = open_pool(job, pod, region_bytes)?;
    let timeout_ms = join_timeout_ms(job, JOIN_TIMEOUT_MS)?;
    let configs = configs(&pool, region_bytes, pod, &trials, timeout_ms)?;
    let hosts_cohere = if pod.hosts > 1 {
        Coherence::Software
    } else {
        Coherence::Hardware
    };
    let place = Place {
        substrate: record::Substrate::Native,
        // Hosts that are processes of one machine share its caches, also over a real pool.
        label: if pod.hosts > 1 {
            Label::StandIn
        } else {
            label(kind)
        },
        pod: "local".into(),
        coherence: hosts_cohere,
        device: device(kind),
        oversubscribed: pins.oversubscribed,
    };
    let specs = trials.clone();
    // The pool moves along: an anonymous region lives as long as the run.
    let start = move |run: &mut Run<'_>| launch(&pool, &configs, &specs, place, run);
    Ok(Ready {
        trials,
        start: Box::new(start),
    })
}

/// Runs trials as local host processes.
fn launch(
    _pool: &Pool,
    configs: &[HostConfig],
    trials: &[TrialSpec],
    place: Place,
    run: &mut Run<'_>,
) -> Result<Ended, Failure> {
    let program = std::env::current_exe().context("cannot find this program to start hosts")?;
    let pack = match Pack::start(&program, &["host"], configs) {
        Ok(pack) => pack,
        // Like any other death of a host: the record is closed and says so.
        Err(suspended @ LaunchError::Suspended { .. }) => {
            return Ok(Ended {
                trials: 0,
                cause: Some(suspended.to_string()),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let session = Session {
        hosts: pack,
        trials,
        place,
        recorder: run.recorder,
        progress: run.progress,
        interrupted: run.interrupted,
    };
    Ok(session.run())
}

/// Opens the region once before any host does, so that a bad one is refused with nothing started.
fn open_pool(
    job: &Job<'_>,
    pod: Pod,
    region_bytes: u64,
) -> Result<(Pool, native::Device), Failure> {
    let pool = match &job.place.device {
        Some(path) => Pool::at(path.clone()),
        None => Pool::anonymous(region_bytes)?,
    };
    let region = Region::open(&Request::new(&pool.path, region_bytes, 0))?;
    if job.place.device.is_some() {
        refuse_region(&region, pod)?;
    }
    Ok((pool, region.device()))
}

/// Refuses a region that is not ours, or in use.
fn refuse_region(region: &Region, pod: Pod) -> Result<(), Failure> {
    let header = Control::lay_out(pod).header;
    let checked = outside(region, &CheckRegion(header))?;
    let name = region.path().display();
    checked.map_err(|refused| Failure::usage(format!("{name}: {refused}")))
}

/// Refuses a region that hosts would refuse, before they are started.
struct CheckRegion(sync::Header);

impl OnRegion for CheckRegion {
    type Out = Result<(), sync::JoinError>;

    fn on<P: HostAtomics>(&self, port: &P, _: u64) -> Self::Out {
        sync::rendezvous::check_region(port, &self.0)
    }
}

fn configs(
    pool: &Pool,
    region_bytes: u64,
    pod: Pod,
    trials: &[TrialSpec],
    join_timeout_ms: u64,
) -> Result<Vec<HostConfig>, Failure> {
    let build_id = build_id().context("cannot read this program to identify the build")?;
    let run_key = nonce()?;
    let config = |host| {
        let config = HostConfig {
            device: pool.path.clone(),
            region_bytes,
            pod,
            host,
            launcher_pid: std::process::id(),
            run_key,
            nonce: nonce()?,
            build_id,
            join_timeout_ms,
            trials: trials.to_vec(),
        };
        Ok(config)
    };
    (0..pod.hosts).map(config).collect()
}

/// A random number, not 0.
fn nonce() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("the kernel gave no random number")?;
    Ok(u64::from_le_bytes(bytes) | 1)
}

/// A host process: configuration in, frames out.
pub(crate) fn serve_host() -> Result<(), Failure> {
    // Before anything else: a host must not outlive its launcher.
    set_parent_process_death_signal(Some(Signal::KILL)).context("no parent-death signal")?;
    let mut line = String::new();
    stdin()
        .lock()
        .read_line(&mut line)
        .context("no configuration on standard input")?;
    let config: HostConfig = serde_json::from_str(&line)
        .context("`dsmark host` is started by `dsmark run`, which configures it")?;
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    if parent != Some(config.launcher_pid) {
        return Err(Failure::usage("the launcher is gone"));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let out = FrameWriter::new(stdout());
    match prepare_and_serve(&config, &stop, &out) {
        Ok(Ending::Good) => Ok(()),
        Ok(Ending::Bad) => std::process::exit(1),
        Err(Failure::Usage(error)) => {
            let failure = HostFailure {
                what: format!("{error:#}"),
                blame: Blame::Own,
            };
            out.refused(failure);
            std::process::exit(1)
        }
        Err(failure) => Err(failure),
    }
}

fn prepare_and_serve(
    config: &HostConfig,
    stop: &Arc<AtomicBool>,
    out: &FrameWriter<std::io::Stdout>,
) -> Result<Ending, Failure> {
    let request = Request::new(&config.device, config.region_bytes, config.host);
    let region = Region::open(&request)?;
    let tsc = TscClock::calibrate()?;
    let pins = plan_pins(config.pod, config.host, &available_cpus()?)?;
    out.send(Frame::Hello {
        machine: description(&region, &tsc, &pins.cpus),
    });
    let clock = tsc.clock(true);
    let host = Host::new(&region, config.host, pins, clock);
    let registry = registry();
    let serving = Serving {
        config,
        control: &Control::lay_out_local(config.pod),
        time: &Timekeeper::shared(disagreement_ns(&clock)),
        substrate: &host,
        registry: &registry,
        layout_hash: config.layout_hash(&registry),
        post: out,
    };
    Ok(serving.run(stop))
}

/// How far readings of two CPUs of one machine may differ; none if the kernel does not vouch.
fn disagreement_ns(clock: &fabric::Clock) -> Option<f64> {
    match clock.across_hosts {
        fabric::Across::Comparable { error_ns } => Some(error_ns),
        fabric::Across::Incomparable(_) => None,
    }
}

/// What `hosts/<id>.json` holds: the machine, and how this host uses it.
fn description(region: &Region, tsc: &TscClock, cpus: &[usize]) -> Value {
    let machine = record::machine::Host::gather(Path::new("/"));
    let mut all = serde_json::to_value(machine).unwrap_or_default();
    all["region"] = json!({
        "path": region.path(), "bytes": region.bytes(), "slack_bytes": region.slack(),
        "align_bytes": region.align(), "map_flags": region.map_flags(),
        "address": format!("{:#x}", region.base().addr()),
        "placement": placement(region),
    });
    all["clock"] = json!({
        "ticks_per_ns": tsc.ticks_per_ns, "error_ppm": tsc.error_ppm,
        "read_overhead_ticks": tsc.read_overhead.0, "vouched_by": tsc.vouched_by,
        "synchronized": tsc.synchronized,
    });
    all["pinned_to"] = json!(cpus);
    all
}

/// On which nodes and by which pages the region is mapped, or why nobody can tell.
fn placement(region: &Region) -> Value {
    match region.placement() {
        Ok(found) => json!({
            "pages_by_numa_node": found.pages_by_node,
            "own_numa_node": native::own_node().ok(),
            "kernel_page_bytes": found.mapping.kernel_page_bytes,
            "huge_mapped_bytes": found.mapping.file_huge_bytes,
        }),
        Err(error) => json!({ "unknown": error.to_string() }),
    }
}

fn device(device: native::Device) -> Device {
    match device {
        native::Device::Devdax => Device::DevDax,
        native::Device::FsDax => Device::FsDax,
        native::Device::Tmpfs => Device::Tmpfs,
        native::Device::Hugetlbfs => Device::HugeTlbFs,
    }
}

fn label(device: native::Device) -> Label {
    match device.label() {
        native::Label::Real => Label::Real,
        native::Label::CoherentStandIn => Label::StandIn,
    }
}

pub(crate) fn on_region<T: OnRegion>(
    path: &Path,
    needed: u64,
    what: &T,
) -> Result<T::Out, Failure> {
    outside(&Region::open(&Request::new(path, needed, 0))?, what)
}

/// Does `what` with a region, on one lane of one process.
fn outside<T: OnRegion>(region: &Region, what: &T) -> Result<T::Out, Failure> {
    let clock = TscClock::calibrate()?.clock(true);
    // Two hosts, of which this is one: the other may be anywhere, so the discipline holds.
    let pod = Pod::new(1, 1);
    let pins = plan_pins(pod, 0, &available_cpus()?)?;
    let host = Host::new(region, 0, pins, clock);
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    let outsider = Outsider {
        what,
        region_bytes: region.bytes(),
    };
    let done = host.run(&setting, &NoWatch, &outsider);
    Ok(done.into_iter().next().context("lane 0 did not run")?.1)
}

struct Outsider<'a, T> {
    what: &'a T,
    region_bytes: u64,
}

impl<T: OnRegion> Program for Outsider<'_, T> {
    type Out = T::Out;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> T::Out {
        self.what.on(port, self.region_bytes)
    }
}
