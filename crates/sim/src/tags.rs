//! Which lines a cache level holds: set-associative, least recently used last.

/// No line. Tags are line numbers plus one, so that empty tags are zeroes: memory that the system
/// does not have to provide before a set is used.
const NOTHING: u32 = 0;

/// The tags of one cache. They decide what an access costs and what must leave, never what is read.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    sets: u32,
    /// One less than the sets, where they are a power of two.
    mask: Option<u32>,
    ways: usize,
    /// Set by set, most recently used first.
    lines: Vec<u32>,
}

impl Tags {
    pub(crate) fn new(size_bytes: u64, ways: u32) -> Self {
        let lines = (size_bytes / 64).max(u64::from(ways.max(1)));
        let sets = (lines / u64::from(ways.max(1))).max(1) as u32;
        Self {
            sets,
            mask: sets.is_power_of_two().then(|| sets - 1),
            ways: ways.max(1) as usize,
            // Grown when first used: most lanes of a large pod never touch most sets.
            lines: Vec::new(),
        }
    }

    #[inline(always)]
    fn start(&self, line: u32) -> usize {
        // Hashed for sizes that are no power of two (336 MiB), as shared levels really are.
        let hash = if let Some(mask) = self.mask {
            line & mask
        } else {
            let mixed = line.wrapping_mul(0x9e37_79b1);
            ((u64::from(mixed) * u64::from(self.sets)) >> 32) as u32
        };
        hash as usize * self.ways
    }

    /// Whether the line is here; it becomes the most recently used.
    #[inline(always)]
    pub(crate) fn touch(&mut self, line: u32) -> bool {
        let start = self.start(line);
        match self.lines.get(start) {
            Some(&first) if first == line + 1 => true,
            Some(_) => self.touch_other(start, line),
            None => false,
        }
    }

    fn touch_other(&mut self, start: usize, line: u32) -> bool {
        let set = &mut self.lines[start..start + self.ways];
        let Some(way) = set.iter().position(|&tag| tag == line + 1) else {
            return false;
        };
        set.copy_within(..way, 1);
        set[0] = line + 1;
        true
    }

    /// Whether the line is here; nothing moves.
    #[inline]
    pub(crate) fn holds(&self, line: u32) -> bool {
        let start = self.start(line);
        let Some(set) = self.lines.get(start..start + self.ways) else {
            return false;
        };
        // Four at a time, which become one comparison of vectors.
        let (fours, rest) = set.as_chunks::<4>();
        let in_four = |four: &[u32; 4]| four.map(|tag| tag == line + 1) != [false; 4];
        fours.iter().any(in_four) || rest.contains(&(line + 1))
    }

    /// Whether bringing the line in would drive another out.
    pub(crate) fn is_full_for(&self, line: u32) -> bool {
        let start = self.start(line);
        let set = self.lines.get(start..start + self.ways);
        set.is_some_and(|set| !set.contains(&NOTHING) && !set.contains(&(line + 1)))
    }

    /// Brings a line in as the most recently used; returns the line that it drives out.
    #[inline(always)]
    pub(crate) fn insert(&mut self, line: u32) -> Option<u32> {
        if self.touch(line) {
            return None;
        }
        self.insert_new(line)
    }

    fn insert_new(&mut self, line: u32) -> Option<u32> {
        if self.lines.is_empty() {
            self.lines = vec![NOTHING; self.sets as usize * self.ways];
        }
        let start = self.start(line);
        let set = &mut self.lines[start..start + self.ways];
        let gap = set.iter().position(|&tag| tag == NOTHING);
        let last = gap.unwrap_or(set.len() - 1);
        let victim = set[last];
        set.copy_within(..last, 1);
        set[0] = line + 1;
        (victim != NOTHING).then(|| victim - 1)
    }

    /// Takes a line out, if it is here.
    pub(crate) fn remove(&mut self, line: u32) {
        let start = self.start(line);
        if start < self.lines.len() {
            let set = &mut self.lines[start..start + self.ways];
            if let Some(way) = set.iter().position(|&tag| tag == line + 1) {
                set.copy_within(way + 1.., way);
                let last = set.len() - 1;
                set[last] = NOTHING;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_leaves() {
        let mut tags = Tags::new(4 * 64, 4);
        for line in [1, 2, 3, 4] {
            assert_eq!(tags.insert(line), None);
        }
        assert!(tags.is_full_for(5) && !tags.is_full_for(4));
        assert!(tags.touch(1));
        assert_eq!(tags.insert(5), Some(2));
        tags.remove(5);
        assert!(!tags.touch(5) && !tags.holds(5) && tags.holds(1));
        assert!(!tags.is_full_for(5));
        assert_eq!(tags.insert(6), None);
        assert_eq!(tags.insert(7), Some(3));
    }
}
