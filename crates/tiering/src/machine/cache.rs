//! The last-level cache: what it absorbs, no sampler of misses sees.

use super::tlb::{first_match, spread};

const WAYS: usize = 8;

/// A hashed set-associative cache of line numbers, least recently used out.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    /// Line number times two, plus one if dirty.
    sets: Vec<[u32; WAYS]>,
}

const NONE: u32 = u32::MAX;

/// What a lookup found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Hit,
    /// Fetched, and nothing was written back.
    Miss,
    /// Fetched over a dirty line, which goes back to memory.
    Evicted(u32),
}

impl Cache {
    pub(super) fn new(lines: usize) -> Self {
        Self {
            sets: vec![[NONE; WAYS]; lines.div_ceil(WAYS).max(1)],
        }
    }

    /// Looks a line up and fetches it if absent; a store makes it dirty.
    #[inline]
    pub(super) fn touch(&mut self, line: u32, store: bool) -> Lookup {
        let index = (u64::from(spread(line)) * self.sets.len() as u64) >> 32;
        let set = &mut self.sets[index as usize];
        let first = line << 1 | u32::from(store);
        // All ways are compared before any branch: where in the set a line is, nobody can guess.
        let found = first_match(set.map(|way| way >> 1), line);
        if found < WAYS {
            let dirty = set[found] & 1;
            set.copy_within(..found, 1);
            set[0] = first | dirty;
            return Lookup::Hit;
        }
        let victim = set[WAYS - 1];
        set.copy_within(..WAYS - 1, 1);
        set[0] = first;
        if victim & 1 == 1 && victim != NONE {
            Lookup::Evicted(victim >> 1)
        } else {
            Lookup::Miss
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dirty_line_is_written_back_once() {
        let mut cache = Cache::new(WAYS);
        assert_eq!(cache.touch(0, true), Lookup::Miss);
        for line in 1..WAYS as u32 {
            assert_eq!(cache.touch(line, false), Lookup::Miss);
        }
        assert_eq!(cache.touch(100, false), Lookup::Evicted(0));
        assert_eq!(cache.touch(101, false), Lookup::Miss); // line 1 was clean
        assert_eq!(cache.touch(100, false), Lookup::Hit);
    }
}
