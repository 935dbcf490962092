//! Computes the outcome sets of litmus tests: what a new file's `exact` is to be, once reviewed.
//!
//! `cargo run -p check --example outcomes -- [NAME ...]` prints a line for each test and write
//! mode: name, mode, outcomes, and whatever contradicts the file's `allowed` and `forbidden`.

#![allow(
    clippy::print_stdout,
    reason = "a program of its own prints its answer"
)]

use std::env;

fn main() {
    let wanted: Vec<String> = env::args().skip(1).collect();
    for test in check::litmus::all() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == test.name()) {
            continue;
        }
        for set in test.sets() {
            let outcomes = test.outcomes(set.writes()[0]);
            let row = |row: &Vec<u64>| row.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            let rows: Vec<String> = outcomes.iter().map(row).collect();
            println!("{}\t{}\t{}", test.name(), set.writes()[0], rows.join(","));
            for mode in &set.writes()[1..] {
                if test.outcomes(*mode) != outcomes {
                    println!(
                        "# {}: {mode} differs: give it a set of its own",
                        test.name()
                    );
                }
            }
            for what in set.contradictions(&outcomes) {
                println!("# {}: {what}", test.name());
            }
        }
    }
}
