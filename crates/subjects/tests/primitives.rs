//! Every primitive of the tree passes; what could be left out of it is on a list, with the reason.
//!
//! A flush that nobody needs costs a microsecond an operation through a switch; one that is missing
//! passes 80,000 of 80,000 stress tests, and the lock built on it hangs.

use std::collections::BTreeMap;

use check::{Bounds, Budget, Checkable, Fate, Options, Twin, Verdict, survey};
use serde::Deserialize;
use subjects::Setting;
use subjects::lock::{OfPeterson, Section};

/// Maintenance that the checker can do without, by subject.
const SURVIVORS: &str = include_str!("survivors.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivors {
    survivor: Vec<Survivor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    /// `mailbox`.
    subject: String,
    /// `fence of the post, mailbox.rs`.
    site: String,
    /// How often there.
    count: usize,
    /// `left out`, or what stands there instead.
    change: String,
    /// Why nothing goes wrong.
    why: String,
}

type Known = BTreeMap<(String, String, String), usize>;

fn listed(subjects: &[String]) -> Known {
    let all: Survivors = toml::from_str(SURVIVORS).expect("the list is well formed");
    let mut known = Known::new();
    for it in all.survivor {
        assert!(
            it.why.len() > 20,
            "{}: {} lacks a reason",
            it.subject,
            it.site
        );
        if subjects.contains(&it.subject) {
            known.insert((it.subject, it.site, it.change), it.count);
        }
    }
    known
}

fn add(known: &mut Known, subject: &str, twin: &Twin) {
    if matches!(twin.fate, Fate::Caught(_)) {
        return;
    }
    let site = twin.site.to_string();
    let (what, at) = site.split_once(" at ").expect("a site says where it is");
    let file = at.rsplit('/').next().expect("a path has a last part");
    let file = file.split(':').next().expect("a place has a file");
    let change = twin.weaker.map_or("left out", |how| how.name());
    let key = (
        subject.to_owned(),
        format!("{what}, {file}"),
        change.to_owned(),
    );
    *known.entry(key).or_default() += 1;
}

/// Checks these subjects with this many states a search, a quarter of that a twin.
fn hold(names: &[&str], states: usize, verdict: Verdict) {
    let mut chosen = subjects::all();
    chosen.retain(|subject| names.contains(&subject.name().as_str()));
    assert_eq!(chosen.len(), names.len(), "{names:?}");
    hold_of(&chosen, states, verdict);
}

fn hold_of(chosen: &[Box<dyn Checkable>], states: usize, verdict: Verdict) {
    let budget = Budget {
        states,
        ..Budget::default()
    };
    let mut found = Known::new();
    let mut checked = Vec::new();
    for subject in chosen {
        let name = subject.name();
        let survey = survey(&**subject, budget);
        let finding = survey.record.finding.as_ref();
        assert_eq!(survey.record.verdict, verdict, "{name}: {finding:?}");
        for twin in survey.omissions.iter().chain(&survey.weakenings) {
            add(&mut found, &name, twin);
        }
        checked.push(name);
    }
    let listed = listed(&checked);
    let differ: Vec<String> = found
        .iter()
        .filter(|(key, count)| listed.get(*key) != Some(count))
        .map(|((subject, site, change), count)| {
            format!(
                "[[survivor]]\nsubject = \"{subject}\"\nsite = \"{site}\"\ncount = {count}\n\
                 change = \"{change}\"\nwhy = \"\"\n"
            )
        })
        .collect();
    let gone: Vec<_> = listed
        .keys()
        .filter(|key| !found.contains_key(*key))
        .collect();
    assert!(
        differ.is_empty() && gone.is_empty(),
        "not in survivors.toml:\n{}\nno longer survivors: {gone:?}",
        differ.join("\n")
    );
}

#[test]
fn the_mailbox() {
    hold(&["mailbox", "mailbox@posted"], 200_000, Verdict::Pass);
}

#[test]
fn the_barrier() {
    let names = ["barrier/all-to-all", "barrier/two-level-1-host-2-lanes"];
    hold(&names, 200_000, Verdict::Pass);
}

#[test]
fn the_sequence_lock() {
    hold(&["seqlock-1-line"], 400_000, Verdict::Pass);
}

/// One acquisition each, which is enough to catch what can be caught: the list is that of two.
#[test]
fn the_lock_taken_once() {
    let once = Section::<OfPeterson>::new("peterson", Setting::once(2));
    hold_of(&[Box::new(once)], 300_000, Verdict::Pass);
}

// Minutes without optimization: `cargo test --release -p subjects --test primitives`.

#[test]
#[cfg(not(debug_assertions))]
fn the_barrier_of_a_posted_pod() {
    hold(&["barrier/all-to-all@posted"], 400_000, Verdict::Pass);
}

#[test]
#[cfg(not(debug_assertions))]
fn the_sequence_lock_of_a_posted_pod() {
    hold(&["seqlock-1-line@posted"], 400_000, Verdict::Pass);
}

/// Two hosts join in more states than anybody can visit: within these nothing is caught, so all
/// of its twins are listed as undecided. One that is caught has to leave the list.
#[test]
#[cfg(not(debug_assertions))]
fn the_rendezvous() {
    hold(&["rendezvous"], 4_000, Verdict::Bounded);
}

#[test]
#[cfg(not(debug_assertions))]
fn the_lock() {
    hold(&["lock/peterson"], 300_000, Verdict::Pass);
}

/// Where there are too many states for a test, the first of them; nothing is found that need not
/// be, and what must be found is.
#[test]
fn what_must_be_found_is_found_and_nothing_else() {
    for subject in subjects::all() {
        let expected = subject.expects();
        let states = if expected.is_empty() { 1_000 } else { 100_000 };
        subject.with(Options::default(), &mut |checker| {
            let own = checker.bounds();
            let report = checker.check(Bounds { states, ..own });
            let found = report.finding.as_ref().map(|finding| finding.kind);
            let right = match found {
                None => expected.is_empty(),
                Some(kind) => expected.contains(&kind),
            };
            assert!(right, "{}: {:?}", subject.name(), report.finding);
        });
    }
}

/// No primitive of `sync` is missing from the list.
#[test]
fn every_name_of_sync_is_checked() {
    let names: Vec<String> = subjects::all().iter().map(|it| it.name()).collect();
    let locks = sync::lock::Algorithm::ALL
        .iter()
        .map(|it| format!("lock/{it}"));
    let barriers = sync::barrier::BarrierAlgorithm::ALL.iter();
    let barriers = barriers.map(|it| format!("barrier/{it}"));
    let atomics = sync::atomic::Via::ALL
        .iter()
        .map(|it| format!("atomic/{it}"));
    for name in locks.chain(barriers).chain(atomics) {
        assert!(names.contains(&name), "{name} is not checked");
    }
    let mut once = names.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), names.len(), "a name stands twice: {names:?}");
}
