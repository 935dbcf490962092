//! Waiting for a while by the lane's own clock.

use fabric::{Gone, HostAtomics, Ticks, wait_until};

/// Stays for `ns` nanoseconds, as a critical section or a late arrival does.
pub(crate) fn stay<P: HostAtomics>(port: &P, ns: u64) -> Result<(), Gone> {
    if ns == 0 {
        return Ok(());
    }
    let ticks = ns as f64 * port.clock().ticks_per_ns;
    let end = Ticks(port.now().0 + ticks as u64);
    wait_until(port, || (port.now() >= end).then_some(()))
}
