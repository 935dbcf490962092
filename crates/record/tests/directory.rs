//! A run can be killed at any byte, its disk can fill, and its files can be edited afterwards. A
//! reader returns everything that is whole, says what is not, and never takes half a row for one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use record::{
    About, Build, CensusPerOp, Coherence, Device, Directory, Fences, Label, Origin, ReadError,
    Results, Row, Stop, Substrate, Summary, WriteError,
};
use serde_json::{Value, json};

const COMMAND: &str = "dsmark run --on sim";

fn create(path: &Path) -> Result<Directory, WriteError> {
    let build = Build {
        version: "0.1.0".into(),
        git_dirty: Some(true),
        ..Build::default()
    };
    Directory::create(
        path,
        &Origin {
            command: COMMAND,
            plan: "hosts = 2\n",
            build: &build,
        },
    )
}

fn row(workload: &str, lines: u32, trial: u32) -> Row {
    let about = About {
        workload: workload.to_owned(),
        params: [("lines".to_owned(), json!(lines))].into_iter().collect(),
        substrate: Substrate::Native,
        label: Label::StandIn,
        pod: "local".into(),
        coherence: Coherence::Software,
        device: Device::Tmpfs,
        hosts: 2,
        lanes: 1,
        seed: 1,
    };
    Row {
        metric: "half_round_trip_ns".into(),
        unit: "ns".into(),
        reps: 1,
        reason: Some("not measured".into()),
        trial,
        ..Row::unmeasured(about)
    }
}

fn any_row() -> impl Strategy<Value = (Row, Vec<f64>)> {
    let samples = prop::collection::vec(0.0..f64::MAX, 0..20);
    let census = prop::option::of((0.0..1e9, 0.0..1e3).prop_map(|(bytes, full)| CensusPerOp {
        bytes_published: bytes,
        fences: Fences {
            full,
            ..Fences::default()
        },
        ..CensusPerOp::default()
    }));
    let text = "[ -~\u{e9}\u{1f600}\n\t\"]{0,12}";
    let parts = (
        samples,
        census,
        text,
        0_u32..9,
        any::<u64>(),
        any::<[bool; 3]>(),
    );
    parts.prop_map(
        |(samples, census, text, small, seed, [oversubscribed, verified, failed])| {
            let mut row = row(&text, small, small);
            if let Ok(summary) = Summary::of(&samples) {
                row.summarize(&summary);
                row.reason = None;
                row.stopped = Some(Stop::Target);
            }
            row.census = census;
            row.seed = seed;
            row.oversubscribed = oversubscribed;
            row.verified = verified.then_some(failed);
            row.answer = verified.then(|| json!({"levels": [small], "source": text}));
            row.error = failed.then_some(text);
            row.peer = failed.then_some(small);
            (row, samples)
        },
    )
}

/// Writes rows and returns them as they were written.
fn write(path: &Path, rows: Vec<(Row, Vec<f64>)>) -> Vec<(Row, Vec<f64>)> {
    let mut directory = create(path).unwrap();
    directory
        .add_host(1, &json!({"cpu_model": "Some CPU"}))
        .unwrap();
    let mut written = rows;
    for (row, samples) in &mut written {
        directory.append(row, samples).unwrap();
    }
    directory.finish(true, &[]).unwrap();
    written
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(any_row(), 0..6)) {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let written = write(&path, rows);
        let results = Results::open(&path).unwrap();
        prop_assert!(results.complete(), "{:?}", results.problems);
        prop_assert_eq!(&results.plan, "hosts = 2\n");
        prop_assert_eq!(results.build.as_ref().unwrap().git_dirty, Some(true));
        prop_assert_eq!(&results.hosts[&1]["cpu_model"], "Some CPU");
        prop_assert_eq!(results.rows.len(), written.len());
        for (read, (row, samples)) in results.rows.iter().zip(&written) {
            prop_assert_eq!(read, row);
            prop_assert_eq!(&results.samples(read).unwrap(), samples);
        }
    }

    #[test]
    fn a_file_cut_anywhere_yields_the_whole_rows_before(
        rows in prop::collection::vec(any_row(), 1..5), cut in any::<prop::sample::Index>(),
    ) {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let written = write(&path, rows);
        let trials = path.join("trials.ndjson");
        let content = fs::read(&trials).unwrap();
        let cut = cut.index(content.len());
        fs::write(&trials, &content[..cut]).unwrap();
        fs::remove_file(path.join("manifest.json")).unwrap();
        // A row is whole with or without its newline: no JSON object is the start of another.
        let ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let whole = ends.filter(|end| *end <= cut).count();

        let results = Results::open(&path).unwrap();
        let expected: Vec<Row> = written[..whole].iter().map(|(row, _)| row.clone()).collect();
        prop_assert_eq!(&results.rows, &expected);
        prop_assert!(!results.complete());
        let starts_a_row = cut > 0 && content[cut - 1] != b'\n' && content[cut] != b'\n';
        let said = results.problems.iter().any(|problem| problem.contains("cut short"));
        prop_assert_eq!(said, starts_a_row, "{:?}", results.problems);
    }
}

