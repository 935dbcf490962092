//! The graph kernels under the checker: by chance, by priorities, and without each of their
//! maintenance operations.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use check::{Bounds, Fate, Options, Strategy};

const RUNS: u64 = 40;

fn each(mut f: impl FnMut(&str, &mut check::Checker<'_>)) {
    for subject in subjects::kernels() {
        subject.with(Options::default(), &mut |checker| {
            f(&subject.name(), checker)
        });
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
            eprintln!(
                "{name} {strategy:?}: {} ends {} steps",
                report.ends, report.steps
            );
            assert_eq!(report.finding, None, "{name}, {strategy:?}");
            assert_eq!(report.ends as u64, RUNS, "{name}");
        }
    });
}

#[test]
fn what_is_left_out_is_missed() {
    each(|name, checker| {
        let bounds = Bounds {
            states: 20_000,
            ..checker.bounds()
        };
        let report = checker.check(bounds);
        eprintln!(
            "{name}: {} states {} ends {} steps {:?}",
            report.states, report.ends, report.steps, report.verdict
        );
        assert_eq!(report.finding, None, "{name}");
        for twin in checker.omissions(bounds) {
            if !matches!(twin.fate, Fate::Caught(_)) {
                eprintln!("   {}: {:?}", twin.site, twin.fate);
            }
        }
    });
}
