//! One word, and ranges of words, in memory that others write.
//!
//! Atomics, because a plain access that races is undefined; by size, because a word must never be
//! torn; each is one plain `mov`.
//!
//! The port promises TSO, so the compiler must keep the order too. Stores are release, which keeps
//! everything earlier before them. Loads are relaxed, not acquire: after an acquire load the
//! compiler must assume that the port itself has changed, and a chase would reload its base address
//! at each hop. LLVM reorders no two atomic accesses all the same (its scheduler treats each as
//! ordered, `MachineInstr::hasOrderedMemoryRef`); `tests/disassembly.rs` reads the machine code.
//! Where order matters without hardware coherence, a flush and a fence stand in between anyway.

#![allow(clippy::cast_ptr_alignment)] // words are aligned: a `Ptr` is, and regions start on a page

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence};

use fabric::{AtomicWord, Word};

use crate::instr;

/// Bytes that one vector access moves whole.
const BLOCK: usize = 16;

/// Loads one word.
///
/// # Safety
/// `at` is aligned to the word and lies in live memory that is accessed atomically or from outside
/// Rust only.
#[inline(always)]
pub(crate) unsafe fn load<T: Word>(at: *mut u8) -> T {
    // SAFETY: aligned, live, and free of plain accesses (caller).
    let bits = unsafe {
        match T::BYTES {
            1 => u64::from(AtomicU8::from_ptr(at).load(Ordering::Relaxed)),
            2 => u64::from(AtomicU16::from_ptr(at.cast()).load(Ordering::Relaxed)),
            4 => u64::from(AtomicU32::from_ptr(at.cast()).load(Ordering::Relaxed)),
            _ => AtomicU64::from_ptr(at.cast()).load(Ordering::Relaxed),
        }
    };
    T::from_bits(bits)
}

/// Loads one word, before everything that follows; also a plain `mov`.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub(crate) unsafe fn load_acquire<T: Word>(at: *mut u8) -> T {
    // SAFETY: as for `load`.
    let value = unsafe { load(at) };
    // With the relaxed load before it, an acquire for the compiler; x86 orders loads by itself.
    compiler_fence(Ordering::Acquire);
    value
}

/// Stores one word.
///
/// # Safety
/// As for [`load`], and writable.
#[inline(always)]
pub(crate) unsafe fn store<T: Word>(at: *mut u8, value: T) {
    let bits = value.to_bits();
    // SAFETY: aligned, live, writable, and free of plain accesses (caller).
    unsafe {
        match T::BYTES {
            1 => AtomicU8::from_ptr(at).store(bits as u8, Ordering::Release),
            2 => AtomicU16::from_ptr(at.cast()).store(bits as u16, Ordering::Release),
            4 => AtomicU32::from_ptr(at.cast()).store(bits as u32, Ordering::Release),
            _ => AtomicU64::from_ptr(at.cast()).store(bits, Ordering::Release),
        }
    }
}

/// Stores one word around the caches.
///
/// # Safety
/// As for [`store`], in a mapping that starts on a page.
#[inline(always)]
pub(crate) unsafe fn store_nt<T: Word>(at: *mut u8, value: T) {
    let bits = value.to_bits();
    // SAFETY: aligned, live and writable (caller).
    unsafe {
        match T::BYTES {
            4 => instr::movnti_u32(at, bits as u32),
            8 => instr::movnti_u64(at, bits),
            bytes => instr::store_nt_narrow(at, bytes, bits),
        }
    }
}

/// How a range of `len` words from an address splits: words up to the first 16-byte boundary,
/// blocks of 16 bytes, and words left over.
struct Split {
    head: usize,
    blocks: usize,
    tail_from: usize,
}

impl Split {
    #[inline(always)]
    fn of<T: Word>(address: usize, len: usize) -> Self {
        let to_boundary = (address.next_multiple_of(BLOCK) - address) / T::BYTES;
        let head = to_boundary.min(len);
        let per_block = BLOCK / T::BYTES;
        let blocks = (len - head) / per_block;
        Self {
            head,
            blocks,
            tail_from: head + blocks * per_block,
        }
    }
}

