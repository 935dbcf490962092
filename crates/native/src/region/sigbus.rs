//! Says where a SIGBUS struck before the process dies of it.
//!
//! The kernel raises it when a page of a mapping has nothing behind it: a file truncated by someone
//! else, a full tmpfs, a device that shrank, poisoned memory. Without an explanation it looks like
//! a bug of the workload. The report names host and offset; then the default action runs.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Mappings that can be open at once; tests open several, a run opens one.
const SLOTS: usize = 64;

/// One mapping, readable by a signal handler: no locks, no pointers.
struct Slot {
    /// First address; 0 marks a free slot, 1 one that is being filled.
    start: AtomicUsize,
    bytes: AtomicUsize,
    host: AtomicU64,
}

const FREE: usize = 0;
const FILLING: usize = 1;

static SLOTS_IN_USE: [Slot; SLOTS] = [const {
    Slot {
        start: AtomicUsize::new(FREE),
        bytes: AtomicUsize::new(0),
        host: AtomicU64::new(0),
    }
}; SLOTS];

/// What handled SIGBUS before: the runtime's own detection of stack overflow.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Keeps a mapping known to the handler until it is dropped.
#[derive(Debug)]
pub(super) struct Watched {
    slot: usize,
}

impl Watched {
    /// Installs the handler if nobody has, and makes the mapping known to it.
    pub(super) fn new(start: usize, bytes: usize, host: u32) -> io::Result<Self> {
        install()?;
        let claim = |slot: &Slot| {
            let state = &slot.start;
            state
                .compare_exchange(FREE, FILLING, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let slot = SLOTS_IN_USE.iter().position(claim).ok_or_else(|| {
            io::Error::other(format!("{SLOTS} mappings are being watched already"))
        })?;
        SLOTS_IN_USE[slot].bytes.store(bytes, Ordering::Relaxed);
        SLOTS_IN_USE[slot]
            .host
            .store(u64::from(host), Ordering::Relaxed);
        // Last, and release: a handler that sees the address sees the rest.
        SLOTS_IN_USE[slot].start.store(start, Ordering::Release);
        Ok(Self { slot })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        SLOTS_IN_USE[self.slot].start.store(FREE, Ordering::Release);
    }
}

fn install() -> io::Result<()> {
    if PREVIOUS.get().is_some() {
        return Ok(());
    }
    let mut previous = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a zeroed sigaction is a valid one (no flags, empty mask); `on_sigbus` has the
    // signature that SA_SIGINFO asks for and calls async-signal-safe functions only; both
    // structures live across the call, which fills `previous` if it returns 0.
    let previous = unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_sigbus as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        if libc::sigaction(libc::SIGBUS, &raw const action, previous.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        previous.assume_init()
    };
    // Two threads may have raced here: only the first saw the handler from before, and a thread
    // that saw ours must not put it where the chain would call itself.
    if previous.sa_sigaction != on_sigbus as *const () as usize {
        PREVIOUS.get_or_init(|| previous);
    }
    Ok(())
}

/// Runs on the thread that touched the page. Async-signal-safe: atomics, `write`, `sigaction`, and
/// `raise`; no allocation, no locks, no formatting machinery.
extern "C" fn on_sigbus(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo, whose address SIGBUS fills.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    if let Some((offset, host)) = find(address) {
        report(offset, host, code);
        restore(None);
    } else {
        // Not ours: whoever was here before decides when the access faults again.
        restore(PREVIOUS.get());
    }
    // An asynchronous report of poisoned memory would not fault again. The signal is blocked until
    // this handler returns, so this one is delivered then, with the action restored above.
    // SAFETY: `raise` is async-signal-safe.
    unsafe { libc::raise(libc::SIGBUS) };
}

/// The offset and host of an address in a watched mapping.
fn find(address: usize) -> Option<(u64, u64)> {
    SLOTS_IN_USE.iter().find_map(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        let within = address.checked_sub(start)?;
        let inside = start > FILLING && within < slot.bytes.load(Ordering::Relaxed);
        inside.then(|| (within as u64, slot.host.load(Ordering::Relaxed)))
    })
}

fn restore(action: Option<&libc::sigaction>) {
    // SAFETY: a zeroed sigaction is SIG_DFL (0) without flags; the structure lives across the call.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        let action = action.unwrap_or(&default);
        libc::sigaction(libc::SIGBUS, ptr::from_ref(action), ptr::null_mut());
    }
}

/// Poisoned memory: the access consumed it, or the kernel found it (siginfo codes of Linux,
/// `BUS_MCEERR_AR` and `BUS_MCEERR_AO`).
const POISONED: [libc::c_int; 2] = [4, 5];

fn report(offset: u64, host: u64, code: libc::c_int) {
    let mut message = Message {
        bytes: [0; 256],
        len: 0,
    };
    message.text(b"dsmark: SIGBUS on host ");
    message.decimal(host);
    message.text(b" at region offset ");
    message.hexadecimal(offset);
    if POISONED.contains(&code) {
        message.text(b": the memory is poisoned; see the kernel log, and replace the device\n");
    } else {
        message.text(
            b": nothing is behind this page; was the file truncated, its filesystem filled, or \
              the device reconfigured during the run?\n",
        );
    }
    // SAFETY: `write` is async-signal-safe; the buffer lives across the call. A failed write leaves
    // nothing to do: the process is dying.
    unsafe {
        libc::write(
            libc::STDERR_FILENO,
            message.bytes.as_ptr().cast(),
            message.len,
        )
    };
}

/// Text on the stack; what does not fit is dropped.
struct Message {
    bytes: [u8; 256],
    len: usize,
}

impl Message {
    fn text(&mut self, text: &[u8]) {
        for &byte in text {
            if self.len < self.bytes.len() {
                self.bytes[self.len] = byte;
                self.len += 1;
            }
        }
    }

    fn decimal(&mut self, number: u64) {
        self.digits(number, 10);
    }

    fn hexadecimal(&mut self, number: u64) {
        self.text(b"0x");
        self.digits(number, 16);
    }

    fn digits(&mut self, mut number: u64, base: u64) {
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b"0123456789abcdef"[(number % base) as usize];
            number /= base;
            if number == 0 {
                break;
            }
        }
        self.text(&digits[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_the_mapping_that_has_them() {
        // Addresses that no mapping of the test process can have.
        let first = Watched::new(0xffff_0000_0000_0000, 4096, 3).unwrap();
        let second = Watched::new(0xffff_0000_0010_0000, 8192, 7).unwrap();
        assert_eq!(find(0xffff_0000_0000_0fff), Some((0xfff, 3)));
        assert_eq!(find(0xffff_0000_0000_1000), None);
        assert_eq!(find(0xffff_0000_0010_1234), Some((0x1234, 7)));
        drop(second);
        assert_eq!(find(0xffff_0000_0010_1234), None);
        drop(first);
    }

    #[test]
    fn numbers_are_written_without_allocation() {
        let mut message = Message {
            bytes: [0; 256],
            len: 0,
        };
        message.decimal(0);
        message.text(b" ");
        message.decimal(u64::MAX);
        message.text(b" ");
        message.hexadecimal(0xdead_0042);
        assert_eq!(
            &message.bytes[..message.len],
            b"0 18446744073709551615 0xdead0042"
        );
    }
}
