//! Every fault of the zoo is found on a line that is marked, and every cure passes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use check::zoo::entries;
use check::{Bounds, Checkable, Options, Report, Verdict};

fn check(subject: &dyn Checkable) -> Report {
    let mut report = None;
    subject.with(Options::default(), &mut |checker| {
        report = Some(checker.check(Bounds::SATURATED));
    });
    report.unwrap()
}

/// What the author of a program marked: its line, by file and number.
fn is_marked(place: &str) -> bool {
    let mut parts = place.split(':');
    let (file, line) = (parts.next().unwrap(), parts.next().unwrap());
    let line: usize = line.parse().unwrap();
    let text = source(file);
    let lines: Vec<&str> = text.lines().collect();
    let before = lines[line - 2].trim_start().starts_with(MARK);
    before || lines[line - 1].ends_with(MARK)
}

const MARK: &str = "// fault";

fn source(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(file)).unwrap()
}

/// Marks are few: the access whose maintenance is wrong, both where both sides err.
#[test]
fn marks_are_few() {
    let files = ["published", "mistakes"].map(|name| format!("crates/check/src/zoo/{name}.rs"));
    let marks: usize = files
        .map(|file| source(&file).matches(MARK).count())
        .iter()
        .sum();
    assert!(marks <= entries().count() + 2, "{marks} marks");
}

#[test]
fn every_fault_is_found_where_it_is() {
    let mut wrong = Vec::new();
    for entry in entries() {
        let report = check(&*entry.fault());
        let Some(finding) = report.finding else {
            wrong.push(format!("{}: {:?}", entry.name, report.verdict));
            continue;
        };
        if !entry.kinds.contains(&finding.kind) || !is_marked(&finding.place) {
            wrong.push(format!("{}: {finding}", entry.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_cure_passes() {
    let mut wrong = Vec::new();
    for entry in entries() {
        let report = check(&*entry.cure());
        if report.verdict != Verdict::Pass {
            let finding = report.finding.map(|finding| finding.to_string());
            let verdict = report.verdict;
            let finding = finding.unwrap_or_default();
            wrong.push(format!("{}: {verdict:?} {finding}", entry.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_zoo_is_large_enough() {
    let names: Vec<_> = entries().map(|entry| entry.name).collect();
    assert!(names.len() >= 28, "{names:?}");
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert!(entries().all(|entry| entry.about.ends_with('.') && !entry.source.is_empty()));
}
