//! Why a path could not become a region.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Each variant names the operand and the remedy.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the fields are the operands that the messages name
pub enum RegionError {
    /// Nothing at the path.
    #[error(
        "{path} does not exist; create it (on tmpfs: truncate -s SIZE PATH), or list device nodes \
             with `daxctl list`"
    )]
    Missing { path: PathBuf },
    /// The device serves as ordinary memory of the kernel.
    #[error(
        "{path} is in system-ram mode (driver kmem): the kernel uses it as ordinary memory; \
             run `daxctl reconfigure-device -m devdax {name}` after its memory is offline"
    )]
    SystemRam { path: PathBuf, name: String },
    /// No permission.
    #[error(
        "no permission to read and write {path}: {source}; give your group access with a udev rule \
             (SUBSYSTEM==\"dax\", GROUP=\"...\", MODE=\"0660\") or chown the file"
    )]
    Permission { path: PathBuf, source: io::Error },
    /// Opening failed otherwise.
    #[error("cannot open {path}: {source}; name a /dev/daxX.Y node or a regular file")]
    Open { path: PathBuf, source: io::Error },
    /// A directory.
    #[error("{path} is a directory; name a file in it")]
    Directory { path: PathBuf },
    /// A device or pipe that is no memory.
    #[error("{path} is a {what}, not memory; name a /dev/daxX.Y node or a regular file")]
    NotMemory { path: PathBuf, what: &'static str },
    /// Nothing in it.
    #[error("{path} is empty; give it a size with `truncate -s SIZE PATH`")]
    Empty { path: PathBuf },
    /// Smaller than the layout.
    #[error("{path} has {has} usable bytes, but {needed} are needed; {remedy}")]
    TooSmall {
        path: PathBuf,
        needed: u64,
        has: u64,
        remedy: &'static str,
    },
    /// The filesystem cannot back it.
    #[error(
        "{path}: {needed} more bytes are needed, but its filesystem has {free} free; enlarge it \
             (mount -o remount,size=...), free some, or ask for less"
    )]
    NoSpace {
        path: PathBuf,
        needed: u64,
        free: u64,
    },
    /// A file in memory larger than what is left of memory.
    #[error(
        "{path}: {needed} more bytes are needed, but this machine has {free} bytes of memory \
             available; free some, or ask for less"
    )]
    NoMemory {
        path: PathBuf,
        needed: u64,
        free: u64,
    },
    /// The filesystem is not DAX.
    #[error(
        "{path} is on a filesystem that does not map memory directly (MAP_SYNC: {source}; \
             type {magic:#x}); mount one with -o dax=always, or use tmpfs as a stand-in"
    )]
    NotDax {
        path: PathBuf,
        magic: u64,
        source: io::Error,
    },
    /// sysfs did not describe the device.
    #[error(
        "cannot read {attribute} of the DAX device {path}: {source}; is sysfs mounted, and does \
             the kernel have CONFIG_DEV_DAX?"
    )]
    Sysfs {
        path: PathBuf,
        attribute: PathBuf,
        source: io::Error,
    },
    /// Examining the open file failed.
    #[error("cannot examine {path} ({call}): {source}; check that its filesystem is healthy")]
    Examine {
        path: PathBuf,
        call: &'static str,
        source: io::Error,
    },
    /// The mapping failed.
    #[error(
        "cannot map {path}, {bytes} bytes at offset 0: {source}; check `ulimit -v`, and for \
             hugetlbfs the pool in /proc/sys/vm/nr_hugepages"
    )]
    Map {
        path: PathBuf,
        bytes: u64,
        source: io::Error,
    },
    /// The SIGBUS reporter could not be installed, or has no slot left.
    #[error("cannot watch {path} for SIGBUS: {source}; close other regions of this process first")]
    Watch { path: PathBuf, source: io::Error },
}
