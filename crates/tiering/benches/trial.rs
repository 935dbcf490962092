//! A whole trial, everything included: an application and its random numbers, faults, samples,
//! daemons, and checks of page conservation.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tiering::experiment::Experiment;
use tiering::scale::Scale;

/// A whole trial: random updates under the kernel's Memtis.
fn trial(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trial");
    let experiment = Experiment {
        workload: "gups-hot".into(),
        scale: Some(Scale::new(16_384, 256).expect("a scale")),
        ..Experiment::default()
    };
    let reference = experiment.reference(1).expect("a workload");
    let run = || {
        let outcome = experiment.run("memtis-kernel", 1, &reference);
        outcome.expect("a policy")
    };
    group.throughput(Throughput::Elements(run().whole.accesses));
    group.sample_size(10);
    group.bench_function("memtis-kernel", |bencher| bencher.iter(run));
    group.finish();
}

criterion_group!(benches, trial);
criterion_main!(benches);
