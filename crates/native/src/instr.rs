//! Cache instructions, fences and the clock: each function one instruction, or the few that make
//! it what its name says.
//!
//! None carries `nomem`: each is a compiler barrier for memory too, so that the order of the source
//! is the order of the instructions. What the processor may then reorder stands at
//! [`fabric::Port::fence`].

use std::arch::asm;

/// CLFLUSH.
///
/// # Safety
/// `at` lies in a live mapping.
#[inline(always)]
pub(crate) unsafe fn clflush(at: *const u8) {
    // SAFETY: the line is mapped (caller); a flush changes no value that this host could load.
    unsafe { asm!("clflush [{}]", in(reg) at, options(nostack, preserves_flags)) };
}

/// CLFLUSHOPT.
///
/// # Safety
/// `at` lies in a live mapping, and the CPU has the instruction ([`crate::Cpu`]).
#[inline(always)]
pub(crate) unsafe fn clflushopt(at: *const u8) {
    // SAFETY: as for `clflush`; that the CPU has it is the caller's promise.
    unsafe { asm!("clflushopt [{}]", in(reg) at, options(nostack, preserves_flags)) };
}

/// CLWB.
///
/// # Safety
/// `at` lies in a live mapping, and the CPU has the instruction ([`crate::Cpu`]).
#[inline(always)]
pub(crate) unsafe fn clwb(at: *const u8) {
    // SAFETY: as for `clflushopt`.
    unsafe { asm!("clwb [{}]", in(reg) at, options(nostack, preserves_flags)) };
}

/// MOVNTI of 4 bytes.
///
/// # Safety
/// `at` is aligned and lies in a live writable mapping.
#[inline(always)]
pub(crate) unsafe fn movnti_u32(at: *mut u8, value: u32) {
    // SAFETY: four bytes of a live writable mapping (caller); no Rust reference covers them.
    unsafe {
        asm!("movnti [{}], {:e}", in(reg) at, in(reg) value, options(nostack, preserves_flags));
    };
}

/// MOVNTI of 8 bytes.
///
/// # Safety
/// `at` is aligned and lies in a live writable mapping.
#[inline(always)]
pub(crate) unsafe fn movnti_u64(at: *mut u8, value: u64) {
    // SAFETY: eight bytes of a live writable mapping (caller); no Rust reference covers them.
    unsafe {
        asm!("movnti [{}], {}", in(reg) at, in(reg) value, options(nostack, preserves_flags));
    };
}

