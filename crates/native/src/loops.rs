//! The trusted loops: what latency and bandwidth are measured with.
//!
//! They are assembly, so that no compiler decides what is measured: a chase is loads and nothing
//! else, a stream moves 32 bytes an instruction with no software prefetch. What they trust (links
//! that stay inside, arrays that are mapped) their callers have checked once, outside the clock.
//! `benches/loops.rs` sets them beside the generic forms.

use std::arch::asm;

use fabric::Stream;

use crate::instr;
use crate::word;

/// Bytes that one turn of a streaming loop moves in each array: two lines, in four vectors, so that
/// counting costs less than a tenth of the instructions.
const TURN_BYTES: usize = 128;

/// Follows `hops` links: each word at `base` plus an offset holds the next offset. One `mov` a hop.
///
/// # Safety
/// Every offset met is a multiple of 8 and lies in live memory that is accessed atomically, or from
/// outside Rust only.
#[inline(always)]
pub(crate) unsafe fn chase(base: *const u8, from: u64, hops: u64) -> u64 {
    let (turns, rest) = (hops / 64, hops % 64);
    let mut at = from;
    if turns > 0 {
        // SAFETY: aligned live words (caller); loads only.
        unsafe {
            asm!(
                ".p2align 5",
                "2:",
                ".rept 64",
                "mov {at}, [{base} + {at}]",
                ".endr",
                "dec {turns}",
                "jnz 2b",
                at = inout(reg) at,
                base = in(reg) base,
                turns = inout(reg) turns => _,
                options(nostack, readonly),
            );
        }
    }
    for _ in 0..rest {
        // SAFETY: as above.
        unsafe {
            asm!(
                "mov {at}, [{base} + {at}]",
                at = inout(reg) at,
                base = in(reg) base,
                options(nostack, readonly, preserves_flags),
            );
        }
    }
    at
}

/// One sweep over arrays of `len` words each, back to back from `start`, as [`Stream`] says.
///
/// `wide`: the CPU has AVX2. Without it the words go one by one.
///
/// # Safety
/// * `start` is a multiple of 64; `what.arrays() * len` words from it are live, writable, and
///   accessed atomically or from outside Rust only. `len` is a multiple of 8.
/// * `wide` is true only if the CPU has AVX2.
#[inline(always)]
pub(crate) unsafe fn stream(
    what: Stream,
    start: *mut u8,
    len: usize,
    value: u64,
    wide: bool,
) -> u64 {
    let bytes = len * 8;
    let done = if wide { bytes - bytes % TURN_BYTES } else { 0 };
    let mut sum = 0;
    if done > 0 {
        // SAFETY: `done` bytes of each array, a multiple of `TURN_BYTES`; AVX2 (caller).
        unsafe {
            match what {
                Stream::Read => sum = read(start, done),
                Stream::Write => write(start, done, value),
                Stream::NtWrite => write_nt(start, done, value),
                Stream::Copy => copy(start, start.add(bytes), done),
                Stream::Triad => triad(start, bytes, done),
            }
        }
    }
    for at in (done..bytes).step_by(8) {
        // SAFETY: words of the arrays (caller).
        sum = unsafe { one_word(what, start.add(at), bytes, value) }.wrapping_add(sum);
    }
    sum
}

/// One element of a sweep; the other arrays' words lie `bytes` and twice as many further on.
///
/// # Safety
/// Each word that the sweep touches is live, writable and aligned.
#[inline(always)]
unsafe fn one_word(what: Stream, at: *mut u8, bytes: usize, value: u64) -> u64 {
    // SAFETY: as the caller promises, for each access.
    unsafe {
        match what {
            Stream::Read => return word::load(at),
            Stream::Write => word::store(at, value),
            Stream::NtWrite => instr::movnti_u64(at, value),
            Stream::Copy => word::store(at, word::load::<u64>(at.add(bytes))),
            Stream::Triad => {
                let b: f64 = word::load(at.add(bytes));
                let c: f64 = word::load(at.add(2 * bytes));
                word::store(at, b + fabric::TRIAD_SCALAR * c);
            }
        }
    }
    0
}

