//! Values that a lane has read, kept in its own DRAM.
//!
//! A read still observes the bucket: its entry names the change that wrote the value, so a kept
//! value whose entry has not moved is the value. What is saved is the way to the value itself,
//! which is most of the bytes. Each key has one set, by its hash; the newer value takes it.

use fabric::{HostAtomics, Port, Private};

use crate::layout::Table;

/// Words of a set before the value: key, bucket, entry.
const TAG: usize = 3;

/// One lane's cache.
pub(crate) struct Cache<'a, P: HostAtomics + 'a> {
    words: <P as Port>::Private<'a, u64>,
    set_words: usize,
    sets: usize,
}

impl<'a, P: HostAtomics> Cache<'a, P> {
    pub(crate) fn new(table: &Table, port: &'a P) -> Self {
        let sets = table.config.cached_values as usize;
        let set_words = TAG + table.config.value_words;
        Self {
            words: port.private(sets * set_words, 0),
            set_words,
            sets,
        }
    }

    /// Copies the kept value, if it is the one that `entry` of `bucket` names.
    pub(crate) fn get(&self, key: u64, bucket: u64, entry: u64, value: &mut [u64]) -> bool {
        let set = self.set(key);
        let kept = [
            self.words.get(set),
            self.words.get(set + 1),
            self.words.get(set + 2),
        ];
        // The bucket too: a key that was removed and came back elsewhere may have the same entry.
        if kept != [key, bucket, entry] {
            return false;
        }
        for (index, word) in value.iter_mut().enumerate() {
            *word = self.words.get(set + TAG + index);
        }
        true
    }

    pub(crate) fn put(&mut self, key: u64, bucket: u64, entry: u64, value: &[u64]) {
        let set = self.set(key);
        for (index, &word) in [key, bucket, entry].iter().chain(value).enumerate() {
            self.words.set(set + index, word);
        }
    }

    /// Fibonacci hashing (Knuth vol. 3, 6.4): not by the table's own, whose high bits are the
    /// bucket.
    fn set(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (hash as usize & (self.sets - 1)) * self.set_words
    }
}
