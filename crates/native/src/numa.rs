//! On which NUMA nodes pages lie: asked from the kernel, not hoped for.

use std::collections::BTreeMap;
use std::io;
use std::ptr;

/// The most pages that are asked for in one place: enough to notice one per mille elsewhere.
const SAMPLES: usize = 4096;
/// Every page of a mapping is a multiple of this.
const PAGE_BYTES: usize = 4096;

/// Pages by node, of up to 4096 pages spread evenly over a range.
///
/// # Errors
/// What the kernel said to `move_pages`, or about the first page that it cannot place: pages that
/// this process has not touched are on no node.
pub fn nodes_of(start: *const u8, bytes: usize) -> io::Result<BTreeMap<i32, u64>> {
    let addresses: Vec<*const u8> = sampled_pages(start, bytes).collect();
    let mut status = vec![0i32; addresses.len()];
    // SAFETY: without target nodes nothing moves: the kernel reads `addresses` and writes as many
    // statuses; it dereferences none of the addresses.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            addresses.len(),
            addresses.as_ptr(),
            ptr::null::<i32>(),
            status.as_mut_ptr(),
            0,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut nodes = BTreeMap::new();
    for node in status {
        if node < 0 {
            return Err(io::Error::from_raw_os_error(-node));
        }
        *nodes.entry(node).or_default() += 1;
    }
    Ok(nodes)
}

/// The first bytes of the pages that [`nodes_of`] asks about.
pub(crate) fn sampled_pages(start: *const u8, bytes: usize) -> impl Iterator<Item = *const u8> {
    let pages = bytes.div_ceil(PAGE_BYTES);
    let step = pages.div_ceil(SAMPLES).max(1);
    (0..pages)
        .step_by(step)
        .map(move |page| start.wrapping_add(page * PAGE_BYTES))
}

/// The node of the CPU that this thread runs on.
///
/// # Errors
/// What the kernel said to `getcpu`.
pub fn own_node() -> io::Result<i32> {
    let (mut cpu, mut node) = (0u32, 0u32);
    // SAFETY: two integers of this frame, and no third argument (unused since Linux 2.6.24).
    let answer = unsafe {
        libc::syscall(
            libc::SYS_getcpu,
            &raw mut cpu,
            &raw mut node,
            ptr::null::<u8>(),
        )
    };
    if answer == 0 {
        Ok(node as i32)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_have_a_node_and_add_up() {
        let bytes = vec![1u8; 10 * PAGE_BYTES];
        let start = bytes
            .as_ptr()
            .map_addr(|address| address.next_multiple_of(PAGE_BYTES));
        let nodes = nodes_of(start, 9 * PAGE_BYTES).unwrap();
        assert_eq!(nodes.values().sum::<u64>(), 9);
        assert!(nodes.keys().all(|&node| node >= 0), "{nodes:?}");
        assert!(own_node().unwrap() >= 0);
    }
}
