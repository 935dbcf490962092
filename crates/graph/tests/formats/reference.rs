//! Graphs that others made, with what they say of them.

use std::path::{Path, PathBuf};

use graph::{Progress, write};
use serde_json::Value;

use super::{arcs, is_sound, load, scratch};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn answers(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(data(name)).unwrap()).unwrap()
}

const GAPBS: [(&str, bool); 4] = [
    ("kron6", false),
    ("kron10", false),
    ("unif10", false),
    ("tiny_dir", true),
];

#[test]
fn the_edge_list_and_the_binary_rows_are_one_graph() {
    for (name, directed) in GAPBS {
        let list = load(&data(&format!("{name}.el")), directed, 2).unwrap();
        let rows = load(&data(&format!("{name}.sg")), directed, 2).unwrap();
        assert_eq!(list, rows, "{name}");
        is_sound(&rows);
        let answers = answers(&format!("{name}.json"));
        assert_eq!(answers["nodes"], rows.vertices(), "{name}");
        assert_eq!(answers["edges_stored"], rows.arcs(), "{name}");
        assert_eq!(answers["directed"], rows.is_directed(), "{name}");
    }
}

#[test]
fn binary_rows_are_written_byte_for_byte_as_gapbs_writes_them() {
    let directory = scratch();
    for (name, directed) in GAPBS {
        let theirs = data(&format!("{name}.sg"));
        let ours = directory.path().join("ours.sg");
        let graph = load(&theirs, directed, 1).unwrap();
        write(&graph, &ours, &Progress::default()).unwrap();
        let same = std::fs::read(theirs).unwrap() == std::fs::read(ours).unwrap();
        assert!(same, "{name}");
    }
}

#[test]
fn an_edge_list_is_written_as_gapbs_writes_it() {
    let directory = scratch();
    for (name, directed) in GAPBS {
        let theirs = data(&format!("{name}.el"));
        let ours = directory.path().join("ours.el");
        let graph = load(&theirs, directed, 1).unwrap();
        write(&graph, &ours, &Progress::default()).unwrap();
        // GAPBS lists a vertex' edges as they came to lie, so lines are compared as a set.
        let lines = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap();
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        if directed {
            // The hand-written one.
            continue;
        }
        assert_eq!(lines(&theirs), lines(&ours), "{name}");
    }
}

/// A directed file that is asked for without directions has each edge both ways, once.
#[test]
fn directions_are_dropped_on_demand() {
    let directed = load(&data("tiny_dir.sg"), true, 1).unwrap();
    let undirected = load(&data("tiny_dir.sg"), false, 1).unwrap();
    assert_eq!(undirected, load(&data("tiny_dir.el"), false, 1).unwrap());
    let mut both = arcs(&directed);
    both.extend(arcs(&directed).into_iter().map(|(from, to)| (to, from)));
    both.sort_unstable();
    both.dedup();
    assert_eq!(arcs(&undirected), both);
}

#[test]
fn the_packages_of_debian_have_their_counts() {
    let answers = answers("debian12-depends.answers.json");
    let path = data("debian12-depends.el.gz");
    let directed = load(&path, true, 2).unwrap();
    assert_eq!(answers["vertices"], directed.vertices());
    assert_eq!(answers["directed_edges"], directed.edges());
    let undirected = load(&path, false, 2).unwrap();
    assert_eq!(answers["undirected_edges"], undirected.edges());
    let degrees = undirected.outgoing().rows().map(<[u32]>::len);
    assert_eq!(answers["max_degree_symmetric"], degrees.max().unwrap());
    is_sound(&undirected);
}
