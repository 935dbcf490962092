//! Which lines a cache level holds: set-associative, least recently used last.

/// No line. Tags are line numbers plus one, so that empty tags are zeroes: memory that the system
/// does not have to provide before a set is used.
const NOTHING: u32 = 0;

/// Tags that fit a cache line of this machine.
const TAGS_A_LINE: usize = 16;

/// Sets that are no power of two.
const HASHED: u32 = u32::MAX;

/// The most lines remembered as most recently used: as many as first levels have sets.
const RECENT: usize = 64;

/// The tags of one cache. They decide what an access costs and what must leave, never what is read.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Tags {
    /// Some tags that are the first of their sets, by tag modulo their number. The sets of a cache
    /// are spread over megabytes of this machine; most looks end here, in a few of its lines.
    recent: [u32; RECENT],
    /// Set by set, most recently used first. Made when first used: most lanes of a large pod never
    /// touch most levels.
    lines: Box<[u32]>,
    /// Where the first set begins, and how far apart they are, as a power of two: no set straddles
    /// two cache lines of this machine, so that a look is one miss there.
    first: u32,
    stride: u32,
    ways: u32,
    sets: u32,
    /// One less than the sets where they are a power of two, else [`HASHED`].
    mask: u32,
}

impl Tags {
    pub(crate) fn new(size_bytes: u64, ways: u32) -> Self {
        let ways = ways.max(1);
        let lines = (size_bytes / 64).max(u64::from(ways));
        let sets = (lines / u64::from(ways)).max(1) as u32;
        Self {
            recent: [NOTHING; RECENT],
            lines: Box::default(),
            first: 0,
            stride: ways.next_power_of_two().ilog2(),
            ways,
            sets,
            mask: if sets.is_power_of_two() {
                sets - 1
            } else {
                HASHED
            },
        }
    }

    /// How many lines it holds at most.
    pub(crate) fn capacity(&self) -> usize {
        self.sets as usize * self.ways as usize
    }

    #[cold]
    fn provide(&mut self) {
        let size = (self.sets as usize) << self.stride;
        // Zeroes are lazy only where they are asked for as such.
        self.lines = vec![NOTHING; size + TAGS_A_LINE].into();
        let aligned = self.lines.as_ptr().align_offset(4 * TAGS_A_LINE);
        self.first = aligned.min(TAGS_A_LINE) as u32;
    }

    #[inline(always)]
    fn start(&self, line: u32) -> usize {
        // Hashed for sizes that are no power of two (336 MiB), as shared levels really are.
        let set = if self.mask == HASHED {
            let mixed = line.wrapping_mul(0x9e37_79b1);
            ((u64::from(mixed) * u64::from(self.sets)) >> 32) as u32
        } else {
            line & self.mask
        };
        ((set as usize) << self.stride) + self.first as usize
    }

    #[inline(always)]
    fn set(&self, line: u32) -> Option<&[u32]> {
        let start = self.start(line);
        self.lines.get(start..start + self.ways as usize)
    }

    #[inline(always)]
    fn is_recent(&self, line: u32) -> bool {
        self.recent[(line + 1) as usize % RECENT] == line + 1
    }

    /// Whether the line is here; it becomes the most recently used.
    #[inline(always)]
    pub(crate) fn touch(&mut self, line: u32) -> bool {
        self.is_recent(line) || self.touch_other(line)
    }

    fn touch_other(&mut self, line: u32) -> bool {
        let set = self.set(line).unwrap_or_default();
        let Some(way) = set.iter().position(|&tag| tag == line + 1) else {
            return false;
        };
        self.put_first(line, way);
        true
    }

    /// Moves the lines before `way` one back, over what is there.
    fn put_first(&mut self, line: u32, way: usize) {
        let start = self.start(line);
        let set = &mut self.lines[start..=start + way];
        let second = &mut self.recent[set[0] as usize % RECENT];
        if *second == set[0] {
            *second = NOTHING;
        }
        set.copy_within(..way, 1);
        set[0] = line + 1;
        self.recent[(line + 1) as usize % RECENT] = line + 1;
    }