#[test]
fn an_unfinished_run_is_readable_and_says_so() {
    let parent = tempfile::tempdir().unwrap();
    let mut directory = create(&parent.path().join("run")).unwrap();
    let mut row = row("visibility", 1, 0);
    row.summarize(&Summary::of(&[7.0]).unwrap());
    directory.append(&mut row, &[7.0]).unwrap();
    let results = Results::open(directory.path()).unwrap();
    assert_eq!(results.samples(&results.rows[0]).unwrap(), [7.0]);
    assert!(!results.complete());
    assert_eq!(
        results.problems,
        ["no manifest.json: the run did not end by itself"]
    );
    let readme = fs::read_to_string(directory.path().join("README.md")).unwrap();
    assert!(
        readme.contains("unfinished") && readme.contains(COMMAND),
        "{readme}"
    );
}

#[test]
fn the_manifest_carries_problems_and_the_readme_labels() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("run");
    let mut directory = create(&path).unwrap();
    directory.append(&mut row("visibility", 1, 0), &[]).unwrap();
    directory
        .finish(false, &["host 3 was lost".to_owned()])
        .unwrap();
    let results = Results::open(&path).unwrap();
    assert_eq!(results.problems, ["host 3 was lost"]);
    assert_eq!(results.manifest.as_ref().unwrap().command, COMMAND);
    let readme = fs::read_to_string(path.join("README.md")).unwrap();
    assert!(
        readme.contains("Rows: 1. Labels: coherent stand-in."),
        "{readme}"
    );
    assert!(!path.join("manifest.partial").exists());
}

#[test]
fn a_used_directory_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let error = create(Path::new("Cargo.toml")).unwrap_err();
    assert!(matches!(error, WriteError::Exists { .. }));
    let empty = parent.path().join("empty");
    fs::create_dir(&empty).unwrap();
    create(&empty).unwrap();
    let said = create(&empty).unwrap_err().to_string();
    assert!(
        said.ends_with("exists and is not empty; choose another --out or remove it"),
        "{said}"
    );
}

#[test]
fn a_parent_that_cannot_be_written_to_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let said = create(&file.join("a/run")).unwrap_err().to_string();
    assert!(said.contains("is not empty"), "{said}");

    let locked = parent.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    match create(&locked.join("a/run")) {
        Err(error @ WriteError::NotWritable { .. }) => {
            let expected = format!("cannot write in {}:", locked.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        // Permissions do not bind the superuser, whom containers run tests as.
        Ok(_) => assert!(fs::write(locked.join("probe"), "").is_ok()),
        Err(other) => panic!("{other}"),
    }
}

/// One finished row, as its directory and the text of its line.
fn finished(parent: &tempfile::TempDir) -> (std::path::PathBuf, String) {
    let path = parent.path().join("run");
    let mut measured = row("visibility", 1, 0);
    measured.summarize(&Summary::of(&[1.0, 2.0]).unwrap());
    write(&path, vec![(measured, vec![1.0, 2.0])]);
    let line = fs::read_to_string(path.join("trials.ndjson")).unwrap();
    (path, line)
}

#[test]
fn a_malformed_line_is_an_error_with_its_place() {
    let parent = tempfile::tempdir().unwrap();
    let (path, line) = finished(&parent);
    fs::write(
        path.join("trials.ndjson"),
        format!("{line}{{\"schema\":1}}\n{line}"),
    )
    .unwrap();
    let said = Results::open(&path).unwrap_err().to_string();
    assert!(
        said.contains("trials.ndjson:2: missing field `workload`"),
        "{said}"
    );
}

#[test]
fn an_unknown_schema_is_refused_by_number() {
    let parent = tempfile::tempdir().unwrap();
    let (path, _) = finished(&parent);
    fs::write(path.join("trials.ndjson"), "{\"schema\":7,\"other\":1}\n").unwrap();
    let error = Results::open(&path).unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::Schema {
                schema: 7,
                line: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn added_fields_are_ignored() {
    let parent = tempfile::tempdir().unwrap();
    let (path, line) = finished(&parent);
    let mut value: Value = serde_json::from_str(&line).unwrap();
    value["later"] = json!(1);
    fs::write(path.join("trials.ndjson"), format!("{value}\n")).unwrap();
    assert_eq!(Results::open(&path).unwrap().rows.len(), 1);
}

#[test]
fn edits_and_missing_samples_are_problems() {
    let parent = tempfile::tempdir().unwrap();
    let (path, line) = finished(&parent);
    fs::write(
        path.join("trials.ndjson"),
        line.replace("\"lanes\":1", "\"lanes\":2"),
    )
    .unwrap();
    fs::write(path.join("samples.bin"), [0; 12]).unwrap();
    let results = Results::open(&path).unwrap();
    let expected = [
        "row 1: its digest is not that of its fields",
        "samples.bin ends within a sample: it was cut short",
        "row 1 names samples up to 2, samples.bin holds 1",
        "samples.bin was changed after the run",
        "trials.ndjson was changed after the run",
    ];
    assert_eq!(results.problems, expected);
    let said = results.samples(&results.rows[0]).unwrap_err().to_string();
    assert!(
        said.contains("samples 0..2 are asked for, 1 are held"),
        "{said}"
    );
}

#[test]
fn no_directory_is_taken_for_results() {
    let parent = tempfile::tempdir().unwrap();
    let error = Results::open(parent.path()).unwrap_err();
    assert!(matches!(error, ReadError::NotResults { .. }), "{error}");
}
