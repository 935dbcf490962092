//! The mailbox, proved; and each of its flushes and fences, missed.
//!
//! The first version of a mailbox that people write flushes the flag and forgets the payload; it
//! passes every test on one machine.

use check::{
    Bounds, Checker, Edits, Kind, Options, Recipe, Site, Verdict, WriteMode, with_checker,
};
use subjects::mail::Mail;

fn with_mail<R>(mail: &Mail, f: impl FnOnce(&mut Checker<'_>) -> R) -> R {
    with_checker(mail, Options::default(), f)
}

/// Not within bounds: everything that the memory may do.
#[test]
fn the_mailbox_passes_in_every_mode_that_keeps_fence_order() {
    for writes in [WriteMode::Synchronous, WriteMode::Posted] {
        for (messages, words) in [(1, 1), (2, 2), (3, 9)] {
            let mail = Mail::new(messages, words, writes);
            let report = with_mail(&mail, |checker| checker.check(Bounds::SATURATED));
            assert_eq!(
                report.verdict,
                Verdict::Pass,
                "{writes}, {messages} messages"
            );
        }
    }
}

/// Each of these, left out, is named with the line that lacks it.
#[test]
fn each_missing_operation_is_named() {
    let mail = Mail::new(2, 2, WriteMode::Synchronous);
    with_mail(&mail, |checker| {
        checker.check(Bounds::SATURATED);
        let mut caught = 0;
        for site in checker.sites() {
            let report = checker.check_explained(&Edits::without(site), Bounds::SATURATED);
            if let Some(finding) = report.finding {
                caught += 1;
                let named: u32 = line_in(&finding.place);
                let missing = site.caller.line();
                // An observe stands above the load that it serves.
                assert!(
                    (missing..=missing + 1).contains(&named),
                    "{site}: {finding}"
                );
                let cure = finding
                    .cure
                    .expect("one operation is missing, and one cures");
                let recipe = site.recipe.expect("the mailbox uses recipes");
                assert!(cure.starts_with(recipe.name()), "{site}: {cure}");
            }
        }
        // The fences of the polls and of the last operations are not needed for being right: what
        // they wait for happens in the end.
        assert_eq!((caught, checker.sites().len()), (8, 12));
    });
}

fn line_in(place: &str) -> u32 {
    let (_, line) = place.rsplit_once(':').expect("file:line");
    line.parse().expect("a number")
}

/// The lucky schedule: nothing is evicted or fetched unasked, and the payload happens to be right.
#[test]
fn one_lucky_schedule_is_enough_for_a_stale_read() {
    let mail = Mail::new(2, 1, WriteMode::Synchronous);
    with_mail(&mail, |checker| {
        checker.check(Bounds::SATURATED);
        let observe = |site: &Site| {
            site.recipe == Some(Recipe::Observe) && site.kind == fabric::Maintenance::Flush
        };
        let payload = checker.sites().into_iter().rfind(observe);
        let twin = Edits::without(payload.expect("the receiver observes its payload last"));
        let nothing_unasked = Bounds {
            environment: Some(0),
            ..Bounds::default()
        };
        let report = checker.check_explained(&twin, nothing_unasked);
        assert_eq!(report.finding.map(|f| f.kind), Some(Kind::StaleRead));
    });
}

/// A post after each of its three writes, an observe before each of its three looks: what the
/// source has, and nothing less.
#[test]
fn the_cheapest_maintenance_is_what_the_source_has() {
    for writes in [WriteMode::Synchronous, WriteMode::Posted] {
        let mail = Mail::new(2, 2, writes);
        let inferred = with_mail(&mail, |checker| {
            checker.check(Bounds::SATURATED);
            checker.infer(Bounds::SATURATED)
        });
        assert_eq!(inferred.verdict, Verdict::Pass);
        let [placement] = &inferred.placements[..] else {
            panic!("{writes}: {} placements", inferred.placements.len());
        };
        let count = |recipe| placement.iter().filter(|put| put.recipe == recipe).count();
        assert_eq!(placement.len(), 6);
        assert_eq!((count(Recipe::Post), count(Recipe::Observe)), (3, 3));
    }
}
