//! The simulated substrate, composed: its registry, and trials on every core at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fabric::{Arena, Coherence, Gone, ObserveBy, Pod, Port, PublishBy, Seat, Watch};
use harness::collect::{Measured, Place, rows};
use harness::plan::PlannedTrial;
use harness::trial::{Control, Stage};
use harness::{Ended, Limits, Plan, Registry, TrialSpec};
use record::{Device, Label, Row, Stop};
use serde_json::Value;
use sim::pod::PodFile;
use sim::{Attribution, Sim};
use sync::heart::INTERRUPTED;

use crate::compose::{self, expand, listed, region_bytes};
use crate::failure::Failure;
use crate::job::{Job, Listed, Ready, Run};

/// The pod that is simulated unless another is named.
pub(crate) const DEFAULT_POD: &str = "sc26-four-host";

/// Ends a trial that a signal interrupts, or that takes longer than it may: in this machine's time,
/// for what is simulated has plenty of its own.
#[derive(Default)]
struct Patience {
    interrupted: Arc<AtomicBool>,
    /// When it started, and how long it may take.
    limit: Option<(Instant, Duration)>,
}

impl Watch for Patience {
    fn look<P: Port>(&self, _: Seat, _: &P) -> Result<(), Gone> {
        if self.interrupted.load(Relaxed) {
            return Err(Gone::Teardown { why: INTERRUPTED });
        }
        match self.limit {
            Some((start, limit)) if start.elapsed() > limit => Err(Gone::Deadline {
                after_ms: limit.as_millis() as u64,
            }),
            _ => Ok(()),
        }
    }
}

/// Every workload on this substrate.
fn registry() -> Registry<Sim, Patience> {
    compose::registry()
}

/// What `"*"` stands for in a plan: a simulated CPU has every instruction.
fn supported(key: &str) -> Option<Vec<Value>> {
    let names: Vec<_> = match key {
        "publish" => PublishBy::ALL.iter().map(|by| by.name()).collect(),
        "observe" => ObserveBy::ALL.iter().map(|by| by.name()).collect(),
        _ => return None,
    };
    // "none" is for coherent pods: nothing to sweep there.
    let names = names.into_iter().filter(|&name| name != "none");
    Some(names.map(Value::from).collect())
}

pub(crate) fn workloads() -> Vec<Listed> {
    listed(&registry())
}

/// The layout of the only trial of `plan`, control lines included.
pub(crate) fn layout_of(plan: &Plan, pod: Pod) -> Result<Arena, Failure> {
    let registry = registry();
    let on = record::Substrate::Sim;
    let specs = expand(plan, on, &registry, pod, Coherence::Software, 0, supported)?;
    let mut arena = Control::lay_out(pod).arena;
    registry.lay_out(&mut arena, &specs[0]);
    Ok(arena)
}

/// Everything that can be refused, before anything runs.
pub(crate) fn prepare<'a>(job: &Job<'a>, first: u32) -> Result<Ready<'a>, Failure> {
    let registry = registry();
    let mut sited = Vec::new();
    for planned in job.plan.trials_on(record::Substrate::Sim) {
        let named = job.place.pod.as_ref().or(planned.pod.as_ref());
        let name = named.or(job.plan.pod.as_ref());
        let file = Arc::new(sim::pod::load(name.map_or(DEFAULT_POD, String::as_str))?);
        let hosts = planned.hosts.or(job.plan.hosts);
        let hosts = hosts.unwrap_or(file.shape().hosts);
        let pod = Pod::new(hosts, planned.lanes.unwrap_or(job.plan.lanes));
        refuse_crowds(pod)?;
        let (coherence, seed) = (file.coherence.value, job.plan.seed);
        let next = first + sited.len() as u32;
        let specs = registry.expand(planned, pod, coherence, seed, next, supported)?;
        sited.extend(specs.into_iter().map(|spec| {
            let file = Arc::clone(&file);
            Sited { file, spec }
        }));
    }
    let trials = sited.iter().map(|sited| sited.spec.clone()).collect();
    let batch = Batch { registry, sited };
    Ok(Ready {
        trials,
        start: Box::new(move |run| Ok(batch.run(run))),
    })
}

/// Lanes of all pods that are simulated at once. Each has a stack with a guard, two mappings, and
/// Linux allows a process 65530 of them (`vm.max_map_count`).
const MOST_LANES: u32 = 16_384;

fn refuse_crowds(pod: Pod) -> Result<(), Failure> {
    let Pod { hosts, lanes } = pod;
    if hosts * lanes <= MOST_LANES {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{hosts} hosts of {lanes} lanes are {} stacks, and a process has room for {MOST_LANES}; use \
         --lanes {} or fewer, or fewer hosts",
        hosts * lanes,
        MOST_LANES / hosts
    )))
}

/// A trial that `row` came from, once more on `file`, perhaps with some parameters of its own.
pub(crate) fn again(row: &Row, file: PodFile, short: &Short) -> Again {
    let mut params = row.params.clone();
    if let (Some(most), Some(rounds)) = (short.rounds, params.get("rounds").and_then(Value::as_u64))
    {
        params.insert("rounds".into(), rounds.min(most).into());
    }
    let limits = Limits {
        warmup: short.warmup,
        min_reps: short.reps,
        max_reps: short.reps,
        max_seconds: f64::MAX,
        ..Limits::default()
    };
    let planned = PlannedTrial {
        workload: row.workload.clone(),
        params,
        limits,
        on: None,
        pod: None,
        hosts: None,
        lanes: None,
    };
    let registry = registry();
    let (pod, coherence) = (Pod::new(row.hosts, row.lanes), file.coherence.value);
    let specs = registry.expand(&planned, pod, coherence, row.seed, 0, supported);
    // A row of another build may have parameters that this one refuses.
    let Some(spec) = specs.ok().and_then(|specs| specs.into_iter().next()) else {
        return Again::default();
    };
    let sited = Sited {
        file: Arc::new(file),
        spec,
    };
    let watch = Patience::default();
    let (measured, attribution) = sited.run(&registry, short.recording, &watch, &|_| {});
    let rows = measured.into_iter().map(|(row, _)| row).collect();
    Again { rows, attribution }
}

