//! Adverse runs against searches that came to their end: what a search proves wasted no run may
//! catch, and what it catches the runs find as well, without a search.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use check::{Bounds, Fate, Options};

const RUNS: u64 = 200;

/// So few states that a search decides nothing.
const NO_SEARCH: Bounds = Bounds {
    states: 1,
    ..Bounds::SATURATED
};

#[test]
fn they_catch_what_a_search_catches_and_nothing_that_it_proves_wasted() {
    let mut tried = 0;
    for subject in subjects::all() {
        if !["mailbox", "barrier/all-to-all"].contains(&subject.name().as_str()) {
            continue;
        }
        subject.with(Options::default(), &mut |checker| {
            assert_eq!(checker.check(Bounds::SATURATED).finding, None);
            let proved = checker.omissions(Bounds::SATURATED);
            checker.run_twins(RUNS, 1);
            for (known, twin) in proved.iter().zip(checker.omissions(NO_SEARCH)) {
                assert_eq!(known.site, twin.site);
                let is_caught = |fate: &Fate| matches!(fate, Fate::Caught(_));
                let (searched, run) = (is_caught(&known.fate), is_caught(&twin.fate));
                assert_eq!(searched, run, "{}, {}", subject.name(), twin.site);
                tried += 1;
            }
        });
    }
    assert!(tried >= 20, "{tried} twins");
}
