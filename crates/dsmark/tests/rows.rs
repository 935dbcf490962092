//! The rows are what everything else reads: other people's scripts, the figures, the claims. The
//! story that this guards: a field renamed between two versions, and a census that counted what
//! the harness does between repetitions.

mod common;

use std::fs;

use common::{Bench, Said};
use record::Results;
use serde_json::Value;

/// The keys of the published example, with the kind of their values where all went well.
const KEYS: [(&str, Kind); 33] = [
    ("schema", Kind::Count),
    ("workload", Kind::Word),
    ("params", Kind::Table),
    ("substrate", Kind::Word),
    ("label", Kind::Word),
    ("pod", Kind::Word),
    ("coherence", Kind::Word),
    ("device", Kind::Word),
    ("hosts", Kind::Count),
    ("lanes", Kind::Count),
    ("host", Kind::CountOrNull),
    ("oversubscribed", Kind::Truth),
    ("rep", Kind::Count),
    ("seed", Kind::Count),
    ("metric", Kind::Word),
    ("unit", Kind::Word),
    ("n", Kind::Count),
    ("min", Kind::Figure),
    ("p50", Kind::Figure),
    ("p90", Kind::Figure),
    ("p99", Kind::Figure),
    ("p999", Kind::Figure),
    ("max", Kind::Figure),
    ("mean", Kind::Figure),
    ("ci95", Kind::Interval),
    ("census", Kind::Table),
    ("verified", Kind::Truth),
    ("answer", Kind::Null),
    ("digest", Kind::Word),
    ("samples_at", Kind::CountOrNull),
    ("error", Kind::Null),
    ("peer", Kind::CountOrNull),
    ("reason", Kind::Null),
];

/// Fields that were added to the published ones.
const ADDED: [&str; 7] = [
    "reps", "stopped", "trial", "counters", "lane", "caveat", "start",
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Count,
    CountOrNull,
    Figure,
    Interval,
    Word,
    Table,
    Truth,
    Null,
}

impl Kind {
    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Count => value.is_u64(),
            Self::CountOrNull => value.is_u64() || value.is_null(),
            Self::Figure => value.as_f64().is_some_and(|x| x.is_finite() && x >= 0.0),
            Self::Interval => {
                let ends = value
                    .as_array()
                    .map(|ends| ends.iter().filter_map(Value::as_f64));
                ends.is_some_and(|ends| ends.collect::<Vec<_>>().is_sorted())
            }
            Self::Word => value.as_str().is_some_and(|word| !word.is_empty()),
            Self::Table => value.is_object(),
            Self::Truth => value.is_boolean(),
            Self::Null => value.is_null(),
        }
    }
}

/// Measures on this machine with `more` arguments, well.
#[track_caller]
fn measure(more: &[&str]) -> Said {
    let few = ["--smoke", "--set", "rounds=20", "--json"];
    let args = [&["measure", "visibility", "--on", "native"], &few[..], more].concat();
    let said = Bench::new().run(&args);
    said.expect(0, &[]);
    said
}

/// A row as every reader expects it.
#[track_caller]
fn check(row: &Value) {
    let fields = row.as_object().expect("a row is an object");
    for (key, kind) in KEYS {
        let value = fields
            .get(key)
            .unwrap_or_else(|| panic!("no {key} in {row}"));
        assert!(kind.holds(value), "{key} = {value} is no {kind:?}");
    }
    for key in fields.keys() {
        let known = KEYS.iter().any(|(known, _)| known == key) || ADDED.contains(&key.as_str());
        assert!(
            known,
            "{key} is new: it belongs into this test and docs/METHODOLOGY.md"
        );
    }
    let order = ["min", "p50", "p90", "p99", "p999", "max"].map(|key| row[key].as_f64());
    assert!(order.is_sorted(), "{row}");
    assert_eq!(row["unit"], "ns");
    assert_eq!(row["label"], "coherent stand-in");
    assert_eq!(row["verified"], true);
}

/// What a message of `lines` lines must cost the memory, by whatever method.
fn check_census(census: &Value, lines: u64) {
    let lines = lines as f64;
    let payload = if lines > 1.0 { 1.0 } else { 0.0 };
    let figure = |path: &str| {
        census
            .pointer(path)
            .and_then(Value::as_f64)
            .expect("a figure")
    };
    assert!(
        (figure("/publishes") - 1.0 - payload).abs() < 1e-12,
        "{census}"
    );
    assert!(
        (figure("/lines_published") - lines).abs() < 1e-12,
        "{census}"
    );
    assert!(figure("/bytes_published") >= 8.0, "{census}");
    // How often a reader polls is chance; at least once a message.
    assert!(figure("/observes") >= 1.0 + payload, "{census}");
    assert!(figure("/lines_observed") >= lines, "{census}");
    // One full fence closes a publish and each observe, a store fence each posted payload.
    let observes = figure("/observes");
    assert!(
        (figure("/fences/full") - 1.0 - observes).abs() < 1e-12,
        "{census}"
    );
    assert!(
        (figure("/fences/store") - payload).abs() < 1e-12,
        "{census}"
    );
    assert!(figure("/fences/load").abs() < 1e-12, "{census}");
}

