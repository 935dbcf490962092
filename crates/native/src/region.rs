//! A mapped span of pool memory, or of a stand-in for it.

mod device;
mod error;
mod serial;
mod sigbus;
mod space;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;

pub use device::{Device, Label};
pub use error::RegionError;
pub use serial::{Backing, backing};

use device::Extent;
use sigbus::Watched;

use crate::smaps::{self, Mapping};
use crate::{numa, word};

/// Hosts map at different addresses on purpose: an address stored in the region by mistake then
/// fails at once, also where the hosts are processes of one machine. From 16 TiB, a TiB a host, all
/// below the 128 TiB that user space has.
const FIRST_ADDRESS: usize = 16 << 40;
const ADDRESS_STRIDE: usize = 1 << 40;

/// What to map.
#[derive(Clone, Debug)]
pub struct Request {
    /// `/dev/daxX.Y`, a file on a DAX filesystem, tmpfs or hugetlbfs, or `/proc/PID/fd/N` of a
    /// memfd.
    pub path: PathBuf,
    /// Bytes that the layout needs; 0 takes what there is.
    pub needed: u64,
    /// Which host maps: it decides the address.
    pub host: u32,
    /// Root of sysfs; tests build their own.
    pub sysfs: PathBuf,
}

impl Request {
    /// `needed` bytes of `path` for `host`.
    pub fn new(path: impl Into<PathBuf>, needed: u64, host: u32) -> Self {
        Self {
            path: path.into(),
            needed,
            host,
            sysfs: PathBuf::from("/sys"),
        }
    }
}

/// Where a region's pages lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Sampled pages by NUMA node.
    pub pages_by_node: BTreeMap<i32, u64>,
    /// Sizes of its pages.
    pub mapping: Mapping,
}

/// A mapping, shared and writable, until it is dropped.
#[derive(Debug)]
pub struct Region {
    base: *mut u8,
    bytes: u64,
    slack: u64,
    align: u64,
    device: Device,
    flags: &'static str,
    path: PathBuf,
    host: u32,
    // Unmapping comes after this is dropped; the order of the fields is not what ensures it.
    watched: Option<Watched>,
}

// SAFETY: the region owns its mapping, which stays where it is until `drop`; it offers no access
// by itself, and a port accesses words atomically or by instructions outside Rust's memory model.
unsafe impl Send for Region {}
// SAFETY: as above; no method changes the region through `&self`.
unsafe impl Sync for Region {}

impl Region {
    /// Opens and maps what `request` names.
    ///
    /// The bytes are not cleared: pool memory may hold the last run.
    ///
    /// # Errors
    /// [`RegionError`]: each names the path and what to do.
    pub fn open(request: &Request) -> Result<Self, RegionError> {
        let path = &request.path;
        let file = open(path, &request.sysfs)?;
        let extent = device::examine(&file, path, &request.sysfs)?;
        let bytes = extent.usable();
        if bytes == 0 || bytes < request.needed {
            let remedy = match extent.device {
                Device::Devdax => "use a larger device, or ask for less",
                _ => "enlarge it with `truncate -s`, or ask for less",
            };
            let (path, needed) = (path.clone(), request.needed.max(extent.align));
            return Err(RegionError::TooSmall {
                path,
                needed,
                has: bytes,
                remedy,
            });
        }
        if extent.device.label() == Label::CoherentStandIn {
            let used = if request.needed == 0 {
                bytes
            } else {
                request.needed
            };
            space::reserve(&file, path, used)?;
        }
        let (base, flags) = map(&file, path, request.host, extent)?;
        let mut region = Self {
            base,
            bytes,
            slack: extent.size - bytes,
            align: extent.align,
            device: extent.device,
            flags,
            path: path.clone(),
            host: request.host,
            watched: None,
        };
        let watched = Watched::new(base.addr(), bytes as usize, request.host);
        let failed = |source| RegionError::Watch {
            path: path.clone(),
            source,
        };
        region.watched = Some(watched.map_err(failed)?);
        Ok(region)
    }

