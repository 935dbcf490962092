//! Hosts that nobody started together: one command a host, a region, and no launcher to supervise
//! them. The story that this guards: two hosts that each initialised the device, a rank with last
//! week's plan whose figures were averaged with the others', and a job that waited all night for a
//! host that had never been started. So whatever is wrong at one host, each host ends within the
//! timeout, says by name what differs or who is missing, and host 0 has what was measured.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

use common::{Bench, ENDLESS, Said, finish, tmpfs_file, wait_for};
use record::Results;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const MEASURE: [&str; 8] = [
    "measure",
    "visibility",
    "--on",
    "native",
    "--smoke",
    "--set",
    "rounds=20",
    "--json",
];

/// Commands of several hosts on one region.
struct Pod {
    bench: Bench,
    _tmpfs: TempDir,
    region: PathBuf,
    hosts: u32,
}

impl Pod {
    fn new(hosts: u32) -> Self {
        let (tmpfs, region) = tmpfs_file(16 << 20);
        Self {
            bench: Bench::new(),
            _tmpfs: tmpfs,
            region,
            hosts,
        }
    }

    /// Starts the command of one host.
    fn start(&self, program: &Path, host: u32, args: &[&str]) -> Child {
        let (rank, hosts) = (host.to_string(), self.hosts.to_string());
        let mut command = self.bench.marked(program.to_str().expect("ASCII"), args);
        command.args(["--rank", &rank, "--hosts", &hosts, "--job", "test"]);
        command.arg("--device").arg(&self.region);
        command.spawn().expect("the binary starts")
    }

    /// Runs the same on every host, but for what `more` adds at one.
    fn run(&self, args: &[&str], more: impl Fn(u32) -> Vec<&'static str>) -> Vec<Said> {
        let binary = Path::new(env!("CARGO_BIN_EXE_dsmark"));
        let start = |host| self.start(binary, host, &[args, &more(host)].concat());
        self.finish((0..self.hosts).map(start).collect())
    }

    fn finish(&self, hosts: Vec<Child>) -> Vec<Said> {
        let said = hosts.into_iter().map(finish).collect();
        self.bench.assert_nothing_left();
        said
    }

    /// Starts the endless plan and waits until its first trial is on disk.
    fn start_endless(&self) -> Vec<Child> {
        self.bench.file("plan.toml", ENDLESS);
        let args = ["run", "plan.toml", "--on", "native", "--out", "out"];
        let binary = Path::new(env!("CARGO_BIN_EXE_dsmark"));
        let hosts = (0..self.hosts).map(|host| self.start(binary, host, &args));
        let hosts = hosts.collect();
        let trials = self.bench.path("out/trials.ndjson");
        wait_for("the first trial", || {
            (fs::metadata(&trials).ok()?.len() > 0).then_some(())
        });
        hosts
    }