#[test]
fn rows_have_the_published_fields() {
    let said = measure(&["--hosts", "2", "--set", "publish=clflush"]);
    assert!(
        said.err
            .contains("trial 1 of 1: visibility publish=clflush"),
        "{said:?}"
    );
    let rows = said.rows();
    let metrics: Vec<_> = rows.iter().map(|row| row["metric"].clone()).collect();
    assert_eq!(metrics, ["half_round_trip_ns", "one_way_ns"]);
    for row in &rows {
        check(row);
        check_census(&row["census"], 1);
    }
}

#[test]
fn a_message_of_several_lines_posts_its_payload() {
    let said = measure(&["--hosts", "2", "--quiet", "--set", "lines=8"]);
    assert_eq!(said.err, "");
    for row in said.rows() {
        check(&row);
        check_census(&row["census"], 8);
    }
}

#[test]
fn every_method_of_this_cpu_measures() {
    let listed = Bench::new().run(&["list", "--json"]).rows().remove(0);
    let methods = |way: &str| listed["methods"][way].as_array().expect("a list").len();
    let rows = measure(&["--hosts", "2", "--set", "publish=*", "--set", "observe=*"]).rows();
    assert!(methods("publish") > 1 && methods("observe") > 0, "{listed}");
    assert_eq!(rows.len(), 2 * methods("publish") * methods("observe"));
    for row in &rows {
        check(row);
        check_census(&row["census"], 1);
    }
}

#[test]
fn pairs_and_lanes_have_their_rows() {
    for (hosts, pairs) in [(3, 3), (5, 10)] {
        let rows = measure(&["--hosts", &hosts.to_string()]).rows();
        // For each metric one row for the pod and one for each pair.
        assert_eq!(rows.len(), 2 * (1 + pairs), "{hosts} hosts");
        let of_pod = rows.iter().filter(|row| row["host"].is_null());
        assert_eq!(of_pod.count(), 2);
        for row in &rows {
            check(row);
            assert_eq!(row["hosts"], hosts);
            assert_eq!(row["host"].is_null(), row["peer"].is_null());
        }
        let samples = |of_pod: bool| {
            let chosen = rows.iter().filter(|row| row["host"].is_null() == of_pod);
            chosen.filter_map(|row| row["n"].as_u64()).sum::<u64>()
        };
        assert_eq!(samples(true), samples(false));
    }
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2) {
        for row in measure(&["--hosts", "2", "--lanes", "2"]).rows() {
            check(&row);
            assert_eq!(row["lanes"], 2);
        }
    } else {
        eprintln!("skipped: two lanes need two CPUs");
    }
}

#[test]
fn a_run_leaves_a_whole_directory() {
    let bench = Bench::new();
    let plan = "name = \"small\"\nhosts = 2\nmax_reps = 3\n[[trial]]\n\
                workload = \"visibility\"\nparams = { lines = [1, 2], rounds = 20 }\n";
    bench.file("small.toml", plan);
    let run = [
        "run",
        "small.toml",
        "--on",
        "native",
        "--quiet",
        "--seed",
        "7",
    ];
    let said = bench.run(&[&run[..], &["--out", "results/small"]].concat());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    for line in [
        "visibility: half_round_trip_ns",
        "coherent stand-in",
        "results: results/small",
    ] {
        assert!(said.out.contains(line), "no `{line}` in {}", said.out);
    }

    let out = bench.path("results/small");
    for name in [
        "build.json",
        "README.md",
        "manifest.json",
        "hosts/0.json",
        "hosts/1.json",
    ] {
        assert!(
            fs::metadata(out.join(name)).is_ok_and(|file| file.len() > 0),
            "{name}"
        );
    }
    let figure = bench.path("figures/small/visibility.svg");
    assert!(fs::read_to_string(figure).is_ok_and(|svg| svg.starts_with("<svg")));
    let results = Results::open(&out).expect("a run's directory");
    assert!(results.complete(), "{:?}", results.problems);
    // The command goes before the plan, since its flags went over it.
    assert!(
        results.plan.starts_with("# run by: ") && results.plan.ends_with(&plan),
        "{}",
        results.plan
    );
    assert_eq!(results.rows.len(), 4);
    let command = results
        .manifest
        .as_ref()
        .map(|manifest| manifest.command.clone());
    assert!(command.is_some_and(|it| it.ends_with("--seed 7 --out results/small")));
    for row in &results.rows {
        check(&serde_json::to_value(row).expect("a row"));
        assert_eq!(row.seed, 7);
        let samples = results.samples(row).expect("they are on file");
        let summary = record::Summary::of(&samples).expect("figures");
        assert_eq!(Some(summary.p50), row.p50);
    }
}
