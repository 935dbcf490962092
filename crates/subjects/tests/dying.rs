//! What each lock does when a host dies: the table of `sync::lock`, "When a host dies".
//!
//! Any of two hosts may stop at any step, and what it has in its cache is lost or written back,
//! line by line. Patience is long: a host that gave up could not go on. Every survivor ends, and it
//! is known how.

use std::collections::BTreeSet;

use check::{Bounds, Options, Verdict, ends};
use subjects::Setting;
use subjects::lock::dying::{Dying, Fate, Stage};
use sync::lock::{
    Bakery, BakeryFastPath, BurnsLynch, LamportFast, Lock, PetersonTournament, Szymanski,
    YangAnderson,
};

/// What became of survivors where one host died, by where it was.
fn fates<L: Lock>(name: &'static str) -> BTreeSet<(Stage, Fate)> {
    let dying = Dying::<L>::new(name, Setting::once(2));
    // One crash, and nothing else that need not happen: what the memory may do besides is
    // `dsmark check`'s.
    let bounds = Bounds {
        environment: Some(1),
        ..Bounds::SATURATED
    };
    let mut fates = BTreeSet::new();
    let report = ends(&dying, Options::default(), bounds, |end| {
        let outcome = dying.outcome(end);
        for &stage in &outcome.died {
            fates.extend(outcome.lived.iter().map(|&fate| (stage, fate)));
        }
    });
    assert_ne!(
        report.verdict,
        Verdict::Fail,
        "{name}: {:?}",
        report.finding
    );
    fates
}

/// One that dies inside stops the other, and so may one that dies while it waits, or right behind a
/// release: a post is not awaited, and may be lost with its host. Whoever waits finds out by its
/// patience, and leaves the lock as the table says.
fn stops_where_it_should<L: Lock>(name: &'static str, gives_up: &[Fate]) {
    let fates = fates::<L>(name);
    let of = |stage: Stage| -> BTreeSet<Fate> {
        let here = fates.iter().filter(|(at, _)| *at == stage);
        here.map(|(_, fate)| *fate).collect()
    };
    assert!(
        gives_up.iter().all(|it| of(Stage::Holding).contains(it)),
        "{name}: {fates:?}"
    );
    assert!(
        gives_up.iter().all(|it| of(Stage::Waiting).contains(it)),
        "{name}: {fates:?}"
    );
    let mut either = BTreeSet::from([Fate::Acquired]);
    either.extend(gives_up);
    assert!(of(Stage::Released).is_subset(&either), "{name}: {fates:?}");
    assert!(
        of(Stage::Released).contains(&Fate::Acquired),
        "{name}: {fates:?}"
    );
}

#[test]
fn register_locks_stop_behind_a_dead_holder() {
    stops_where_it_should::<Bakery>("bakery", &[Fate::Withdrawn]);
    stops_where_it_should::<BakeryFastPath>("bakery-fast-path", &[Fate::Withdrawn]);
    stops_where_it_should::<BurnsLynch>("burns-lynch", &[Fate::Withdrawn]);
    stops_where_it_should::<PetersonTournament>("peterson-tournament", &[Fate::Withdrawn]);
    stops_where_it_should::<YangAnderson>("yang-anderson", &[Fate::Withdrawn]);
    stops_where_it_should::<Szymanski>("szymanski", &[Fate::Queued]);
    stops_where_it_should::<LamportFast>("lamport-fast", &[Fate::Withdrawn, Fate::Queued]);
}
