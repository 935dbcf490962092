//! How fast a graph comes from a file: `cargo bench -p graph`.
//!
//! The file is an edge list of 100 MB in memory (`/dev/shm`, or else the page cache), so that
//! parsing and building are measured and not a disk. Loaded undirected, which is the dearer way:
//! every line becomes two arcs.

#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use graph::{Generator, GraphSource, Load, Model, Progress, write};
use tempfile::TempDir;

/// 2^19 vertices and 7 edges each, written both ways: 7.3 million lines of 13.7 bytes.
const LIST: Generator = Generator {
    model: Model::Uniform,
    scale: 19,
    degree: 7,
    seed: 1,
};

fn load(criterion: &mut Criterion) {
    let directory = TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap();
    let path = directory.path().join("uniform.el");
    let graph = LIST.generate(false, 2, &Progress::default()).unwrap();
    write(&graph, &path, &Progress::default()).unwrap();
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    group.throughput(Throughput::BytesDecimal(path.metadata().unwrap().len()));
    let source = GraphSource::File { path };
    for threads in [1, 2] {
        let how = Load {
            threads,
            ..Load::default()
        };
        group.bench_function(BenchmarkId::new("el", threads), |bencher| {
            bencher.iter(|| source.load(&how).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
