//! Files with a few bytes changed, cut, doubled or dropped: never a panic, and what is accepted is
//! sound.

use proptest::prelude::*;
use proptest::sample::Index;

use graph::{Csr, Format, Progress, write};

use super::{file, is_sound, load, scratch};

#[derive(Clone, Debug)]
enum Change {
    Put(Index, u8),
    Drop(Index),
    Insert(Index, Vec<u8>),
    Cut(Index),
    Double(Index, Index),
}

fn changes() -> impl Strategy<Value = Change> {
    // Bytes that parsers look at, besides any.
    let byte = || {
        prop_oneof![
            any::<u8>(),
            prop::sample::select(&b" \t\r\n0129-.%#acp\xff\0"[..])
        ]
    };
    prop_oneof![
        4 => (any::<Index>(), byte()).prop_map(|(at, byte)| Change::Put(at, byte)),
        2 => any::<Index>().prop_map(Change::Drop),
        2 => (any::<Index>(), prop::collection::vec(byte(), 1..12))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Double(from, to)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let length = bytes.len();
        if length == 0 {
            break;
        }
        match change {
            Change::Put(at, byte) => bytes[at.index(length)] = *byte,
            Change::Drop(at) => drop(bytes.remove(at.index(length))),
            Change::Insert(at, more) => {
                let at = at.index(length);
                bytes.splice(at..at, more.iter().copied());
            }
            Change::Cut(at) => bytes.truncate(at.index(length)),
            Change::Double(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let part = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.extend(part);
            }
        }
    }
    bytes
}

proptest! {
    // More where PROPTEST_CASES asks for more.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1500)))]

    #[test]
    fn a_changed_file_is_refused_or_sound(
        format in prop::sample::select(&Format::ALL[..]),
        gzip: bool,
        directed: bool,
        edges in prop::collection::vec((0u32..12, 0u32..12), 0..20),
        changes in prop::collection::vec(changes(), 1..5),
    ) {
        let directory = scratch();
        let suffix = if gzip { ".gz" } else { "" };
        let name = format!("a.{}{suffix}", format.suffix());
        let whole = Csr::from_edges(12, &edges, directed && format != Format::Metis);
        let path = directory.path().join(&name);
        write(&whole, &path, &Progress::default()).unwrap();
        let bytes = changed(std::fs::read(&path).unwrap(), &changes);
        let path = file(&directory, &name, bytes);
        match load(&path, directed, 2) {
            Ok(graph) => is_sound(&graph),
            Err(error) => prop_assert!(error.to_string().contains(&name), "{}", error),
        }
    }

    /// Bytes that nobody wrote as a graph.
    #[test]
    fn any_bytes_are_refused_or_sound(
        format in prop::sample::select(&Format::ALL[..]),
        bytes in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let directory = scratch();
        let path = file(&directory, &format!("a.{}", format.suffix()), bytes);
        if let Ok(graph) = load(&path, true, 1) {
            is_sound(&graph);
        }
    }
}
