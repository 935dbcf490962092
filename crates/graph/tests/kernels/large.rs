//! Debian's dependencies, and Kronecker graphs that GAPBS was given as `.sg`.
//!
//! Simulating them takes minutes, and without optimization hours, so that debug builds run them
//! natively, small ones simulated. The rest:
//!
//! ```text
//! cargo test --release -p graph --test kernels
//! ```

use std::path::PathBuf;

use graph::rank::{self, SpmvVariant};
use graph::{Bfs, GraphSource, PageRank, Spmv, Triangles, bfs, triangles};
use serde_json::Value;

use crate::answers::{json, source};
use crate::trial::{On, RANKS, answer};

const DEBIAN: &str = "debian12-depends.el.gz";

/// Scores after 100 steps in single precision, relative: errors of sums of up to 21,841 terms.
const RELATIVE: f64 = 2e-5;

/// Hosts and lanes, by substrate: what a debug build has time for.
fn shapes() -> Vec<(On, u32, u32)> {
    if cfg!(debug_assertions) {
        return vec![(On::Native, 1, 2), (On::Native, 4, 1)];
    }
    let each = |on| (1..=4).map(move |hosts| (on, hosts, 2 / hosts.min(2)));
    each(On::Native).chain(each(On::Sim)).collect()
}

fn expect_top(found: &Value, known: &Value, relative: f64, what: &str) {
    let (found, known) = (found.as_array().unwrap(), known.as_array().unwrap());
    for (found, known) in found.iter().zip(known) {
        assert_eq!(found[0], known[0], "{what}");
        let (score, expected) = (found[1].as_f64().unwrap(), known[1].as_f64().unwrap());
        let off = (score / expected - 1.0).abs();
        assert!(off <= relative, "{what}: {score}, not {expected}");
    }
}

#[test]
fn debians_levels_are_those_that_are_known() {
    let known = json("debian12-depends.answers.json");
    for (directed, name) in [(true, "bfs_directed"), (false, "bfs_symmetric")] {
        for (root, levels) in known[name].as_object().unwrap() {
            for variant in bfs::Variant::ALL {
                let params = bfs::Params {
                    variant,
                    graph: source(DEBIAN),
                    source: Some(root.parse().unwrap()),
                    directed,
                    ..bfs::Params::default()
                };
                for (on, hosts, lanes) in shapes() {
                    let found = answer::<Bfs>(on, hosts, lanes, &params);
                    assert_eq!(
                        &found["levels"], levels,
                        "{params:?}, {on:?} {hosts} x {lanes}"
                    );
                }
            }
        }
    }
}

#[test]
fn debians_scores_are_those_that_are_known() {
    let known = json("debian12-depends.answers.json");
    for (directed, name) in [
        (true, "pagerank_directed_top"),
        (false, "pagerank_symmetric_top"),
    ] {
        for (variant, ordering) in RANKS {
            let params = rank::Params {
                variant,
                ordering,
                graph: source(DEBIAN),
                directed,
                iterations: 100,
                tolerance: 0.0,
                ..rank::Params::default()
            };
            for (on, hosts, lanes) in shapes() {
                let found = answer::<PageRank>(on, hosts, lanes, &params);
                let what = format!("{params:?}, {on:?} {hosts} x {lanes}");
                expect_top(&found["top"], &known[name], RELATIVE, &what);
            }
        }
        for variant in SpmvVariant::ALL {
            let params = rank::SpmvParams {
                variant,
                graph: source(DEBIAN),
                directed,
                iterations: 100,
                tolerance: 0.0,
                tile_columns: 8192,
                ..rank::SpmvParams::default()
            };
            for (on, hosts, lanes) in shapes() {
                let found = answer::<Spmv>(on, hosts, lanes, &params);
                let what = format!("{params:?}, {on:?} {hosts} x {lanes}");
                expect_top(&found["top"], &known[name], RELATIVE, &what);
            }
        }
    }
}

