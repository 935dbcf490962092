//! The region of a run: the path that was given, or an anonymous one.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

/// Anonymous regions are sized in these: a huge page.
const GRAIN_BYTES: u64 = 2 << 20;

/// Where a run's hosts find the region, and what keeps it alive.
pub(crate) struct Pool {
    /// What a host opens.
    pub(crate) path: PathBuf,
    /// An anonymous region lives as long as this and the hosts that inherited it.
    _anonymous: Option<OwnedFd>,
}

impl Pool {
    /// The region at `path`.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self {
            path,
            _anonymous: None,
        }
    }

    /// An anonymous region of at least `bytes`, which host processes inherit: no name that could be
    /// left behind.
    pub(crate) fn anonymous(bytes: u64) -> Result<Self> {
        let bytes = bytes.next_multiple_of(GRAIN_BYTES);
        // Without close-on-exec: that is how hosts inherit it.
        let file = memfd_create("dsmark-region", MemfdFlags::empty())
            .context("cannot create an anonymous region; give a file with --device")?;
        ftruncate(&file, bytes)
            .with_context(|| format!("cannot size an anonymous region to {bytes} bytes"))?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Self {
            path,
            _anonymous: Some(file),
        })
    }
}
