//! Regions for tests, on a memfd.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use native::{Region, Request};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

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