/// A non-temporal store of 1 or 2 bytes: MASKMOVDQU, the only instruction that has one.
///
/// MOVNTI knows words of 4 and 8 bytes only. A plain store instead would leave the bytes in the
/// cache, where a fence publishes nothing; a wider MOVNTI would overwrite neighbours. MASKMOVDQU
/// writes the selected bytes of 16 around the caches. It is slow (microcoded on AMD): workloads
/// that time `movnti` use 8-byte words.
///
/// # Safety
/// `at` is aligned to `bytes` (1 or 2) and lies in a live writable mapping whose start is a page's.
#[inline(always)]
pub(crate) unsafe fn store_nt_narrow(at: *mut u8, bytes: usize, value: u64) {
    // From the 16-byte boundary below, so that the access never reaches into another page.
    let within = at.addr() % 16;
    let base = at.wrapping_sub(within);
    let lanes = |pattern: u128| pattern << (8 * within);
    // The top bit of each mask byte selects it.
    let mask = lanes(if bytes == 1 { 0x80 } else { 0x8080 });
    let spread = lanes(u128::from(value));
    let (mask, spread) = (mask.to_le_bytes(), spread.to_le_bytes());
    // SAFETY: only the selected bytes are written, and they lie in the mapping (caller); the two
    // operands are 16 bytes of this frame.
    unsafe {
        asm!(
            "movdqu {value}, [{from}]",
            "movdqu {select}, [{by}]",
            "maskmovdqu {value}, {select}",
            from = in(reg) spread.as_ptr(),
            by = in(reg) mask.as_ptr(),
            in("rdi") base,
            value = out(xmm_reg) _,
            select = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    };
}

/// MOVDIR64B: one write of 64 bytes.
///
/// # Safety
/// `to` is aligned to 64 and lies in a live writable mapping; the CPU has the instruction.
#[inline(always)]
pub(crate) unsafe fn movdir64b(to: *mut u8, from: &[u64; 8]) {
    // SAFETY: a whole line of a live writable mapping (caller), read from a live array.
    unsafe {
        asm!(
            "movdir64b {}, [{}]",
            in(reg) to,
            in(reg) from.as_ptr(),
            options(nostack, preserves_flags),
        );
    };
}

/// SFENCE.
#[inline(always)]
pub(crate) fn sfence() {
    // SAFETY: a fence touches no memory.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

/// LFENCE.
#[inline(always)]
pub(crate) fn lfence() {
    // SAFETY: a fence touches no memory.
    unsafe { asm!("lfence", options(nostack, preserves_flags)) };
}

/// MFENCE.
#[inline(always)]
pub(crate) fn mfence() {
    // SAFETY: a fence touches no memory.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) };
}

/// PAUSE: tells the core that it spins.
#[inline(always)]
pub(crate) fn pause() {
    // SAFETY: a hint touches no memory.
    unsafe { asm!("pause", options(nostack, preserves_flags)) };
}

/// The TSC, serialized: RDTSCP waits until everything earlier has executed and every earlier load
/// is globally visible; LFENCE keeps everything later from starting before it has read.
///
/// It waits for no earlier *store or flush* to take effect (Intel SDM vol. 2, RDTSCP), so what is
/// timed ends with a full fence where it contains one of these.
#[inline(always)]
pub(crate) fn rdtscp() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: it writes three registers, all declared; `Cpu` and `TscClock` refuse CPUs without it.
    unsafe {
        asm!(
            "rdtscp",
            "lfence",
            out("eax") low,
            out("edx") high,
            out("ecx") _,
            options(nostack, preserves_flags),
        );
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Copies `blocks` times 16 bytes, ascending. The order and the width are why this is not `memcpy`:
/// that may go backwards, or byte by byte, and to the compiler it would be a data race.
///
/// # Safety
/// * Both ranges lie in live memory, `to` writable, and do not overlap.
/// * `ALIGNED_FROM`: `from` is a multiple of 16; otherwise `to` is. The side that other hosts share
///   is the aligned one: aligned 16-byte accesses are single on every CPU with AVX (Intel SDM vol.
///   3 sec. 9.1.1; AMD APM vol. 2 sec. 7.3.2), so no word in them is torn.
#[inline(always)]
pub(crate) unsafe fn copy_blocks<const ALIGNED_FROM: bool>(
    to: *mut u8,
    from: *const u8,
    blocks: usize,
) {
    let (mut to, mut from) = (to, from);
    let (turns, rest) = (blocks / 4, blocks % 4);
    if turns > 0 {
        // SAFETY: `turns` times 64 bytes of both ranges (caller).
        (to, from) = unsafe { copy_lines::<ALIGNED_FROM>(to, from, turns) };
    }
    for _ in 0..rest {
        // SAFETY: one of the blocks left in both ranges (caller).
        unsafe { copy_16::<ALIGNED_FROM>(to, from) };
        (to, from) = (to.wrapping_add(16), from.wrapping_add(16));
    }
}

/// Copies `blocks` times 16 bytes around the caches (MOVNTDQ), ascending.
///
/// # Safety
/// Both ranges lie in live memory, do not overlap, and `to` is writable and a multiple of 16.
#[inline(always)]
pub(crate) unsafe fn copy_blocks_nt(to: *mut u8, from: *const u8, blocks: usize) {
    for block in 0..blocks {
        // SAFETY: 16 bytes of both ranges (caller).
        unsafe {
            asm!(
                "movdqu {word}, [{from}]",
                "movntdq [{to}], {word}",
                from = in(reg) from.wrapping_add(block * 16),
                to = in(reg) to.wrapping_add(block * 16),
                word = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// Copies `turns` (at least 1) times 64 bytes and returns where both ranges go on.
///
/// # Safety
/// As for [`copy_blocks`].
#[inline(always)]
unsafe fn copy_lines<const ALIGNED_FROM: bool>(
    mut to: *mut u8,
    mut from: *const u8,
    turns: usize,
) -> (*mut u8, *const u8) {
    macro_rules! turn {
        ($load:literal, $store:literal) => {
            asm!(
                "2:",
                concat!($load, " {a}, [{from}]"),
                concat!($load, " {b}, [{from} + 16]"),
                concat!($load, " {c}, [{from} + 32]"),
                concat!($load, " {d}, [{from} + 48]"),
                concat!($store, " [{to}], {a}"),
                concat!($store, " [{to} + 16], {b}"),
                concat!($store, " [{to} + 32], {c}"),
                concat!($store, " [{to} + 48], {d}"),
                "add {from}, 64",
                "add {to}, 64",
                "dec {turns}",
                "jnz 2b",
                from = inout(reg) from,
                to = inout(reg) to,
                turns = inout(reg) turns => _,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack),
            )
        };
    }
    // SAFETY: both ranges hold the bytes, and the aligned side is aligned (caller).
    unsafe {
        if ALIGNED_FROM {
            turn!("movdqa", "movdqu");
        } else {
            turn!("movdqu", "movdqa");
        }
    }
    (to, from)
}

/// Copies 16 bytes.
///
/// # Safety
/// As for [`copy_blocks`].
#[inline(always)]
unsafe fn copy_16<const ALIGNED_FROM: bool>(to: *mut u8, from: *const u8) {
    macro_rules! once {
        ($load:literal, $store:literal) => {
            asm!(
                concat!($load, " {word}, [{from}]"),
                concat!($store, " [{to}], {word}"),
                from = in(reg) from,
                to = in(reg) to,
                word = out(xmm_reg) _,
                options(nostack, preserves_flags),
            )
        };
    }
    // SAFETY: both ranges hold 16 bytes, and the aligned side is aligned (caller).
    unsafe {
        if ALIGNED_FROM {
            once!("movdqa", "movdqu");
        } else {
            once!("movdqu", "movdqa");
        }
    }
}
