//! Each litmus file against the model, against its source, and, where a textbook machine exists,
//! against that.
//!
//! Exact sets that a program computed and a program compares prove only that it is deterministic.
//! So each file carries what its source says, written by hand, and the x86-TSO files are computed a
//! second time by the store-buffer machine of Owens, Sarkar and Sewell (TPHOLs 2009), which shares
//! nothing with the model.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::Path;

use check::Litmus;
use check::litmus::{self, FILES};
use fabric::{Coherence, Fence};
use model::WriteMode;
use model::explore::Instr;

#[test]
fn every_file_is_built_in() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus");
    let on_disk: BTreeSet<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let built_in: BTreeSet<String> = FILES
        .iter()
        .map(|(name, _)| format!("{name}.toml"))
        .collect();
    assert_eq!(on_disk, built_in);
    assert!(FILES.len() >= 60, "{} files", FILES.len());
}

#[test]
fn every_file_says_why_and_who_says_so() {
    for test in litmus::all() {
        let name = test.name();
        assert!(test.about().ends_with(['.', '?']), "{name}: about");
        assert!(test.source().len() > 10, "{name}: source");
        for set in test.sets() {
            assert!(set.why().ends_with('.'), "{name}: why");
            let said = set.allowed().len() + set.forbidden().len();
            assert!(said > 0, "{name}: nothing from the source");
        }
    }
}

/// Half of the files, so that two cores share the work.
fn half(parity: usize) -> impl Iterator<Item = Litmus> {
    let all = litmus::all().into_iter().enumerate();
    all.filter_map(move |(index, test)| (index % 2 == parity).then_some(test))
}

fn agrees_with_the_model(test: &Litmus) {
    for writes in test.modes() {
        let set = test.set(writes).unwrap();
        let found = test.outcomes(writes);
        assert_eq!(&found, set.exact(), "{} ({writes})", test.name());
        let against = set.contradictions(&found);
        assert!(
            against.is_empty(),
            "{} ({writes}): {against:?}",
            test.name()
        );
    }
}

#[test]
fn the_model_gives_the_exact_sets() {
    half(0).for_each(|test| agrees_with_the_model(&test));
}

#[test]
fn the_model_gives_the_exact_sets_of_the_other_half() {
    half(1).for_each(|test| agrees_with_the_model(&test));
}

/// A claim that does not hold is noticed: the test above can fail.
#[test]
fn a_wrong_claim_is_a_contradiction() {
    let text = FILES.iter().find(|(name, _)| *name == "tso-sb").unwrap().1;
    let turned = text.replace("allowed = ", "forbidden = ");
    let test = Litmus::parse("tso-sb", &turned).unwrap();
    let set = test.set(WriteMode::Synchronous).unwrap();
    let said = set.contradictions(set.exact());
    assert_eq!(said[0], "r0=0 r1=0 is forbidden, and possible");
    let test = Litmus::parse("tso-sb", &text.replace("r0=0 r1=0", "r0=7")).unwrap();
    let set = test.set(WriteMode::Synchronous).unwrap();
    assert_eq!(
        set.contradictions(set.exact()),
        ["r0=7 is allowed, and impossible"]
    );
}

/// The abstract machine of x86-TSO: a FIFO of stores a thread, one memory, and nothing else.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Tso {
    memory: BTreeMap<u64, u64>,
    buffers: Vec<VecDeque<(u64, u64)>>,
    done: Vec<usize>,
    loads: Vec<Vec<u64>>,
}

/// Nothing where an instruction is none of that machine's.
fn tso_outcomes(test: &Litmus) -> Option<BTreeSet<Vec<u64>>> {
    let threads = test.threads();
    let count = threads.len();
    let mut open = vec![Tso {
        memory: BTreeMap::new(),
        buffers: vec![VecDeque::new(); count],
        done: vec![0; count],
        loads: vec![Vec::new(); count],
    }];
    let (mut seen, mut outcomes) = (HashSet::new(), BTreeSet::new());
    while let Some(state) = open.pop() {
        let mut moved = false;
        for (thread, code) in threads.iter().enumerate() {
            let mut drained = state.clone();
            if let Some((at, value)) = drained.buffers[thread].pop_front() {
                drained.memory.insert(at, value);
                open.extend(seen.insert(drained.clone()).then_some(drained));
                moved = true;
            }
            let Some(&instr) = code.instrs.get(state.done[thread]) else {
                continue;
            };
            let mut next = state.clone();
            next.done[thread] += 1;
            match instr {
                Instr::Store(at, value) => next.buffers[thread].push_back((at.offset(), value)),
                Instr::Load(at) => {
                    let own = state.buffers[thread].iter().rev();
                    let own = own.clone().find(|(its, _)| *its == at.offset());
                    let shared = state.memory.get(&at.offset());
                    let value = own.map(|(_, value)| value).or(shared);
                    next.loads[thread].push(value.copied().unwrap_or(0));
                }
                Instr::Fence(Fence::Full) if !state.buffers[thread].is_empty() => continue,
                // Stores leave a FIFO in order, loads execute in order: nothing is left to do.
                Instr::Fence(_) => {}
                _ => return None,
            }
            open.extend(seen.insert(next.clone()).then_some(next));
            moved = true;
        }
        if !moved {
            let watched = test.watched().iter();
            let memory = watched.map(|at| state.memory.get(&at.offset()).copied().unwrap_or(0));
            outcomes.insert(test.row(&state.loads, &memory.collect::<Vec<_>>()));
        }
    }
    Some(outcomes)
}

