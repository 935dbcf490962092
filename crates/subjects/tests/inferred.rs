//! The least maintenance that the sequence lock and Peterson's lock need is inferred: it is what
//! their sources argue for, what passes is exhausted, and nothing of it can be spared.

use std::path::Path;

use check::{Bounds, Checkable, Checker, Edits, Insertion, Options, Recipe, Verdict, WriteMode};
use subjects::Setting;
use subjects::lock::{OfPeterson, Section};
use subjects::record::Record;

/// Waits on this: everything that the memory may do, of every placement.
fn placements(checker: &mut Checker<'_>) -> Vec<Vec<Insertion>> {
    let own = checker.check(Bounds::SATURATED);
    assert_eq!(own.verdict, Verdict::Pass, "{}", checker.name());
    let inferred = checker.infer(Bounds::SATURATED);
    assert_eq!(inferred.verdict, Verdict::Pass, "{}", checker.name());
    inferred.placements
}

/// The verdict on the program with this maintenance and no other.
fn verdict(checker: &mut Checker<'_>, insert: &[Insertion]) -> Verdict {
    let edits = Edits {
        bare: true,
        insert: insert.to_vec(),
        ..Edits::default()
    };
    checker.check_edited(&edits, Bounds::SATURATED).verdict
}

/// `observe: let now = port.load(version);`, by the source.
fn told(put: &Insertion) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(put.at.file())).expect("the source is here");
    let line = text.lines().nth(put.at.line() as usize - 1);
    format!("{}: {}", put.recipe, line.expect("a line of it").trim())
}

/// Infers on `subject`: one placement, this one, and with less at any of its places it fails.
fn infers(subject: &dyn Checkable, expected: &[&str]) -> Vec<Insertion> {
    let mut found = Vec::new();
    subject.with(Options::default(), &mut |checker| {
        let all = placements(checker);
        let [placement] = &all[..] else {
            panic!("{}: {all:?}", checker.name());
        };
        let lines: Vec<String> = placement.iter().map(told).collect();
        assert_eq!(lines, expected, "{}", checker.name());
        for index in 0..placement.len() {
            for less in less_at(placement, index) {
                let name = checker.name().to_owned();
                assert_eq!(verdict(checker, &less), Verdict::Fail, "{name}: {less:?}");
            }
        }
        found.clone_from(placement);
    });
    found
}

/// A placement without one of its operations, and with the next weaker one in its place.
fn less_at(placement: &[Insertion], index: usize) -> Vec<Vec<Insertion>> {
    let mut without = placement.to_vec();
    without.remove(index);
    let weaker = match placement[index].recipe {
        Recipe::Confirm => Recipe::Publish,
        Recipe::Publish => Recipe::Post,
        Recipe::Post | Recipe::Observe => return vec![without],
    };
    let mut weakened = placement.to_vec();
    weakened[index].recipe = weaker;
    vec![without, weakened]
}

/// The checker, asked anew about another subject of the same source, does not refute it.
fn stands(subject: &dyn Checkable, placement: &[Insertion]) {
    subject.with(Options::default(), &mut |checker| {
        checker.check(Bounds::SATURATED);
        let name = checker.name().to_owned();
        assert_eq!(verdict(checker, placement), Verdict::Pass, "{name}");
    });
}

/// The three store fences of `SeqWriter::write`, each argued there; and of the reader's looks the
/// second and the third: the first may be old.
const OF_A_SEQUENCE_LOCK: [&str; 5] = [
    "post: port.write_posted(version, &[self.version + 1]);",
    "post: port.write_posted(place.start(), record);",
    "post: port.write_posted(version, &[self.version]);",
    "observe: port.read_into(place.start(), record);",
    "observe: let now = port.load(version);",
];

#[test]
fn a_sequence_lock_needs_three_posts_and_two_observes() {
    for writes in [WriteMode::Synchronous, WriteMode::Posted] {
        let placement = infers(&Record::new(1, 1, writes), &OF_A_SEQUENCE_LOCK);
        stands(&Record::new(2, 1, writes), &placement);
    }
}

/// Where a fence means arrival, the full fence of the observe that follows a post of the own line
/// waits for it. Where it does not, only a confirm puts the store before the look at the peer.
fn of_peterson_with(own: &str) -> Vec<String> {
    vec![
        "observe: let count = port.load(counter);".to_owned(),
        "post: port.store(counter, count + 1);".to_owned(),
        format!("{own}: port.store(own.at(WANTS), 1);"),
        "observe: let theirs = port.load(peer.at(TURN));".to_owned(),
        format!("{own}: port.store(own.at(TURN), self.turn);"),
        "observe: let left = port.load(peer.at(WANTS)) == 0;".to_owned(),
        "post: port.store(wants, 0);".to_owned(),
    ]
}

fn peterson(rounds: u64, writes: WriteMode) -> impl Checkable {
    let setting = Setting {
        rounds,
        writes,
        ..Setting::TWICE
    };
    Section::<OfPeterson>::new("peterson", setting)
}

#[test]
fn petersons_lock_needs_confirms_where_a_fence_does_not_mean_arrival() {
    let modes = [
        (WriteMode::Synchronous, "post"),
        (WriteMode::Posted, "confirm"),
    ];
    for (writes, own) in modes {
        let expected = of_peterson_with(own);
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let placement = infers(&peterson(1, writes), &expected);
        // Half a minute without optimization.
        if !cfg!(debug_assertions) {
            stands(&peterson(2, writes), &placement);
        }
    }
}
