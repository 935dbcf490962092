//! What cannot be meant, in a plan or among arguments, is refused before anything is started. The
//! story that this guards: a typo in a plan's key that was ignored, and a night of measurements
//! with the default instead.

mod common;

use common::Bench;
use common::refusal::{measure, refused};

/// Runs `plan` with `params` added; it is refused.
#[track_caller]
fn plan_refused(plan: &str, needles: &[&str]) {
    let bench = Bench::new();
    bench.file("bad.toml", plan);
    refused(
        &bench.run(&["run", "bad.toml", "--on", "native", "--out", "out"]),
        needles,
    );
    assert!(!bench.path("out").exists(), "nothing was measured");
}

#[test]
fn plans_that_cannot_be_meant_are_refused() {
    let trial = "[[trial]]\nworkload = \"visibility\"\n";
    let plan = |head: &str, tail: &str| format!("name = \"bad\"\n{head}\n{trial}{tail}\n");
    plan_refused(
        &plan("hots = 2", ""),
        &["bad.toml", "`hots`", "did you mean `hosts`?"],
    );
    plan_refused(
        &plan("hosts = 2", "parms = {}"),
        &["`parms`", "did you mean `params`?"],
    );
    plan_refused(
        &plan("hosts = 0", ""),
        &["bad.toml: hosts = 0: use 1 to 64 hosts"],
    );
    plan_refused(&plan("hosts = 65", ""), &["hosts = 65: use 1 to 64 hosts"]);
    plan_refused(
        &plan("hosts = 2\nlanes = 100000", ""),
        &["lanes = 100000: use 1 to 4096 lanes"],
    );
    plan_refused("name = \"bad\"\n", &["add a [[trial]]"]);
    plan_refused("name = \"bad\n", &["bad.toml", "line 1"]);
    let params = |params: &str| plan("hosts = 2", &format!("params = {{ {params} }}"));
    plan_refused(&params("lnies = 1"), &["`lnies`", "did you mean `lines`?"]);
    plan_refused(
        &params("publish = \"clwbb\""),
        &["clwbb", "did you mean `clwb`?"],
    );
    plan_refused(&params("lines = 0"), &["lines = 0: use 1 to 64"]);
    plan_refused(
        &params("lines = []"),
        &["lines = []", "name at least one value"],
    );
    plan_refused(
        &params("publish = \"none\""),
        &["`none` needs hardware", "2 hosts"],
    );
    plan_refused(
        "name = \"bad\"\nhosts = 2\n[[trial]]\nworkload = \"visibilty\"\n",
        &["`visibilty`", "did you mean `visibility`?"],
    );
    let missing = Bench::new().run(&["run", "missing.toml"]);
    refused(
        &missing,
        &["cannot read the plan missing.toml", "dsmark list"],
    );
}

#[test]
fn arguments_that_cannot_be_meant_are_refused() {
    let run = |args: &[&str]| Bench::new().run(args);
    refused(
        &run(&["measure", "visibilty"]),
        &["did you mean `visibility`?"],
    );
    refused(
        &run(&["measure", "visibility", "--on", "native", "--hosts", "0"]),
        &["hosts = 0: use 1 to 64"],
    );
    refused(
        &run(&["measure", "visibility", "--on", "native", "--hosts", "65"]),
        &["hosts = 65: use 1 to 64"],
    );
    refused(
        &run(&["measure", "visibility", "--on", "native", "--hosts", "1"]),
        &["use --hosts 2 or more"],
    );
    refused(
        &measure(&["--lanes", "100000"]),
        &["lanes = 100000: use 1 to 4096 lanes", "--lanes"],
    );
    refused(
        &measure(&["--set", "lines"]),
        &["--set lines: write it as KEY=VALUE"],
    );
    let twice = measure(&["--set", "lines=1", "--set", "lines=2"]);
    refused(&twice, &["--set lines is given twice", "lines=A,B"]);
}

#[test]
fn a_method_that_this_cpu_lacks_is_refused_with_those_it_has() {
    let listed = Bench::new().run(&["list", "--json"]).rows().remove(0);
    let has = listed["methods"]["publish"]
        .as_array()
        .expect("a list")
        .clone();
    let all = ["clflush", "clflushopt", "clwb", "movnti", "movdir64b"];
    let Some(lacking) = all.iter().find(|&&name| !has.iter().any(|has| has == name)) else {
        eprintln!("skipped: this CPU has every publish method");
        return;
    };
    let said = measure(&["--set", &format!("publish={lacking}")]);
    refused(&said, &[lacking, "this CPU lacks", "use one of: clflush, "]);
}
