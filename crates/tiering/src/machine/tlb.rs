//! A thread's translation buffer, shared by both page sizes.

const WAYS: usize = 4;

/// Which sets there are is hashed, so that a scaled number of entries need not be a power of two
/// and strides do not conflict.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    sets: Vec<[u32; WAYS]>,
}

/// Tag of no page: page numbers are below 2^31.
const NONE: u32 = u32::MAX;

impl Tlb {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            sets: vec![[NONE; WAYS]; entries.div_ceil(WAYS).max(1)],
        }
    }

    #[inline]
    fn set(&mut self, tag: u32) -> &mut [u32; WAYS] {
        let index = (u64::from(spread(tag)) * self.sets.len() as u64) >> 32;
        &mut self.sets[index as usize]
    }

    /// Looks a page up, least recently used out; whether it was there.
    #[inline]
    pub(super) fn touch(&mut self, tag: u32) -> bool {
        let set = self.set(tag);
        let found = first_match(*set, tag);
        let hit = found < WAYS;
        let [a, b, c, d] = *set;
        *set = match found {
            0 => return true,
            1 => [tag, a, c, d],
            2 => [tag, a, b, d],
            _ => [tag, a, b, c],
        };
        hit
    }

    /// Drops a page; whether it was there.
    pub(super) fn drop_page(&mut self, tag: u32) -> bool {
        let set = self.set(tag);
        let found = set.iter_mut().find(|way| **way == tag);
        if let Some(way) = found {
            *way = NONE;
            return true;
        }
        false
    }
}

/// A hash for tables that are indexed by line or page: by the golden section (Knuth, volume 3,
/// section 6.4), which spreads strides evenly.
#[inline]
pub(super) fn spread(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b1)
}

/// The first place that holds a word; their number if none does. Without a branch a place.
#[inline]
pub(super) fn first_match<const N: usize>(places: [u32; N], word: u32) -> usize {
    let bits = places.iter().enumerate();
    let bits = bits.fold(1_u32 << N, |bits, (place, &held)| {
        bits | u32::from(held == word) << place
    });
    bits.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_page_leaves() {
        let mut tlb = Tlb::new(4);
        for tag in 0..4 {
            assert!(!tlb.touch(tag));
        }
        assert!(tlb.touch(0));
        assert!(!tlb.touch(4)); // page 1 leaves
        assert!(tlb.touch(0));
        assert!(!tlb.touch(1));
    }

    #[test]
    fn a_dropped_page_must_be_walked_again() {
        let mut tlb = Tlb::new(16);
        tlb.touch(9);
        assert!(tlb.drop_page(9));
        assert!(!tlb.drop_page(9));
        assert!(!tlb.touch(9));
    }
}
