//! 128 bits that stand for a state.
//!
//! The set of visited states keeps fingerprints, not states: a search of a hundred million states
//! meets two with one fingerprint with a probability near 1e-23 (n^2 / 2^129), and memory is what
//! limits it. Folded multiplication, as in wyhash (Wang Yi), two independent streams of it.

use std::hash::{Hash, Hasher};

const ODD: [u64; 4] = [
    // Digits of the fractions of the square roots of 2, 3, 5 and 7, made odd.
    0x6a09_e667_f3bc_c909,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
];

struct Fold {
    a: u64,
    b: u64,
}

#[inline(always)]
fn fold(x: u64, by: u64) -> u64 {
    let product = u128::from(x) * u128::from(by);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for Fold {
    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.a = fold(self.a ^ word ^ ODD[0], ODD[1]);
        self.b = fold(self.b ^ word.rotate_left(31) ^ ODD[2], ODD[3]);
    }

    #[inline(always)]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    #[inline(always)]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline(always)]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
        }
    }

    fn finish(&self) -> u64 {
        self.a
    }
}

/// The fingerprint of `value`.
#[inline]
pub(crate) fn of<T: Hash>(value: &T) -> u128 {
    let mut fold = Fold {
        a: ODD[2],
        b: ODD[0],
    };
    value.hash(&mut fold);
    u128::from(fold.a) << 64 | u128::from(fold.b)
}

/// A hasher for maps whose keys are fingerprints already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Already(u64);

impl Hasher for Already {
    #[inline(always)]
    fn write_u128(&mut self, fingerprint: u128) {
        self.0 = fingerprint as u64;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are hashed with it")
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map from fingerprints.
pub(crate) type ByFingerprint<V> =
    std::collections::HashMap<u128, V, std::hash::BuildHasherDefault<Already>>;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn neighbours_differ_in_both_halves() {
        let all: Vec<u128> = (0..1000u64)
            .flat_map(|x| [of(&(x, 0u64)), of(&(0u64, x))])
            .collect();
        let high: HashSet<u64> = all.iter().map(|f| (f >> 64) as u64).collect();
        let low: HashSet<u64> = all.iter().map(|f| *f as u64).collect();
        // (0, 0) was made twice.
        assert_eq!((high.len(), low.len()), (1999, 1999));
    }
}
