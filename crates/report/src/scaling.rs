//! How kernels scale over hosts, and what goes with it: bytes that are republished, or barriers.
//!
//! A speed-up is the time of one host without maintenance by that of several, of the same variant
//! with the same lanes a host. Over all variants and numbers of hosts from two on: its rank
//! correlation with the bytes that are republished for each edge and with the barriers of a run.
//! A negative one: who republishes more, or waits more often, gains less. Kernels differ in more
//! than that, so the same is told of the variants of each kernel by themselves.
//!
//! The second axis: the same lanes in all, on one host or divided among several. Cores are then as
//! many; what several hosts add is the capacity of their caches, and the cost of maintenance.

use record::{Coherence, Device, Label, Results, Row, Substrate};
use serde::Serialize;
use serde_json::Value;

use crate::condition::{Place, capital, plain};
use crate::law::{self, Correlation};

/// The workloads that are kernels over a graph.
pub(crate) const KERNELS: [&str; 4] = ["bfs", "pagerank", "spmv", "triangles"];

const TIME: &str = "time_ns";
const BARRIERS: &str = "barriers";

/// One variant on some hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speedup {
    /// Which kernel.
    pub workload: String,
    /// Which variant, and what else tells it from the kernel's others.
    pub variant: String,
    /// Hosts.
    pub hosts: u32,
    /// Lanes a host.
    pub lanes: u32,
    /// How many times as fast as one host without maintenance.
    pub speedup: f64,
    /// Bytes that all hosts republish, for each edge gone along.
    pub bytes_an_edge: f64,
    /// Barriers of a run.
    pub barriers: f64,
    #[serde(skip)]
    ns: f64,
}

/// What the rows of one place say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// Which kind of evidence.
    pub label: Label,
    /// On which pod.
    pub pod: String,
    /// What executed it.
    pub substrate: Substrate,
    /// Who keeps hosts coherent there.
    pub coherence: Coherence,
    /// What backs the region.
    pub device: Device,
    /// The pod, and what tells it from other places of the same results.
    #[serde(skip)]
    pub(crate) place: String,
    /// Every variant on every number of hosts from two on, with as many lanes a host.
    pub speedups: Vec<Speedup>,
    /// Of the speed-up with the bytes republished for each edge.
    pub with_bytes: Option<Correlation>,
    /// Of the speed-up with the barriers of a run.
    pub with_barriers: Option<Correlation>,
    /// The same of each kernel by itself.
    pub within: Vec<Within>,
    /// On each number of hosts: the best variant of each kernel, and the default's time by its.
    pub best: Vec<Best>,
    /// Every variant on several hosts, against one host with as many lanes in all.
    pub same_lanes: Vec<Speedup>,
}

/// The correlations of one kernel's variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Within {
    /// Which kernel.
    pub workload: String,
    /// Of the speed-up with the bytes republished for each edge.
    pub with_bytes: Option<Correlation>,
    /// Of the speed-up with the barriers of a run.
    pub with_barriers: Option<Correlation>,
}

/// The best variant of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Which kernel.
    pub workload: String,
    /// Its quickest variant.
    pub variant: String,
    /// Hosts.
    pub hosts: u32,
    /// How many times as fast as one host without maintenance.
    pub speedup: f64,
    /// The default.
    pub default: String,
    /// The time of the default variant by that of the best: 1 if it is the default itself.
    pub times_as_fast_as_default: f64,
}

/// How kernels scale in each place; empty where none was run on one host and on several.
pub fn scalings(results: &Results) -> Vec<Scaling> {
    // The pod's rows; a pod of one host has those of the host alone.
    let of_pod = |row: &&Row| row.lane.is_none() && (row.host.is_none() || row.hosts == 1);
    let kernels = |row: &&Row| KERNELS.contains(&row.workload.as_str());
    let rows = results.rows.iter().filter(of_pod).filter(kernels);
    let rows: Vec<&Row> = rows.collect();
    let mut places: Vec<Place<'_>> = Vec::new();
    for place in rows.iter().map(|row| Place::of(row)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let scaling = |place: &Place<'_>| {
        let here = rows.iter().filter(|row| Place::of(row) == *place);
        let here: Vec<&Row> = here.copied().collect();
        Scaling::of(*place, place.name(&places), &here)
    };
    let scalings = places.iter().map(scaling);
    scalings
        .filter(|scaling| !scaling.speedups.is_empty() || !scaling.same_lanes.is_empty())
        .collect()
}

fn is_disciplined(row: &Row) -> bool {
    row.params.get("disciplined") == Some(&Value::Bool(true))
}

/// The variant, and each parameter that rows of its kernel differ in besides.
fn name(row: &Row, rows: &[&Row]) -> String {
    let varies = |key: &str, value: &Value| {
        let of_kernel = |other: &&&Row| other.workload == row.workload && !is_disciplined(other);
        let mut others = rows.iter().filter(of_kernel);
        others.any(|other| other.params.get(key) != Some(value))
    };
    let variant = row.params.get("variant").map_or("-".to_owned(), plain);
    let besides = row.params.iter().filter(|(key, value)| {
        !["variant", "disciplined"].contains(&key.as_str()) && varies(key, value)
    });
    let besides =
        besides.map(|(key, value)| format!(", {} {}", key.replace('_', " "), plain(value)));
    std::iter::once(variant).chain(besides).collect()
}