    /// What host 0 keeps of the endless plan: its first trial, whole, and the second's failure.
    fn check_kept(&self, story: &str) {
        let results = Results::open(self.bench.path("out")).expect("what host 0 left can be read");
        let first = results.rows.iter().filter(|row| row.trial == 0);
        assert!(first.clone().count() > 0);
        assert!(first.clone().all(|row| row.error.is_none()), "{results:?}");
        let second = results.rows.iter().find(|row| row.trial == 1);
        let error = second.and_then(|row| row.error.clone()).unwrap_or_default();
        assert!(error.contains(story), "no `{story}` in `{error}`");
        assert!(!results.manifest.expect("host 0 closed it").complete);
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// What a row is about, without its figures.
fn shape(row: &Value) -> (BTreeSet<String>, [String; 7]) {
    let row = row.as_object().expect("a row is an object");
    let about = [
        "workload", "params", "metric", "host", "peer", "lane", "pod",
    ];
    (
        row.keys().cloned().collect(),
        about.map(|key| row[key].to_string()),
    )
}

#[test]
fn rows_are_those_of_local_hosts() {
    let pod = Pod::new(3);
    let said = pod.run(&MEASURE, |_| Vec::new());
    for (host, said) in said.iter().enumerate() {
        said.expect(0, &[]);
        assert_eq!(said.out.is_empty(), host != 0, "{said:?}");
    }
    let local = pod.bench.run(&[&MEASURE[..], &["--hosts", "3"]].concat());
    let shapes = |said: &Said| said.rows().iter().map(shape).collect::<Vec<_>>();
    assert_eq!(shapes(&said[0]), shapes(&local));
    for row in said[0].rows() {
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!(row["label"], "coherent stand-in");
        assert!(row["start"]["skew_p50_ns"].is_number(), "{row}");
    }
}

#[test]
fn each_host_is_described_in_the_record() {
    let pod = Pod::new(2);
    let mut args = MEASURE.to_vec();
    args.extend(["--out", "out"]);
    args.retain(|arg| *arg != "--json");
    pod.run(&args, |_| Vec::new())[0].expect(0, &[]);
    for host in 0..2 {
        let path = pod.bench.path(&format!("out/hosts/{host}.json"));
        let text = fs::read_to_string(path).expect("it was written");
        let machine: Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(
            machine["hostname"].is_string() && machine["process"].is_u64(),
            "{machine}"
        );
    }
}

#[test]
fn another_parameter_is_named_with_both_values() {
    let pod = Pod::new(3);
    let odd = |host| {
        if host == 2 {
            vec!["--set", "lines=8"]
        } else {
            Vec::new()
        }
    };
    let said = pod.run(&MEASURE, odd);
    for said in &said {
        assert!(
            said.err.contains("host 2 (") && said.err.contains("differs from host 0"),
            "{}",
            said.err
        );
        assert!(
            said.err.contains("params.lines: 8 there, 1 at host 0"),
            "{}",
            said.err
        );
    }
    said[0].expect(1, &[]);
}

#[test]
fn another_plan_is_named() {
    let pod = Pod::new(2);
    let odd = |host| {
        if host == 1 {
            vec!["--seed", "7"]
        } else {
            Vec::new()
        }
    };
    let said = pod.run(&MEASURE, odd);
    said[0].expect(
        1,
        &[
            "host 1 (",
            "differs from host 0 in trials[0].seed: 7 there, 1 at host 0",
        ],
    );
}

#[test]
fn another_build_is_named() {
    let pod = Pod::new(2);
    let binary = Path::new(env!("CARGO_BIN_EXE_dsmark"));
    let other = pod.bench.path("dsmark");
    fs::copy(binary, &other).expect("it can be copied");
    // What follows a program's sections does not change what it does.
    let mut bytes = fs::read(&other).expect("it is there");
    bytes.push(0);
    fs::write(&other, bytes).expect("it is ours");
    let hosts = vec![
        pod.start(binary, 0, &MEASURE),
        pod.start(&other, 1, &MEASURE),
    ];
    let said = pod.finish(hosts);
    said[0].expect(1, &["host 1 differs from host 0 in its build"]);
    said[1].expect(1, &["host 1 differs from host 0 in its build"]);
}

#[test]
fn a_host_that_never_arrives_is_named() {
    let pod = Pod::new(3);
    let binary = Path::new(env!("CARGO_BIN_EXE_dsmark"));
    let args = [&MEASURE[..], &["--join-timeout", "10"]].concat();
    let said = pod.finish(vec![
        pod.start(binary, 0, &args),
        pod.start(binary, 1, &args),
    ]);
    said[0].expect(1, &["host 2 did not arrive within 10000 ms"]);
    said[1].expect(1, &[]);
}

#[test]
fn a_host_on_another_region_is_named() {
    let pod = Pod::new(2);
    let (_other, region) = tmpfs_file(16 << 20);
    let elsewhere = format!("1={}", region.display());
    let args = [
        &MEASURE[..],
        &["--join-timeout", "2", "--device-for", &elsewhere],
    ]
    .concat();
    let said = pod.run(&args, |_| Vec::new());
    said[0].expect(1, &["host 1 did not arrive within 2000 ms"]);
    said[1].expect(1, &["host 0 did not welcome this host", "the same region"]);
}

#[test]
fn hosts_may_have_names_of_their_own_for_the_pool() {
    let pod = Pod::new(2);
    let link = pod.bench.path("pool");
    std::os::unix::fs::symlink(&pod.region, &link).expect("it is new");
    let named = format!("1={}", link.display());
    let args = [&MEASURE[..], &["--device-for", &named]].concat();
    pod.run(&args, |_| Vec::new())[0].expect(0, &[]);
}

#[test]
fn a_host_that_is_killed_is_named_and_what_was_measured_is_kept() {
    let pod = Pod::new(3);
    let hosts = pod.start_endless();
    kill_process(pid_of(&hosts[1]), Signal::KILL).expect("it is our child");
    let said = pod.finish(hosts);
    said[0].expect(1, &["host 1 was lost: it has been silent for"]);
    assert!(said[2].err.contains("host 1 was lost") || said[2].err.contains("another host failed"));
    pod.check_kept("host 1 was lost");
}

#[test]
fn a_host_that_is_suspended_is_named_and_what_was_measured_is_kept() {
    let pod = Pod::new(3);
    let hosts = pod.start_endless();
    let suspended = pid_of(&hosts[2]);
    kill_process(suspended, Signal::STOP).expect("it is our child");
    let trials = pod.bench.path("out/manifest.json");
    wait_for("host 0 to give up", || trials.exists().then_some(()));
    kill_process(suspended, Signal::CONT).expect("it is our child");
    let said = pod.finish(hosts);
    said[0].expect(1, &["host 2 was lost: it has been silent for"]);
    pod.check_kept("host 2 was lost");
}

#[test]
fn host_0_is_missed_too() {
    let pod = Pod::new(3);
    let hosts = pod.start_endless();
    kill_process(pid_of(&hosts[0]), Signal::KILL).expect("it is our child");
    let said = pod.finish(hosts);
    for said in &said[1..] {
        said.expect(1, &[]);
        let told = [
            "host 0 was lost: it has been silent for",
            "another host failed",
        ];
        assert!(told.iter().any(|told| said.err.contains(told)), "{said:?}");
    }
    let results = Results::open(pod.bench.path("out")).expect("an unfinished run can be read");
    assert!(results.rows.iter().any(|row| row.trial == 0 && row.n > 0));
}

#[test]
fn a_signal_to_one_host_ends_all_and_keeps_what_was_measured() {
    let pod = Pod::new(3);
    let hosts = pod.start_endless();
    kill_process(pid_of(&hosts[0]), Signal::TERM).expect("it is our child");
    let said = pod.finish(hosts);
    said[0].expect(1, &["interrupted"]);
    pod.check_kept("interrupted");
}

#[test]
fn what_cannot_be_is_refused_at_once() {
    let bench = Bench::new();
    let run = |more: &[&str]| bench.run(&[&MEASURE[..], more].concat());
    run(&["--rank", "2", "--hosts", "2", "--device", "x"]).expect(2, &["start ranks 0 to 1"]);
    run(&["--rank", "1", "--device", "x"]).expect(2, &["add --hosts N"]);
    run(&["--rank", "1", "--hosts", "2"]).expect(2, &["name it with --device"]);
    run(&["--launch", "env"]).expect(2, &["no rank of a job", "mpirun or srun"]);
    run(&[
        "--rank",
        "0",
        "--hosts",
        "2",
        "--device",
        "x",
        "--join-timeout",
        "-1",
    ])
    .expect(2, &[]);
    let simulated = ["measure", "visibility", "--rank", "0", "--hosts", "2"];
    bench
        .run(&simulated)
        .expect(2, &["--on native", "--launch local"]);
}
