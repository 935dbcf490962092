//! Results as a run would leave them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod svg;

use record::{
    Build, Coherence, Device, Directory, Label, Origin, Results, Row, SCHEMA, Substrate, Summary,
};
use serde_json::{Value, json};

/// A row of `visibility` without figures.
pub(crate) fn row(publish: &str, observe: &str, lines: u32, metric: &str) -> Row {
    let row = json!({
        "schema": SCHEMA,
        "workload": "visibility",
        "params": {"publish": publish, "observe": observe, "lines": lines, "rounds": 1000},
        "substrate": Substrate::Native,
        "label": Label::StandIn,
        "pod": "local",
        "coherence": Coherence::Software,
        "device": Device::Tmpfs,
        "hosts": 2,
        "lanes": 1,
        "host": 0,
        "oversubscribed": false,
        "rep": 0,
        "seed": 1,
        "metric": metric,
        "unit": "ns",
        "n": 0,
        "verified": true,
        "digest": "",
        "peer": 1,
        "reps": 10,
        "trial": 0,
    });
    serde_json::from_value(row).unwrap()
}

/// The row with the statistics of 200 samples spread evenly around a median.
pub(crate) fn measured(mut row: Row, median: f64, spread: f64) -> Row {
    let samples: Vec<f64> = (0..200)
        .map(|index| median + spread * (f64::from(index) - 99.0) / 100.0)
        .collect();
    row.summarize(&Summary::of(&samples).unwrap());
    row
}

/// The row without a value.
pub(crate) fn absent(mut row: Row, reason: &str) -> Row {
    row.reason = Some(reason.into());
    row
}

/// The rows, written and read back.
pub(crate) fn results(rows: Vec<Row>) -> Results {
    let parent = tempfile::tempdir().unwrap();
    let origin = Origin {
        command: "dsmark run --on native --hosts 2",
        plan: "",
        build: &Build::default(),
    };
    let mut directory = Directory::create(parent.path().join("run"), &origin).unwrap();
    directory.add_host(0, &host()).unwrap();
    for mut row in rows {
        directory.append(&mut row, &[]).unwrap();
    }
    directory.finish(true, &[]).unwrap();
    Results::open(parent.path().join("run")).unwrap()
}

fn host() -> Value {
    let cache = |level, kind: &str, size_bytes| {
        json!({
            "level": level, "kind": kind, "size_bytes": size_bytes, "shared_cpus": "0",
        })
    };
    json!({
        "cpu_model": "Example CPU 9000 @ 3.00GHz",
        "caches": [
            cache(1, "data", 49_152),
            cache(1, "instruction", 32_768),
            cache(2, "unified", 524_288),
            cache(3, "unified", 33_554_432),
        ],
        "governors": null,
        "smt": "<off> & \"on\"",
        "unreadable": {"governors": "/sys/devices/system/cpu/cpu0/cpufreq: No such file"},
    })
}

pub(crate) const NO_CLOCK: &str =
    "the hosts have no comparable clock independent of the path under test";

const HALF: &str = "half_round_trip_ns";
const ONE_WAY: &str = "one_way_ns";

/// Three ways to publish, each with both metrics.
pub(crate) fn plain_run() -> Results {
    results(vec![
        measured(row("clflushopt", "clflushopt", 1, HALF), 312.0, 40.0),
        measured(row("clflushopt", "clflushopt", 1, ONE_WAY), 290.0, 60.0),
        measured(row("clwb", "clflushopt", 1, HALF), 420.0, 30.0),
        absent(row("clwb", "clflushopt", 1, ONE_WAY), NO_CLOCK),
        measured(row("movnti", "clflush", 1, HALF), 515.5, 20.0),
        measured(row("movnti", "clflush", 1, ONE_WAY), 501.0, 20.0),
    ])
}

/// Forty conditions of two kinds of evidence, some with a long tail, some failed, all pairs of
/// four hosts.
pub(crate) fn crowded_run() -> Results {
    let mut rows = Vec::new();
    let mut median = 310.0;
    for label in [Label::StandIn, Label::Simulated] {
        for lines in [1, 4, 16, 64] {
            for publish in ["clflush", "clflushopt", "clwb", "movnti", "movdir64b"] {
                median *= 1.03;
                rows.extend(pairs(label, publish, lines, median));
            }
        }
    }
    results(rows)
}

fn pairs(label: Label, publish: &str, lines: u32, median: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (host, peer) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let place = |metric| Row {
            label,
            hosts: 4,
            host: Some(host),
            peer: Some(peer),
            oversubscribed: label == Label::StandIn,
            ..row(publish, "clflushopt", lines, metric)
        };
        let far = 1.0 + f64::from(host + peer) / 30.0;
        if publish == "movdir64b" && lines == 64 {
            let failed = Some("host 2 fell silent for 5 s in repetition 3".to_owned());
            rows.push(Row {
                error: failed,
                verified: None,
                ..place(HALF)
            });
            continue;
        }
        let mut half = measured(place(HALF), median * far, median * 0.1);
        if publish == "clwb" {
            half.p99 = Some(2_345_678.0);
            half.p999 = half.p99;
            half.max = half.p99;
        }
        rows.push(half);
        rows.push(if label == Label::Simulated {
            measured(place(ONE_WAY), median * far * 0.9, median * 0.05)
        } else {
            absent(place(ONE_WAY), NO_CLOCK)
        });
    }
    rows
}

