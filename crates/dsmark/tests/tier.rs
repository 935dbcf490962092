//! `dsmark tier` as a user types it. The story that this guards: a policy misspelt in a sweep of
//! many hours, and figures that nobody could make again because a seed had not been kept.

mod common;

use common::Bench;

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
    assert_eq!(rows.len(), 12);
    for row in &rows {
        assert_eq!(
            (&row["workload"], &row["label"]),
            (&"tier".into(), &"simulated".into())
        );
        assert_eq!(row["params"]["ratio"], "1:8");
        assert!(row["n"] == 2 || row["reason"].is_string(), "{row}");
    }
    let metrics: Vec<_> = rows[..6].iter().map(|row| row["metric"].as_str()).collect();
    let expected = [
        "time_ns",
        "normalized_performance",
        "fast_hit_ratio",
        "migrated_bytes",
        "rss_bytes",
        "oracle_gap_closed",
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
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let refused = |more: &[&str], needles: &[&str]| {
        let args: Vec<&str> = ["tier", "run"].iter().chain(more).copied().collect();
        bench.run(&args).expect(2, needles);
    };
    refused(
        &["--policy", "memtis"],
        &["no policy \"memtis\"", "tier list"],
    );
    refused(
        &["--policy", "memtis-paper+rais-only"],
        &["no switch \"rais-only\""],
    );
    let first = ["--policy", "first-touch"];
    let with = |more: [&'static str; 2]| [&first[..], &more[..]].concat();
    refused(&with(["--workload", "silo"]), &["no workload \"silo\""]);
    refused(&with(["--ratio", "8"]), &["FAST:CAPACITY"]);
    refused(&with(["--scale", "4096:48"]), &["power of two"]);
    refused(
        &with(["--capacity-tier", "cxl-emulate"]),
        &["did you mean `cxl-emulated`?"],
    );
    refused(&with(["--seeds", "0"]), &["at least 1"]);
}
