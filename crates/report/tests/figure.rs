//! A figure that looks right on one record hides text behind text on the next. What is checked is
//! therefore every text's box, on records from one row to forty, as the file places it. The files
//! stay in cargo's temporary directory (`target/tmp`), to be looked at.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::Path;

use common::svg::{Placed, assert_says, draw_all, joined};
use common::{NO_CLOCK, absent, crowded_run, full_run, measured, plain_run, results, row, row_of};
use record::{Label, Results, Row};
use report::figures;
use serde_json::json;

/// Draws the figure of `visibility`, which is the only one, and returns its texts.
fn draw(name: &str, results: &Results) -> Vec<Placed> {
    let mut drawn = draw_all(name, results);
    assert_eq!(drawn.len(), 1);
    drawn.remove("visibility.svg").unwrap()
}

#[test]
fn the_overlap_check_finds_an_overlap() {
    let at = |x, y| Placed {
        x,
        y,
        size: 10,
        text: "WW".into(),
    };
    assert!(at(0, 0).overlaps(&at(19, 9)));
    assert!(!at(0, 0).overlaps(&at(20, 0)));
    assert!(!at(0, 0).overlaps(&at(0, 10)));
}

#[test]
fn a_plain_run_states_its_finding() {
    let texts = draw("plain", &plain_run());
    assert_says(
        &texts,
        "Fastest publish + observe: clflushopt + clflushopt, 1 line, 312 ns a half round trip",
    );
    assert_says(
        &texts,
        "Coherent stand-in. Pod local, 2 hosts, device tmpfs, Example CPU 9000 @ 3.00GHz; n = 200.",
    );
    for label in [
        "observe by clflushopt",
        "movnti",
        "312 [306, 318] ns",
        "290 [282, 299] ns",
        "420 [416, 424] ns",
        "516 [513, 518] ns",
    ] {
        assert!(texts.iter().any(|text| text.text == label), "{label}");
    }
    assert_says(
        &texts,
        &format!("clwb + clflushopt, 1 line: one way absent: {NO_CLOCK}"),
    );
    assert_says(&texts, "Made by: dsmark run --on native --hosts 2");
}

#[test]
fn one_row_is_a_figure() {
    let only = measured(
        row("clflush", "clflush", 64, "half_round_trip_ns"),
        1234.0,
        1.0,
    );
    let texts = draw("single", &results(vec![only]));
    assert_says(
        &texts,
        "A half round trip takes 1234 ns: clflush + clflush, 64 lines",
    );
}

#[test]
fn forty_conditions_stay_legible_and_apart() {
    let texts = draw("crowded", &crowded_run());
    for publish in ["clflush", "clflushopt", "clwb", "movnti", "movdir64b"] {
        let named = |start: String| {
            let starts = texts.iter().filter(|text| text.text.starts_with(&start));
            starts.count()
        };
        assert_eq!(named(format!("{publish} + clflushopt:")), 2, "{publish}");
        let rows = texts.iter().filter(|text| text.text == publish);
        assert_eq!(rows.count(), 2, "{publish}: once for each label");
    }
    assert_says(
        &texts,
        "half round trip failed: host 2 fell silent for 5 s in repetition 3",
    );
    assert_says(&texts, "p99 2346 us");
    assert_says(&texts, "oversubscribed");
    let absent = texts
        .iter()
        .filter(|text| text.text.starts_with("One way absent: the hosts"));
    assert_eq!(
        absent.count(),
        1,
        "what holds for a whole section is said once"
    );
}

#[test]
fn kinds_of_evidence_are_told_apart_where_they_share_an_axis() {
    let texts = draw("crowded-labels", &crowded_run());
    assert_says(&texts, "Coherent stand-in and simulated. Pod local");
    let headings = [
        "Simulated: computed",
        "Coherent stand-in: measured on memory of one machine",
    ];
    for heading in headings {
        assert_eq!(
            texts
                .iter()
                .filter(|text| text.text.starts_with(heading))
                .count(),
            1
        );
    }
}

