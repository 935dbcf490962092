//! Every lock, barrier and atomic by its name, as a user asks for it, and the counts that
//! docs/SYNC.md promises. The story: a name that `measure` listed and refused, and a table of costs
//! that had been true once.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::Bench;
use serde_json::Value;
use sync::atomic::Via;
use sync::barrier::BarrierAlgorithm;
use sync::lock::Algorithm;

/// Publishes and observes of an operation; none for looks, whose number depends on waiting.
type Counts = (f64, Option<f64>);

/// The tables of docs/SYNC.md: below a heading, the counts of each name.
fn promised(heading: &str) -> BTreeMap<String, Counts> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/SYNC.md");
    let text = std::fs::read_to_string(path).expect("docs/SYNC.md");
    let (_, below) = text
        .split_once(&format!("## {heading}\n"))
        .expect("the heading");
    let below = below.split("\n## ").next().expect("at least one part");
    let mut counts = BTreeMap::new();
    for line in below.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, publishes, observes, ..] = cells[..] else {
            panic!("{line}");
        };
        let publishes = publishes.parse().expect("a number of publishes");
        let count = (publishes, observes.parse().ok());
        counts
            .entry(name.trim_matches('`').to_owned())
            .or_insert(count);
    }
    counts
}

/// The rows of `measure WORKLOAD --on sim --set .. --json`, short.
fn measured(bench: &Bench, workload: &str, set: &[&str]) -> Vec<Value> {
    let mut args = vec![
        "measure", workload, "--on", "sim", "--json", "--quiet", "--smoke",
    ];
    for pair in set {
        args.extend(["--set", pair]);
    }
    args.extend(["--set", "rounds=12"]);
    let said = bench.run(&args);
    said.expect(0, &[]);
    said.rows()
}

fn row<'r>(rows: &'r [Value], metric: &str) -> &'r Value {
    let found = rows.iter().find(|row| row["metric"] == metric);
    found.unwrap_or_else(|| panic!("no {metric} in {rows:?}"))
}

#[track_caller]
fn assert_counts(name: &str, row: &Value, (publishes, observes): Counts) {
    assert!(
        row["p50"].is_f64() && row["error"].is_null(),
        "{name}: {row}"
    );
    assert_eq!(row["verified"], true, "{name}");
    let census = |key: &str| row["census"][key].as_f64().expect("a census");
    assert_eq!(census("publishes"), publishes, "{name}: publishes");
    match observes {
        Some(observes) => assert_eq!(census("observes"), observes, "{name}: observes"),
        None => assert!(
            census("observes") >= 0.5,
            "{name}: it looks at least now and then"
        ),
    }
}

#[test]
fn every_lock_costs_what_the_page_says() {
    let (bench, promised) = (Bench::new(), promised("Locks"));
    assert_eq!(promised.len(), Algorithm::ALL.len());
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        let set = [format!("algorithm={name}"), "contenders=1".into()];
        let rows = measured(&bench, "lock", &set.each_ref().map(String::as_str));
        assert_counts(name, row(&rows, "acquire_ns"), promised[name]);
    }
}

#[test]
fn every_barrier_costs_what_the_page_says() {
    let (bench, promised) = (Bench::new(), promised("Barriers"));
    assert_eq!(promised.len(), BarrierAlgorithm::ALL.len());
    for algorithm in BarrierAlgorithm::ALL {
        let name = algorithm.name();
        let set = [format!("algorithm={name}"), "contenders=1".into()];
        let rows = measured(&bench, "barrier", &set.each_ref().map(String::as_str));
        let found = row(&rows, "barrier_ns");
        if algorithm.is_hardware() {
            let reason = found["reason"].as_str().expect("a reason");
            assert!(reason.contains("set spread = lanes"), "{reason}");
            let inside = measured(&bench, "barrier", &["algorithm=hardware", "spread=lanes"]);
            assert_counts(name, row(&inside, "barrier_ns"), promised[name]);
            continue;
        }
        assert_counts(name, found, promised[name]);
    }
}

#[test]
fn every_atomic_costs_what_the_page_says() {
    let (bench, promised) = (Bench::new(), promised("Atomics"));
    assert_eq!(promised.len(), Via::ALL.len());
    for via in Via::ALL {
        for op in ["fetch-add", "compare-exchange", "swap", "fetch-or"] {
            let name = via.to_string();
            let set = [
                format!("via={name}"),
                format!("op={op}"),
                "contenders=1".into(),
            ];
            let rows = measured(&bench, "atomic", &set.each_ref().map(String::as_str));
            let found = row(&rows, "op_ns");
            if *via == Via::Sharded && op != "fetch-add" {
                let reason = found["reason"].as_str().expect("a reason");
                assert!(reason.contains("only adds"), "{reason}");
                continue;
            }
            if op == "compare-exchange" && *via == Via::Lock {
                // The first of a repetition expects a value that is gone, and publishes nothing.
                let published = found["census"]["publishes"].as_f64().expect("a census");
                assert!(published < promised[&name].0, "{published}");
                continue;
            }
            assert_counts(&format!("{name} {op}"), found, promised[&name]);
        }
    }
}

/// On a pod that holds writes after their fence, a lock of registers is right with `confirm` and is
/// seen to fail without: the run says so and ends with 1.
#[test]
fn a_posted_pod_needs_confirm() {
    let bench = Bench::new();
    let run = |arrival: &str| {
        let arrival = format!("arrival={arrival}");
        let mut args = vec![
            "measure", "lock", "--on", "sim", "--json", "--quiet", "--smoke",
        ];
        args.extend(["--pod", "sc26-posted-four-host", "--set", &arrival]);
        args.extend(["--set", "algorithm=burns-lynch", "--set", "contenders=4"]);
        args.extend([
            "--set",
            "protected_lines=1",
            "--set",
            "critical_section_ns=1000",
        ]);
        bench.run(&args)
    };
    let confirmed = run("confirm");
    confirmed.expect(0, &[]);
    assert!(confirmed.rows().iter().all(|row| row["verified"] == true));
    let fenced = run("fence");
    fenced.expect(1, &[]);
    assert!(fenced.rows().iter().all(|row| row["verified"] != true));
}
