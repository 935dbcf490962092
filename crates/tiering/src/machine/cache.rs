//! The last-level cache: what it absorbs, no sampler of misses sees.

use super::tlb::spread;

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
        let index = (spread(line) * self.sets.len() as u64) >> 32;
        let set = &mut self.sets[index as usize];
        let dirty = u32::from(store);
        if set[0] >> 1 == line {
            set[0] |= dirty;
            return Lookup::Hit;
        }
        if let Some(way) = set.iter().position(|&way| way >> 1 == line) {
            let found = set[way] | dirty;
            set.copy_within(0..way, 1);
            set[0] = found;
            return Lookup::Hit;
        }
        let victim = set[WAYS - 1];
        set.copy_within(0..WAYS - 1, 1);
        set[0] = line << 1 | dirty;
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
