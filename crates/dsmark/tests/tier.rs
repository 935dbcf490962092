//! `dsmark tier` as a user types it. The story that this guards: a policy misspelt in a sweep of
//! many hours, and figures that nobody could make again because a seed had not been kept.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::mounted::Mounted;
use common::{Bench, finish, wait_for};
use record::{Results, Row, Stop};
use rustix::process::{Pid, Signal, kill_process};

const SMALL: [&str; 8] = [
    "tier",
    "run",
    "--workload",
    "gups-hot",
    "--scale",
    "131072:128",
    "--policy",
    "memtis-kernel,first-touch",
];

#[test]
fn rows_are_those_of_the_schema_and_the_same_every_time() {
    let bench = Bench::new();
    let mut args = SMALL.to_vec();
    args.extend(["--seeds", "2", "--json"]);
    let first = bench.run(&args);
    first.expect(0, &[]);
    assert_eq!(first.out, bench.run(&args).out);
    let rows = first.rows();
    assert_eq!(rows.len(), 14);
    for row in &rows {
        let caveat = row["caveat"].as_str().expect("the scale is too small");
        assert!(caveat.contains("huge pages"), "{caveat}");
        assert_eq!(
            (&row["workload"], &row["label"]),
            (&"tier".into(), &"simulated".into())
        );
        assert_eq!(row["params"]["ratio"], "1:8");
        assert!(row["n"] == 2 || row["reason"].is_string(), "{row}");
    }
    let metrics: Vec<_> = rows[..7].iter().map(|row| row["metric"].as_str()).collect();
    let expected = [
        "time_ns",
        "normalized_performance",
        "fast_hit_ratio",
        "migrated_bytes",
        "rss_bytes",
        "oracle_gap_closed",
        "background_cores",
    ];
    assert_eq!(metrics, expected.map(Some));
}

