//! The hash table over four host processes of this machine: the histories of its most popular keys
//! must be linearizable, and every entry must be there, whole, in the end. A first version compared
//! times that each process had converted at a rate of its own, and found fault with every history.

mod common;

use common::{Bench, tmpfs_file};

fn verified(set: &[&str]) {
    let bench = Bench::new();
    let mut args = vec![
        "measure",
        "hashtable",
        "--on",
        "native",
        "--hosts",
        "4",
        "--smoke",
    ];
    args.extend(["--json", "--set", "entries=500", "--set", "checked_keys=8"]);
    for set in set {
        args.extend(["--set", set]);
    }
    let said = bench.run(&args);
    let rows = said.expect(0, &[]).rows();
    let throughput = |row: &&serde_json::Value| row["metric"] == "throughput_per_s";
    let rows: Vec<_> = rows.iter().filter(throughput).collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!(row["answer"]["entries"], 500, "{row}");
    }
    bench.assert_nothing_left();
}

#[test]
fn four_processes_share_a_table_by_locks() {
    verified(&["operations=100", "mix=a,f", "sharing=seqlock,bucket-locks"]);
}

#[test]
fn four_processes_share_a_table_by_owners() {
    verified(&[
        "operations=100",
        "mix=a",
        "sharing=partitioned",
        "value_bytes=8,200",
    ]);
}

#[test]
fn four_processes_load_a_table_and_each_entry_is_there() {
    verified(&["mix=load", "sharing=partitioned", "placement=local,mixed"]);
}

#[test]
fn the_state_of_a_pool_is_shown() {
    let bench = Bench::new();
    let (_tmpfs, region) = tmpfs_file(16 << 20);
    let path = region.to_str().expect("ASCII");
    let run = [
        "measure", "alloc", "--on", "native", "--hosts", "2", "--smoke", "--device", path,
    ];
    bench.run(&run).expect(0, &[]);
    let shown = bench.run(&["region", "show", path]);
    shown.expect(0, &[]);
    for arena in 0..2 {
        let line = format!("pool, arena {arena}: 0 of ");
        assert!(shown.out.contains(&line), "{}", shown.out);
    }
    let json = bench.run(&["region", "show", path, "--json"]).rows();
    assert_eq!(json[0]["pool"][1]["blocks"], 0, "{json:?}");
}