    /// Whether the line is here; nothing moves.
    #[inline]
    pub(crate) fn holds(&self, line: u32) -> bool {
        if self.is_recent(line) {
            return true;
        }
        // Four at a time, which become one comparison of vectors.
        let (fours, rest) = self.set(line).unwrap_or_default().as_chunks::<4>();
        let in_four = |four: &[u32; 4]| four.map(|tag| tag == line + 1) != [false; 4];
        fours.iter().any(in_four) || rest.contains(&(line + 1))
    }

    /// Whether bringing the line in would drive another out.
    pub(crate) fn is_full_for(&self, line: u32) -> bool {
        let set = self.set(line);
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

    /// The same for a line that is not here.
    pub(crate) fn insert_new(&mut self, line: u32) -> Option<u32> {
        if self.lines.is_empty() {
            self.provide();
        }
        let set = self.set(line).expect("every line has a set");
        let gap = set.iter().position(|&tag| tag == NOTHING);
        let last = gap.unwrap_or(set.len() - 1);
        let victim = set[last];
        self.put_first(line, last);
        (victim != NOTHING).then(|| victim - 1)
    }

    /// Takes a line out, if it is here.
    pub(crate) fn remove(&mut self, line: u32) {
        let set = self.set(line).unwrap_or_default();
        let Some(way) = set.iter().position(|&tag| tag == line + 1) else {
            return;
        };
        let start = self.start(line);
        let set = &mut self.lines[start..start + self.ways as usize];
        set.copy_within(way + 1.., way);
        set[set.len() - 1] = NOTHING;
        let recent = &mut self.recent[(line + 1) as usize % RECENT];
        if *recent == line + 1 {
            *recent = NOTHING;
        }
    }
}

/// How many lanes of a host may have a line in their first levels: one count for all lines of one
/// remainder, so that a low count is certain, and mostly spares a look at every lane.
#[derive(Debug, Default)]
pub(crate) struct Residents {
    counts: Box<[u32]>,
}

impl Residents {
    /// For `lines` first-level lines of all lanes together: twice as many counts, at least.
    pub(crate) fn new(lines: usize) -> Self {
        Self {
            counts: vec![0; (2 * lines).next_power_of_two()].into(),
        }
    }

    #[inline(always)]
    fn place(&self, line: u32) -> usize {
        line as usize & (self.counts.len() - 1)
    }

    pub(crate) fn add(&mut self, line: u32) {
        let place = self.place(line);
        self.counts[place] += 1;
    }

    pub(crate) fn remove(&mut self, line: u32) {
        let place = self.place(line);
        self.counts[place] -= 1;
    }

    /// No fewer than the lanes that have the line.
    #[inline(always)]
    pub(crate) fn at_most(&self, line: u32) -> u32 {
        self.counts[self.place(line)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// One set, so that the order of use is a list.
        #[test]
        fn a_set_is_a_list(steps in prop::collection::vec((0u32..4, 0u32..12), 1..200)) {
            // Lines whose tags share a place in the short list of the most recent.
            let (mut tags, mut list) = (Tags::new(5 * 64, 5), Vec::new());
            for (step, line) in steps {
                let line = line / 2 + line % 2 * RECENT as u32;
                let here = list.iter().position(|&other| other == line);
                prop_assert_eq!(tags.holds(line), here.is_some());
                match step {
                    0 => tags.remove(line),
                    1 => prop_assert_eq!(tags.touch(line), here.is_some()),
                    _ => {
                        let victim = (here.is_none() && list.len() == 5).then(|| list[4]);
                        prop_assert_eq!(tags.insert(line), victim);
                    }
                }
                if let Some(place) = here {
                    list.remove(place);
                }
                if step > 1 || step == 1 && here.is_some() {
                    list.insert(0, line);
                    list.truncate(5);
                }
            }
        }
    }

    #[test]
    fn a_low_count_is_certain() {
        let mut residents = Residents::new(5);
        (0..40).for_each(|line| residents.add(line));
        (8..40).for_each(|line| residents.remove(line));
        for line in 0..32 {
            assert_eq!(residents.at_most(line), u32::from(line % 16 < 8));
        }
    }

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
