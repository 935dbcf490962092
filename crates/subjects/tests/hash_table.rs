//! The hash table at its smallest: proved where that can be done, and every flush that matters,
//! missed.

use check::{Bounds, Checker, Edits, Options, Subject, Verdict, WriteMode, with_checker};
use subjects::hash_table::{Locked, Owned};

fn with<S: Subject, R>(subject: &S, f: impl FnOnce(&mut Checker<'_>) -> R) -> R {
    with_checker(subject, Options::default(), f)
}

/// How many of its maintenance operations are caught when they are left out, and of how many.
fn caught<S: Subject>(subject: &S, bounds: Bounds, verdict: Verdict) -> (usize, usize) {
    with(subject, |checker| {
        let report = checker.check(bounds);
        assert_eq!(report.verdict, verdict, "{:?}", report.finding);
        eprintln!("{:?}", report.states);
        let sites = checker.sites();
        let mut caught = 0;
        for site in &sites {
            let report = checker.check_edited(&Edits::without(site.clone()), bounds);
            eprintln!(
                "{site}: {:?} {}",
                report.verdict,
                report.verdict == Verdict::Fail
            );
            caught += usize::from(report.verdict == Verdict::Fail);
        }
        (caught, sites.len())
    })
}

#[test]
fn what_an_owner_publishes_is_read_whole() {
    let subject = Owned::new(2, 1, WriteMode::Synchronous);
    eprintln!("{:?}", caught(&subject, Bounds::SATURATED, Verdict::Pass));
}

#[test]
fn a_value_that_lies_elsewhere_is_read_whole() {
    let subject = Owned::new(2, 2, WriteMode::Synchronous);
    eprintln!(
        "{:?}",
        caught(
            &subject,
            Bounds {
                states: 300_000,
                ..Bounds::SATURATED
            },
            Verdict::Pass
        )
    );
}

#[test]
fn two_hosts_put_into_one_bucket_and_lose_nothing() {
    let subject = Locked::new(WriteMode::Synchronous);
    eprintln!(
        "{:?}",
        caught(
            &subject,
            Bounds {
                states: 100_000,
                ..Bounds::default()
            },
            Verdict::Bounded
        )
    );
}