/// Loads `to.len()` words from shared memory.
///
/// # Safety
/// As for [`load`], for each word of the range.
#[inline(always)]
pub(crate) unsafe fn read_into<T: Word>(from: *mut u8, to: &mut [T]) {
    let split = Split::of::<T>(from.addr(), to.len());
    // SAFETY: every word lies in the range (caller); the blocks start on a 16-byte boundary of the
    // shared side, by `Split`, and `to` is private and as long.
    unsafe {
        for (index, word) in to[..split.head].iter_mut().enumerate() {
            *word = load(from.add(index * T::BYTES));
        }
        let skip = split.head * T::BYTES;
        let private = to.as_mut_ptr().cast::<u8>();
        instr::copy_blocks::<true>(private.add(skip), from.add(skip), split.blocks);
        let tail = from.add(split.tail_from * T::BYTES);
        for (index, word) in to[split.tail_from..].iter_mut().enumerate() {
            *word = load(tail.add(index * T::BYTES));
        }
    }
}

/// Stores `from.len()` words to shared memory, ascending.
///
/// # Safety
/// As for [`store`], for each word of the range.
#[inline(always)]
pub(crate) unsafe fn write_from<T: Word>(to: *mut u8, from: &[T]) {
    let split = Split::of::<T>(to.addr(), from.len());
    // SAFETY: as for `read_into`, with the shared side written.
    unsafe {
        for (index, &word) in from[..split.head].iter().enumerate() {
            store(to.add(index * T::BYTES), word);
        }
        let skip = split.head * T::BYTES;
        let private = from.as_ptr().cast::<u8>();
        instr::copy_blocks::<false>(to.add(skip), private.add(skip), split.blocks);
        let tail = to.add(split.tail_from * T::BYTES);
        for (index, &word) in from[split.tail_from..].iter().enumerate() {
            store(tail.add(index * T::BYTES), word);
        }
    }
}

/// Stores `from.len()` words to shared memory around the caches.
///
/// # Safety
/// As for [`store_nt`], for each word of the range.
#[inline(always)]
pub(crate) unsafe fn write_nt_from<T: Word>(to: *mut u8, from: &[T]) {
    let split = Split::of::<T>(to.addr(), from.len());
    // SAFETY: as for `write_from`.
    unsafe {
        for (index, &word) in from[..split.head].iter().enumerate() {
            store_nt(to.add(index * T::BYTES), word);
        }
        let skip = split.head * T::BYTES;
        let private = from.as_ptr().cast::<u8>();
        instr::copy_blocks_nt(to.add(skip), private.add(skip), split.blocks);
        let tail = to.add(split.tail_from * T::BYTES);
        for (index, &word) in from[split.tail_from..].iter().enumerate() {
            store_nt(tail.add(index * T::BYTES), word);
        }
    }
}

/// Puts `new` if the word is `current`. Sequentially consistent: a locked instruction, which is a
/// full fence.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
pub(crate) unsafe fn compare_exchange<T: AtomicWord>(
    at: *mut u8,
    current: T,
    new: T,
) -> Result<T, T> {
    const ORDER: Ordering = Ordering::SeqCst;
    let (current, new) = (current.to_bits(), new.to_bits());
    // SAFETY: aligned, live, writable, and free of plain accesses (caller); 4 or 8 bytes.
    let was = unsafe {
        if T::BYTES == 4 {
            let word = AtomicU32::from_ptr(at.cast());
            let was = word.compare_exchange(current as u32, new as u32, ORDER, ORDER);
            was.map(u64::from).map_err(u64::from)
        } else {
            AtomicU64::from_ptr(at.cast()).compare_exchange(current, new, ORDER, ORDER)
        }
    };
    was.map(T::from_bits).map_err(T::from_bits)
}

/// Adds, wrapping, and returns the value before; ordered as [`compare_exchange`].
///
/// # Safety
/// As for [`store`].
#[inline(always)]
pub(crate) unsafe fn fetch_add<T: AtomicWord>(at: *mut u8, add: T) -> T {
    let add = add.to_bits();
    // SAFETY: aligned, live, writable, and free of plain accesses (caller); 4 or 8 bytes.
    let was = unsafe {
        if T::BYTES == 4 {
            let word = AtomicU32::from_ptr(at.cast());
            u64::from(word.fetch_add(add as u32, Ordering::SeqCst))
        } else {
            AtomicU64::from_ptr(at.cast()).fetch_add(add, Ordering::SeqCst)
        }
    };
    T::from_bits(was)
}