/// A row of any workload without figures.
pub(crate) fn row_of(workload: &str, params: Value, metric: &str, unit: &str) -> Row {
    let Value::Object(params) = params else {
        unreachable!("parameters are written as an object")
    };
    Row {
        workload: workload.into(),
        params,
        unit: unit.into(),
        host: None,
        peer: None,
        lane: None,
        ..row("", "", 1, metric)
    }
}

/// What a run of every micro workload leaves.
pub(crate) fn full_run() -> Results {
    let mut rows = latency_rows();
    rows.extend(bandwidth_rows());
    rows.extend(primitive_rows());
    rows.extend(visibility_rows());
    results(rows)
}

const METRIC_OF_OP: [(&str, &str, f64); 3] = [
    ("load", "load_latency_ns", 1.0),
    ("store", "store_latency_ns", 1.4),
    ("flush-reload", "flush_reload_ns", 60.0),
];

fn latency_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (op, metric, factor) in METRIC_OF_OP {
        for place in ["region", "dram"] {
            for pages in ["small", "huge"] {
                for power in (14..=28).step_by(2) {
                    let size = 1_u64 << power;
                    let params = json!({"working_set_bytes": size, "op": op, "place": place,
                                        "pages": pages, "order": "random"});
                    let row = row_of("latency", params, metric, "ns");
                    let far = if place == "region" { 1.3 } else { 1.0 };
                    let walks = if pages == "small" { 1.2 } else { 1.0 };
                    let median = match power {
                        ..16 => 1.1 * factor,
                        16..20 => 4.2 * factor,
                        20..26 => 18.0 * factor.min(6.0),
                        _ => 88.0 * factor.min(2.0) * far * walks,
                    };
                    rows.push(measured(row, median, median * 0.1));
                }
            }
        }
    }
    rows
}

fn bandwidth_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for place in ["region", "dram"] {
        for (op, peak) in [
            ("read", 14.0),
            ("write", 7.0),
            ("nt-write", 11.0),
            ("copy", 9.5),
            ("triad", 9.9),
        ] {
            for lanes in [1, 2, 4] {
                let params = json!({"op": op, "place": place, "active_lanes": lanes});
                let row = row_of("bandwidth", params, "bandwidth_gb_per_s", "GB/s");
                let median =
                    peak * f64::from(lanes).sqrt() * if place == "dram" { 1.1 } else { 1.0 };
                rows.push(measured(row, median, median * 0.05));
            }
        }
        for gap in [0, 16, 64, 256, 1024] {
            let params = json!({"op": "loaded", "place": place, "gap_ns": gap});
            let share = 1.0 / (1.0 + f64::from(gap) / 100.0);
            let row = |metric, unit| row_of("bandwidth", params.clone(), metric, unit);
            let bandwidth = row("bandwidth_gb_per_s", "GB/s");
            rows.push(measured(bandwidth, 20.0 * share, share));
            let latency = row("loaded_latency_ns", "ns");
            rows.push(measured(latency, 90.0 + 160.0 * share * share, 9.0));
        }
    }
    rows
}

fn primitive_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut push = |op: &str, state: &str, mode: &str, median: f64| {
        let params = json!({"op": op, "line_state": state, "mode": mode});
        let row = row_of("primitive", params, "cost_ns", "ns");
        rows.push(if op == "movdir64b" {
            absent(row, "this CPU has no movdir64b")
        } else {
            measured(row, median, median * 0.08)
        });
    };
    for (op, base) in [("clflush", 180.0), ("clflushopt", 150.0), ("clwb", 140.0)] {
        for (state, factor) in [("dirty", 1.0), ("clean", 0.7), ("absent", 0.4)] {
            push(op, state, "single", base * factor);
            push(op, state, "pipelined", base * factor / 6.0);
        }
    }
    for op in ["movnti", "movdir64b"] {
        push(op, "absent", "single", 190.0);
        push(op, "absent", "pipelined", 18.0);
    }
    for (op, cost) in [
        ("sfence", 2.2),
        ("lfence", 8.0),
        ("mfence", 14.0),
        ("rdtscp", 12.0),
    ] {
        push(op, "none", "single", cost);
    }
    rows
}

fn visibility_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut median = 300.0;
    for publish in ["clflush", "clflushopt", "clwb", "movnti", "movdir64b"] {
        for observe in ["clflush", "clflushopt"] {
            median += 17.0;
            let place = |metric| Row {
                host: None,
                peer: None,
                lane: None,
                ..row(publish, observe, 1, metric)
            };
            rows.push(measured(place(HALF), median, 20.0));
            rows.push(measured(place(ONE_WAY), median - 20.0, 20.0));
        }
    }
    for lines in [4, 16, 64] {
        let base = row("clflushopt", "clflushopt", lines, HALF);
        let more = f64::from(lines) * 22.0;
        rows.push(measured(base, 300.0 + more, 20.0));
    }
    rows
}
