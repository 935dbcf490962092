//! What the substrates' sides share: from a plan to trials, from a registry to a list.

use fabric::{Coherence, Pod, Substrate, Watch};
use harness::trial::Control;
use harness::{Plan, Registry, TrialSpec};
use serde_json::Value;

use crate::failure::Failure;
use crate::job::Listed;
use crate::litmus::Litmus;

/// Every workload, on a substrate.
pub(crate) fn registry<S: Substrate, W: Watch>() -> Registry<S, W> {
    Registry::default()
        .with::<micro::Latency>()
        .with::<micro::Bandwidth>()
        .with::<micro::Primitive>()
        .with::<micro::Visibility>()
        .with::<Litmus>()
        .with::<coordination::Lock>()
        .with::<coordination::ReadWrite>()
        .with::<coordination::Barrier>()
        .with::<coordination::Atomic>()
        .with::<coordination::Ring>()
        .with::<coordination::Sharing>()
        .with::<graph::Bfs>()
        .with::<graph::PageRank>()
        .with::<graph::Spmv>()
        .with::<graph::Triangles>()
        .with::<table::Hashtable>()
        .with::<table::Alloc>()
}

/// The trials of a plan that run `on` a substrate, numbered from `first`.
pub(crate) fn expand<S: Substrate, W: Watch>(
    plan: &Plan,
    on: record::Substrate,
    registry: &Registry<S, W>,
    pod: Pod,
    coherence: Coherence,
    first: u32,
    supported: impl Fn(&str) -> Option<Vec<Value>>,
) -> Result<Vec<TrialSpec>, Failure> {
    let mut specs = Vec::new();
    for trial in plan.trials_on(on) {
        let next = first + specs.len() as u32;
        specs.extend(registry.expand(trial, pod, coherence, plan.seed, next, &supported)?);
    }
    Ok(specs)
}

/// Bytes of region that the largest of `trials` needs, control lines included.
pub(crate) fn region_bytes<S: Substrate, W: Watch>(
    registry: &Registry<S, W>,
    control: &Control,
    trials: &[TrialSpec],
) -> u64 {
    let needs = trials.iter().map(|spec| {
        let mut arena = control.arena.clone();
        registry.lay_out(&mut arena, spec);
        arena.region_bytes()
    });
    needs.max().unwrap_or(0)
}

/// Every workload of a registry.
pub(crate) fn listed<S: Substrate, W: Watch>(registry: &Registry<S, W>) -> Vec<Listed> {
    let entries = registry.entries().iter();
    entries
        .map(|entry| Listed {
            name: entry.name,
            about: entry.about,
            defaults: (entry.defaults)(),
        })
        .collect()
}
