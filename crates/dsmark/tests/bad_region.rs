//! What is wrong with a region is told before anything is measured, by a message that names the
//! operand and the remedy. The stories that this guards: a benchmark that answered every mistake
//! with "mmap error"; one that formatted the disk that it was given by mistake; one whose second
//! run passed the barriers of its first.

mod common;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Child;

use common::mounted::Mounted;
use common::refusal::{MEASURE, measure, refused, text};
use common::{Bench, finish, is_root, tmpfs_file, wait_for};
use record::Results;

#[test]
fn what_is_no_memory_is_refused() {
    let bench = Bench::new();
    let missing = bench.path("missing");
    let missing = text(&missing);
    refused(
        &measure(&["--device", missing]),
        &[missing, "does not exist", "truncate -s"],
    );
    refused(
        &measure(&["--device", "/dev"]),
        &["/dev is a directory; name a file in it"],
    );
    let null = measure(&["--device", "/dev/null"]);
    refused(
        &null,
        &["/dev/null is a character device", "name a /dev/daxX.Y node"],
    );
}

#[test]
fn a_region_of_the_wrong_size_is_refused_with_the_size_that_is_needed() {
    for bytes in [100, 16_384] {
        let (_directory, path) = tmpfs_file(bytes);
        let said = measure(&["--device", text(&path)]);
        refused(
            &said,
            &[text(&path), "usable bytes", "are needed", "truncate -s"],
        );
        assert_eq!(fs::metadata(&path).expect("it stays").len(), bytes);
    }
    let (_directory, path) = tmpfs_file(0);
    refused(
        &measure(&["--device", text(&path)]),
        &[text(&path), "is empty", "truncate -s"],
    );
}

#[test]
fn bytes_beyond_the_alignment_are_left_out_and_reported() {
    let (_directory, path) = tmpfs_file((4 << 20) + 123);
    let bench = Bench::new();
    let args = [&MEASURE[..], &["--device", text(&path), "--out", "out"]].concat();
    bench.run(&args).expect(0, &[]);
    let host = Results::open(bench.path("out"))
        .expect("it was written")
        .hosts[&1]
        .clone();
    assert_eq!(host["region"]["bytes"], 4 << 20);
    assert_eq!(host["region"]["slack_bytes"], 123);
}

#[test]
fn a_file_system_that_does_not_map_memory_is_refused() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("cargo made it");
    let path = directory.path().join("region");
    fs::write(&path, vec![0; 1 << 20]).expect("it is new");
    let said = measure(&["--device", text(&path)]);
    if said.code == Some(0) {
        eprintln!("skipped: {} is itself in memory", path.display());
        return;
    }
    refused(&said, &[text(&path), "MAP_SYNC", "dax=always"]);
}

#[test]
fn a_region_that_its_file_system_cannot_back_is_refused() {
    let bench = Bench::new();
    let Some(_mounted) = Mounted::tmpfs(bench.path("small"), "size=1m") else {
        return;
    };
    let path = bench.file("small/region", "");
    let file = OpenOptions::new().write(true).open(&path).expect("ours");
    file.set_len(8 << 20).expect("tmpfs files are sparse");
    // Two hosts keep 8 bytes a round each.
    let args = [
        "measure",
        "visibility",
        "--on",
        "native",
        "--device",
        "small/region",
        "--set",
        "rounds=100000",
    ];
    let said = bench.run(&args);
    refused(
        &said,
        &[
            "small/region",
            "more bytes are needed",
            "free",
            "remount,size=",
        ],
    );
}

#[test]
fn a_region_of_another_user_is_refused() {
    let (_directory, path) = tmpfs_file(4 << 20);
    let bench = Bench::new();
    let args = [&MEASURE[..], &["--device", text(&path)]].concat();
    let said = if is_root() {
        let binary = env!("CARGO_BIN_EXE_dsmark");
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", binary];
        fs::set_permissions(bench.path("."), fs::Permissions::from_mode(0o755)).expect("ours");
        let try_it = bench
            .marked("setpriv", &[&nobody[..], &["--version"]].concat())
            .output();
        if !try_it.is_ok_and(|tried| tried.status.success()) {
            eprintln!("skipped: root reads everything, and nobody cannot run {binary}");
            return;
        }
        let command = bench
            .marked("setpriv", &[&nobody[..], &args].concat())
            .spawn();
        finish(command.expect("it was just tried"))
    } else {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("ours");
        bench.run(&args)
    };
    refused(
        &said,
        &["no permission to read and write", text(&path), "udev rule"],
    );
}

