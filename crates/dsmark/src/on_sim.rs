//! The simulated substrate, composed: its registry, and trials on every core at once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};

use fabric::{Arena, Coherence, NoWatch, ObserveBy, Pod, PublishBy};
use harness::collect::{Measured, Place, rows};
use harness::trial::{Control, Stage};
use harness::{Ended, Plan, Registry, TrialSpec};
use record::{Device, Label};
use serde_json::Value;
use sim::Sim;
use sim::pod::PodFile;

use crate::compose::{expand, listed, region_bytes};
use crate::failure::Failure;
use crate::job::{Job, Listed, Ready, Run};

/// The pod that is simulated unless another is named.
pub(crate) const DEFAULT_POD: &str = "sc26-four-host";

/// Every workload on this substrate.
fn registry() -> Registry<Sim, NoWatch> {
    Registry::default()
        .with::<micro::Latency>()
        .with::<micro::Bandwidth>()
        .with::<micro::Primitive>()
        .with::<micro::Visibility>()
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
    let file = sim::pod::load(job.place.pod.as_deref().unwrap_or(DEFAULT_POD))?;
    let hosts = job.plan.hosts.unwrap_or(file.shape().hosts);
    let pod = Pod::new(hosts, job.plan.lanes);
    let registry = registry();
    let coherence = file.coherence.value;
    let on = record::Substrate::Sim;
    let trials = expand(&job.plan, on, &registry, pod, coherence, first, supported)?;
    let place = Place {
        substrate: on,
        label: Label::Simulated,
        pod: file.name.clone(),
        coherence,
        device: Device::Model,
        oversubscribed: false,
    };
    let batch = Batch {
        file,
        pod,
        place,
        registry,
    };
    let specs = trials.clone();
    Ok(Ready {
        trials,
        start: Box::new(move |run| Ok(batch.run(&specs, run))),
    })
}

/// Simulated trials: each a pod of its own, so they run side by side, and rows come out in order.
struct Batch {
    file: PodFile,
    pod: Pod,
    place: Place,
    registry: Registry<Sim, NoWatch>,
}

/// What a worker says.
enum Said {
    Repetition(usize, u32),
    Done(usize, Vec<Measured>),
}

impl Batch {
    fn run(&self, trials: &[TrialSpec], run: &mut Run<'_>) -> Ended {
        let region_bytes = region_bytes(&self.registry, self.pod, trials);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = Mutex::new(0..trials.len());
        let interrupted = run.interrupted.as_ref();
        std::thread::scope(|scope| {
            let (say, said) = channel();
            for _ in 0..cores.min(trials.len()) {
                let (say, next) = (say.clone(), &next);
                scope.spawn(move || self.work(trials, region_bytes, next, interrupted, &say));
            }
            drop(say);
            Self::collect(trials, &said, run)
        })
    }

    /// Takes trials until none is left.
    fn work(
        &self,
        trials: &[TrialSpec],
        region_bytes: u64,
        next: &Mutex<std::ops::Range<usize>>,
        interrupted: &AtomicBool,
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
            let rows = self.trial(&trials[index], region_bytes, &progress);
            if say.send(Said::Done(index, rows)).is_err() {
                return;
            }
        }
    }

    fn trial(
        &self,
        spec: &TrialSpec,
        region_bytes: u64,
        progress: &(dyn Fn(u32) + Sync),
    ) -> Vec<Measured> {
        let sim = Sim::new(self.file.clone(), self.pod);
        let sim = sim.seed(spec.seed).region_bytes(region_bytes);
        let control = Control::lay_out(self.pod);
        let stage = Stage {
            spec,
            control: &control,
            epoch: 0,
            watch: &NoWatch,
            progress,
        };
        let lanes = self.registry.run(&sim, &stage);
        rows(&self.place, spec, &lanes, None)
    }

    /// Keeps rows in the order of the trials, whichever is done first.
    fn collect(trials: &[TrialSpec], said: &Receiver<Said>, run: &mut Run<'_>) -> Ended {
        let mut early = BTreeMap::new();
        let mut kept = 0;
        for word in said {
            match word {
                Said::Repetition(index, repetition) => {
                    run.progress.repetition(&trials[index].title(), repetition);
                }
                Said::Done(index, rows) => {
                    run.progress.trial_done(&trials[index].title());
                    early.insert(index, rows);
                }
            }
            while let Some(rows) = early.remove(&kept) {
                run.recorder.add(rows);
                kept += 1;
            }
        }
        // An interrupt leaves gaps; what was measured behind one is kept as well.
        let trials_kept = kept + early.len();
        for rows in early.into_values() {
            run.recorder.add(rows);
        }
        let cause = (trials_kept < trials.len()).then(|| "interrupted".to_owned());
        Ended {
            trials: trials_kept,
            cause,
        }
    }
}