#[test]
fn one_domain_is_the_machine_of_x86_tso() {
    let mut compared = 0;
    for test in litmus::all() {
        if test.pod().hosts > 1 && test.coherence() == Coherence::Software {
            continue;
        }
        if let Some(outcomes) = tso_outcomes(&test) {
            let set = test.set(WriteMode::Synchronous).unwrap();
            assert_eq!(set.exact(), &outcomes, "{}", test.name());
            compared += 1;
        }
    }
    assert!(compared >= 30, "only {compared} tests are of that machine");
}

/// The programs that the model and the simulator are tested with have a file each.
#[test]
fn programs_of_the_model_have_files() {
    let files = litmus::all();
    for (name, program) in model::litmus::all(WriteMode::Synchronous) {
        let same =
            |test: &&Litmus| test.threads() == program.threads && test.watched() == program.watched;
        assert!(files.iter().any(|test| same(&test)), "{name}");
    }
}

/// The page on the model names tests of each rule: in the last column, by their files.
#[test]
fn the_page_on_the_model_names_tests_that_exist() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MODEL.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rules = text.lines().filter(|row| row.matches('|').count() == 6);
    let numbered = |row: &&str| {
        row[1..]
            .trim_start()
            .starts_with(|it: char| it.is_ascii_digit())
    };
    let (mut rows, mut names) = (0, 0);
    for row in rules.filter(numbered) {
        rows += 1;
        let column = row.rsplit('|').nth(1).unwrap();
        for name in column.split('`').skip(1).step_by(2) {
            // Unit tests of the model stand there too, by their path.
            assert!(
                name.contains("::") || litmus::find(name).is_some(),
                "{name}"
            );
            names += 1;
        }
    }
    assert_eq!(rows, 13, "rules");
    assert!(names > 30, "{names} tests are named");
}

/// Each mistake in a file names the file, the key, and the remedy.
#[test]
fn mistakes_are_named() {
    let text = FILES.iter().find(|(name, _)| *name == "tso-mp").unwrap().1;
    let table = [
        ("about =", "abuot =", "unknown field `abuot`"),
        (
            "name = \"tso-mp\"",
            "name = \"mp\"",
            "name = \"mp\": call it as the file",
        ),
        ("r0 = y", "r0 = w", "threads: \"r0 = w\" is no instruction"),
        (
            "host 0 | host 0",
            "host 0 | host 2",
            "the head \"host 2\": write `host 0`",
        ),
        ("x = 1  |", "x = 1  | y = 1 |", "has 3 columns, the head 2"),
        ("r1 = x", "r0 = x", "threads: \"r0\" is loaded twice"),
        (
            "outcome = \"r0 r1\"",
            "outcome = \"r0 r2\"",
            "outcome: \"r2\" is neither",
        ),
        ("[\"y\"]", "[\"x\"]", "lines: \"x\" has two places"),
        (
            "\"r0=1 r1=0\"",
            "\"r0=1 r9=0\"",
            "forbidden: \"r0=1 r9=0\" does not fit",
        ),
        ("\"0 0\"", "\"0\"", "exact: \"0\" does not fit"),
        (
            "[\"synchronous\"]",
            "[\"prompt\"]",
            "writes: write mode \"prompt\" is none of",
        ),
        ("[\"synchronous\"]", "[]", "no set names a mode"),
    ];
    for (right, wrong, expected) in table {
        assert!(text.contains(right), "{right}: the file has changed");
        let error = Litmus::parse("tso-mp", &text.replacen(right, wrong, 1)).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("tso-mp: "), "{said}");
        assert!(said.contains(expected), "{said}\nlacks {expected}");
    }
}
