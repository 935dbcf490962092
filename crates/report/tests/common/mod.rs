//! Results as a run would leave them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "each test binary uses a part")]

use record::{
    Build, Coherence, Device, Directory, Label, Origin, Results, Row, SCHEMA, Substrate, Summary,
};
use serde_json::{Value, json};

/// A row of `visibility` without figures.
pub(crate) fn row(publish: &str, observe: &str, lines: u32, metric: &str) -> Row {
    let params = json!({"publish": publish, "observe": observe, "lines": lines, "rounds": 1000});
    let Value::Object(params) = params else {
        unreachable!("an object was written above")
    };
    Row {
        schema: SCHEMA,
        workload: "visibility".into(),
        params,
        substrate: Substrate::Native,
        label: Label::StandIn,
        pod: "local".into(),
        coherence: Coherence::Software,
        device: Device::Tmpfs,
        hosts: 2,
        lanes: 1,
        host: Some(0),
        oversubscribed: false,
        rep: 0,
        seed: 1,
        metric: metric.into(),
        unit: "ns".into(),
        n: 0,
        min: None,
        p50: None,
        p90: None,
        p99: None,
        p999: None,
        max: None,
        mean: None,
        ci95: None,
        census: None,
        verified: Some(true),
        answer: None,
        digest: String::new(),
        samples_at: None,
        error: None,
        peer: Some(1),
        reps: 10,
        stopped: None,
        reason: None,
        trial: 0,
    }
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
    directory
        .add_host(0, &json!({"cpu_model": "Example CPU 9000 @ 3.00GHz"}))
        .unwrap();
    for mut row in rows {
        directory.append(&mut row, &[]).unwrap();
    }
    directory.finish(true, &[]).unwrap();
    Results::open(parent.path().join("run")).unwrap()
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
