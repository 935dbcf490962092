//! What a search costs: steps a second, the mailbox exhausted, and what pruning saves.

use check::{Bounds, Checkable, Options, WriteMode};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use subjects::Setting;
use subjects::lock::{OfPeterson, Section};
use subjects::mail::Mail;

fn steps(subject: &dyn Checkable, options: Options, bounds: Bounds) -> u64 {
    let mut steps = 0;
    subject.with(options, &mut |checker| steps = checker.check(bounds).steps);
    steps
}

fn engine(c: &mut Criterion) {
    let mut group = c.benchmark_group("search");
    group.sample_size(10);
    let lock = Section::<OfPeterson>::new("peterson", Setting::TWICE);
    let performed = steps(&lock, Options::default(), Bounds::SATURATED);
    group.throughput(Throughput::Elements(performed));
    group.bench_function("peterson, 2 rounds, exhausted", |b| {
        b.iter(|| black_box(steps(&lock, Options::default(), Bounds::SATURATED)));
    });
    let mail = Mail::new(2, 2, WriteMode::Synchronous);
    let performed = steps(&mail, Options::default(), Bounds::default());
    group.throughput(Throughput::Elements(performed));
    group.bench_function("mailbox, 2 messages, 2 environment moves", |b| {
        b.iter(|| black_box(steps(&mail, Options::default(), Bounds::default())));
    });
    group.finish();
}

fn pruning(c: &mut Criterion) {
    let mut group = c.benchmark_group("pruning");
    group.sample_size(10);
    let mail = Mail::new(1, 1, WriteMode::Synchronous);
    for (name, prune) in [("with", true), ("without", false)] {
        let options = Options {
            prune,
            ..Options::default()
        };
        group.bench_function(
            format!("mailbox, 1 message, 2 environment moves, {name}"),
            |b| {
                b.iter(|| black_box(steps(&mail, options, Bounds::default())));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, engine, pruning);
criterion_main!(benches);
