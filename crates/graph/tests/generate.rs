//! Generated graphs are what they are called, and the same whoever makes them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use graph::{Csr, DEGREE, Generator, Model, Progress};

fn generator(model: Model, scale: u32, seed: u64) -> Generator {
    Generator {
        model,
        scale,
        degree: DEGREE,
        seed,
    }
}

fn generate(generator: Generator, threads: usize) -> Csr {
    let progress = Progress::default();
    generator.generate(false, threads, &progress).unwrap()
}

/// How many different edges there are to expect: the sum over all pairs of vertices of the chance
/// that one of the draws hits it.
///
/// With B = C a pair's chance depends only on how many bits its labels share as 0 (A), share as 1
/// (D), and differ in (B or C), so pairs are summed by class.
fn expected_edges([a, b, d]: [f64; 3], scale: u32, draws: f64) -> f64 {
    let choose = |n: u32, k: u32| {
        (0..k).fold(1.0, |product, i| {
            product * f64::from(n - i) / f64::from(i + 1)
        })
    };
    let mut sum = 0.0;
    for differ in 1..=scale {
        for zeros in 0..=scale - differ {
            let ones = scale - differ - zeros;
            let pairs = choose(scale, differ)
                * choose(scale - differ, zeros)
                * f64::from(differ - 1).exp2();
            let powers = [(a, zeros), (b, differ), (d, ones)];
            let chance: f64 = powers
                .iter()
                .map(|&(x, n)| x.powi(n.cast_signed()))
                .product();
            // Either direction makes the edge.
            sum += pairs * -f64::exp_m1(draws * f64::ln_1p(-2.0 * chance));
        }
    }
    sum
}

/// Graph500's initiator, and that of a uniform graph.
const KRONECKER: [f64; 3] = [0.57, 0.19, 0.05];
const UNIFORM: [f64; 3] = [0.25, 0.25, 0.25];

/// Distances that a count may have from what is expected. Hits of different pairs are negatively
/// correlated, so the standard deviation is below that of as many independent ones.
fn within_five_sigma(edges: f64, expected: f64) -> bool {
    (edges - expected).abs() < 5.0 * expected.sqrt()
}

#[test]
fn the_number_of_different_edges_is_as_expected() {
    for (model, initiator) in [(Model::Kronecker, KRONECKER), (Model::Uniform, UNIFORM)] {
        for scale in [6, 10, 13, 16] {
            for seed in 1..=3 {
                let generator = generator(model, scale, seed);
                let edges = generate(generator, 2).edges() as f64;
                let expected = expected_edges(initiator, scale, generator.drawn() as f64);
                let near = within_five_sigma(edges, expected);
                assert!(
                    near,
                    "{model:?} {scale} {seed}: {edges}, {expected:.0} expected"
                );
            }
        }
    }
}

/// The formula above, on graphs that others made: GAPBS' own Kronecker and uniform graphs of scale
/// 16 (`-g 16`, `-u 16`).
#[test]
fn the_expectation_holds_for_the_graphs_of_gapbs() {
    let draws = f64::from(1u32 << 20);
    let expected = expected_edges(KRONECKER, 16, draws);
    assert!(within_five_sigma(909_646.0, expected), "{expected:.0}");
    let expected = expected_edges(UNIFORM, 16, draws);
    assert!(within_five_sigma(1_048_276.0, expected), "{expected:.0}");
}

#[test]
fn a_seed_makes_one_graph_on_any_number_of_threads() {
    for model in [Model::Kronecker, Model::Uniform] {
        let one = generate(generator(model, 12, 5), 1);
        for threads in 2..=4 {
            assert!(
                generate(generator(model, 12, 5), threads) == one,
                "{model:?} {threads}"
            );
        }
        assert!(generate(generator(model, 12, 6), 1) != one);
    }
}

/// Without permuted labels, 76 of 100 sources would lie in the lower half.
#[test]
fn labels_say_nothing_of_degrees() {
    for seed in 1..=5 {
        let graph = generate(generator(Model::Kronecker, 14, seed), 2);
        let half = graph.vertices() / 2;
        let lower = graph.outgoing().offsets()[half] as f64 / graph.arcs() as f64;
        assert!((0.45..0.55).contains(&lower), "{seed}: {lower}");
    }
}

#[test]
fn what_no_graph_can_be_is_refused() {
    for wrong in [
        Generator {
            scale: 31,
            ..generator(Model::Uniform, 0, 1)
        },
        Generator {
            degree: 0,
            ..generator(Model::Uniform, 8, 1)
        },
    ] {
        let refused = wrong.generate(false, 1, &Progress::default());
        assert!(refused.unwrap_err().to_string().contains("use "));
    }
}