/// Adds up `bytes` bytes of words in four accumulators, so that no addition waits for another.
///
/// Here and below registers are named, and all vector registers are declared lost: VZEROUPPER,
/// without which SSE code would run slower afterwards, changes the upper half of each.
///
/// # Safety
/// `bytes` is a multiple of [`TURN_BYTES`], not 0; the range is live; the CPU has AVX2.
#[inline(always)]
unsafe fn read(start: *const u8, bytes: usize) -> u64 {
    let mut sums = [0u64; 4];
    // SAFETY: loads within the range (caller), and a store to the array above.
    unsafe {
        asm!(
            "vpxor ymm0, ymm0, ymm0",
            "vpxor ymm1, ymm1, ymm1",
            "vpxor ymm2, ymm2, ymm2",
            "vpxor ymm3, ymm3, ymm3",
            ".p2align 5",
            "2:",
            "vpaddq ymm0, ymm0, [rsi + rax]",
            "vpaddq ymm1, ymm1, [rsi + rax + 32]",
            "vpaddq ymm2, ymm2, [rsi + rax + 64]",
            "vpaddq ymm3, ymm3, [rsi + rax + 96]",
            "add rax, 128",
            "jnz 2b",
            "vpaddq ymm0, ymm0, ymm1",
            "vpaddq ymm2, ymm2, ymm3",
            "vpaddq ymm0, ymm0, ymm2",
            "vmovdqu [rdi], ymm0",
            "vzeroupper",
            in("rsi") start.wrapping_add(bytes),
            in("rdi") sums.as_mut_ptr(),
            inout("rax") bytes.wrapping_neg() => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// # Safety
/// As for [`read`], and writable.
#[inline(always)]
unsafe fn write(start: *mut u8, bytes: usize, value: u64) {
    // SAFETY: stores within the range (caller).
    unsafe {
        asm!(
            "vmovq xmm0, rsi",
            "vpbroadcastq ymm0, xmm0",
            ".p2align 5",
            "2:",
            "vmovdqa [rdi + rax], ymm0",
            "vmovdqa [rdi + rax + 32], ymm0",
            "vmovdqa [rdi + rax + 64], ymm0",
            "vmovdqa [rdi + rax + 96], ymm0",
            "add rax, 128",
            "jnz 2b",
            "vzeroupper",
            in("rdi") start.wrapping_add(bytes),
            in("rsi") value,
            inout("rax") bytes.wrapping_neg() => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
}

/// # Safety
/// As for [`write`].
#[inline(always)]
unsafe fn write_nt(start: *mut u8, bytes: usize, value: u64) {
    // SAFETY: stores within the range (caller).
    unsafe {
        asm!(
            "vmovq xmm0, rsi",
            "vpbroadcastq ymm0, xmm0",
            ".p2align 5",
            "2:",
            "vmovntdq [rdi + rax], ymm0",
            "vmovntdq [rdi + rax + 32], ymm0",
            "vmovntdq [rdi + rax + 64], ymm0",
            "vmovntdq [rdi + rax + 96], ymm0",
            "add rax, 128",
            "jnz 2b",
            "vzeroupper",
            in("rdi") start.wrapping_add(bytes),
            in("rsi") value,
            inout("rax") bytes.wrapping_neg() => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
}

/// # Safety
/// As for [`write`], for both ranges, which do not overlap.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: loads and stores within the ranges (caller).
    unsafe {
        asm!(
            ".p2align 5",
            "2:",
            "vmovdqa ymm0, [rsi + rax]",
            "vmovdqa ymm1, [rsi + rax + 32]",
            "vmovdqa ymm2, [rsi + rax + 64]",
            "vmovdqa ymm3, [rsi + rax + 96]",
            "vmovdqa [rdi + rax], ymm0",
            "vmovdqa [rdi + rax + 32], ymm1",
            "vmovdqa [rdi + rax + 64], ymm2",
            "vmovdqa [rdi + rax + 96], ymm3",
            "add rax, 128",
            "jnz 2b",
            "vzeroupper",
            in("rdi") to.wrapping_add(bytes),
            in("rsi") from.wrapping_add(bytes),
            inout("rax") bytes.wrapping_neg() => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
}

/// Three arrays, each `apart` bytes after the one before; a multiplication and an addition, as
/// STREAM's source says, not a fused one, which rounds otherwise.
///
/// # Safety
/// As for [`write`], for the first `bytes` bytes of all three.
#[inline(always)]
unsafe fn triad(start: *mut u8, apart: usize, bytes: usize) {
    // SAFETY: loads and stores within the arrays (caller).
    unsafe {
        asm!(
            "vmovq xmm4, rcx",
            "vpbroadcastq ymm4, xmm4",
            ".p2align 5",
            "2:",
            "vmulpd ymm0, ymm4, [rdx + rax]",
            "vmulpd ymm1, ymm4, [rdx + rax + 32]",
            "vmulpd ymm2, ymm4, [rdx + rax + 64]",
            "vmulpd ymm3, ymm4, [rdx + rax + 96]",
            "vaddpd ymm0, ymm0, [rsi + rax]",
            "vaddpd ymm1, ymm1, [rsi + rax + 32]",
            "vaddpd ymm2, ymm2, [rsi + rax + 64]",
            "vaddpd ymm3, ymm3, [rsi + rax + 96]",
            "vmovapd [rdi + rax], ymm0",
            "vmovapd [rdi + rax + 32], ymm1",
            "vmovapd [rdi + rax + 64], ymm2",
            "vmovapd [rdi + rax + 96], ymm3",
            "add rax, 128",
            "jnz 2b",
            "vzeroupper",
            in("rdi") start.wrapping_add(bytes),
            in("rsi") start.wrapping_add(apart + bytes),
            in("rdx") start.wrapping_add(2 * apart + bytes),
            in("rcx") fabric::TRIAD_SCALAR.to_bits(),
            inout("rax") bytes.wrapping_neg() => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
}