/// How much of a trial is run once more.
pub(crate) struct Short {
    pub(crate) warmup: u32,
    pub(crate) reps: u32,
    /// At most so many rounds a repetition, where the workload has them.
    pub(crate) rounds: Option<u64>,
    /// Whether to record where the time goes.
    pub(crate) recording: bool,
}

/// What running a trial once more gave.
#[derive(Default)]
pub(crate) struct Again {
    pub(crate) rows: Vec<Row>,
    pub(crate) attribution: Option<Attribution>,
}

/// A trial on its pod.
struct Sited {
    file: Arc<PodFile>,
    spec: TrialSpec,
}

impl Sited {
    fn place(&self) -> Place {
        Place {
            substrate: record::Substrate::Sim,
            label: Label::Simulated,
            pod: self.file.name.clone(),
            coherence: self.file.coherence.value,
            device: Device::Model,
            oversubscribed: false,
        }
    }

    /// In a region of its own size: what the other trials of a run need changes nothing here.
    fn run(
        &self,
        registry: &Registry<Sim, Patience>,
        recording: bool,
        watch: &Patience,
        progress: &(dyn Fn(f64) + Sync),
    ) -> (Vec<Measured>, Option<Attribution>) {
        let (spec, pod) = (&self.spec, self.spec.pod);
        let control = Control::lay_out(pod);
        let bytes = region_bytes(registry, &control, std::slice::from_ref(spec));
        let sim = Sim::new(PodFile::clone(&self.file), pod);
        let sim = sim.seed(spec.seed).region_bytes(bytes);
        let sim = if recording { sim.recording() } else { sim };
        let stage = Stage {
            spec,
            control: &control,
            epoch: 0,
            watch,
            time: None,
            progress,
        };
        let lanes = registry.run(&sim, &stage);
        (rows(&self.place(), spec, &lanes, None), sim.attribution())
    }
}

/// Simulated trials: each a pod of its own, so they run side by side, and rows come out in order.
struct Batch {
    registry: Registry<Sim, Patience>,
    sited: Vec<Sited>,
}

/// Whether a signal ended what a row is of; what it had measured by then is in the row.
fn is_cut_short((row, _): &Measured) -> bool {
    row.stopped == Some(Stop::Interrupted)
}

/// What a worker says.
enum Said {
    Repetition(usize, f64),
    Done(usize, Vec<Measured>),
}

impl Batch {
    fn run(&self, run: &mut Run<'_>) -> Ended {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes = self.sited.iter().map(|sited| sited.spec.pod);
        let most = lanes.map(|pod| pod.hosts * pod.lanes).max().unwrap_or(1);
        let cores = cores.min((MOST_LANES / most).max(1) as usize);
        let next = Mutex::new(0..self.sited.len());
        let interrupted = run.interrupted;
        std::thread::scope(|scope| {
            let (say, said) = channel();
            for _ in 0..cores.min(self.sited.len()) {
                let (say, next) = (say.clone(), &next);
                scope.spawn(move || self.work(next, interrupted, &say));
            }
            drop(say);
            self.collect(&said, run)
        })
    }

    /// Takes trials until none is left.
    fn work(
        &self,
        next: &Mutex<std::ops::Range<usize>>,
        interrupted: &Arc<AtomicBool>,
        say: &Sender<Said>,
    ) {
        let take = || next.lock().expect("no worker panics under it").next();
        while let Some(index) = take() {
            if interrupted.load(Relaxed) {
                return;
            }
            let progress = |repetition| {
                let _ = say.send(Said::Repetition(index, repetition));
            };
            let sited = &self.sited[index];
            let limit = Duration::try_from_secs_f64(sited.spec.limits.deadline_seconds);
            let watch = Patience {
                interrupted: Arc::clone(interrupted),
                // Too long for this machine's clock is for ever.
                limit: limit.ok().map(|limit| (Instant::now(), limit)),
            };
            let (rows, _) = sited.run(&self.registry, false, &watch, &progress);
            if say.send(Said::Done(index, rows)).is_err() {
                return;
            }
        }
    }

    /// Keeps rows in the order of the trials, whichever is done first.
    fn collect(&self, said: &Receiver<Said>, run: &mut Run<'_>) -> Ended {
        let title = |index: usize| self.sited[index].spec.title();
        let mut early = BTreeMap::new();
        let (mut kept, mut cut_short) = (0, 0);
        for word in said {
            match word {
                Said::Repetition(index, repetition) => {
                    run.progress.repetition(&title(index), repetition);
                }
                Said::Done(index, rows) => {
                    run.progress.trial_done(&title(index));
                    cut_short += usize::from(rows.iter().any(is_cut_short));
                    early.insert(index, rows);
                }
            }
            while let Some(rows) = early.remove(&kept) {
                run.recorder.add(rows);
                kept += 1;
            }
        }
        // An interrupt leaves gaps; what was measured behind one is kept as well.
        let trials_kept = kept + early.len() - cut_short;
        for rows in early.into_values() {
            run.recorder.add(rows);
        }
        let cause = (trials_kept < self.sited.len()).then(|| "interrupted".to_owned());
        Ended {
            trials: trials_kept,
            cause,
        }
    }
}