#[test]
fn an_absent_value_is_never_drawn_at_zero() {
    let reason = "this CPU has no movdir64b; <choose another> & try again";
    let nothing = absent(row("movdir64b", "clflush", 1, "half_round_trip_ns"), reason);
    let texts = draw("absent", &results(vec![nothing]));
    assert_says(
        &texts,
        &format!("No half round trip was measured; absent: {reason}"),
    );
    assert_says(&texts, &format!("Half round trip absent: {reason}"));
    let zeros = texts
        .iter()
        .filter(|text| text.text.starts_with("0 "))
        .count();
    assert_eq!(zeros, 0);
}

#[test]
fn the_time_of_a_wrong_answer_is_no_result() {
    let half = |publish, median| {
        measured(
            row(publish, "clflush", 1, "half_round_trip_ns"),
            median,
            1.0,
        )
    };
    let wrong = Row {
        verified: Some(false),
        ..half("clwb", 100.0)
    };
    let texts = draw("wrong", &results(vec![wrong, half("clflush", 300.0)]));
    assert_says(
        &texts,
        "A half round trip takes 300 ns: clflush + clflush, 1 line",
    );
    assert_says(
        &texts,
        "clwb + clflush, 1 line: half round trip wrong: its answer was not verified",
    );
    assert!(!joined(&texts).contains("100 ns"));
}

#[test]
fn medians_that_cannot_be_told_apart_have_no_winner() {
    let half = |publish, median| {
        measured(
            row(publish, "clflush", 1, "half_round_trip_ns"),
            median,
            50.0,
        )
    };
    let run = results(vec![
        half("clwb", 300.0),
        half("clflushopt", 303.0),
        half("movnti", 900.0),
    ]);
    let texts = draw("tie", &run);
    assert_says(
        &texts,
        "No publish + observe is the fastest: 2 of 3 tie at 300 to 303 ns",
    );
}

#[test]
fn long_names_and_reasons_are_broken_into_lines() {
    let pod = "a-pod-whose-name-is-longer-than-any-figure-is-wide-".repeat(3);
    let long = |median| Row {
        pod: pod.clone(),
        label: Label::Real,
        ..measured(
            row("clflushopt", "clflushopt", 1, "half_round_trip_ns"),
            median,
            5.0,
        )
    };
    let short = Row {
        pod: "short".into(),
        ..long(700.0)
    };
    draw("long", &results(vec![long(300.0), short]));
}

#[test]
fn the_same_directory_gives_the_same_bytes() {
    let read = |name: &str| {
        draw(name, &plain_run());
        fs::read(
            Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join(name)
                .join("visibility.svg"),
        )
        .unwrap()
    };
    assert_eq!(read("once"), read("again"));
}