    /// Bytes mapped: the device's size, rounded down to its alignment.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes at the device's end that the rounding left out.
    pub fn slack(&self) -> u64 {
        self.slack
    }

    /// The unit of mapping in bytes: the page size, or what devdax was configured with.
    pub fn align(&self) -> u64 {
        self.align
    }

    /// What it is.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The flags of the mapping, for provenance.
    pub fn map_flags(&self) -> &'static str {
        self.flags
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The host it was mapped for.
    pub fn host(&self) -> u32 {
        self.host
    }

    /// What pages it is mapped by and on which NUMA nodes they lie, of up to 4096 of its pages.
    ///
    /// Reads a word of each: pages that a process has not touched are on no node for it.
    ///
    /// # Errors
    /// What the kernel would not tell: a container's seccomp profile may forbid `move_pages`.
    pub fn placement(&self) -> io::Result<Placement> {
        let bytes = self.bytes as usize;
        for page in numa::sampled_pages(self.base, bytes) {
            // SAFETY: the first word of a page of the mapping, aligned.
            std::hint::black_box(unsafe { word::load::<u64>(page.cast_mut()) });
        }
        let pages_by_node = numa::nodes_of(self.base, bytes)?;
        Ok(Placement {
            pages_by_node,
            mapping: smaps::mapping_at(self.base.addr())?,
        })
    }

    /// The address of its first byte in this process, for provenance and hand-written probes. Using
    /// it is up to `unsafe` code; the port is the way in.
    pub fn base(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // First: the handler must not claim an address that something else maps next.
        self.watched = None;
        // SAFETY: exactly what `map` returned, unmapped once; ports borrow the region, so none is
        // left.
        unsafe { libc::munmap(self.base.cast(), self.bytes as usize) };
    }
}

fn open(path: &Path, sysfs: &Path) -> Result<File, RegionError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|source| {
            let path = path.to_owned();
            match source.kind() {
                io::ErrorKind::NotFound => device::missing(&path, sysfs),
                io::ErrorKind::PermissionDenied => RegionError::Permission { path, source },
                io::ErrorKind::IsADirectory => RegionError::Directory { path },
                _ => RegionError::Open { path, source },
            }
        })
}

/// Maps the extent. `MAP_SYNC` is asked of ordinary filesystems only, and refused by those that are
/// not DAX; devdax knows `MAP_SHARED` alone (it answers EOPNOTSUPP otherwise).
fn map(
    file: &File,
    path: &Path,
    host: u32,
    extent: Extent,
) -> Result<(*mut u8, &'static str), RegionError> {
    let (flags, named) = match extent.device {
        Device::FsDax => (
            libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC,
            "MAP_SHARED_VALIDATE|MAP_SYNC",
        ),
        _ => (libc::MAP_SHARED, "MAP_SHARED"),
    };
    // A hint, not MAP_FIXED_NOREPLACE: the kernel takes it if the range is free and goes elsewhere
    // if not, replacing nothing in either case, and MAP_SHARED_VALIDATE refuses flags it does not
    // know.
    let hint = FIRST_ADDRESS + host as usize * ADDRESS_STRIDE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of an open file, at an address of the kernel's choice: nothing that
    // exists is replaced.
    let base = unsafe {
        let hint = ptr::without_provenance_mut(hint);
        libc::mmap(
            hint,
            extent.usable() as usize,
            protection,
            flags,
            file.as_raw_fd(),
            0,
        )
    };
    if base != libc::MAP_FAILED {
        return Ok((base.cast(), named));
    }
    let source = io::Error::last_os_error();
    let path = path.to_owned();
    let unsupported = matches!(source.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL));
    Err(if extent.device == Device::FsDax && unsupported {
        RegionError::NotDax {
            path,
            magic: extent.magic,
            source,
        }
    } else {
        RegionError::Map {
            path,
            bytes: extent.usable(),
            source,
        }
    })
}