/// Starts a run that holds `region` for `seconds`, and waits until it does.
fn hold(bench: &Bench, region: &str, seconds: &str) -> Child {
    let plan = format!(
        "name = \"long\"\nhosts = 2\ntarget = 0.0\nmax_seconds = {seconds}\n\
         max_reps = 4294967295\n[[trial]]\nworkload = \"visibility\"\nparams = {{ rounds = 10 }}\n"
    );
    bench.file("long.toml", &plan);
    let run = [
        "run",
        "long.toml",
        "--on",
        "native",
        "--device",
        region,
        "--out",
        "out",
    ];
    let run = bench.dsmark(&run).spawn().expect("the binary starts");
    wait_for("the run to hold the region", || {
        let shown = Bench::new().run(&["region", "show", region, "--json"]);
        (shown.rows().pop()?["run"]["state"] == "running").then_some(())
    });
    run
}

#[test]
fn a_region_in_use_is_refused_and_its_run_unharmed() {
    let (_directory, path) = tmpfs_file(4 << 20);
    let region = text(&path);
    let bench = Bench::new();
    // Long enough for all that follows.
    let mut first = hold(&bench, region, "10.0");
    let in_use = [
        region,
        "the region is in use",
        "is beating",
        "dsmark region reset",
    ];
    refused(&measure(&["--device", region]), &in_use);
    refused(&Bench::new().run(&["region", "reset", region]), &in_use);
    refused(
        &Bench::new().run(&["region", "format", region, "--force"]),
        &in_use,
    );
    let shown = Bench::new().run(&["region", "show", region]);
    assert!(shown.out.contains("its hosts beat"), "{shown:?}");
    assert!(shown.out.contains("host 1: Joined, process "), "{shown:?}");
    let running = first.try_wait().expect("it is our child").is_none();
    assert!(
        running,
        "the premise: the first run outlasts the second's refusal"
    );
    finish(first).expect(0, &[]);
    bench.assert_nothing_left();
    let results = Results::open(bench.path("out")).expect("it was written");
    assert!(results.complete() && results.rows.iter().all(|row| row.verified == Some(true)));
    let shown = Bench::new().run(&["region", "show", region]);
    assert!(
        shown.out.contains("Ended") && shown.out.contains("no host beats"),
        "{shown:?}"
    );
}

#[test]
fn the_region_of_a_killed_run_is_free() {
    let (_directory, path) = tmpfs_file(4 << 20);
    let region = text(&path);
    let bench = Bench::new();
    let mut first = hold(&bench, region, "1e6");
    first.kill().expect("it is our child");
    first.wait().expect("it was killed");
    bench.assert_nothing_left();
    let shown = Bench::new().run(&["region", "show", region]);
    assert!(
        shown.out.contains("Running") && shown.out.contains("(silent)"),
        "{shown:?}"
    );
    measure(&["--device", region]).expect(0, &[]);
}

#[test]
fn other_data_is_refused_and_never_overwritten_unasked() {
    let (_directory, path) = tmpfs_file(1 << 20);
    let region = text(&path);
    // Random bytes throughout: also where this run will keep its barriers.
    let mut x = 1u64;
    let words = std::iter::repeat_with(|| {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        x.to_le_bytes()
    });
    let random: Vec<u8> = words.take(1 << 17).flatten().collect();
    fs::write(&path, &random).expect("ours");
    let foreign = [region, "not a dsmark region", "dsmark region format"];
    refused(&measure(&["--device", region]), &foreign);
    let asked = Bench::new().run(&["region", "format", region]);
    refused(&asked, &[region, "not a dsmark region", "--force"]);
    refused(
        &Bench::new().run(&["region", "reset", region]),
        &["not a dsmark region"],
    );
    assert_eq!(fs::read(&path).expect("ours"), random);

    Bench::new()
        .run(&["region", "format", region, "--force"])
        .expect(0, &[]);
    for _ in 0..2 {
        measure(&["--device", region]).expect(0, &[]);
    }
}

#[test]
fn a_region_of_another_version_is_refused_until_it_is_formatted() {
    let (_directory, path) = tmpfs_file(4 << 20);
    let region = text(&path);
    for _ in 0..2 {
        Bench::new()
            .run(&["region", "format", region])
            .expect(0, &[]);
    }
    let file = OpenOptions::new().write(true).open(&path).expect("ours");
    file.write_all_at(&99u64.to_le_bytes(), 8).expect("ours");
    let said = measure(&["--device", region]);
    refused(
        &said,
        &[region, "header version 99", "dsmark region format"],
    );
    Bench::new()
        .run(&["region", "format", region])
        .expect(0, &[]);
    measure(&["--device", region]).expect(0, &[]);
}
