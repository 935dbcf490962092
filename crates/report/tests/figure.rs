//! A figure that looks right on one record hides text behind text on the next. What is checked is
//! therefore every text's box, on records from one row to forty, as the file places it. The files
//! stay in cargo's temporary directory (`target/tmp`), to be looked at.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::Path;

use common::{NO_CLOCK, absent, crowded_run, measured, plain_run, results, row};
use record::{Label, Results, Row};
use report::{figures, text_width};

/// A text of a file and the box it takes.
#[derive(Debug)]
struct Placed {
    x: i32,
    y: i32,
    size: i32,
    text: String,
}

impl Placed {
    /// From below one `<text` to the next.
    fn parse(element: &str) -> Self {
        let (head, rest) = element.split_once('>').unwrap();
        let attribute = |name: &str| {
            let (_, value) = head.split_once(&format!(" {name}=\"")).unwrap();
            value.split_once('"').unwrap().0
        };
        assert_eq!(attribute("font-family"), "sans-serif");
        assert_eq!(attribute("text-anchor"), "start");
        let text = rest.split_once("</text>").unwrap().0.trim();
        Self {
            x: attribute("x").parse().unwrap(),
            y: attribute("y").parse().unwrap(),
            size: attribute("font-size").parse::<f64>().unwrap().round() as i32,
            text: text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&"),
        }
    }

    fn right(&self) -> i32 {
        self.x + text_width(&self.text, self.size)
    }

    fn overlaps(&self, other: &Self) -> bool {
        let apart = self.right() <= other.x
            || other.right() <= self.x
            || self.y + self.size <= other.y
            || other.y + other.size <= self.y;
        !apart
    }
}

fn texts(svg: &str) -> Vec<Placed> {
    svg.split("<text").skip(1).map(Placed::parse).collect()
}

/// Draws the results, checks that no text leaves the figure or covers another, and returns them.
fn draw(name: &str, results: &Results) -> Vec<Placed> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files = figures(results, &directory).unwrap();
    assert_eq!(files, [directory.join("visibility.svg")]);
    let svg = fs::read_to_string(&files[0]).unwrap();
    let size = |name: &str| -> i32 {
        let (_, value) = svg.split_once(&format!("{name}=\"")).unwrap();
        value.split_once('"').unwrap().0.parse().unwrap()
    };
    let (width, height) = (size("width"), size("height"));
    let texts = texts(&svg);
    for (index, text) in texts.iter().enumerate() {
        assert!(
            text.x >= 0 && text.right() <= width,
            "{text:?} leaves the figure's {width}"
        );
        assert!(
            text.y >= 0 && text.y + text.size <= height,
            "{text:?} leaves the {height}"
        );
        for other in &texts[..index] {
            assert!(!text.overlaps(other), "{text:?} covers {other:?}");
        }
    }
    texts
}

