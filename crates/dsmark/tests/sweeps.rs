//! Who measures beside whom. The story that this guards: a bandwidth of "four hosts" of which three
//! had finished before the fourth began, and a quiet neighbour that was taken for a noisy one.

mod common;

use std::collections::BTreeSet;

use common::Bench;
use serde_json::Value;

fn rows(on: &[&str], workload: &str, set: &[&str], active: &str) -> Vec<Value> {
    let active = format!("hosts_active={active}");
    let mut args = vec!["measure", workload, "--json", "--smoke", "--hosts", "3"];
    args.extend(on);
    for set in set.iter().chain([&active.as_str()]) {
        args.extend(["--set", set]);
    }
    let said = Bench::new().run(&args);
    said.expect(0, &[]);
    said.rows()
}

/// The hosts and other hosts that rows of one host are about.
fn places(rows: &[Value]) -> BTreeSet<(Option<u64>, Option<u64>)> {
    let place = |row: &Value| (row["host"].as_u64(), row["peer"].as_u64());
    rows.iter()
        .map(place)
        .filter(|(host, _)| host.is_some())
        .collect()
}

const SIM: [&str; 2] = ["--on", "sim"];
const NATIVE: [&str; 2] = ["--on", "native"];

/// Each with the least work that its workload does.
const WORKLOADS: [(&str, &[&str]); 3] = [
    (
        "latency",
        &["working_set_bytes=4096", "hops=16", "blocks=2"],
    ),
    ("bandwidth", &["bytes=8192", "windows=2"]),
    ("primitive", &["lines=4", "batches=2"]),
];

#[test]
fn in_pairs_every_host_measures_beside_every_other() {
    let all = |host| {
        (0..3)
            .filter(move |&peer| peer != host)
            .map(move |peer| (host, peer))
    };
    let expected: BTreeSet<_> = (0..3)
        .flat_map(all)
        .map(|(host, peer)| (Some(host), Some(peer)))
        .collect();
    for on in [SIM, NATIVE] {
        for (workload, set) in WORKLOADS {
            let rows = rows(&on, workload, set, "pairs");
            assert_eq!(places(&rows), expected, "{workload} {on:?}");
            assert!(rows.iter().all(|row| row["verified"] == true), "{rows:?}");
        }
    }
}

#[test]
fn beside_noisy_neighbours_every_host_measures_alone() {
    for on in [SIM, NATIVE] {
        for (workload, set) in WORKLOADS {
            let rows = rows(&on, workload, set, "noisy");
            let expected = (0..3).map(|host| (Some(host), None)).collect();
            assert_eq!(places(&rows), expected, "{workload} {on:?}");
            assert!(rows.iter().all(|row| row["verified"] == true), "{rows:?}");
        }
    }
}

/// The simulator charges what the neighbours' writes take from a pool that all share.
#[test]
fn noise_is_heard() {
    let set = [
        "working_set_bytes=65536",
        "hops=64",
        "blocks=4",
        "op=flush-reload",
    ];
    let median = |active| {
        let rows = rows(&SIM, "latency", &set, active);
        rows[0]["p50"].as_f64().expect("a figure")
    };
    let (quiet, noisy) = (median("each"), median("noisy"));
    // Two writers of three hosts do not fill the device; whoever waits behind one of their lines
    // waits all the same, and simulated time has no noise of its own.
    assert!(noisy > quiet, "{noisy} beside noise, {quiet} without");
}

/// The help says that an asterisk sweeps; of an op or a variant it was refused.
#[test]
fn an_asterisk_is_every_word_of_a_parameter() {
    let words = |workload: &str, set: &[&str], key: &str| -> BTreeSet<String> {
        let mut args = vec!["measure", workload, "--json", "--smoke"];
        for set in set {
            args.extend(["--set", set]);
        }
        let rows = Bench::new().run(&args).expect(0, &[]).rows();
        let word = |row: &Value| row["params"][key].as_str().map(str::to_owned);
        rows.iter().filter_map(word).collect()
    };
    let set = ["graph=kron:5", "variant=*"];
    let variants = ["direction-optimizing", "partitioned", "shared"];
    assert_eq!(
        words("bfs", &set, "variant"),
        variants.map(String::from).into()
    );
    // A fence works on no line: of all pairs those that mean something.
    let set = ["lines=4", "batches=2", "op=*", "line_state=*"];
    let ops = words("primitive", &set, "op");
    assert!(
        ops.contains("sfence") && ops.contains("movdir64b"),
        "{ops:?}"
    );
    let states = words("primitive", &set, "line_state");
    assert!(
        states.contains("dirty") && states.contains("absent"),
        "{states:?}"
    );
}

/// A directory of results is called like its plan, and then the plan could not be run again.
#[test]
fn a_shipped_plan_is_not_hidden_by_what_is_no_plan() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("claims")).expect("it is new");
    bench.file("graph", "no plan");
    for name in ["claims", "graph"] {
        let said = bench.run(&["run", name, "--hosts", "65"]);
        said.expect(2, &["hosts = 65"]);
        let path = format!("./{name}");
        let said = bench.run(&["run", &path, "--hosts", "65"]);
        said.expect(2, &[&path]);
    }
    let mine = "name = \"mine\"\n[[trial]]\nworkload = \"none-such\"\n";
    bench.file("sync", mine);
    bench.run(&["run", "sync"]).expect(2, &["none-such"]);
}

#[test]
fn more_lanes_than_there_is_room_for_are_refused() {
    for (args, needle) in [
        (&["--lanes", "40000"][..], "lanes = 40000: use 1 to 4096"),
        (&["--hosts", "100000"], "hosts = 100000: use 1 to 64"),
        (
            &["--hosts", "64", "--lanes", "4096"],
            "--lanes 256 or fewer",
        ),
    ] {
        for on in ["sim", "native"] {
            let all = [&["measure", "visibility", "--on", on][..], args].concat();
            let said = Bench::new().run(&all);
            // Real lanes are as few as there are CPUs, and that is told first.
            let needles: &[&str] = if on == "sim" { &[needle] } else { &[] };
            said.expect(2, needles);
            assert!(!said.err.contains("panicked"), "{}", said.err);
        }
    }
}
