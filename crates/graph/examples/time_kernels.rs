//! What the kernels take on one host of this machine, to be held against GAPBS on the same file:
//!
//! ```text
//! cargo run --release -p graph --example time_kernels -- graph.sg 1 bfs:shared,triangles:static 5
//! ```
//!
//! The arguments: a graph's path, lanes, `workload:variant` pairs, repetitions, and perhaps sources
//! of searches. `pagerank:pull+ordering` orders rows in each run, as `triangles` always does here.
//! One line a repetition: workload, variant, source, seconds; then the means over lanes of what
//! they computed and waited, in seconds.

#![allow(clippy::print_stdout, reason = "an example talks")]

use std::env;
use std::os::fd::AsRawFd;

use fabric::{Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
use graph::{Bfs, GraphSource, PageRank, Spmv, Triangles, bfs, rank, triangles};
use native::{Host, Region, Request, TscClock, available_cpus, plan_pins};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use serde::de::DeserializeOwned;
use sync::{Barrier, BarrierLayout};
use workload::{Outcome, Worker, Workload};

type Failure = Box<dyn std::error::Error>;

/// Nanoseconds: of a repetition, of computing, of waiting.
type Times = [f64; 3];

/// One for each, in the order of [`Times`].
const METRICS: [&str; 3] = ["time_ns", "compute_ns", "barrier_ns"];

fn times(outcome: &Outcome) -> Option<Times> {
    let of = |metric| outcome.series.iter().find(|series| series.metric == metric);
    let [time, compute, barrier] = METRICS.map(|metric| of(metric).map(|one| one.samples[0]));
    Some([time?, compute?, barrier?])
}

struct Timing<'a, L: Workload> {
    pod: Pod,
    params: &'a [L::Params],
    repetitions: u32,
    barrier: BarrierLayout,
    layout: L::Layout,
}

impl<L: Workload> Program for Timing<'_, L> {
    type Out = Result<Vec<Vec<Times>>, String>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
        let worker = Worker::new(port, self.pod, seat, &barrier, 1, 0);
        L::prepare(&worker, &self.layout, &self.params[0]).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        for params in self.params {
            let mut found = Vec::new();
            for _ in 0..self.repetitions {
                barrier.wait(port).map_err(|gone| gone.to_string())?;
                let outcome = L::run(&worker, &self.layout, params);
                found.extend(times(&outcome.map_err(|gone| gone.to_string())?));
            }
            all.push(found);
        }
        Ok(all)
    }
}

fn time<L: Workload>(
    lanes: u32,
    params: &[L::Params],
    reps: u32,
) -> Result<Vec<Vec<Times>>, Failure> {
    let pod = Pod::new(1, lanes);
    let mut arena = Arena::new();
    let barrier = BarrierLayout::lay_out(&mut arena, "time.barrier", pod);
    let layout = L::layout(&mut arena, pod, &params[0]);
    let memfd = memfd_create("time-kernels", MemfdFlags::CLOEXEC)?;
    ftruncate(&memfd, arena.region_bytes().next_multiple_of(2 << 20))?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), memfd.as_raw_fd());
    let region = Region::open(&Request::new(path, 0, 0))?;
    let pins = plan_pins(pod, 0, &available_cpus()?)?;
    let host = Host::new(&region, 0, pins, TscClock::calibrate()?.clock(true));
    let setting = Setting {
        pod,
        discipline: Discipline::NONE,
        host_bytes: arena.host_bytes(),
    };
    let timing = Timing::<L> {
        pod,
        params,
        repetitions: reps,
        barrier,
        layout,
    };
    let outs = host.run(&setting, &NoWatch, &timing);
    let (_, out) = outs.into_iter().next().ok_or("no lane ran")?;
    Ok(out?)
}

fn variant<V: DeserializeOwned>(name: &str) -> Result<V, Failure> {
    Ok(serde_json::from_value(name.into())?)
}

fn main() -> Result<(), Failure> {
    let mut args = env::args().skip(1);
    let mut next = |what: &str| args.next().ok_or(format!("{what} is missing"));
    let path = next("a graph's path")?;
    let lanes = next("the number of lanes")?.parse()?;
    let pairs = next("workload:variant")?;
    let reps = next("the number of repetitions")?.parse()?;
    let sources = args.map(|source| source.parse().map(Some));
    let mut sources = sources.collect::<Result<Vec<Option<u32>>, _>>()?;
    if sources.is_empty() {
        sources.push(None);
    }
    let graph = GraphSource::File { path: path.into() };
    for pair in pairs.split(',') {
        let (workload, name) = pair.split_once(':').ok_or("write workload:variant")?;
        let times = match workload {
            "bfs" => {
                let params = |&source| {
                    Ok(bfs::Params {
                        variant: variant(name)?,
                        graph: graph.clone(),
                        source,
                        ..bfs::Params::default()
                    })
                };
                let params: Result<Vec<_>, Failure> = sources.iter().map(params).collect();
                time::<Bfs>(lanes, &params?, reps)?
            }
            "pagerank" => {
                let (name, ordering) = match name.strip_suffix("+ordering") {
                    Some(name) => (name, rank::Ordering::EachRun),
                    None => (name, rank::Ordering::AsGiven),
                };
                let params = rank::Params {
                    variant: variant(name)?,
                    ordering,
                    graph: graph.clone(),
                    ..rank::Params::default()
                };
                time::<PageRank>(lanes, &[params], reps)?
            }
            "spmv" => {
                let params = rank::SpmvParams {
                    variant: variant(name)?,
                    graph: graph.clone(),
                    ..rank::SpmvParams::default()
                };
                time::<Spmv>(lanes, &[params], reps)?
            }
            _ => {
                let params = triangles::Params {
                    variant: variant(name)?,
                    // GAPBS orders in the time of a trial.
                    ordering: triangles::Ordering::EachRun,
                    graph: graph.clone(),
                    ..triangles::Params::default()
                };
                time::<Triangles>(lanes, &[params], reps)?
            }
        };
        for (index, times) in times.iter().enumerate() {
            let source = sources[index].map_or("-".into(), |source| source.to_string());
            for times in times {
                let [all, compute, barrier] = times.map(|ns| ns / 1e9);
                println!("{workload} {name} {source} {all:.6} {compute:.6} {barrier:.6}");
            }
        }
    }
    Ok(())
}
