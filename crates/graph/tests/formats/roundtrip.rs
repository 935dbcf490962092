//! What is written is read back, in every format, plain and compressed.

use graph::{Csr, Format, Progress, write};
use proptest::prelude::*;

use super::{arcs, is_sound, load, scratch};

prop_compose! {
    fn graphs()(vertices in 1u32..60)(
        edges in prop::collection::vec((0..vertices, 0..vertices), 0..200),
        vertices in Just(vertices),
        directed in any::<bool>(),
    ) -> Csr {
        Csr::from_edges(vertices as usize, &edges, directed).settled()
    }
}

/// The same arcs in another way: sorted, without doubled ones and self loops, by the standard
/// library alone.
fn plainly(edges: &[(u32, u32)], directed: bool) -> Vec<(u32, u32)> {
    let mut arcs: Vec<_> = edges
        .iter()
        .copied()
        .filter(|(from, to)| from != to)
        .collect();
    if !directed {
        arcs.extend(arcs.clone().into_iter().map(|(from, to)| (to, from)));
    }
    arcs.sort_unstable();
    arcs.dedup();
    arcs
}

proptest! {
    #[test]
    fn a_graph_has_the_edges_it_was_made_from(
        edges in prop::collection::vec((0u32..50, 0u32..50), 0..300),
        directed: bool,
    ) {
        let graph = Csr::from_edges(50, &edges, directed);
        is_sound(&graph);
        prop_assert_eq!(arcs(&graph), plainly(&edges, directed));
    }

    #[test]
    fn every_format_brings_back_what_it_was_given(graph in graphs(), threads in 1usize..4) {
        let directory = scratch();
        for format in Format::ALL {
            for gzip in ["", ".gz"] {
                if format == Format::Metis && graph.is_directed() {
                    continue;
                }
                let path = directory.path().join(format!("a.{}{gzip}", format.suffix()));
                write(&graph, &path, &Progress::default()).unwrap();
                let back = load(&path, true, threads).unwrap().settled();
                is_sound(&back);
                prop_assert_eq!(arcs(&back), arcs(&graph), "{:?}", format);
                if format.names_vertices() {
                    prop_assert_eq!(back, graph.clone(), "{:?}", format);
                }
            }
        }
        // Nothing is left beside the files.
        let names = std::fs::read_dir(directory.path()).unwrap();
        let hidden = |name: std::ffi::OsString| name.to_string_lossy().starts_with('.');
        prop_assert!(names.map(|entry| entry.unwrap().file_name()).all(|name| !hidden(name)));
    }
}

/// More edges than one chunk of the reader or one part of the builder holds.
#[test]
fn large_files_come_back_on_any_number_of_threads() {
    let directory = scratch();
    let source: graph::GraphSource = "kron:14".parse().unwrap();
    let graph = source.load(&graph::Load::default()).unwrap();
    for name in ["a.el", "a.mtx.gz", "a.graph", "a.sg"] {
        let path = directory.path().join(name);
        write(&graph, &path, &Progress::default()).unwrap();
        for threads in 1..=3 {
            let back = load(&path, false, threads).unwrap();
            assert!(arcs(&back) == arcs(&graph), "{name}, {threads} threads");
        }
    }
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let graph = Csr::from_edges(3, &[(0, 1)], false);
    let error = write(&graph, "/absent/a.el".as_ref(), &Progress::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("/absent/a.el"), "{error}");
}

#[test]
fn a_directed_graph_is_no_metis_file() {
    let graph = Csr::from_edges(3, &[(0, 1)], true);
    let error = write(&graph, "a.graph".as_ref(), &Progress::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("undirected"), "{error}");
}