/// The texts in the order of drawing, as one: a paragraph's lines joined again.
fn joined(texts: &[Placed]) -> String {
    texts
        .iter()
        .map(|text| text.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn assert_says(texts: &[Placed], expected: &str) {
    let said = joined(texts);
    assert!(
        said.contains(expected),
        "\"{expected}\" is missing in: {said}"
    );
}

#[test]
fn the_overlap_check_finds_an_overlap() {
    let at = |x, y| Placed {
        x,
        y,
        size: 10,
        text: "WW".into(),
    };
    assert!(at(0, 0).overlaps(&at(19, 9)));
    assert!(!at(0, 0).overlaps(&at(20, 0)));
    assert!(!at(0, 0).overlaps(&at(0, 10)));
}

#[test]
fn a_plain_run_states_its_finding() {
    let texts = draw("plain", &plain_run());
    assert_says(
        &texts,
        "Fastest publish + observe: clflushopt + clflushopt, 1 line, 312 ns a half round trip",
    );
    assert_says(
        &texts,
        "Coherent stand-in. Pod local, 2 hosts, device tmpfs, Example CPU 9000 @ 3.00GHz; n = 200.",
    );
    for label in [
        "clwb + clflushopt, 1 line",
        "312 ns",
        "290 ns",
        "420 ns",
        "516 ns",
        "501 ns",
    ] {
        assert!(texts.iter().any(|text| text.text == label), "{label}");
    }
    assert_says(&texts, &format!("one way absent: {NO_CLOCK}"));
    assert_says(&texts, "Made by: dsmark run --on native --hosts 2");
}

#[test]
fn one_row_is_a_figure() {
    let only = measured(
        row("clflush", "clflush", 64, "half_round_trip_ns"),
        1234.0,
        1.0,
    );
    let texts = draw("single", &results(vec![only]));
    assert_says(
        &texts,
        "A half round trip takes 1234 ns: clflush + clflush, 64 lines",
    );
}

#[test]
fn forty_conditions_stay_legible_and_apart() {
    let texts = draw("crowded", &crowded_run());
    for publish in ["clflush", "clflushopt", "clwb", "movnti", "movdir64b"] {
        for lines in ["1 line", "4 lines", "16 lines", "64 lines"] {
            let name = format!("{publish} + clflushopt, {lines}");
            let count = texts
                .iter()
                .filter(|text| text.text.starts_with(&name))
                .count();
            assert_eq!(count, 2, "{name}: once for each label");
        }
    }
    assert_says(
        &texts,
        "half round trip failed: host 2 fell silent for 5 s in repetition 3",
    );
    assert_says(&texts, "p99 2346 us");
    assert_says(&texts, "oversubscribed");
    let absent = texts
        .iter()
        .filter(|text| text.text.starts_with("One way absent: the hosts"));
    assert_eq!(
        absent.count(),
        1,
        "what holds for a whole section is said once"
    );
}

#[test]
fn kinds_of_evidence_are_told_apart_where_they_share_an_axis() {
    let texts = draw("crowded-labels", &crowded_run());
    assert_says(&texts, "Coherent stand-in and simulated. Pod local");
    let headings = [
        "Simulated: computed",
        "Coherent stand-in: measured on memory of one machine",
    ];
    for heading in headings {
        assert_eq!(
            texts
                .iter()
                .filter(|text| text.text.starts_with(heading))
                .count(),
            1
        );
    }
}

#[test]
fn an_absent_value_is_never_drawn_at_zero() {
    let reason = "this CPU has no movdir64b; <choose another> & try again";
    let nothing = absent(row("movdir64b", "clflush", 1, "half_round_trip_ns"), reason);
    let texts = draw("absent", &results(vec![nothing]));
    assert_says(
        &texts,
        &format!("No half round trip was measured; absent: {reason}"),
    );
    assert_says(&texts, &format!("Half round trip absent: {reason}"));
    let zeros = texts
        .iter()
        .filter(|text| text.text.starts_with("0 "))
        .count();
    assert_eq!(zeros, 0);
}

#[test]
fn the_time_of_a_wrong_answer_is_no_result() {
    let half = |publish, median| {
        measured(
            row(publish, "clflush", 1, "half_round_trip_ns"),
            median,
            1.0,
        )
    };
    let wrong = Row {
        verified: Some(false),
        ..half("clwb", 100.0)
    };
    let texts = draw("wrong", &results(vec![wrong, half("clflush", 300.0)]));
    assert_says(
        &texts,
        "A half round trip takes 300 ns: clflush + clflush, 1 line",
    );
    assert_says(&texts, "half round trip wrong: its answer was not verified");
    assert!(!joined(&texts).contains("100 ns"));
}

#[test]
fn medians_that_cannot_be_told_apart_have_no_winner() {
    let half = |publish, median| {
        measured(
            row(publish, "clflush", 1, "half_round_trip_ns"),
            median,
            50.0,
        )
    };
    let run = results(vec![
        half("clwb", 300.0),
        half("clflushopt", 303.0),
        half("movnti", 900.0),
    ]);
    let texts = draw("tie", &run);
    assert_says(
        &texts,
        "No publish + observe is the fastest: 2 of 3 tie at 300 to 303 ns",
    );
}

#[test]
fn long_names_and_reasons_are_broken_into_lines() {
    let pod = "a-pod-whose-name-is-longer-than-any-figure-is-wide-".repeat(3);
    let long = |median| Row {
        pod: pod.clone(),
        label: Label::Real,
        ..measured(
            row("clflushopt", "clflushopt", 1, "half_round_trip_ns"),
            median,
            5.0,
        )
    };
    let short = Row {
        pod: "short".into(),
        ..long(700.0)
    };
    draw("long", &results(vec![long(300.0), short]));
}

#[test]
fn the_same_directory_gives_the_same_bytes() {
    let read = |name: &str| {
        draw(name, &plain_run());
        fs::read(
            Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join(name)
                .join("visibility.svg"),
        )
        .unwrap()
    };
    assert_eq!(read("once"), read("again"));
}

#[test]
fn other_workloads_make_no_visibility_figure() {
    let other = Row {
        workload: "lock".into(),
        ..row("clwb", "clflush", 1, "acquire_ns")
    };
    let directory = tempfile::tempdir().unwrap();
    assert!(
        figures(&results(vec![other]), directory.path())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_figure_that_cannot_be_written_names_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = figures(&plain_run(), file.path()).unwrap_err().to_string();
    assert!(said.contains("visibility.svg"), "{said}");
}
