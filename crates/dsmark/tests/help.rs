//! Help is read more often than any document. The story that this guards: a flag that was renamed
//! and whose example no longer runs.
//!
//! The texts lie in `tests/help/`; with `DSMARK_BLESS=1` this test writes them anew.

mod common;

use std::fs;
use std::path::Path;

use common::{Bench, tmpfs_file};

/// Every command that help tells of.
fn commands() -> Vec<String> {
    let mut found = vec![String::new()];
    let mut at = 0;
    while at < found.len() {
        let path = found[at].clone();
        let said = help(&path);
        let listed = said.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| !line.is_empty()) {
            // Names stand two columns in; continued descriptions stand farther right.
            let name = line
                .strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '));
            let name = name.and_then(|rest| rest.split_whitespace().next());
            if let Some(name) = name.filter(|&name| name != "help") {
                found.push(format!("{path} {name}").trim().to_owned());
            }
        }
        at += 1;
    }
    found
}

fn help(command: &str) -> String {
    let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let said = Bench::new().run(&args);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    said.out
}

#[test]
fn help_is_as_stored_and_each_command_has_an_example() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help");
    let bless = std::env::var_os("DSMARK_BLESS").is_some();
    let mut differ = Vec::new();
    for command in commands() {
        let text = help(&command);
        let file = stored.join(format!("dsmark {command}").trim().replace(' ', "-") + ".txt");
        if bless {
            fs::create_dir_all(&stored).expect("the source directory is writable");
            fs::write(&file, &text).expect("the source directory is writable");
        }
        if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            differ.push(file);
        }
        let example = format!("\n  dsmark {command}");
        assert!(
            text.contains("Example") && text.contains(&example),
            "{text}"
        );
    }
    assert!(
        differ.is_empty(),
        "DSMARK_BLESS=1 renews these, look at the difference: {differ:?}"
    );
}

#[test]
fn every_command_was_found() {
    let commands = commands();
    for known in [
        "run",
        "measure",
        "list",
        "layout",
        "region",
        "region format",
        "region show",
    ] {
        assert!(
            commands.iter().any(|command| command == known),
            "{known} in {commands:?}"
        );
    }
}

#[test]
fn the_version_is_the_package_s() {
    let said = Bench::new().run(&["--version"]);
    assert_eq!(said.code, Some(0));
    assert_eq!(said.out, format!("dsmark {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn unknown_commands_and_flags_name_the_nearest() {
    Bench::new()
        .run(&["mesure"])
        .expect(2, &["'mesure'", "'measure'"]);
    Bench::new()
        .run(&["list", "--jsno"])
        .expect(2, &["'--jsno'", "'--json'"]);
    Bench::new()
        .run(&[])
        .expect(2, &["Usage: dsmark <COMMAND>"]);
}

#[test]
fn list_and_layout_speak_json() {
    let listed = Bench::new().run(&["list", "--json"]).rows().remove(0);
    let named = |list: &str, name: &str| {
        let list = listed[list].as_array().expect("a list");
        list.iter()
            .find(|item| item["name"] == name)
            .expect("it is listed")
            .clone()
    };
    assert_eq!(named("workloads", "visibility")["params"]["lines"], 1);
    assert!(
        named("plans", "default")["about"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
    );

    let laid_out = |hosts: &str| {
        let args = ["layout", "visibility", "--hosts", hosts, "--json"];
        Bench::new().run(&args).rows().remove(0)
    };
    let (two, three) = (laid_out("2"), laid_out("3"));
    assert_eq!(two, laid_out("2"));
    assert_ne!(two["layout_hash"], three["layout_hash"]);
    let mut end = 0;
    for entry in two["entries"].as_array().expect("a list") {
        if entry["space"] == "region" {
            let field = |name: &str| entry[name].as_u64().expect("a number");
            assert!(
                field("offset") >= end && field("offset") % 64 == 0,
                "{entry}"
            );
            assert_eq!(field("bytes"), field("len") * field("word_bytes"));
            end = field("offset") + field("bytes");
        }
    }
    assert!(end > 0 && end <= two["region_bytes"].as_u64().expect("a number"));
}

#[test]
fn a_region_is_formatted_shown_and_reset() {
    let (_directory, path) = tmpfs_file(1 << 20);
    let region = path.to_str().expect("ASCII");
    let shown = || {
        Bench::new()
            .run(&["region", "show", region, "--json"])
            .rows()
            .remove(0)
    };
    assert_eq!(shown()["condition"], "blank");
    let reset = ["region", "reset", region];
    Bench::new().run(&reset).expect(2, &[region, "it is blank"]);
    Bench::new()
        .run(&["region", "format", region])
        .expect(0, &[]);
    let formatted = shown();
    assert_eq!(formatted["condition"], "formatted");
    assert_eq!(formatted["region_bytes"], 1 << 20);
    assert_eq!(formatted["run"]["state"], "idle");

    let device = [
        "--device", region, "--smoke", "--set", "rounds=5", "--quiet",
    ];
    let measure = ["measure", "visibility", "--on", "native", "--hosts", "2"];
    Bench::new()
        .run(&[&measure[..], &device].concat())
        .expect(0, &[]);
    let ended = shown();
    assert_eq!(ended["run"]["state"], "ended");
    assert_eq!(ended["alive"], false);
    assert_eq!(ended["hosts"].as_array().map(Vec::len), Some(2));
    assert!(
        ended["hosts"]
            .as_array()
            .is_some_and(|all| all.iter().all(|h| h["state"] == "done"))
    );
    Bench::new().run(&reset).expect(0, &[]);
    assert_eq!(shown()["run"]["state"], "idle");
}