/// Puts `value` and returns the one before; ordered as [`compare_exchange`].
///
/// # Safety
/// As for [`store`].
#[inline(always)]
pub(crate) unsafe fn swap<T: AtomicWord>(at: *mut u8, value: T) -> T {
    let value = value.to_bits();
    // SAFETY: aligned, live, writable, and free of plain accesses (caller); 4 or 8 bytes.
    let was = unsafe {
        if T::BYTES == 4 {
            let word = AtomicU32::from_ptr(at.cast());
            u64::from(word.swap(value as u32, Ordering::SeqCst))
        } else {
            AtomicU64::from_ptr(at.cast()).swap(value, Ordering::SeqCst)
        }
    };
    T::from_bits(was)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shared memory of a test: words behind a raw pointer, accessed through this module only.
    struct Shared(Vec<AtomicU64>);

    impl Shared {
        fn filled(bytes: usize) -> Self {
            let shared = Self((0..bytes / 8).map(|_| AtomicU64::new(0)).collect());
            for offset in 0..shared.0.len() * 8 {
                // SAFETY: within the buffer, one byte.
                unsafe { store(shared.at(offset), (offset * 31 % 251) as u8) };
            }
            shared
        }

        fn at(&self, offset: usize) -> *mut u8 {
            self.0.as_ptr().cast::<u8>().cast_mut().wrapping_add(offset)
        }

        fn bytes(&self) -> Vec<u8> {
            // SAFETY: within the buffer, one byte.
            (0..self.0.len() * 8)
                .map(|offset| unsafe { load(self.at(offset)) })
                .collect()
        }
    }

    fn both_ways<T: Word>(len: usize, offset: usize) {
        let shared = Shared::filled(4096);
        let before = shared.bytes();
        let start = offset * T::BYTES;
        let span = start..start + len * T::BYTES;
        let mut words = vec![T::default(); len];
        // SAFETY: at most 300 + 20 words of 8 bytes in a buffer of 4096.
        unsafe { read_into(shared.at(start), &mut words) };
        let read: Vec<u8> = words
            .iter()
            .flat_map(|word| word.to_bits().to_le_bytes()[..T::BYTES].to_vec())
            .collect();
        assert_eq!(read, before[span.clone()], "{len} words from word {offset}");

        let inverted: Vec<T> = words
            .iter()
            .map(|word| T::from_bits(!word.to_bits()))
            .collect();
        // SAFETY: as above.
        unsafe { write_from(shared.at(start), &inverted) };
        let expected: Vec<u8> = (0..4096)
            .map(|at| {
                if span.contains(&at) {
                    !before[at]
                } else {
                    before[at]
                }
            })
            .collect();
        assert!(shared.bytes() == expected, "{len} words to word {offset}");

        // SAFETY: as above; a lane sees its own non-temporal stores.
        unsafe { write_nt_from(shared.at(start), &words) };
        assert!(shared.bytes() == before, "{len} words around the caches");
    }

    #[test]
    fn bulk_copies_move_every_length_at_every_alignment() {
        for len in 0..=300 {
            for offset in [0, 1, 3, 7, 8, 13] {
                both_ways::<u8>(len, offset);
                both_ways::<u16>(len, offset);
                both_ways::<u32>(len, offset);
                both_ways::<u64>(len, offset);
            }
        }
    }

    #[test]
    fn non_temporal_stores_spare_the_neighbours() {
        fn check<T: Word>() {
            for index in 0..64 / T::BYTES {
                let shared = Shared::filled(128);
                let mut expected = shared.bytes();
                let value = T::from_bits(0x5a5b_5c5d_5e5f_6061);
                // SAFETY: within the first line of the buffer, aligned to the word.
                unsafe { store_nt(shared.at(index * T::BYTES), value) };
                instr::mfence();
                let bits = value.to_bits().to_le_bytes();
                expected[index * T::BYTES..][..T::BYTES].copy_from_slice(&bits[..T::BYTES]);
                assert_eq!(
                    shared.bytes(),
                    expected,
                    "word {index} of {} bytes",
                    T::BYTES
                );
            }
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }

    #[test]
    fn read_modify_writes_touch_their_width_only() {
        let shared = Shared(vec![AtomicU64::new(u64::MAX)]);
        // SAFETY: the one word of the buffer, and its low half.
        unsafe {
            assert_eq!(fetch_add(shared.at(0), 2u32), u32::MAX);
            assert_eq!(load::<u64>(shared.at(0)), 0xffff_ffff_0000_0001);
            assert_eq!(compare_exchange(shared.at(0), 7u32, 9), Err(1));
            assert_eq!(compare_exchange(shared.at(0), 1u32, 9), Ok(1));
            assert_eq!(swap(shared.at(0), 5u64), 0xffff_ffff_0000_0009);
            assert_eq!(load::<u64>(shared.at(0)), 5);
        }
    }
}
