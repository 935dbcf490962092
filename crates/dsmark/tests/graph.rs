//! `dsmark graph`: what it makes is whole or is not there, and what it refuses it names.

mod common;

use std::fs;
use std::path::Path;
use std::process::Child;

use common::refusal::refused;
use common::{Bench, finish, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn info(bench: &Bench, graph: &str) -> Value {
    let said = bench.run(&["graph", "info", graph, "--json"]);
    said.expect(0, &[]).rows().remove(0)
}

/// Names in a directory, hidden ones included.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is there");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    entries
        .map(|entry| name(entry.expect("readable")))
        .collect()
}

#[test]
fn a_seed_makes_the_same_file_whatever_the_threads() {
    let bench = Bench::new();
    let made = |seed: &str, threads: &str| {
        let args = [
            "graph", "generate", "kron", "--scale", "12", "--out", "a.sg",
        ];
        let args = [&args[..], &["--seed", seed, "--threads", threads, "--json"]].concat();
        let row = bench.run(&args).expect(0, &[]).rows().remove(0);
        (row, fs::read(bench.path("a.sg")).expect("it was written"))
    };
    let (row, bytes) = made("7", "1");
    assert_eq!(row["vertices"], 4096);
    assert!(made("7", "3") == (row, bytes.clone()));
    assert!(made("8", "3").1 != bytes);
}

#[test]
fn a_graph_survives_every_format() {
    let bench = Bench::new();
    let generate = [
        "graph", "generate", "uniform", "--scale", "8", "--degree", "3",
    ];
    let generate = |more: &[&str]| bench.run(&[&generate[..], more].concat());
    for direction in [&[][..], &["--directed"]] {
        generate(&[direction, &["--out", "0.sg"]].concat()).expect(0, &[]);
        let first = info(&bench, "0.sg");
        let mut from = "0.sg".to_owned();
        for to in ["1.mtx", "2.gr.gz", "3.wel", "4.el.gz", "5.graph", "6.sg"] {
            if to == "5.graph" && first["directed"] == true {
                let args = ["graph", "convert", &from, to];
                bench.run(&args).expect(2, &["5.graph", "undirected"]);
                continue;
            }
            bench.run(&["graph", "convert", &from, to]).expect(0, &[]);
            to.clone_into(&mut from);
        }
        let last = info(&bench, "6.sg");
        for field in ["edges", "arcs", "directed", "degree", "in_degree"] {
            // An edge list names no vertices behind the last that has an edge: there is none here.
            assert_eq!(first[field], last[field], "{field}");
        }
    }
}

#[test]
fn what_is_not_a_graph_is_named_with_the_nearest_that_is() {
    let bench = Bench::new();
    bench.file("roads.el", "0 1\n1 2\n");
    bench.file("bad.el", "0 1\n1 oops\n");
    let refused = |args: &[&str], needles: &[&str]| {
        let args = [&["graph"], args].concat();
        bench.run(&args).expect(2, needles);
    };
    refused(
        &["info", "road.el"],
        &["road.el", "did you mean `roads.el`?"],
    );
    refused(
        &["info", "bad.el"],
        &["bad.el, line 2: `oops` is not a vertex"],
    );
    refused(&["info", "korn:8"], &["did you mean `kron:8`?"]);
    refused(&["info", "kron:99"], &["a scale of 99", "0 to 30"]);
    refused(
        &["convert", "roads.el", "roads.grph"],
        &["did you mean `.graph`?"],
    );
    refused(&["generate", "korn", "--scale", "8"], &["'kron'"]);
    refused(&["info", "roads.el", "--threads", "0"], &["at least 1"]);
    let only_text = ["roads.el", "bad.el", "tmp"];
    assert!(
        names(&bench.path(""))
            .iter()
            .all(|name| only_text.contains(&name.as_str()))
    );
}

/// Under a limit of 4 KiB a file, a write fails as it does on a full disk.
#[test]
fn a_full_disk_is_named_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("out.el", "0 1\n");
    let binary = env!("CARGO_BIN_EXE_dsmark");
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {binary} graph generate uniform --scale 12 --out out.el"
    );
    let child = bench
        .marked("sh", &["-c", &script])
        .spawn()
        .expect("a shell");
    finish(child).expect(1, &["cannot write out.el", "free space"]);
    assert_eq!(
        fs::read_to_string(bench.path("out.el")).ok().as_deref(),
        Some("0 1\n")
    );
    assert_eq!(names(&bench.path("")).len(), 2, "the file and tmp");
}

#[test]
fn an_interrupt_leaves_no_half_file() {
    let bench = Bench::new();
    let args = [
        "graph", "generate", "kron", "--scale", "22", "--out", "big.el",
    ];
    let child = bench.dsmark(&args).spawn().expect("the binary starts");
    signal(&child, Signal::INT);
    finish(child).expect(1, &["interrupted"]);
    assert_eq!(names(&bench.path("")), ["tmp"]);
}

/// Sends a signal once the command handles it.
fn signal(child: &Child, signal: Signal) {
    let status = format!("/proc/{}/status", child.id());
    wait_for("the signal to be handled", || {
        let text = fs::read_to_string(&status).ok()?;
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught >> (signal.as_raw() - 1) & 1 == 1).then_some(())
    });
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    kill_process(pid, signal).expect("it is ours");
}

/// Opening a pipe waits in the system for somebody who writes: only SIGKILL ended it.
#[test]
fn a_signal_ends_what_waits_for_a_pipe() {
    let bench = Bench::new();
    let made = bench.marked("mkfifo", &["pipe.el"]).status();
    assert!(made.expect("coreutils are there").success());
    for (args, by) in [
        (&["graph", "info", "pipe.el"][..], Signal::TERM),
        (&["graph", "convert", "pipe.el", "a.sg"], Signal::INT),
    ] {
        let child = bench.dsmark(args).spawn().expect("the binary starts");
        signal(&child, by);
        finish(child).expect(1, &["interrupted"]);
    }
}

#[test]
fn what_cannot_be_done_is_told_with_its_limit() {
    let bench = Bench::new();
    bench.file("a.el", "0 1\n");
    fs::create_dir(bench.path("d")).expect("it is new");
    for (args, needles) in [
        (
            &["graph", "info", "a.el", "--threads", "100000"][..],
            &["--threads 100000: use 1 to 1024"][..],
        ),
        (
            &["graph", "convert", "a.el", "d"],
            &["d: is a directory", "d/graph.sg"],
        ),
    ] {
        refused(&bench.run(args), needles);
    }
}

#[test]
fn a_kernel_is_not_started_on_what_its_graph_lacks() {
    let bench = Bench::new();
    bench.file("a.el", "0 1\n");
    bench.file("none.gr", "p sp 0 0\n");
    for (graph, set, needle) in [
        (
            "file:a.el",
            "source=7",
            "source = 7: file:a.el has 2 vertices",
        ),
        ("kron:6", "source=64", "source = 64: kron:6 has 64 vertices"),
        (
            "file:none.gr",
            "variant=shared",
            "file:none.gr has no vertices",
        ),
    ] {
        let graph = format!("graph={graph}");
        let args = ["measure", "bfs", "--set", &graph, "--set", set];
        let said = bench.run(&args);
        refused(&said, &[needle]);
        assert!(!said.err.contains("trial 1"), "{}", said.err);
    }
}