/// Rows of several hosts, each by the row of one host that it is held against.
fn speedups(rows: &[&Row], lanes_alone: fn(&Row) -> u32) -> Vec<Speedup> {
    let times = || rows.iter().filter(|row| row.metric == TIME);
    let several = times().filter(|row| row.hosts > 1);
    let alike = |one: &Row, row: &Row| one.workload == row.workload && one.params == row.params;
    let speedup = |row: &&Row| {
        let alone = times().find(|one| {
            let (lanes, free) = (one.lanes == lanes_alone(row), !is_disciplined(one));
            one.hosts == 1 && lanes && free && alike(one, row)
        });
        let barriers = rows.iter().find(|other| {
            let same = other.hosts == row.hosts && other.lanes == row.lanes;
            other.metric == BARRIERS && same && alike(other, row)
        });
        let ns = row.p50.filter(|ns| *ns > 0.0)?;
        Some(Speedup {
            workload: row.workload.clone(),
            variant: name(row, rows),
            hosts: row.hosts,
            lanes: row.lanes,
            speedup: alone?.p50? / ns,
            bytes_an_edge: row.census.as_ref()?.bytes_published,
            barriers: barriers?.p50?,
            ns,
        })
    };
    several.filter_map(speedup).collect()
}

/// Rank correlations of speed-ups with either cause.
fn correlations(speedups: &[&Speedup]) -> [Option<Correlation>; 2] {
    let with = |cause: fn(&Speedup) -> f64| {
        let pairs = speedups.iter().map(|one| (cause(one), one.speedup));
        Correlation::of(&pairs.collect::<Vec<_>>())
    };
    [with(|one| one.bytes_an_edge), with(|one| one.barriers)]
}

impl Scaling {
    fn of(at: Place<'_>, place: String, rows: &[&Row]) -> Self {
        let speedups = speedups(rows, |row| row.lanes);
        let [with_bytes, with_barriers] = correlations(&speedups.iter().collect::<Vec<_>>());
        let of_kernel = |workload: &&str| {
            let here = speedups.iter().filter(|one| one.workload == *workload);
            let [with_bytes, with_barriers] = correlations(&here.collect::<Vec<_>>());
            Within {
                workload: (*workload).to_owned(),
                with_bytes,
                with_barriers,
            }
        };
        let told = |one: &Within| one.with_bytes.is_some() || one.with_barriers.is_some();
        Self {
            label: at.label,
            pod: at.pod.to_owned(),
            substrate: at.substrate,
            coherence: at.coherence,
            device: at.device,
            place,
            with_bytes,
            with_barriers,
            within: KERNELS.iter().map(of_kernel).filter(told).collect(),
            best: best(&speedups),
            same_lanes: self::speedups(rows, |row| row.hosts * row.lanes),
            speedups,
        }
    }

    /// What it says, in sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if !self.speedups.is_empty() {
            said.push(format!(
                "{}, {} speed-ups over one host without maintenance: their rank correlation is {} \
                 with the bytes republished an edge, {} with the barriers of a run.",
                self.place,
                self.speedups.len(),
                law::said(self.with_bytes),
                law::said(self.with_barriers)
            ));
        }
        said.extend(self.within.iter().map(|one| {
            format!(
                "{} by itself: {} with the bytes, {} with the barriers.",
                capital(&one.workload),
                law::said(one.with_bytes),
                law::said(one.with_barriers)
            )
        }));
        said.extend(self.best.iter().map(Best::sentence));
        said.extend(self.same_lanes.iter().map(|one| {
            format!(
                "{} ({}), {} lanes in all: {:.2} times as fast on {} hosts as on one.",
                capital(&one.workload),
                one.variant,
                one.hosts * one.lanes,
                one.speedup,
                one.hosts
            )
        }));
        said
    }
}

impl Best {
    fn sentence(&self) -> String {
        let beside = if self.variant == self.default {
            "the default is the best variant".to_owned()
        } else {
            let times = self.times_as_fast_as_default;
            format!("{times:.2} times as fast as {}, the default", self.default)
        };
        format!(
            "{} on {} hosts: {}, {:.2} times as fast as one host; {beside}.",
            capital(&self.workload),
            self.hosts,
            self.variant,
            self.speedup
        )
    }
}

/// The best of each kernel on each number of hosts. The default is the variant that a plan names
/// first.
fn best(speedups: &[Speedup]) -> Vec<Best> {
    let mut shapes: Vec<(&str, u32, u32)> = Vec::new();
    for one in speedups {
        let shape = (one.workload.as_str(), one.hosts, one.lanes);
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    let of = |(workload, hosts, lanes): (&str, u32, u32)| {
        let here = speedups.iter().filter(|one| {
            (one.workload.as_str(), one.hosts, one.lanes) == (workload, hosts, lanes)
        });
        let default = here.clone().next()?;
        let best = here.min_by(|a, b| a.ns.total_cmp(&b.ns))?;
        Some(Best {
            workload: workload.to_owned(),
            variant: best.variant.clone(),
            hosts,
            speedup: best.speedup,
            default: default.variant.clone(),
            times_as_fast_as_default: default.ns / best.ns,
        })
    };
    shapes.into_iter().filter_map(of).collect()
}

/// For machines, one object.
pub(crate) fn json(scalings: &[Scaling]) -> String {
    let object = serde_json::json!({ "scalings": scalings });
    format!("{object}\n")
}