#[test]
fn results_hold_figures_over_time() {
    let bench = Bench::new();
    let mut args = SMALL.to_vec();
    args.extend(["--no-oracle", "--out", "results/small"]);
    bench.run(&args).expect(0, &[]);
    for file in ["tier.svg", "tier_truth.svg"] {
        assert!(bench.path("figures/small").join(file).exists(), "{file}");
    }
    // One seed makes no interval, so that the times of two policies cannot be told apart.
    let drawn = fs::read_to_string(bench.path("figures/small/tier.svg")).expect("it was drawn");
    assert!(drawn.contains("No policy is the fastest"), "{drawn}");
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let refused = |more: &[&str], needles: &[&str]| {
        let args: Vec<&str> = ["tier", "run"].iter().chain(more).copied().collect();
        bench.run(&args).expect(2, needles);
    };
    refused(
        &["--policy", "memtis-papr"],
        &["no policy \"memtis-papr\"", "did you mean `memtis-paper`?"],
    );
    refused(
        &["--policy", "memtis-paper+rais-only"],
        &["no switch \"rais-only\"", "did you mean `raise-only`?"],
    );
    refused(
        &["--policy", "first-touch+no-split"],
        &[
            "policy first-touch has no switches",
            "+no-split",
            "give first-touch alone",
        ],
    );
    refused(
        &["--policy", "memtis-kernel+raise-only+no-warm+raise-only"],
        &["names raise-only twice", "name it once"],
    );
    for policy in ["memtis-kernel+", "first-touch,", ""] {
        refused(&["--policy", policy], &["lacks a name", "dsmark tier list"]);
    }
    refused(
        &["--policy", "first-touch,first-touch"],
        &["--policy names first-touch twice", "name it once"],
    );
    let first = ["--policy", "first-touch"];
    let with = |more: [&'static str; 2]| [&first[..], &more[..]].concat();
    for [option, value, needle] in [
        ["--workload", "gups-hat", "did you mean `gups-hot`?"],
        [
            "--workload",
            "silo",
            "there are silo-paper, silo-ycsb, silo-artifact",
        ],
        ["--workload", "bw-antagonist:100", "from 1 to 95"],
        ["--workload", "zero-bloat:100", "from 1 to 99"],
        ["--workload", "skew-in-huge:0", "from 1 to 100"],
        ["--workload", "skew-in-huge:x", "skew-in-huge:PERCENT"],
        ["--workload", "gups-hot:5", "takes no number"],
        ["--ratio", "8", "FAST:CAPACITY"],
        ["--ratio", "0:8", "from 1 to 1000000"],
        ["--ratio", "4294967295:1", "from 1 to 1000000"],
        ["--scale", "4096:48", "power of two"],
        ["--scale", "64:64", "from twice the geometry, 128"],
        ["--scale", "4294967295:64", "1048576"],
        [
            "--capacity-tier",
            "cxl-emulate",
            "did you mean `cxl-emulated`?",
        ],
        ["--seeds", "0", "at least 1"],
        ["--seeds", "99999999999", "at most 10000"],
    ] {
        refused(&with([option, value]), &[needle]);
    }
    let none = ["--ratio", "1:1000000", "--scale", "131072:128"];
    refused(
        &[&first[..], &none[..]].concat(),
        &["less than one huge page"],
    );
}

const DECIDED: [&str; 6] = [
    "tier",
    "sensitivity",
    "--workload",
    "gups-hot",
    "--scale",
    "131072:128",
];

#[test]
fn sensitivity_changes_one_constant_at_a_time() {
    let bench = Bench::new();
    let mut args = DECIDED.to_vec();
    args.extend(["--constant", "load_ns,nvm.load_ns,ring_high", "--json"]);
    let said = bench.run(&args);
    said.expect(0, &[]);
    let rows = said.rows();
    // As it ships, then the loads of both tiers and the ring's threshold, less and more.
    assert_eq!(rows.len(), 7 * 3);
    let of = |constant: &str, factor: f64| {
        let row = rows
            .iter()
            .find(|row| row["params"]["constant"] == constant && row["params"]["factor"] == factor);
        row.expect("a row")["p50"].as_f64()
    };
    let shipped = of("as it ships", 1.0);
    assert!(shipped.is_some());
    assert_ne!(of("nvm.load_ns", 1.25), shipped);
    // Every ring is emptied each time, so that no threshold matters.
    assert_eq!(of("memtis.ring_high", 0.75), shipped);
    args.pop();
    let text = bench.run(&args);
    text.expect(0, &[]);
    for needle in [
        "time of memtis-paper+no-split against memtis-paper, as it ships: ",
        "nvm.load_ns                      -25 %: ",
        "no difference under ",
        "One seed makes no interval",
    ] {
        assert!(text.out.contains(needle), "{needle}: {text:?}");
    }
}

/// What a constant changes is the difference of differences, seed by seed: here computed once more,
/// from the samples that lie beside the rows.
#[test]
fn sensitivity_is_paired_by_seed_and_has_an_interval() {
    let bench = Bench::new();
    let more = [
        "--constant",
        "nvm.load_ns,ring_high",
        "--seeds",
        "3",
        "--out",
        "results/out",
    ];
    let said = bench.run(&[&DECIDED[..], &more].concat());
    said.expect(0, &[]);
    for needle in [
        "Paired by seed, 3 seeds",
        "Student's t",
        "no difference under ",
    ] {
        assert!(said.out.contains(needle), "{needle}: {said:?}");
    }
    let results = Results::open(bench.path("results/out")).expect("it was closed");
    let percent = |constant: &str, factor: f64| -> (Vec<f64>, serde_json::Value) {
        let row = results.rows.iter().find(|row| {
            let of = |name: &str| row.params.get(name);
            row.metric == "relative_time"
                && of("constant").is_some_and(|name| name == constant)
                && of("factor").is_some_and(|it| it.as_f64() == Some(factor))
        });
        let row = row.expect("a row");
        let samples = results.samples(row).expect("beside it");
        let percent = samples.iter().map(|ratio| 100.0 * (ratio - 1.0)).collect();
        (percent, row.answer.clone().expect("effects"))
    };
    let (shipped, _) = percent("as it ships", 1.0);
    for (constant, factor) in [("nvm.load_ns", 0.75), ("nvm.load_ns", 1.25)] {
        let (changed, answer) = percent(constant, factor);
        let pairs = changed.iter().zip(&shipped);
        let changes: Vec<f64> = pairs.map(|(with, without)| with - without).collect();
        let mean = changes.iter().sum::<f64>() / 3.0;
        let square: f64 = changes.iter().map(|change| (change - mean).powi(2)).sum();
        // 4.302653: Student's 97.5 % quantile with two degrees of freedom.
        let half = 4.302_653 * (square / 2.0 / 3.0).sqrt();
        let effect = &answer["effects"][0];
        assert_eq!(
            (&effect["figure"], &effect["unit"]),
            (&"time".into(), &"points".into())
        );
        let ends = [effect["ci95"][0].as_f64(), effect["ci95"][1].as_f64()];
        for (end, expected) in ends.into_iter().zip([mean - half, mean + half]) {
            assert!(
                (end.expect("an end") - expected).abs() < 1e-6,
                "{changes:?}: {effect}"
            );
        }
        assert_eq!(effect["interval"], "Student's t");
    }
    let (_, same) = percent("memtis.ring_high", 0.75);
    assert_eq!(same["effects"][0]["ci95"], serde_json::json!([0.0, 0.0]));
    assert!(bench.path("figures/out/tier_effects.svg").exists());
}

#[test]
fn what_no_sensitivity_can_be_asked_of_is_refused() {
    let bench = Bench::new();
    let refused = |more: &[&str], needles: &[&str]| {
        bench.run(&[&DECIDED[..], more].concat()).expect(2, needles);
    };
    refused(
        &["--constant", "lod_ns"],
        &["no constant \"lod_ns\"", "did you mean `load_ns`?"],
    );
    refused(
        &["--constant", "kernel.walk_ns"],
        &[
            "no constant \"kernel.walk_ns\"",
            "did you mean `cpu.walk_ns`?",
        ],
    );
    refused(
        &["--constant", "threads"],
        &["--constant threads", "is the workload's", "leave it out"],
    );
    refused(
        &["--constant", "cxl-270.load_ns"],
        &[
            "cxl-270.load_ns",
            "this one is nvm",
            "did you mean `nvm.load_ns`?",
        ],
    );
    refused(
        &["--from", "first-touch"],
        &["first-touch", "no variant of Memtis"],
    );
    refused(
        &["--policy", "memtis-paper"],
        &[
            "--policy memtis-paper is --from memtis-paper",
            "give another",
        ],
    );
}

/// All 29 variants, three seeds: long enough to be cut.
const LONG: [&str; 8] = [
    "tier",
    "ablate",
    "--workload",
    "gups-hot",
    "--scale",
    "32768:128",
    "--seeds",
    "3",
];

#[test]
fn ctrl_c_keeps_the_policies_that_are_through() {
    let bench = Bench::new();
    let child = bench
        .dsmark(&[&LONG[..], &["--out", "out"]].concat())
        .spawn();
    let child = child.expect("the binary starts");
    let trials = bench.path("out/trials.ndjson");
    wait_for("the first policy", || {
        let written = fs::metadata(&trials).ok()?.len() > 0;
        written.then_some(())
    });
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process has a number");
    kill_process(pid, Signal::INT).expect("it is our child");
    finish(child).expect(1, &["interrupted: ", " kept", "not run"]);
    let results = Results::open(bench.path("out")).expect("it was closed");
    assert!(!results.rows.is_empty());
    for row in &results.rows {
        let samples = results.samples(row).expect("written before the row");
        assert_eq!(samples.len() as u64, row.n);
        assert!(
            row.n == 3 || row.stopped == Some(Stop::Interrupted),
            "{row:?}"
        );
    }
    let manifest = results.manifest.expect("it was closed");
    assert!(!manifest.complete);
    assert!(
        manifest
            .problems
            .iter()
            .any(|it| it.contains("interrupted"))
    );
}

#[test]
fn rows_that_a_full_file_system_does_not_take_are_printed() {
    let bench = Bench::new();
    let Some(_mounted) = Mounted::tmpfs(bench.path("full"), "size=24k") else {
        return;
    };
    let mut args = SMALL.to_vec();
    args.extend(["--no-oracle", "--out", "full/out"]);
    let said = bench.run(&args);
    said.expect(1, &["no space for", "full/out"]);
    let json = said.out.lines().filter(|line| line.starts_with('{'));
    let printed: Vec<Row> = json
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    let saved = Results::open(bench.path("full/out")).expect("what was saved is whole");
    let key = |row: &Row| (row.trial, row.metric.clone());
    let all: Vec<_> = saved.rows.iter().chain(&printed).map(key).collect();
    let distinct: BTreeSet<_> = all.iter().collect();
    assert!(!printed.is_empty(), "{said:?}");
    assert_eq!(
        (all.len(), distinct.len()),
        (14, 14),
        "each row once: {all:?}"
    );
}

/// What `tier claims` writes is what `verify` looks for, without being told where the claims are;
/// but a scale that breaks the law answers none of them.
#[test]
fn tier_claims_are_verified_by_default_where_the_scale_is_lawful() {
    let bench = Bench::new();
    let args = ["--scale", "131072:128", "--out", "out", "--quiet", "--json"];
    bench
        .run(&[&["tier", "claims"], &args[..]].concat())
        .expect(0, &[]);
    let said = bench.run(&["verify", "out", "--json"]);
    said.expect(1, &["no claim could be tested"]);
    let claims = said.rows();
    assert!(claims.len() >= 9);
    for claim in &claims {
        assert_eq!(claim["verdict"], "untestable", "{claim}");
        let reason = claim["reason"].as_str().expect("it says why");
        for needle in ["similarity law", "huge page", "--seeds 10"] {
            assert!(reason.contains(needle), "{claim}");
        }
    }
    // As if the scale were lawful: what else their rows carry as a caveat stands in no way.
    let trials = bench.path("out/trials.ndjson");
    let rows = fs::read_to_string(&trials).expect("written");
    let lawful = rows.replace("\"law\":\"broken\"", "\"law\":\"kept\"");
    assert_ne!(rows, lawful);
    fs::write(&trials, lawful).expect("ours");
    let said = bench.run(&["verify", "out", "--json"]);
    said.expect(0, &[]);
    for claim in &said.rows() {
        let (id, verdict) = (&claim["claim"], &claim["verdict"]);
        let named = id.as_str().expect("a name");
        assert!(named.starts_with("memtis-"), "{claim}");
        assert_ne!(verdict, "untestable", "{claim}");
        let explained = claim["assumption"].is_string();
        assert!(!explained || verdict == "fail", "{claim}");
        let caveats = claim["caveats"].as_array();
        assert!(caveats.is_some_and(|all| !all.is_empty()), "{claim}");
    }
}
