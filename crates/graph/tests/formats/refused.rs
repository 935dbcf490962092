//! Files that break their format, each refused with its line or byte and the reason; and such as
//! only look odd.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{arcs, file, load, scratch};

fn error(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let directory = scratch();
    let path = file(&directory, name, bytes);
    let error = load(&path, true, 2).expect_err(name).to_string();
    assert!(error.contains(name), "{error}");
    error
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// File, contents, line, reason. `MM` stands for the beginning of a Matrix Market file.
const WRONG_LINES: [(&str, &str, &str, &str); 41] = [
    ("a.el", "0 1\n1\n", "line 2", "the line ends"),
    ("a.el", "0 1\n\n1 2 3\n", "line 3", ".wel"),
    ("a.el", "0 1\n1 x\n", "line 2", "`x` is not a vertex"),
    ("a.el", "0 -1\n", "line 1", "`-1`"),
    ("a.el", "0,1\n", "line 1", "`0,1`"),
    ("a.el", "0 1\n0 2147483647\n", "line 2", "too large"),
    (
        "a.el",
        "0 1\n0 99999999999999999999999\n",
        "line 2",
        "too large",
    ),
    (
        "a.el",
        "0 2000000000\n",
        "line 1",
        "number those that have edges",
    ),
    ("a.el", "0 1\r2 3\n", "line 1", "carriage return"),
    ("a.wel", "0 1 1\n0 1\n", "line 2", "weight"),
    ("a.wel", "0 1 nan\n", "line 1", "`nan` is not a weight"),
    ("a.wel", "0 1 1 1\n", "line 1", "one too many"),
    ("a.gr", "a 1 2 1\n", "line 1", "before the line"),
    ("a.gr", "c x\np sp 2 1\na 1 3 1\n", "line 3", "too large"),
    ("a.gr", "p sp 2 1\na 0 1 1\n", "line 2", "the first is 1"),
    ("a.gr", "p sp 2 2\na 1 2 1\n", "line 2", "cut short"),
    (
        "a.gr",
        "p sp 2 1\na 1 2 1\nx\n",
        "line 3",
        "starts with a or c",
    ),
    ("a.gr", "p sp 2 1\np sp 2 1\n", "line 2", "second line `p`"),
    ("a.gr", "p max 2 1\n", "line 1", "only `p sp N M`"),
    ("a.gr", "", "line 1", "the file is empty"),
    ("a.gr", "c x\nc y\n", "line 2", "before its header"),
    ("a.mtx", "0 1\n", "line 1", "%%matrixmarket"),
    (
        "a.mtx",
        "MM complex general\n1 1 0\n",
        "line 1",
        "`complex`",
    ),
    (
        "a.mtx",
        "MM pattern hermitian\n1 1 0\n",
        "line 1",
        "`hermitian`",
    ),
    ("a.mtx", "MM pattern general\n2 3 0\n", "line 2", "square"),
    (
        "a.mtx",
        "MM pattern general\n%\n2 2 2\n1 2\n",
        "line 4",
        "cut short",
    ),
    (
        "a.mtx",
        "MM pattern general\n2 2 1\n1 2\n2 1\n",
        "line 4",
        "says 1",
    ),
    (
        "a.mtx",
        "MM pattern general\n2 2 1\n1 2 5\n",
        "line 3",
        "one too many",
    ),
    ("a.mtx", "MM real general\n2 2 1\n1 2\n", "line 3", "weight"),
    (
        "a.mtx",
        "MM pattern general\n2 2 1\n1 3\n",
        "line 3",
        "too large",
    ),
    (
        "a.mtx",
        "MM pattern general\n2000000000 2000000000 1\n1 2\n",
        "line 3",
        "believed",
    ),
    (
        "a.mtx",
        "MM pattern general\n2 2 1152921504606846976\n1 2\n",
        "line 2",
        "too large",
    ),
    ("a.graph", "2 1\n2\n", "line 2", "cut short"),
    ("a.graph", "2 1\n2\n1\n1\n", "line 4", "one too many"),
    ("a.graph", "2 2\n2\n1\n", "line 3", "both its ends"),
    ("a.graph", "3 1\n2\n3\n\n", "line 4", "does not list"),
    ("a.graph", "2 1 007\n2\n1\n", "line 1", "format `007`"),
    ("a.graph", "2 1\n3\n1\n", "line 2", "too large"),
    ("a.graph", "", "line 1", "the file is empty"),
    ("a.graph", "% x\n", "line 1", "before its header"),
    ("a.graph", "2000000000 1\n2\n1\n", "line 3", "cut short"),
];

#[test]
fn a_wrong_line_is_named_with_the_reason() {
    for (name, text, place, why) in WRONG_LINES {
        let text = text.replace("MM", "%%MatrixMarket matrix coordinate");
        let error = error(name, &text);
        let named = error.contains(&format!("{place}:")) && error.contains(why);
        assert!(named, "{name} {text:?}: {error}");
    }
}

#[test]
fn a_line_is_counted_through_chunks_and_compression() {
    let mut text = String::new();
    for line in 0..400_000 {
        writeln!(text, "{} {}", line % 1000, line % 777).unwrap();
    }
    text.push_str("1 oops\n1 2\n");
    for (name, bytes) in [
        ("a.el", text.clone().into_bytes()),
        ("a.el.gz", gzip(text.as_bytes())),
    ] {
        let error = error(name, bytes);
        assert!(error.contains("line 400001: `oops`"), "{error}");
    }
}

#[test]
fn damaged_compression_is_told_from_a_damaged_format() {
    let whole = gzip("0 1\n1 2\n".repeat(1000).as_bytes());
    let error_of = |bytes: &[u8]| error("a.el.gz", bytes);
    assert!(error_of(&whole[..whole.len() - 9]).contains("damaged or cut short"));
    assert!(error_of(b"0 1\n").contains("damaged or cut short"));
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert!(error_of(&flipped).contains("damaged or cut short"));
}

/// The header of an `.sg`, and whatever follows.
fn sg(directed: u8, arcs: i64, vertices: i64, offsets: &[i64], targets: &[i32]) -> Vec<u8> {
    let mut bytes = vec![directed];
    bytes.extend(arcs.to_le_bytes());
    bytes.extend(vertices.to_le_bytes());
    bytes.extend(offsets.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(targets.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

#[test]
fn binary_rows_that_lie_are_refused_with_their_byte() {
    let cases = [
        (
            sg(0, 2, 2, &[0, 1, 2], &[1]),
            "byte 1:",
            "49 bytes, and the file has 45",
        ),
        (sg(0, 1 << 60, 2, &[0, 1, 2], &[1, 0]), "byte 1:", "at most"),
        (sg(0, -1, 2, &[0, 1, 2], &[1, 0]), "byte 1:", "at most"),
        (sg(0, 2, 1 << 40, &[0, 1, 2], &[1, 0]), "byte 9:", "at most"),
        (sg(2, 2, 2, &[0, 1, 2], &[1, 0]), "byte 0:", "0 or 1"),
        (
            sg(0, 2, 2, &[1, 1, 2], &[1, 0]),
            "byte 17:",
            "the first is 0",
        ),
        (sg(0, 2, 2, &[0, 3, 2], &[1, 0]), "byte 33:", "after 3"),
        (
            sg(0, 2, 2, &[0, 1, 1], &[1, 0]),
            "byte 33:",
            "the last offset",
        ),
        (sg(0, 2, 2, &[0, 1, 2], &[1, -1]), "byte 45:", "2 vertices"),
        (sg(0, 2, 2, &[0, 1, 2], &[0, 1]), "byte 41:", "itself"),
        (sg(0, 2, 2, &[0, 2, 2], &[1, 1]), "byte 45:", "sorted"),
        (sg(0, 1, 2, &[0, 1, 1], &[1]), "byte 17:", "does not list 0"),
        (vec![0; 16], "byte 16:", "within its header"),
    ];
    for (bytes, place, why) in cases {
        let plain = error("a.sg", &bytes);
        let named = plain.contains(place) && plain.contains(why);
        assert!(named, "{place} {why}: {plain}");
    }
}

/// A compressed file's size is not known before: claims are believed as bytes come.
#[test]
fn a_compressed_file_that_claims_too_much_is_found_out_by_its_end() {
    let bytes = gzip(&sg(0, 1 << 40, 1 << 30, &[0, 1, 2], &[1, 0]));
    let error = error("a.sg.gz", bytes);
    assert!(error.contains("missing: it is cut short"), "{error}");
}

#[test]
fn odd_but_right_files_are_read() {
    let directory = scratch();
    let triangle = [(0, 1), (1, 2), (2, 0)];
    let banner = "%%matrixmarket MATRIX Coordinate";
    let files = [
        (
            "a.el",
            "# SNAP\n% KONECT\n\n0\t1\r\n 1  2 \r\n2 0".to_owned(),
        ),
        ("b.el", "2 0\n0 1\n0 1\n1 1\n1 2\n".into()),
        ("a.wel", "0 1 -1.5e3\n1 2 7\n2 0 .5\n".into()),
        (
            "a.gr",
            "c x\n\np sp 3 3\nc y\na 1 2 1\na 2 3 9\n\na 3 1 1\n".into(),
        ),
        (
            "a.mtx",
            format!("{banner} Real GENERAL\n% x\n\n3 3 3\n1 2 1.5\n2 3 -1\n3 1 1e9\n"),
        ),
        (
            "b.mtx",
            format!("{banner} integer general\r\n3 3 3\r\n1 2 1\r\n2 3 1\r\n3 1 1\r\n"),
        ),
    ];
    for (name, text) in files {
        let graph = load(&file(&directory, name, &text), true, 1).expect(name);
        assert_eq!(arcs(&graph), triangle, "{name}");
    }
    let path = [
        "% x\n3 2\n2\n%y\n1 3\n2\n",
        "3 2 011 2\n7 7 2 1\n8 8 1 1 3 1\n9 9 2 1\n\n",
        "3 2 100\n5 2\n5 1 3\n5 2",
    ];
    for text in path {
        let graph = load(&file(&directory, "a.graph", text), true, 1).expect(text);
        assert_eq!(arcs(&graph), [(0, 1), (1, 0), (1, 2), (2, 1)], "{text}");
        assert!(!graph.is_directed());
    }
    let symmetric = format!("{banner} pattern symmetric\n4 4 2\n2 1\n3 3\n");
    let graph = load(&file(&directory, "s.mtx", symmetric), true, 1).unwrap();
    assert_eq!(arcs(&graph), [(0, 1), (1, 0)]);
    assert_eq!(graph.vertices(), 4);
    let empty = load(&file(&directory, "e.el", ""), true, 1).unwrap();
    assert_eq!((empty.vertices(), empty.arcs()), (0, 0));
}
