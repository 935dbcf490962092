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
        let sites = checker.sites();
        let mut without = |site| checker.check_edited(&Edits::without(site), bounds).verdict;
        let caught = sites.iter().filter(|&&site| without(site) == Verdict::Fail);
        (caught.count(), sites.len())
    })
}

/// What may be left out are two fences, since a lone line is looked for until it has come, and the
/// flush and the fence of the owner's look at what others ask of it: here nobody asks.
#[test]
fn what_an_owner_publishes_is_read_whole() {
    let subject = Owned::new(2, 1, WriteMode::Synchronous);
    let found = caught(&subject, Bounds::SATURATED, Verdict::Pass);
    assert_eq!(found, (2, 6));
}

/// The value must be at the device before what tells of it: but for the last fence, after which
/// nothing follows, and the owner's look at what nobody asks of it, everything is needed. These are
/// undecided within so many states.
#[test]
fn a_value_that_lies_elsewhere_is_read_whole() {
    let subject = Owned::new(2, 2, WriteMode::Synchronous);
    let bounds = Bounds {
        states: 300_000,
        ..Bounds::SATURATED
    };
    assert_eq!(caught(&subject, bounds, Verdict::Pass), (5, 8));
}

/// Not caught within so many states: three fences of the lock, and the table's own flush of a line
/// that it publishes anyway.
#[test]
fn two_hosts_put_into_one_bucket_and_lose_nothing() {
    let subject = Locked::new(WriteMode::Synchronous);
    let bounds = Bounds {
        states: 100_000,
        ..Bounds::default()
    };
    assert_eq!(caught(&subject, bounds, Verdict::Bounded), (11, 15));
}
