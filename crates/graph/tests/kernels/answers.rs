//! What is known of a graph, as `data/*.json` has it.

use std::path::PathBuf;

use graph::GraphSource;
use serde_json::Value;

pub(crate) fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", name]
        .iter()
        .collect()
}

pub(crate) fn source(name: &str) -> GraphSource {
    GraphSource::File { path: path(name) }
}

pub(crate) fn json(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    let numbers = value.as_array().unwrap().iter();
    numbers.map(|number| number.as_f64().unwrap()).collect()
}

/// How many vertices have each depth; -1 is none.
pub(crate) fn levels(depths: &Value) -> Vec<u64> {
    let mut levels = Vec::new();
    for depth in depths.as_array().unwrap() {
        let Ok(depth) = usize::try_from(depth.as_i64().unwrap()) else {
            continue;
        };
        levels.resize(levels.len().max(depth + 1), 0);
        levels[depth] += 1;
    }
    levels
}

/// Holds the scores that an answer names against those that are known, within `most`.
pub(crate) fn expect_scores(answer: &Value, scores: &[f64], most: f64, what: &str) {
    let top = answer["top"].as_array().unwrap();
    assert_eq!(top.len(), scores.len().min(5), "{what}");
    let mut best = scores.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    for (pair, best) in top.iter().zip(best) {
        let (vertex, score) = (pair[0].as_u64().unwrap(), pair[1].as_f64().unwrap());
        let known = scores[vertex as usize];
        assert!(
            (score - known).abs() <= most,
            "{what}: {vertex}: {score}, not {known}"
        );
        // Of equal scores either may be named.
        assert!(
            (score - best).abs() <= most,
            "{what}: {vertex}: {score} is not {best}"
        );
    }
    let (sum, known): (f64, f64) = (answer["sum"].as_f64().unwrap(), scores.iter().sum());
    assert!(
        (sum - known).abs() <= most * scores.len() as f64,
        "{what}: {sum}, not {known}"
    );
}