#[test]
fn other_workloads_make_no_visibility_figure() {
    let other = Row {
        workload: "ring".into(),
        ..row("clwb", "clflush", 1, "message_ns")
    };
    let directory = tempfile::tempdir().unwrap();
    assert!(
        figures(&results(vec![other]), directory.path())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_figure_that_cannot_be_written_names_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = figures(&plain_run(), file.path()).unwrap_err().to_string();
    assert!(said.contains("visibility.svg"), "{said}");
}

#[test]
fn every_micro_workload_has_its_figure() {
    let drawn = draw_all("full", &full_run());
    let expected = [
        (
            "bandwidth.svg",
            "At most 28.0 GB/s: read of the region by 4 lanes",
        ),
        (
            "latency.svg",
            "A load costs 1.10 ns within 16 KiB, 137 ns within 256 MiB",
        ),
        (
            "loaded_latency.svg",
            "A load costs 91.3 ns while other lanes move 1.78 GB/s, 250 ns while other lanes move \
             20.0 GB/s",
        ),
        (
            "primitive.svg",
            "clflushopt of a dirty line costs 150 ns with its fence, 25.0 ns pipelined",
        ),
        (
            "visibility.svg",
            "Fastest publish + observe: clflush + clflush, 1 line, 317 ns",
        ),
    ];
    assert_eq!(drawn.len(), expected.len());
    for (file, title) in expected {
        assert_says(&drawn[file], title);
        assert_says(&drawn[file], "Coherent stand-in. Pod local");
        assert_says(&drawn[file], "n = 200");
    }
    assert_says(&drawn["latency.svg"], "L1d 48 KiB L2 512 KiB L3 32 MiB");
    assert_says(&drawn["primitive.svg"], "absent: this CPU has no movdir64b");
    assert_says(&drawn["bandwidth.svg"], "nt-write: 22.0 GB/s");
    assert_says(&drawn["visibility.svg"], "clflushopt + clflushopt: 1708 ns");
}

#[test]
fn one_point_without_optional_parameters_is_a_figure_too() {
    let latency = row_of(
        "latency",
        json!({"working_set_bytes": 65_536}),
        "load_latency_ns",
        "ns",
    );
    let bandwidth = row_of("bandwidth", json!({}), "bandwidth_gb_per_s", "GB/s");
    let primitive = row_of("primitive", json!({"op": "cpuid"}), "cost_ns", "ns");
    let run = results(vec![
        measured(latency, 4.0, 0.1),
        measured(bandwidth, 9.0, 0.1),
        measured(primitive, 70.0, 0.1),
    ]);
    let drawn = draw_all("sparse", &run);
    assert_says(&drawn["latency.svg"], "A load costs 4.00 ns within 64 KiB");
    assert_says(&drawn["bandwidth.svg"], "At most 9.00 GB/s");
    assert_says(&drawn["primitive.svg"], "Cpuid costs most: 70.0 ns");
}

#[test]
fn figures_of_failures_alone_give_the_reason() {
    let failed = |workload, metric| Row {
        error: Some("host 1 was lost".into()),
        ..row_of(workload, json!({"op": "copy"}), metric, "ns")
    };
    let run = results(vec![
        failed("latency", "load_latency_ns"),
        failed("bandwidth", "bandwidth_gb_per_s"),
        failed("primitive", "cost_ns"),
    ]);
    for (file, texts) in draw_all("failed", &run) {
        assert_says(&texts, "failed: host 1 was lost");
        assert!(
            texts[0].text.starts_with("No "),
            "{file}: {}",
            texts[0].text
        );
    }
}

#[test]
fn two_rows_of_one_name_are_told_apart_by_their_rounds() {
    let half = |rounds, median| {
        let mut row = row("clwb", "clflush", 1, "half_round_trip_ns");
        row.params.insert("rounds".into(), json!(rounds));
        measured(row, median, 1.0)
    };
    let texts = draw("rounds", &results(vec![half(10, 300.0), half(20, 400.0)]));
    assert_says(&texts, "clwb + clflush, 1 line, rounds 10, 300 ns");
    assert_says(&texts, "rounds 20");
}

/// A sweep of pairs on four hosts, of which host 3 has half the bandwidth beside anyone.
fn pairs_run(hosts: u32) -> Results {
    let params = json!({"op": "read", "hosts_active": "pairs"});
    let of_pair = |host, peer, median| {
        let mut row = row_of("bandwidth", params.clone(), "bandwidth_gb_per_s", "GB/s");
        (row.hosts, row.host, row.peer) = (hosts, Some(host), peer);
        measured(row, median, 0.1)
    };
    let mut rows = Vec::new();
    for host in 0..hosts {
        let median = if host == 3 { 10.0 } else { 20.0 };
        let peers = (0..hosts).filter(|&peer| peer != host);
        rows.extend(peers.map(|peer| of_pair(host, Some(peer), median)));
    }
    results(rows)
}

#[test]
fn pairs_are_a_map_of_hosts() {
    let drawn = draw_all("pairs", &pairs_run(4));
    let texts = &drawn["hosts.svg"];
    assert_says(
        texts,
        "up to a factor of 2.00: bandwidth_gb_per_s of bandwidth",
    );
    let cells = texts
        .iter()
        .filter(|text| text.text == "10.0" || text.text == "20.0");
    assert_eq!(cells.count(), 4 * 3);
    assert_says(texts, "host 3 with 0 10.0");
    // Sixty-four hosts have no place for digits, and still a figure.
    assert!(draw_all("pairs-64", &pairs_run(64)).contains_key("hosts.svg"));
}
