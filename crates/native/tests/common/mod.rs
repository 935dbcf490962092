//! Regions for tests, on a memfd.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use fabric::{Arena, Frozen, HostAtomics, Pod, Seat, Slice, Word};
use native::{Region, Request};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use sync::{Barrier, BarrierLayout};
use workload::Worker;

/// Freezes a range in a pod of one lane, as a workload does.
#[allow(dead_code, reason = "not every test that shares this module freezes")]
pub(crate) fn freeze<P: HostAtomics, T: Word>(port: &P, slice: Slice<T>) -> Frozen<T> {
    let (pod, seat) = (Pod::new(1, 1), Seat { host: 0, lane: 0 });
    let layout = BarrierLayout::lay_out(&mut Arena::new(), "test.barrier", pod);
    let barrier = Barrier::new(&layout, pod, seat, 0);
    Worker::new(port, pod, seat, &barrier, 0, 0)
        .freeze(slice, slice)
        .unwrap()
}

/// A memfd of some size, kept open so that its path stays valid.
pub(crate) struct Memfd(OwnedFd);

impl Memfd {
    pub(crate) fn new(bytes: u64) -> Self {
        // Inherited by children on purpose.
        let fd = memfd_create("native-test", MemfdFlags::empty()).unwrap();
        ftruncate(&fd, bytes).unwrap();
        Self(fd)
    }

    pub(crate) fn path(&self) -> PathBuf {
        // By process, not `self`: children of the test open it too.
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    pub(crate) fn map(&self, host: u32) -> Region {
        Region::open(&Request::new(self.path(), 0, host)).unwrap()
    }
}