#[test]
fn debians_triangles_are_those_that_are_known() {
    let known = json("debian12-depends.answers.json");
    for variant in triangles::Variant::ALL {
        let params = triangles::Params {
            variant,
            graph: source(DEBIAN),
            ..triangles::Params::default()
        };
        for (on, hosts, lanes) in shapes() {
            let found = answer::<Triangles>(on, hosts, lanes, &params);
            assert_eq!(
                found["triangles"], known["triangles"],
                "{params:?}, {on:?} {hosts} x {lanes}"
            );
        }
    }
}

/// Everything about `kronSCALE.sg`, which GAPBS made, as GAPBS has it.
fn gives_what_gapbs_finds(scale: u32, graph: &GraphSource, shapes: &[(On, u32, u32)]) {
    let known = &json("kronecker-gapbs.json")[format!("kron{scale}")];
    for &(on, hosts, lanes) in shapes {
        let what = format!("{graph}, {on:?} {hosts} x {lanes}");
        for (root, levels) in known["bfs"].as_object().unwrap() {
            for variant in bfs::Variant::ALL {
                let params = bfs::Params {
                    variant,
                    graph: graph.clone(),
                    source: Some(root.parse().unwrap()),
                    ..bfs::Params::default()
                };
                let found = answer::<Bfs>(on, hosts, lanes, &params);
                assert_eq!(&found["levels"], levels, "{what}, {variant:?} from {root}");
            }
        }
        for variant in triangles::Variant::ALL {
            let params = triangles::Params {
                variant,
                graph: graph.clone(),
                ..triangles::Params::default()
            };
            let found = answer::<Triangles>(on, hosts, lanes, &params);
            assert_eq!(
                found["triangles"], known["triangles"],
                "{what}, {variant:?}"
            );
        }
        scores_are_what_gapbs_finds(known, graph, (on, hosts, lanes));
    }
}

fn scores_are_what_gapbs_finds(known: &Value, graph: &GraphSource, shape: (On, u32, u32)) {
    let (on, hosts, lanes) = shape;
    let what = format!("{graph}, {on:?} {hosts} x {lanes}");
    for variant in SpmvVariant::ALL {
        let params = rank::SpmvParams {
            variant,
            graph: graph.clone(),
            tolerance: 0.0,
            tile_columns: 1024,
            ..rank::SpmvParams::default()
        };
        let found = answer::<Spmv>(on, hosts, lanes, &params);
        let known = &known["pr_spmv_20"];
        expect_top(&found["top"], &known["top"], RELATIVE, &what);
    }
    for (variant, ordering) in RANKS {
        let params = rank::Params {
            variant,
            ordering,
            graph: graph.clone(),
            iterations: 100,
            tolerance: 1e-6,
            ..rank::Params::default()
        };
        let found = answer::<PageRank>(on, hosts, lanes, &params);
        // GAPBS' `pr` updates in place and takes other steps to the same end.
        let known = &known["pr"];
        expect_top(&found["top"], &known["top"], 10.0 * RELATIVE, &what);
    }
}

#[test]
fn a_kronecker_graph_gives_what_gapbs_finds() {
    let shapes = [(On::Native, 1, 2), (On::Native, 4, 1), (On::Sim, 4, 2)];
    gives_what_gapbs_finds(10, &source("kron10.sg"), &shapes);
}

/// The files are too large to keep: `for s in $(seq 11 16); do converter -g $s -b DIR/kron$s.sg;
/// done` with GAPBS' converter, then `GAPBS_GRAPHS=DIR cargo test --release -p graph --test
/// kernels`. Without them only scale 10 is compared.
#[test]
fn larger_kronecker_graphs_give_what_gapbs_finds() {
    let Some(directory) = std::env::var_os("GAPBS_GRAPHS").map(PathBuf::from) else {
        eprintln!("not compared: GAPBS_GRAPHS names no directory of GAPBS' graphs");
        return;
    };
    for scale in 11..=16 {
        let path = directory.join(format!("kron{scale}.sg"));
        let mut shapes = vec![(On::Native, 1, 2), (On::Native, 3, 1)];
        if cfg!(not(debug_assertions)) {
            shapes.push((On::Sim, 4, 2));
        }
        gives_what_gapbs_finds(scale, &GraphSource::File { path }, &shapes);
    }
}
