//! The graph kernels under the checker: by chance, by priorities, and without each of their
//! maintenance operations.
//!
//! A run takes some thousand steps, so that a debug build tries few; `cargo test --release -p
//! subjects --test kernels` tries more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use check::{Bounds, Checker, Fate, Options, Recipe, Strategy, Twin};
use fabric::Maintenance;

const RUNS: u64 = if cfg!(debug_assertions) { 2 } else { 100 };

/// Kernels whose twins a debug build tries.
const DEBUG: [&str; 2] = ["kernel/bfs-direction-optimizing", "kernel/pagerank-pull"];

fn each(mut f: impl FnMut(&str, &mut Checker<'_>)) {
    for subject in subjects::kernels() {
        let name = subject.name();
        subject.with(Options::default(), &mut |checker| f(&name, checker));
    }
}

#[test]
fn single_runs_find_nothing() {
    each(|name, checker| {
        for strategy in [
            Strategy::Random,
            Strategy::Pct { depth: 3 },
            Strategy::Swarm,
            Strategy::Adverse,
        ] {
            let report = checker.walk_randomly(strategy, RUNS, 1);
            assert_eq!(report.finding, None, "{name}, {strategy:?}");
            assert_eq!(report.ends as u64, RUNS, "{name}, {strategy:?}");
        }
    });
}

/// A kernel's own flush of what it publishes.
fn publishes(twin: &Twin) -> bool {
    twin.site.kind == Maintenance::Flush
        && matches!(twin.site.recipe, Some(Recipe::Publish | Recipe::Post))
        && twin.site.caller.file().contains("graph/src/kernel")
}

/// Lanes are left only where they wait, and nothing unasked happens: every publish is missed even
/// so. Fences take a flush that is late, first observes a line that came unasked: `dsmark check
/// kernel` goes further.
#[test]
fn a_publish_that_is_left_out_is_missed() {
    let mut tried = 0;
    each(|name, checker| {
        // The others take minutes without optimization.
        if cfg!(debug_assertions) && !DEBUG.contains(&name) {
            return;
        }
        let bounds = Bounds {
            environment: Some(0),
            preemptions: Some(0),
            states: 20_000,
        };
        let report = checker.check(bounds);
        assert_eq!(report.finding, None, "{name}");
        for twin in checker
            .omissions(bounds)
            .iter()
            .filter(|twin| publishes(twin))
        {
            let caught = matches!(twin.fate, Fate::Caught(_));
            assert!(
                caught,
                "{name}: {} is not missed: {:?}",
                twin.site, twin.fate
            );
            tried += 1;
        }
    });
    assert!(tried > 0);
}
