//! A cluster on one machine: four network namespaces with addresses, names and ssh daemons of their
//! own. The story that this guards: launching that worked on one machine, by inherited pipes and a
//! parent's death, and left processes on three others when it failed. So the faults of `apart.rs`
//! come again here, through ssh, and with a network that can be cut; and the suite starts by
//! `mpirun -H`, under Open MPI and MPICH.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{Bench, ENDLESS, Said, finish, is_root, wait_for};
use record::Results;

/// A plan of two short trials, on every workload that is soon over.
const SHORT: &str = r#"
name = "short"
[[trial]]
workload = "visibility"
params = { rounds = 20 }
[[trial]]
workload = "barrier"
"#;

const MACHINES: &str = "host0,host1,host2,host3";

struct Testbed {
    bench: Bench,
    directory: PathBuf,
}

impl Testbed {
    /// None where this machine cannot have one.
    fn up() -> Option<Self> {
        if !is_root() || !Path::new("/usr/sbin/sshd").exists() {
            eprintln!("skipped: a testbed needs root and an ssh daemon");
            return None;
        }
        let bench = Bench::new();
        let directory = bench.path("bed");
        let bed = Self { bench, directory };
        bed.call("up", &[]).expect(0, &[]);
        Some(bed)
    }

    fn script(&self, verb: &str, args: &[&str]) -> Child {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/testbed");
        let bed = self.directory.to_str().expect("ASCII");
        let args = [&[verb, bed], args].concat();
        let mut command = self.bench.marked(script, &args);
        command.env_remove("TMPDIR");
        command.spawn().expect("the script starts")
    }

    fn call(&self, verb: &str, args: &[&str]) -> Said {
        finish(self.script(verb, args))
    }

    fn region(&self) -> String {
        let region = fs::read_link(self.directory.join("region")).expect("it is there");
        region.to_str().expect("ASCII").to_owned()
    }

    /// A program that is dsmark, but for `twist` on one machine.
    fn program(&self, machine: &str, twist: &str) -> String {
        let dsmark = env!("CARGO_BIN_EXE_dsmark");
        let text = format!(
            "#!/bin/sh\nprogram={dsmark}\n[ \"$(hostname)\" != {machine} ] || {{ {twist}; }}\n\
             exec \"$program\" \"$@\"\n"
        );
        let path = self.bench.file("program", &text);
        let executable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(&path, executable).expect("it is ours");
        path.to_str().expect("ASCII").to_owned()
    }

    /// Starts a command on all hosts by ssh.
    fn by_ssh(&self, program: &str, args: &[&str]) -> Child {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/launch/ssh");
        let region = self.region();
        let device = ["--on", "native", "--device", &region];
        self.script(
            "run",
            &[&[script, MACHINES, program], args, &device].concat(),
        )
    }

    /// Starts a plan that never ends, and waits until its first trial is on disk.
    fn endless(&self) -> Child {
        self.bench.file("plan.toml", ENDLESS);
        let dsmark = env!("CARGO_BIN_EXE_dsmark");
        let run = self.by_ssh(dsmark, &["run", "plan.toml", "--out", "out"]);
        let trials = self.bench.path("out/trials.ndjson");
        wait_for("the first trial", || {
            (fs::metadata(&trials).ok()?.len() > 0).then_some(())
        });
        run
    }

    /// What host 0 keeps of it, and that nothing is left on any host.
    fn check_kept(&self, story: &str) {
        let results = Results::open(self.bench.path("out")).expect("it can be read");
        let whole = |row: &&record::Row| row.trial == 0 && row.error.is_none();
        assert!(results.rows.iter().any(|row| whole(&row)), "{results:?}");
        let manifest = results.manifest.expect("host 0 closed it");
        assert!(!manifest.complete);
        let problems = manifest.problems.join("\n");
        assert!(problems.contains(story), "no `{story}` in {problems}");
    }

    /// No dsmark on any host.
    fn assert_idle(&self) {
        wait_for("hosts to be idle", || {
            let all = Command::new("ps")
                .args(["-eo", "args"])
                .stdin(Stdio::null())
                .output();
            let all = String::from_utf8(all.expect("ps starts").stdout).expect("ASCII");
            (!all.contains(&self.region())).then_some(())
        });
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.call("down", &[]);
    }
}

