//! The table is read on a terminal and pasted into issues: its very bytes are the contract.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{NO_CLOCK, absent, crowded_run, measured, plain_run, results, row};
use record::Row;
use report::{Rows, table, table_within};

#[test]
fn a_plain_run_as_it_is_printed() {
    let expected = "\
visibility: half_round_trip_ns (lines 1, rounds 1000, hosts 2, lanes 1, host 0 to 1)
publish     observe     p50 ns      [ci95]  p99 ns    n  label
clflushopt  clflushopt     312  [306, 318]     351  200  coherent stand-in
clwb        clflushopt     420  [416, 424]     449  200  coherent stand-in
movnti      clflush        516  [513, 518]     535  200  coherent stand-in

visibility: one_way_ns (lines 1, rounds 1000, hosts 2, lanes 1, host 0 to 1)
publish     observe     p50 ns      [ci95]  p99 ns    n  label
clflushopt  clflushopt     290  [282, 299]     349  200  coherent stand-in
clwb        clflushopt  absent           -       -    0  coherent stand-in
movnti      clflush        501  [498, 504]     521  200  coherent stand-in
absent: the hosts have no comparable clock independent of the path under test

Label: coherent stand-in. Pod local, device tmpfs; not oversubscribed.
";
    assert_eq!(table(&plain_run()), expected);
}

#[test]
fn a_narrow_terminal_gets_two_lines_a_row() {
    let expected = "\
visibility: half_round_trip_ns (lines 1, rounds 1000,
hosts 2, lanes 1, host 0 to 1)
publish observe
  p50 ns      [ci95]  p99 ns    n  label
clflushopt clflushopt
     312  [306, 318]     351  200  coherent stand-in
";
    let said = table_within(&plain_run(), 60, Rows::Pod);
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in [72, 100, 160] {
        for line in table_within(&crowded_run(), columns, Rows::All).lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn units_do_not_mix_within_a_column() {
    let half = |publish, median| {
        measured(
            row(publish, "clflush", 1, "half_round_trip_ns"),
            median,
            0.0,
        )
    };
    let said = table(&results(vec![
        half("clwb", 500.0),
        half("movnti", 50_000.0),
    ]));
    assert!(said.contains("p50 us") && !said.contains(" ns"), "{said}");
    assert!(said.contains("0.500") && said.contains("50.0"), "{said}");
}

#[test]
fn what_failed_is_wrong_or_is_absent_says_so() {
    let base = || row("clwb", "clflush", 1, "half_round_trip_ns");
    let failed = Row {
        error: Some("host 1 was lost".into()),
        ..base()
    };
    let wrong = Row {
        verified: Some(false),
        ..measured(base(), 300.0, 1.0)
    };
    let shared = Row {
        oversubscribed: true,
        ..absent(base(), NO_CLOCK)
    };
    let said = table(&results(vec![failed, wrong, shared]));
    for expected in [
        "failed: host 1 was lost",
        "wrong: its answer was not verified",
        &format!("absent: {NO_CLOCK}"),
        "1 of 3 rows oversubscribed",
    ] {
        assert!(said.contains(expected), "{expected} is missing in\n{said}");
    }
    assert!(
        !said.contains(" 300 "),
        "a wrong answer's time is not a result:\n{said}"
    );
}

#[test]
fn no_rows_are_said_to_be_none() {
    assert_eq!(table(&results(Vec::new())), "No rows.\n");
}

#[test]
fn a_host_s_row_is_left_out_where_its_trial_has_the_pod_s() {
    let of = |trial, host, median| {
        let half = row("clwb", "clflush", 1, "half_round_trip_ns");
        let place = Row {
            trial,
            host,
            ..half
        };
        measured(place, median, 1.0)
    };
    let run = results(vec![
        of(0, None, 300.0),
        of(0, Some(0), 310.0),
        of(0, Some(1), 320.0),
        of(1, Some(0), 430.0),
    ]);
    let said = table(&run);
    assert!(
        said.contains("2 rows of single hosts or pairs left out"),
        "{said}"
    );
    assert!(said.contains("`dsmark report "), "{said}");
    assert!(!said.contains(" 310 ") && said.contains(" 430 "), "{said}");
    let said = table_within(&run, 100, Rows::All);
    assert!(
        said.contains(" 310 ") && !said.contains("left out"),
        "{said}"
    );
}

/// A directory that holds two pods once showed two equal rows with different figures.
#[test]
fn rows_of_two_pods_name_their_pod() {
    let half = |pod: &str, device, median| {
        let row = row("clwb", "clflush", 1, "half_round_trip_ns");
        let pod = pod.to_owned();
        measured(Row { pod, device, ..row }, median, 6.0)
    };
    let (tmpfs, dax) = (record::Device::Tmpfs, record::Device::DevDax);
    let two = results(vec![half("near", tmpfs, 300.0), half("far", tmpfs, 900.0)]);
    let said = table(&two);
    assert!(said.contains("pod   p50 ns"), "{said}");
    assert!(said.contains("near     300"), "{said}");
    assert!(said.contains("far      900"), "{said}");
    assert!(!said.contains("tmpfs  "), "the same everywhere: {said}");
    let two = results(vec![half("near", tmpfs, 300.0), half("near", dax, 900.0)]);
    let said = table(&two);
    assert!(said.contains("device  p50 ns"), "{said}");
    assert!(said.contains("devdax     900"), "{said}");
}
