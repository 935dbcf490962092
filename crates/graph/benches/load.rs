//! How fast a graph comes from a file: `cargo bench -p graph [-- FILE]`.
//!
//! The file, unless one is named, is an edge list of 100 MB in memory (`/dev/shm`, or else the page
//! cache), so that parsing and building are measured and not a disk. Loaded undirected, which is
//! the dearer way: every line becomes two arcs.
//!
//! Two figures for each number of threads: by the wall's clock, and by the process's CPU clock,
//! which others on a busy machine do not spoil. `threads x` the second bounds the first.

#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]
#![allow(clippy::print_stdout, reason = "its output")]

use std::path::PathBuf;
use std::time::Instant;

use graph::{Generator, GraphSource, Load, Model, Progress, write};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

/// Loads of each kind.
const LOADS: usize = 9;

/// 2^19 vertices and 7 edges each, written both ways: 7.3 million lines of 13.7 bytes.
const LIST: Generator = Generator {
    model: Model::Uniform,
    scale: 19,
    degree: 7,
    seed: 1,
};

fn main() {
    let directory = TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap();
    let given = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let path = given.map_or_else(|| made(&directory), PathBuf::from);
    let megabytes = path.metadata().unwrap().len() as f64 / 1e6;
    println!("{}: {megabytes:.1} MB", path.display());
    let source = GraphSource::File { path };
    for threads in [1, 2] {
        let how = Load {
            threads,
            ..Load::default()
        };
        let (mut walls, mut cpus): (Vec<_>, Vec<_>) = (0..LOADS)
            .map(|_| {
                let (wall, cpu) = (Instant::now(), cpu_seconds());
                drop(source.load(&how).unwrap());
                (
                    megabytes / wall.elapsed().as_secs_f64(),
                    megabytes / (cpu_seconds() - cpu),
                )
            })
            .unzip();
        println!(
            "{threads} threads: {} MB/s; {} MB a CPU second",
            median_and_range(&mut walls),
            median_and_range(&mut cpus)
        );
    }
}

fn made(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("uniform.el");
    let graph = LIST.generate(false, 2, &Progress::default()).unwrap();
    write(&graph, &path, &Progress::default()).unwrap();
    path
}

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn median_and_range(samples: &mut [f64]) -> String {
    samples.sort_by(f64::total_cmp);
    let median = samples[samples.len() / 2];
    let (least, most) = (samples[0], samples[samples.len() - 1]);
    format!("{median:.0} ({least:.0} .. {most:.0})")
}
