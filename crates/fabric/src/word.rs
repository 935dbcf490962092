//! What one instruction can load or store.

use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
}

/// A value that one aligned load or store moves whole: 1, 2, 4 or 8 bytes, any bit pattern valid.
///
/// Sealed: a substrate may copy its bytes without asking what they mean.
pub trait Word:
    Copy + Default + PartialEq + Debug + Send + Sync + sealed::Sealed + 'static
{
    /// Its size, a power of two up to 8.
    const BYTES: usize = size_of::<Self>();
    /// Its bit pattern, zero-extended.
    fn to_bits(self) -> u64;
    /// The value of the low `BYTES` bytes of `bits`.
    fn from_bits(bits: u64) -> Self;
}

/// A word that read-modify-write instructions work on.
pub trait AtomicWord: Word + Eq {
    /// Addition modulo the word's size.
    #[must_use]
    fn wrapping_add(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl sealed::Sealed for $int {}
        impl Word for $int {
            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as u64 & (u64::MAX >> (64 - 8 * size_of::<$int>()))
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $int
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl sealed::Sealed for f32 {}
impl Word for f32 {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(f32::to_bits(self))
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}

impl sealed::Sealed for f64 {}
impl Word for f64 {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

impl AtomicWord for u32 {
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        u32::wrapping_add(self, other)
    }
}

impl AtomicWord for u64 {
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        u64::wrapping_add(self, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip_without_sign_leaking() {
        assert_eq!(i32::from_bits((-5i32).to_bits()), -5);
        assert_eq!((-1i8).to_bits(), 0xff);
        assert_eq!(
            <f32 as Word>::from_bits(Word::to_bits(-0.5f32)).to_bits(),
            (-0.5f32).to_bits()
        );
    }
}