#[test]
fn mpirun_starts_the_suite_on_four_hosts() {
    let Some(bed) = Testbed::up() else { return };
    bed.bench.file("plan.toml", SHORT);
    let region = bed.region();
    let launchers: [(&str, &[&str]); 2] = [
        ("mpirun.openmpi", &["-H", MACHINES, "--bind-to", "none"]),
        ("mpirun.mpich", &["-hosts", MACHINES, "-np", "4"]),
    ];
    for (mpirun, hosts) in launchers {
        if Command::new(mpirun).arg("--version").output().is_err() {
            eprintln!("skipped: there is no {mpirun}");
            continue;
        }
        let dsmark = [env!("CARGO_BIN_EXE_dsmark"), "run", "plan.toml", "--smoke"];
        let place = ["--on", "native", "--device", &region, "--out", mpirun];
        let said = bed.call("run", &[&[mpirun], hosts, &dsmark, &place].concat());
        said.expect(0, &[]);
        let results = Results::open(bed.bench.path(mpirun)).expect("it was closed");
        assert!(results.complete(), "{results:?}");
        let names: Vec<_> = results
            .hosts
            .values()
            .map(|host| &host["hostname"])
            .collect();
        assert_eq!(names, ["host0", "host1", "host2", "host3"]);
        // One machine, whatever its names: its counter is one, and so are its caches.
        let one_way = results.rows.iter().find(|row| row.metric == "one_way_ns");
        assert!(one_way.is_some_and(|row| row.p50.is_some()), "{one_way:?}");
        assert!(
            results
                .rows
                .iter()
                .all(|row| row.pod == "local" && row.hosts == 4)
        );
    }
    bed.assert_idle();
}

#[test]
fn a_host_that_is_killed_or_suspended_is_named() {
    let Some(bed) = Testbed::up() else { return };
    let run = bed.endless();
    bed.call("signal", &["2", "KILL"]).expect(0, &[]);
    finish(run).expect(1, &["host 2 was lost"]);
    bed.check_kept("host 2 was lost");
    bed.assert_idle();

    fs::remove_dir_all(bed.bench.path("out")).expect("it is ours");
    let run = bed.endless();
    bed.call("signal", &["3", "STOP"]).expect(0, &[]);
    let manifest = bed.bench.path("out/manifest.json");
    wait_for("host 0 to give up", || manifest.exists().then_some(()));
    bed.call("signal", &["3", "CONT"]).expect(0, &[]);
    finish(run).expect(1, &["host 3 was lost"]);
    bed.check_kept("host 3 was lost");
    bed.assert_idle();
}

#[test]
fn a_host_that_is_cut_off_is_named() {
    let Some(bed) = Testbed::up() else { return };
    let run = bed.endless();
    bed.call("cut", &["1"]).expect(0, &[]);
    // The pool still connects it: it says itself that it was told to stop.
    finish(run).expect(
        1,
        &[
            "host 1: interrupted",
            "the connection to host1 (host 1) was lost",
        ],
    );
    bed.check_kept("host 1: interrupted");
    bed.assert_idle();
}

#[test]
fn a_host_that_differs_is_named() {
    let Some(bed) = Testbed::up() else { return };
    let measure = [
        "measure",
        "visibility",
        "--smoke",
        "--set",
        "rounds=20",
        "--json",
    ];
    let other = bed.bench.path("other");
    let cases = [
        (
            "set -- \"$@\" --seed 9".to_owned(),
            "host 2 (host2) differs from host 0 in trials[0].seed",
        ),
        (
            format!(
                "cp \"$program\" {0}; echo >> {0}; program={0}",
                other.display()
            ),
            "host 2 differs from host 0 in its build",
        ),
        ("exit 0".to_owned(), "host 2 did not arrive within 12000 ms"),
        (
            "truncate -s 16M \"$OTHER\"; set -- \"$@\" --device-for 2=$OTHER".to_owned(),
            "host 2 did not arrive within 12000 ms",
        ),
    ];
    let elsewhere = format!("{}-other", bed.region());
    for (twist, story) in cases {
        let twist = twist.replace("$OTHER", &elsewhere);
        let program = bed.program("host2", &twist);
        // The other three must have come by then, also on a machine that is busy.
        let args = [&measure[..], &["--join-timeout", "12"]].concat();
        finish(bed.by_ssh(&program, &args)).expect(1, &[story]);
        bed.assert_idle();
    }
    fs::remove_file(elsewhere).expect("the last case made it");
}
