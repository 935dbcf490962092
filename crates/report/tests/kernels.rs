//! How kernels scale, from a record whose answer is known beforehand: who republishes more gains
//! less, in `bfs` and over both kernels, and the barriers are the same everywhere.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::svg::{assert_says, draw_all};
use common::{measured, results, row_of};
use record::{CensusPerOp, Fences, Label, Results, Row};
use report::html;
use report::scaling::scalings;
use serde_json::json;

/// A run of a kernel: its time and its barriers.
fn run(
    workload: &str,
    variant: &str,
    (hosts, lanes): (u32, u32),
    ns: f64,
    bytes: f64,
    disciplined: bool,
) -> Vec<Row> {
    let params = json!({"variant": variant, "graph": "kron:16", "disciplined": disciplined});
    let census = CensusPerOp {
        publishes: 0.1,
        observes: 0.1,
        lines_published: bytes / 64.0,
        lines_observed: bytes / 64.0,
        bytes_published: bytes,
        bytes_observed: bytes,
        fences: Fences {
            store: 0.0,
            load: 0.0,
            full: 0.2,
        },
    };
    let row = |metric, unit| Row {
        label: Label::Simulated,
        pod: "four".into(),
        hosts,
        lanes,
        // A pod of one host has the rows of the host alone.
        host: (hosts == 1).then_some(0),
        census: Some(census),
        ..row_of(workload, params.clone(), metric, unit)
    };
    vec![
        measured(row("time_ns", "ns"), ns, 0.0),
        measured(row("barriers", "1"), 5.0, 0.0),
    ]
}

fn kernels() -> Results {
    let mut rows = Vec::new();
    for (workload, variant, bytes, efficiency) in [
        ("bfs", "shared", 1.0, 0.4),
        ("bfs", "direction-optimizing", 0.25, 0.7),
        ("triangles", "static", 0.01, 1.0),
    ] {
        rows.extend(run(workload, variant, (1, 4), 8e6, 0.0, false));
        rows.extend(run(workload, variant, (1, 4), 9e6, bytes, true));
        for hosts in [2, 4, 8] {
            let ns = 8e6 / (f64::from(hosts) * efficiency);
            rows.extend(run(workload, variant, (hosts, 4), ns, bytes, false));
        }
    }
    // As many lanes in all.
    rows.extend(run("triangles", "static", (1, 8), 4e6, 0.0, false));
    rows.extend(run("triangles", "static", (8, 1), 3.2e6, 0.01, false));
    results(rows)
}

#[test]
fn speedups_are_times_of_one_host_without_maintenance_by_those_of_several() {
    let scalings = scalings(&kernels());
    let [scaling] = scalings.as_slice() else {
        panic!("{scalings:?}");
    };
    assert_eq!(scaling.speedups.len(), 9);
    let of = |variant: &str, hosts| {
        let found = scaling.speedups.iter();
        let mut found = found.filter(|one| one.variant == variant && one.hosts == hosts);
        found.next().unwrap().speedup
    };
    assert!((of("shared", 4) - 1.6).abs() < 1e-9);
    assert!((of("direction-optimizing", 8) - 5.6).abs() < 1e-9);
    // Nothing to tell: all runs have as many barriers.
    assert_eq!(scaling.with_barriers, None);
    let rho = scaling.with_bytes.unwrap().rho;
    assert!((-1.0..-0.3).contains(&rho), "{rho}");
    let within: Vec<&str> = scaling
        .within
        .iter()
        .map(|one| one.workload.as_str())
        .collect();
    assert_eq!(within, ["bfs"], "three runs of one variant tell nothing");
    let best = scaling.best.iter().find(|one| one.hosts == 4).unwrap();
    assert_eq!(
        (best.variant.as_str(), best.default.as_str()),
        ("direction-optimizing", "shared")
    );
    assert!((best.times_as_fast_as_default - 1.75).abs() < 1e-9);
    let same = scaling.same_lanes.iter();
    let same: Vec<_> = same
        .map(|one| (one.hosts, one.lanes, one.speedup))
        .collect();
    assert_eq!(same, [(2, 4, 1.0), (8, 1, 1.25)], "eight lanes in all");
}

#[test]
fn the_page_and_the_figure_say_so() {
    let results = kernels();
    let page = html(&results).unwrap();
    for sentence in [
        "four, 9 speed-ups over one host without maintenance: their rank correlation is -0.",
        "nothing that can be told with the barriers of a run.",
        "Bfs on 8 hosts: direction-optimizing, 5.60 times as fast as one host; 1.75 times as fast \
         as shared, the default.",
        "Triangles on 2 hosts: static, 2.00 times as fast as one host; the default is the best \
         variant.",
        "Triangles (static), 8 lanes in all: 1.25 times as fast on 8 hosts as on one.",
    ] {
        assert!(page.contains(sentence), "\"{sentence}\" is missing");
    }
    let drawn = draw_all("kernels", &results);
    assert_says(&drawn["kernels.svg"], "bfs, four: speed-up");
    assert_says(&drawn["kernels.svg"], "bytes an edge, logarithmic");
}

/// Speed-ups hold rows of one place against each other: the same pod, simulated and on two devices,
/// once shared one host's time.
#[test]
fn pods_and_devices_do_not_mix() {
    let on = |pod: &str, device, factor: f64| {
        let mut rows = run("bfs", "shared", (1, 4), 8e6 * factor, 0.0, false);
        rows.extend(run(
            "bfs",
            "shared",
            (2, 4),
            4e6 * factor * factor,
            1.0,
            false,
        ));
        for row in &mut rows {
            row.pod = pod.to_owned();
            row.device = device;
        }
        rows
    };
    let model = record::Device::Model;
    let rows = [
        on("near", model, 1.0),
        on("far", model, 2.0),
        on("far", record::Device::DevDax, 4.0),
    ];
    let results = results(rows.concat());
    let scalings = scalings(&results);
    let found: Vec<(&str, record::Device, Vec<f64>)> = scalings
        .iter()
        .map(|one| {
            let speedups = one.speedups.iter().map(|one| one.speedup);
            (one.pod.as_str(), one.device, speedups.collect())
        })
        .collect();
    let expected = [
        ("near", model, vec![2.0]),
        ("far", model, vec![1.0]),
        ("far", record::Device::DevDax, vec![0.5]),
    ];
    assert_eq!(found, expected);
    let page = html(&results).unwrap();
    for name in ["near, 1 speed-ups", "far, model, 1", "far, devdax, 1"] {
        assert!(page.contains(name), "{name}");
    }
}
