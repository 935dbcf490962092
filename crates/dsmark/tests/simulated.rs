//! Simulated runs of the binary: the same to the last bit each time, on the pods and with the lanes
//! that the plan names.

mod common;

use std::fs;

use common::{Bench, finish, wait_for};
use record::Results;
use rustix::process::{Pid, Signal, kill_process};
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

/// A first trial that is soon over, and a second whose one repetition takes minutes.
const LONG: &str = r#"
name = "long"
on = ["sim"]
warmup = 0
min_reps = 1
max_reps = 1
[[trial]]
workload = "visibility"
params = { rounds = 10 }
[[trial]]
workload = "visibility"
params = { rounds = 2000000 }
deadline_seconds = LIMIT
"#;

/// Ctrl-C ends a simulated repetition, not only what would follow it, and what was measured stays.
#[test]
fn an_interrupt_ends_a_trial_that_is_being_simulated() {
    let bench = Bench::new();
    bench.file("long.toml", &LONG.replace("LIMIT", "1e6"));
    let mut command = bench.dsmark(&["run", "long.toml", "--out", "out"]);
    let run = command.spawn().expect("the binary starts");
    wait_for("the first trial's row", || {
        let rows = fs::read_to_string(bench.path("out").join("trials.ndjson")).ok()?;
        rows.contains('\n').then_some(())
    });
    let pid = Pid::from_raw(run.id().cast_signed()).expect("a process has a number");
    kill_process(pid, Signal::INT).expect("it is our child");
    finish(run).expect(1, &["dsmark: interrupted"]);

    let results = Results::open(bench.path("out")).expect("it was closed");
    let first = results.rows.iter().find(|row| row.trial == 0);
    let first = first.expect("it was there before the interrupt");
    assert!(first.n > 0 && first.error.is_none());
    let rest = results.rows.iter().filter(|row| row.trial == 1);
    for row in rest {
        let error = row.error.as_deref().expect("it was not complete");
        assert!(error.contains("interrupted by a signal"), "{error}");
    }
    assert!(!results.manifest.expect("the run closed it").complete);
}

/// A deadline is in the time of whoever waits, and says so in the row.
#[test]
fn a_deadline_ends_a_trial_that_is_being_simulated() {
    let bench = Bench::new();
    bench.file("long.toml", &LONG.replace("LIMIT", "0.25"));
    let said = bench.run(&["run", "long.toml", "--out", "out"]);
    said.expect(
        1,
        &[
            "the trial's deadline of 250 ms passed",
            "--deadline SECONDS or the plan's deadline_seconds",
        ],
    );
    let results = Results::open(bench.path("out")).expect("it was closed");
    let good = |trial| {
        let mut rows = results.rows.iter().filter(|row| row.trial == trial);
        rows.all(|row| row.error.is_none())
    };
    assert!(good(0) && !good(1));
}

/// The remedy that the message names works, in either direction.
#[test]
fn a_deadline_on_the_command_line_overrules_the_plan() {
    let bench = Bench::new();
    bench.file("long.toml", &LONG.replace("LIMIT", "600"));
    let said = bench.run(&["run", "long.toml", "--deadline", "0.25", "--out", "out"]);
    said.expect(1, &["the trial's deadline of 250 ms passed"]);
    let said = bench.run(&["run", "long.toml", "--deadline", "0", "--out", "none"]);
    said.expect(2, &["deadline_seconds"]);
}
