//! What values hold, and the look at every entry in the end.

use fabric::HostAtomics;
use workload::{Mismatch, Worker};

use crate::client::{Client, Mix, Op, key};
use crate::handle::Handle;
use crate::shape::MAX_VALUE_WORDS;

/// The value with which `key` is filled or overwritten by the writer `id`.
pub(super) fn value(id: u64, key: u64) -> [u64; MAX_VALUE_WORDS] {
    let mut words = [id; MAX_VALUE_WORDS];
    for (index, word) in words.iter_mut().enumerate().skip(1) {
        *word = derived(id, key, index);
    }
    words
}

/// Word `index` of such a value (Fibonacci hashing, Knuth vol. 3, 6.4).
fn derived(id: u64, key: u64, index: usize) -> u64 {
    (id ^ key.rotate_left(32))
        .wrapping_add(index as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether a value is one that somebody wrote under this key, whole.
pub(super) fn is_whole(key: u64, words: &[u64]) -> bool {
    let id = words[0];
    id != 0
        && words
            .iter()
            .enumerate()
            .skip(1)
            .all(|(index, &word)| word == derived(id, key, index))
}

/// Looks at every entry; how many there are.
pub(super) fn verify_entries<P: HostAtomics>(
    worker: &Worker<'_, P>,
    client: &Client<'_>,
    repetitions: u32,
) -> Result<u64, Mismatch> {
    let last = repetitions.saturating_sub(1);
    let mut inserted: Vec<u64> = Vec::new();
    if client.mix == Mix::D {
        for seat in worker.pod().seats() {
            let ops = client.operations(seat, last).into_iter();
            inserted.extend(ops.filter_map(|op| match op {
                Op::Insert(key) => Some(key),
                _ => None,
            }));
        }
        inserted.sort_unstable();
    }
    let expected = client.entries + inserted.len() as u64;
    let mut seen = vec![false; client.entries as usize + inserted.len()];
    let mut strange = None;
    let mut handle = Handle::open(client.table, worker.port(), worker.seat());
    let all = handle.for_each(|found, words| {
        let index = if found <= key(client.entries - 1) {
            Some(found as usize - 1)
        } else {
            let at = inserted.binary_search(&found).ok();
            at.map(|at| client.entries as usize + at)
        };
        let right = index.is_some_and(|index| !std::mem::replace(&mut seen[index], true));
        if !right || !is_whole(found, words) {
            strange = Some(found);
        }
    });
    let mismatch = |what: &str, found: String| Mismatch {
        what: what.to_owned(),
        expected: format!("{expected} entries, each whole, each once"),
        found,
    };
    all.map_err(|error| mismatch("the table's entries", error.to_string()))?;
    if let Some(key) = strange {
        return Err(mismatch(
            "an entry",
            format!("key {key:#x} is strange, torn or doubled"),
        ));
    }
    let entries = seen.iter().filter(|&&seen| seen).count() as u64;
    if entries != expected {
        return Err(mismatch("the table's entries", entries.to_string()));
    }
    Ok(entries)
}
