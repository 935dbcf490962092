//! How kernels scale over hosts, and what goes with it: bytes that are republished, or barriers.
//!
//! A speed-up is the time of one host without maintenance by that of several, of the same variant
//! with the same lanes a host. Over all variants and numbers of hosts from two on: its rank
//! correlation with the bytes that are republished for each edge and with the barriers of a run.
//! A negative one: who republishes more, or waits more often, gains less.

use record::{Label, Results, Row};
use serde::Serialize;
use serde_json::Value;

use crate::law::Correlation;

/// The workloads that are kernels over a graph.
const KERNELS: [&str; 4] = ["bfs", "pagerank", "spmv", "triangles"];

const TIME: &str = "time_ns";
const BARRIERS: &str = "barriers";

/// One variant on some hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speedup {
    /// Which kernel.
    pub workload: String,
    /// Which variant.
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

/// What one pod's rows say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// Which kind of evidence.
    pub label: Label,
    /// On which pod.
    pub pod: String,
    /// Every variant on every number of hosts from two on.
    pub speedups: Vec<Speedup>,
    /// Of the speed-up with the bytes republished for each edge.
    pub with_bytes: Option<Correlation>,
    /// Of the speed-up with the barriers of a run.
    pub with_barriers: Option<Correlation>,
    /// On the most hosts: the best variant of each kernel, and the default's time by its.
    pub best: Vec<Best>,
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
    /// The time of the default variant by that of the best: 1 if it is the default itself.
    pub times_as_fast_as_default: f64,
}

/// How each pod's kernels scale; empty where none was run on one host and on several.
pub fn scalings(results: &Results) -> Vec<Scaling> {
    // The pod's rows; a pod of one host has those of the host alone.
    let of_pod = |row: &&Row| row.lane.is_none() && (row.host.is_none() || row.hosts == 1);
    let kernels = |row: &&Row| KERNELS.contains(&row.workload.as_str());
    let rows = results.rows.iter().filter(of_pod).filter(kernels);
    let rows: Vec<&Row> = rows.collect();
    let mut pods: Vec<(Label, &str)> = Vec::new();
    for row in &rows {
        if !pods.contains(&(row.label, &row.pod)) {
            pods.push((row.label, &row.pod));
        }
    }
    let scaling = |(label, pod): (Label, &str)| {
        let here = rows
            .iter()
            .filter(|row| row.label == label && row.pod == pod);
        Scaling::of(label, pod, &here.copied().collect::<Vec<_>>())
    };
    let scalings = pods.into_iter().map(scaling);
    scalings
        .filter(|scaling| !scaling.speedups.is_empty())
        .collect()
}

/// What is alike in a run on one host and its counterpart on several.
fn alike(left: &Row, right: &Row) -> bool {
    left.workload == right.workload && left.lanes == right.lanes && left.params == right.params
}

fn is_disciplined(row: &Row) -> bool {
    row.params.get("disciplined") == Some(&Value::Bool(true))
}

fn word(row: &Row, name: &str) -> String {
    let value = row.params.get(name).and_then(Value::as_str);
    value.unwrap_or("-").to_owned()
}

impl Scaling {
    fn of(label: Label, pod: &str, rows: &[&Row]) -> Self {
        let times = rows.iter().filter(|row| row.metric == TIME);
        let several = times.clone().filter(|row| row.hosts > 1);
        let speedup = |row: &&Row| {
            let alone = times
                .clone()
                .find(|one| one.hosts == 1 && alike(one, row) && !is_disciplined(one));
            let barriers = rows.iter().find(|other| {
                other.metric == BARRIERS && other.hosts == row.hosts && alike(other, row)
            });
            let ns = row.p50.filter(|ns| *ns > 0.0)?;
            Some(Speedup {
                workload: row.workload.clone(),
                variant: word(row, "variant"),
                hosts: row.hosts,
                lanes: row.lanes,
                speedup: alone?.p50? / ns,
                bytes_an_edge: row.census.as_ref()?.bytes_published,
                barriers: barriers?.p50?,
                ns,
            })
        };
        let speedups: Vec<Speedup> = several.filter_map(speedup).collect();
        let with = |cause: fn(&Speedup) -> f64| {
            let pairs = speedups.iter().map(|one| (cause(one), one.speedup));
            Correlation::of(&pairs.collect::<Vec<_>>())
        };
        Self {
            label,
            pod: pod.to_owned(),
            with_bytes: with(|one| one.bytes_an_edge),
            with_barriers: with(|one| one.barriers),
            best: best(&speedups),
            speedups,
        }
    }
}

/// The best of each kernel on the most hosts. The default is the variant that a plan names first.
fn best(speedups: &[Speedup]) -> Vec<Best> {
    let most = speedups.iter().map(|one| one.hosts).max().unwrap_or(0);
    let of = |workload: &&str| {
        let here = speedups
            .iter()
            .filter(|one| one.workload == **workload && one.hosts == most);
        let default = here.clone().next()?;
        let best = here.min_by(|a, b| a.ns.total_cmp(&b.ns))?;
        Some(Best {
            workload: (*workload).to_owned(),
            variant: best.variant.clone(),
            hosts: most,
            times_as_fast_as_default: default.ns / best.ns,
        })
    };
    KERNELS.iter().filter_map(of).collect()
}

/// For machines, one object.
pub(crate) fn json(scalings: &[Scaling]) -> String {
    let object = serde_json::json!({ "scalings": scalings });
    format!("{object}\n")
}
