//! Values of several words: lines that each say which change wrote them.
//!
//! Word 0 of a line is a stamp, the other seven are the value. A writer stores the stamp before the
//! words, a reader loads it after them: if it still is the stamp that the bucket's entry names,
//! none of the words is newer, and the reader has observed the lines after the entry, so none is
//! older.

use fabric::{Lines, Port, Slice};

const WORDS_PER_LINE: usize = 8;
const PAYLOAD: usize = WORDS_PER_LINE - 1;

/// Places of a bucket: one more than slots.
pub(crate) const PLACES: usize = 4;

/// Words of region that a value of `words` words takes.
pub(crate) fn room(words: usize) -> usize {
    words.div_ceil(PAYLOAD) * WORDS_PER_LINE
}

/// One place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(pub(crate) Slice<u64>);

impl Place {
    /// The lines of a value of `words` words.
    pub(crate) fn lines(self, words: usize) -> Lines {
        self.0.range(0, room(words)).lines()
    }

    /// Stores a value. The caller publishes its lines before anybody may know of it.
    #[track_caller]
    pub(crate) fn write<P: Port>(self, port: &P, stamp: u64, value: &[u64]) {
        let mut line = 0;
        while line * PAYLOAD < value.len() {
            let from = line * PAYLOAD;
            let to = (from + PAYLOAD).min(value.len());
            // The stamp first: a line that has any of these words has it too.
            port.store(self.0.at(line * WORDS_PER_LINE), stamp);
            port.write_from(self.0.at(line * WORDS_PER_LINE + 1), &value[from..to]);
            line += 1;
        }
    }

    /// Loads a value that was observed; whether all of it is what `stamp` wrote.
    #[track_caller]
    pub(crate) fn read<P: Port>(self, port: &P, stamp: u64, value: &mut [u64]) -> bool {
        let words = value.len();
        let mut line = 0;
        while line * PAYLOAD < words {
            let from = line * PAYLOAD;
            let to = (from + PAYLOAD).min(words);
            port.read_into(self.0.at(line * WORDS_PER_LINE + 1), &mut value[from..to]);
            // The stamp last: whoever overwrites the line stores it first.
            if port.load(self.0.at(line * WORDS_PER_LINE)) != stamp {
                return false;
            }
            line += 1;
        }
        true
    }
}
