//! Where results cannot go. The story that this guards: an hour of figures lost to a full file
//! system, and an older hour overwritten.

mod common;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use common::mounted::Mounted;
use common::refusal::{MEASURE, refused};
use common::{Bench, finish, is_root};
use record::{Results, Row};

#[test]
fn results_never_go_where_something_is() {
    let bench = Bench::new();
    bench.file("file", "precious");
    fs::create_dir(bench.path("full")).expect("it is new");
    bench.file("full/file", "precious");
    for out in ["file", "full", "file/below"] {
        let said = bench.run(&[&MEASURE[..], &["--out", out]].concat());
        refused(&said, &[out, "choose another --out"]);
    }
    for file in ["file", "full/file"] {
        assert_eq!(
            fs::read_to_string(bench.path(file)).expect("it stays"),
            "precious"
        );
    }
}

#[test]
fn a_directory_that_is_read_only_is_refused() {
    let bench = Bench::new();
    let at = bench.path("ro");
    let _mounted = if is_root() {
        let Some(mounted) = Mounted::tmpfs(at, "ro") else {
            return;
        };
        Some(mounted)
    } else {
        fs::create_dir(&at).expect("it is new");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o555)).expect("ours");
        None
    };
    let said = bench.run(&[&MEASURE[..], &["--out", "ro/out"]].concat());
    refused(
        &said,
        &["cannot write in ro", "choose an --out you may write to"],
    );
}

/// What tells one row of a run from another.
type Key = (u32, String, Option<u32>);

fn key(row: &Row) -> Key {
    (row.trial, row.metric.clone(), row.host)
}

#[test]
fn rows_that_a_full_file_system_does_not_take_are_printed() {
    let bench = Bench::new();
    let Some(_mounted) = Mounted::tmpfs(bench.path("full"), "size=96k") else {
        return;
    };
    // 16,000 bytes of samples a repetition and metric: the second trial cannot be on file.
    let plan = "name = \"big\"\nhosts = 2\nmin_reps = 2\nmax_reps = 2\n[[trial]]\nworkload = \
                \"visibility\"\nparams = { lines = [1, 2, 3, 4], rounds = 2000 }\n";
    bench.file("big.toml", plan);
    let said = bench.run(&[
        "run", "big.toml", "--on", "native", "--out", "full/out", "--quiet",
    ]);
    said.expect(
        1,
        &["no space for", "full/out", "free space on its file system"],
    );

    let json = said.out.lines().filter(|line| line.starts_with('{'));
    let printed: Vec<Row> = json
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    let saved = Results::open(bench.path("full/out"))
        .expect("what was saved is whole")
        .rows;
    assert!(!printed.is_empty() && !saved.is_empty(), "{said:?}");
    let all: Vec<Key> = saved.iter().chain(&printed).map(key).collect();
    let distinct: BTreeSet<&Key> = all.iter().collect();
    let metrics = ["half_round_trip_ns", "one_way_ns"];
    let expected = (0..4).flat_map(|trial| metrics.map(|m| (trial, m.to_owned(), None)));
    assert_eq!(distinct.len(), all.len(), "no row twice");
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), expected.collect());
}

#[test]
fn a_full_device_behind_standard_output_is_told() {
    let bench = Bench::new();
    for args in [&["list"][..], &MEASURE] {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let mut command = bench.dsmark(args);
        command.stdout(full.expect("every Linux has it"));
        let said = finish(command.spawn().expect("the binary starts"));
        said.expect(1, &["cannot write to standard output", "No space left"]);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let bench = Bench::new();
    for args in [&["list"][..], &MEASURE] {
        let mut command = bench.dsmark(args);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        command.stdout(Stdio::from(writer));
        drop(reader);
        let said = finish(command.spawn().expect("the binary starts"));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    }
}
