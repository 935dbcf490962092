//! Simulated runs of the binary: the same to the last bit each time, on the pods and with the lanes
//! that the plan names.

mod common;

use std::fs;

use common::Bench;
use serde_json::Value;

const PLAN: &str = r#"
name = "small"
on = ["sim", "native"]
warmup = 0
min_reps = 1
max_reps = 2

[[trial]]
on = ["sim"]
pod = "xc50256-two-host"
workload = "visibility"
params = { publish = ["clflushopt", "movnti"], observe = "clflush", lines = [1, 3], rounds = 5 }

[[trial]]
on = ["sim"]
lanes = 2
workload = "bandwidth"
params = { op = "read", flushed = true, active_lanes = 2, bytes = 8192, windows = 2 }

[[trial]]
on = ["native"]
workload = "latency"
params = { working_set_bytes = 4096, hops = 16, blocks = 2 }
"#;

fn simulated(bench: &Bench, out: &str) -> (Vec<Value>, Vec<u8>) {
    let said = bench.run(&["run", "small.toml", "--on", "sim", "--out", out]);
    said.expect(
        0,
        &["1 of 3 trials are meant for another substrate: left out"],
    );
    let rows = fs::read_to_string(bench.path(out).join("trials.ndjson")).expect("rows");
    let parse = |line| serde_json::from_str(line).expect("each line is JSON");
    let samples = fs::read(bench.path(out).join("samples.bin")).expect("samples");
    (rows.lines().map(parse).collect(), samples)
}

/// Two runs give the same rows and the same samples: no clock, no address, no order of threads is
/// in them.
#[test]
fn two_runs_are_the_same() {
    let bench = Bench::new();
    bench.file("small.toml", PLAN);
    let first = simulated(&bench, "first");
    assert_eq!(first, simulated(&bench, "second"));
    assert!(first.0.len() > 8 && first.1.len() > 8);
}

#[test]
fn pods_and_lanes_are_those_of_the_trial() {
    let bench = Bench::new();
    bench.file("small.toml", PLAN);
    for row in simulated(&bench, "out").0 {
        let expected = match row["workload"].as_str() {
            Some("visibility") => ("xc50256-two-host", 1),
            Some("bandwidth") => ("sc26-four-host", 2),
            other => panic!("{other:?} was not planned here"),
        };
        assert_eq!(
            (&row["pod"], &row["lanes"]),
            (&expected.0.into(), &expected.1.into())
        );
        assert_eq!(row["label"], "simulated");
        assert_eq!(row["verified"], true);
    }
}

#[test]
fn a_plan_that_has_nothing_for_the_substrate_is_refused() {
    let bench = Bench::new();
    bench.file(
        "there.toml",
        "name = \"there\"\n[[trial]]\non = [\"native\"]\nworkload = \"latency\"\n",
    );
    let said = bench.run(&["run", "there.toml", "--on", "sim", "--out", "out"]);
    said.expect(2, &["meant for another substrate"]);
    assert!(!bench.path("out").exists(), "nothing was run");
}

/// The claims that a directory can answer are answered, and the others name the rows they miss.
#[test]
fn claims_are_judged_on_what_is_there() {
    let bench = Bench::new();
    bench.file("small.toml", PLAN);
    simulated(&bench, "out");
    let said = bench.run(&["verify", "out", "--json"]);
    let verdicts = said.rows();
    let of = |verdict: &str| {
        let chosen = verdicts.iter().filter(|claim| claim["verdict"] == verdict);
        chosen.count()
    };
    assert!(of("untestable") > 0, "no row is on a pod of its own");
    assert!(of("pass") + of("fail") > 0, "{verdicts:?}");
    let known = |claim: &Value| {
        ["input", "prediction"]
            .iter()
            .any(|kind| claim["kind"] == *kind)
    };
    assert!(verdicts.iter().all(known));
}
