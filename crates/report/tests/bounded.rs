//! Locks, barriers, atomics and the law of sharing on records whose answer is known beforehand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::svg::{assert_says, draw_all};
use common::{absent, measured, results, row_of};
use record::{Label, Results, Row};
use report::{html, law};
use serde_json::{Value, json};

fn on_pod(workload: &str, params: Value, metric: &str, unit: &str) -> Row {
    Row {
        label: Label::Simulated,
        pod: "four".into(),
        hosts: 4,
        lanes: 4,
        ..row_of(workload, params, metric, unit)
    }
}

/// A trial of a lock: its acquire or hand-over, and the bound measured with it.
fn lock(algorithm: &str, spread: &str, contenders: u32, ns: f64) -> Vec<Row> {
    let params = json!({"algorithm": algorithm, "spread": spread, "contenders": contenders,
                        "critical_section_ns": 0, "protected_lines": 0});
    let row = |metric, unit| on_pod("lock", params.clone(), metric, unit);
    let (metric, bound) = if contenders == 1 {
        ("acquire_ns", "acquire_bound_ns")
    } else {
        ("handover_ns", "handover_bound_ns")
    };
    vec![
        measured(row(metric, "ns"), ns, 1.0),
        measured(row(bound, "ns"), 2_000.0, 10.0),
        measured(row("throughput_per_s", "1/s"), 1e9 / ns, 10.0),
    ]
}

fn locks() -> Results {
    let mut rows = Vec::new();
    for contenders in [1, 2, 4] {
        let more = f64::from(contenders);
        rows.extend(lock("bakery", "hosts", contenders, 4_000.0 * more));
        rows.extend(lock(
            "bakery-fast-path",
            "hosts",
            contenders,
            2_500.0 * more,
        ));
        rows.extend(lock("hardware-mcs", "lanes", contenders, 30.0 * more));
    }
    let params = json!({"algorithm": "hardware-spin", "spread": "hosts", "contenders": 4,
                        "critical_section_ns": 0, "protected_lines": 0});
    let row = on_pod("lock", params, "handover_ns", "ns");
    rows.push(absent(row, "atomic instructions work within one host"));
    results(rows)
}

#[test]
fn a_lock_stands_beside_its_bound_and_the_hardware_of_one_host() {
    let run = locks();
    let texts = draw_all("locks", &run).remove("lock.svg").unwrap();
    for said in [
        // The bound is the least sample: 2,000 less 0.99 times the spread of 10.
        "Fastest acquire between hosts: bakery-fast-path, 2500 ns, 1.26 times the bound",
        "bound: a write, then a read, 1990\u{a0}ns",
        "inside one host, by its hardware",
        "Acquire, 1 contender",
        "Hand-over, 4 contenders",
        "Holds a second (M/s, logarithmic)",
        "hardware-spin: absent: atomic instructions work within one host",
    ] {
        assert_says(&texts, said);
    }
    let page = html(&run).unwrap().replace("&nbsp;", " ");
    assert!(
        page.contains("bakery 4000 ns [4000, 4000], 2.01 x the bound"),
        "{page}"
    );
}

#[test]
fn what_was_not_measured_is_no_winner() {
    let params = json!({"op": "fetch-add", "via": "sharded", "contenders": 1, "read_share": 0.0});
    let row = on_pod("atomic", params, "op_ns", "ns");
    let run = results(vec![absent(row, "via = sharded only adds")]);
    let texts = draw_all("absent-atomic", &run)
        .remove("atomic.svg")
        .unwrap();
    assert_says(&texts, "No operation was measured");
    assert_says(&texts, "absent: via = sharded only adds");
}

fn shared(placement: &str, bytes: u64, operations: u64, ns: f64) -> Row {
    let params = json!({"republished_bytes": bytes, "sync_ops": operations,
                        "remote_write_share": 0.0, "placement": placement, "footprint_bytes": 0});
    measured(on_pod("sharing", params, "time_ns", "ns"), ns, ns / 1e6)
}

/// Two placements with a law each; the second has nothing but bytes.
fn sharing() -> Results {
    let mut rows = Vec::new();
    for bytes in [256, 1_024, 4_096, 16_384, 65_536] {
        for operations in [1, 4, 16] {
            let (b, k) = (bytes as f64, operations as f64);
            rows.push(shared(
                "blocked",
                bytes,
                operations,
                5_000.0 + 2.0 * b + 3_000.0 * k,
            ));
            rows.push(shared("interleaved", bytes, operations, 100.0 * b));
        }
    }
    results(rows)
}

#[test]
fn the_law_of_sharing_is_found_again() {
    let laws = law::laws(&sharing());
    let [found] = laws.as_slice() else {
        panic!("{laws:?}");
    };
    assert_eq!((found.conditions, found.bytes), (30, [256.0, 65_536.0]));
    let [blocked, interleaved] = found.groups.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((blocked.fitted, blocked.tested), (6, 9));
    assert!((blocked.break_even_bytes.unwrap() - 1_500.0).abs() < 1.0);
    assert!(blocked.held_out_error.unwrap()[1] < 1e-3, "{blocked:?}");
    // 2 ns times bytes exceeds 3,000 ns times operations in 6 of 15.
    assert!((blocked.bytes_dominate.unwrap() - 6.0 / 15.0).abs() < 1e-9);
    assert!(interleaved.break_even_bytes.unwrap().abs() < 1.0);
    let (bytes, operations) = (interleaved.with_bytes, interleaved.with_operations);
    assert!(bytes.unwrap().rho > 0.999, "{bytes:?}");
    assert!(operations.unwrap().rho.abs() < 0.2, "{operations:?}");
}

#[test]
fn the_law_is_drawn_said_and_written() {
    let run = sharing();
    let texts = draw_all("sharing", &run).remove("sharing.svg").unwrap();
    assert_says(
        &texts,
        "The slow-down follows bytes republished more than operations",
    );
    assert_says(&texts, "one operation costs as much as 1500 bytes");
    let page = html(&run).unwrap();
    assert!(page.contains("a round takes 5.0 us + 2.00 ns a byte + 3.00 us an operation"));
    let directory = tempfile::tempdir().unwrap();
    let files = report::write(&run, directory.path()).unwrap();
    let written = files
        .iter()
        .find(|file| file.ends_with("law.json"))
        .unwrap();
    let text = std::fs::read_to_string(written).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["laws"][0]["groups"][0]["fitted"], 6);
}
