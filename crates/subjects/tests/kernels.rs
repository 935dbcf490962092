//! The graph kernels under the checker: by chance, by priorities, and without each of their
//! maintenance operations.
//!
//! A run takes some thousand steps, so that a debug build tries few; `cargo test --release -p
//! subjects --test kernels` tries more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use check::{Bounds, Checker, Fate, Options, Strategy};

const RUNS: u64 = if cfg!(debug_assertions) { 3 } else { 100 };

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
        ] {
            let report = checker.walk_randomly(strategy, RUNS, 1);
            assert_eq!(report.finding, None, "{name}, {strategy:?}");
            assert_eq!(report.ends as u64, RUNS, "{name}, {strategy:?}");
        }
    });
}

/// Lanes are left only where they wait: what is left out is missed all the same.
#[test]
fn what_is_left_out_is_missed() {
    each(|name, checker| {
        let bounds = Bounds {
            environment: Some(0),
            preemptions: Some(0),
            states: 20_000,
        };
        let report = checker.check(bounds);
        assert_eq!(report.finding, None, "{name}");
        let twins = checker.omissions(bounds);
        let caught = |twin: &&check::Twin| matches!(twin.fate, Fate::Caught(_));
        let survivors: Vec<_> = twins.iter().filter(|twin| !caught(twin)).collect();
        eprintln!(
            "{name}: {} states, {} of {} caught; {survivors:#?}",
            report.states,
            twins.iter().filter(caught).count(),
            twins.len()
        );
    });
}
