//! A report is mailed and opened years later, elsewhere: it must hold everything it shows, and
//! must show what a record holds as text, whatever characters that has.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::Path;

use common::{absent, full_run, measured, plain_run, results, row, row_of};
use record::Row;
use report::{csv, frame, html, write};
use serde_json::json;

/// The page's text without tags.
fn said(page: &str) -> String {
    let parts = page
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text: String = parts.collect();
    text.replace("&nbsp;", " ")
}

#[test]
fn the_answer_comes_first_with_intervals_and_labels() {
    let page = html(&full_run()).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.html");
    fs::write(file, &page).unwrap();
    let order = [
        "id=\"warnings\"",
        "id=\"answer\"",
        "id=\"figures\"",
        "id=\"tables\"",
        "id=\"provenance\"",
    ];
    let places = order.map(|part| page.find(part).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    let said = said(&page);
    for sentence in [
        "Loads and stores coherent stand-in",
        "A load costs 1.10 ns [1.08, 1.12] within 16 KiB and 137 ns [135, 139] within 256 MiB \
         (region, 4 KB pages).",
        "The region: read 28.0 GB/s [27.8, 28.2] by 4 lanes; ",
        "clflushopt, dirty line: 150 ns [148, 152] one by one, each with its fence; 25.0 ns ",
        "clflushopt + clflushopt, 64 lines: 1708 ns [1705, 1711] half round trip.",
        "Not in this run: Locks, barriers, atomic operations, sharing.",
        "No number here was measured on a real pod.",
        "Unknown: governors; /sys/devices/system/cpu/cpu0/cpufreq: No such file.",
        "Made by dsmark run --on native --hosts 2",
    ] {
        assert!(
            said.contains(sentence),
            "\"{sentence}\" is missing in\n{said}"
        );
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = html(&full_run()).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    for foreign in [
        "<script", "<link", "<img", "@import", "url(", " src=", " href=",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn every_tag_is_closed_in_order() {
    let page = html(&full_run()).unwrap();
    let mut open: Vec<&str> = Vec::new();
    for tag in page
        .split('<')
        .skip(1)
        .map(|part| part.split_once('>').unwrap().0)
    {
        let name = tag
            .trim_start_matches('/')
            .split([' ', '\n'])
            .next()
            .unwrap();
        if tag.ends_with('/') || tag.starts_with('!') || name == "meta" {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_record_s_text_is_never_markup() {
    let hostile = "</svg><script>alert(\"x\")</script> & more";
    let failed = Row {
        pod: hostile.into(),
        error: Some(hostile.into()),
        ..row("clwb", "clflush", 1, "half_round_trip_ns")
    };
    let other = absent(
        row_of("lock", json!({"algorithm": hostile}), "acquire_ns", "ns"),
        hostile,
    );
    let page = html(&results(vec![failed, other])).unwrap();
    assert!(!page.contains("<script"), "{page}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
}

#[test]
fn the_same_directory_gives_the_same_page() {
    let run = plain_run();
    assert_eq!(html(&run).unwrap(), html(&run).unwrap());
}

#[test]
fn nothing_measured_is_said() {
    let page = said(&html(&results(Vec::new())).unwrap());
    assert!(
        page.contains("Not in this run: Loads and stores, bandwidth,"),
        "{page}"
    );
    assert!(page.contains("No rows."), "{page}");
}

#[test]
fn a_frame_has_a_row_for_each_row_and_null_for_what_is_absent() {
    let run = results(vec![
        measured(row("clwb", "clflush", 8, "half_round_trip_ns"), 300.0, 0.0),
        absent(
            row_of("lock", json!({"algorithm": "a,\"b\""}), "acquire_ns", "ns"),
            "no",
        ),
    ]);
    let frame = frame(&run);
    assert_eq!(frame.height(), 2);
    let lines = frame.column("params.lines").unwrap();
    assert_eq!(lines.f64().unwrap().get(0), Some(8.0));
    assert_eq!(lines.f64().unwrap().get(1), None);
    assert_eq!(frame.column("p50").unwrap().null_count(), 1);
    let text = csv(&frame);
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert!(lines[0].starts_with("workload,params.publish,params.observe,params.lines,"));
    assert!(
        lines[1].starts_with("visibility,clwb,clflush,8,1000,,native,"),
        "{}",
        lines[1]
    );
    assert!(lines[2].contains("\"a,\"\"b\"\"\""), "{}", lines[2]);
    assert_eq!(lines.len(), 4);
}

#[test]
fn everything_is_written_the_page_first() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(&plain_run(), &directory.path().join("new")).unwrap();
    let names: Vec<&str> = files
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["report.html", "visibility.svg", "rows.csv"]);
    assert!(
        files
            .iter()
            .all(|file| fs::metadata(file).unwrap().len() > 0)
    );
}
