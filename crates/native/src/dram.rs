//! A lane's own DRAM: from the heap, or on pages of a size that was asked for and verified.

use std::alloc::{self, Layout};
use std::collections::BTreeMap;
use std::{fs, io, ptr};

use fabric::Pages;
use thiserror::Error;

use crate::{numa, smaps};

/// Every block starts a line, as streams and flushes need.
const ALIGN: usize = 64;
const HUGE_SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
const HUGE_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Why DRAM was not had as it was asked for.
#[derive(Debug, Error)]
pub(crate) enum DramError {
    /// No transparent huge pages in this kernel.
    #[error(
        "pages=huge: {HUGE_SIZE} cannot be read ({source}); use pages=small, or a kernel \
             with transparent huge pages"
    )]
    NoHuge { source: io::Error },
    /// Not mapped.
    #[error(
        "cannot map {bytes} bytes of DRAM on {pages} pages: {source}; use a smaller \
             working_set_bytes or raise the memory limit"
    )]
    Map {
        bytes: usize,
        pages: Pages,
        source: io::Error,
    },
    /// The kernel's own account is not to be had.
    #[error("cannot verify {what} of {bytes} bytes of DRAM: {source}; {remedy}")]
    Unverified {
        what: &'static str,
        bytes: usize,
        source: io::Error,
        remedy: &'static str,
    },
    /// Other pages than asked for.
    #[error(
        "pages={pages}: {huge_bytes} of {bytes} bytes are on huge pages ({HUGE_ENABLED}: \
             {enabled}); write `madvise` to that file, free memory, or use other pages"
    )]
    WrongPages {
        pages: Pages,
        bytes: usize,
        huge_bytes: u64,
        enabled: String,
    },
    /// Other memory than the lane's own.
    #[error(
        "DRAM is on NUMA nodes {found:?} (node: pages), but the lane runs on node {own}; \
             free memory there, or bind the process with `numactl --membind={own}`"
    )]
    WrongNode { own: i32, found: BTreeMap<i32, u64> },
}

/// A block of zeroed memory of this process, writable, until it is dropped.
#[derive(Debug)]
pub(crate) struct Dram {
    start: *mut u8,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    Heap(Layout),
    Mapping { reserved: *mut u8, bytes: usize },
}

impl Dram {
    /// `bytes` bytes from the heap.
    pub(crate) fn heap(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(ALIGN), ALIGN)
            .expect("a private array is smaller than the address space");
        // SAFETY: the layout is not of size 0.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        if start.is_null() {
            alloc::handle_alloc_error(layout);
        }
        Self {
            start,
            owner: Owner::Heap(layout),
        }
    }

    /// `bytes` bytes in a mapping of their own, on `pages`; touched by nobody yet.
    ///
    /// Pages that may not be accessed lie on both sides, so that the kernel joins the mapping with
    /// no neighbour and smaps speaks of these bytes alone.
    pub(crate) fn mapped(bytes: usize, pages: Pages) -> Result<Self, DramError> {
        let align = huge_bytes().or_else(|source| match pages {
            Pages::Huge => Err(DramError::NoHuge { source }),
            Pages::Any | Pages::Small => Ok(4096),
        })?;
        let inner = bytes.max(1).next_multiple_of(align);
        let total = inner + 2 * align;
        let failed = || DramError::Map {
            bytes,
            pages,
            source: io::Error::last_os_error(),
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping wherever the kernel likes.
        let reserved = unsafe { libc::mmap(ptr::null_mut(), total, libc::PROT_NONE, flags, -1, 0) };
        if reserved == libc::MAP_FAILED {
            return Err(failed());
        }
        let reserved = reserved.cast::<u8>();
        let start = reserved.map_addr(|address| (address + 1).next_multiple_of(align));
        let dram = Self {
            start,
            owner: Owner::Mapping {
                reserved,
                bytes: total,
            },
        };
        // SAFETY: `inner` bytes within the mapping just made.
        let opened =
            unsafe { libc::mprotect(start.cast(), inner, libc::PROT_READ | libc::PROT_WRITE) };
        let advice = match pages {
            Pages::Any => None,
            Pages::Small => Some(libc::MADV_NOHUGEPAGE),
            Pages::Huge => Some(libc::MADV_HUGEPAGE),
        };
        // SAFETY: as above; the advice changes no contents.
        let advised = advice.map_or(0, |advice| unsafe {
            libc::madvise(start.cast(), inner, advice)
        });
        if opened != 0 || advised != 0 {
            return Err(failed());
        }
        Ok(dram)
    }

    /// Its first byte, a multiple of 64.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Verifies, once all `bytes` bytes were touched, what pages they are on and where.
    pub(crate) fn verify(&self, bytes: usize, pages: Pages) -> Result<(), DramError> {
        let unverified = |what, remedy| {
            move |source| DramError::Unverified {
                what,
                bytes,
                source,
                remedy,
            }
        };
        let mapping =
            smaps::mapping_at(self.start.addr()).map_err(unverified("the pages", "mount /proc"))?;
        let huge = mapping.anonymous_huge_bytes;
        let right = match pages {
            Pages::Any => true,
            Pages::Small => huge == 0,
            Pages::Huge => huge >= bytes as u64,
        };
        if !right {
            let enabled = fs::read_to_string(HUGE_ENABLED).unwrap_or_default();
            let enabled = enabled.trim().to_owned();
            return Err(DramError::WrongPages {
                pages,
                bytes,
                huge_bytes: huge,
                enabled,
            });
        }
        let remedy = "allow the calls move_pages and getcpu in the container's seccomp profile";
        let own = numa::own_node().map_err(unverified("the NUMA node", remedy))?;
        let found =
            numa::nodes_of(self.start, bytes).map_err(unverified("the NUMA node", remedy))?;
        if found.keys().any(|&node| node != own) {
            return Err(DramError::WrongNode { own, found });
        }
        Ok(())
    }
}

impl Drop for Dram {
    fn drop(&mut self) {
        match self.owner {
            // SAFETY: allocated with this layout, freed once.
            Owner::Heap(layout) => unsafe { alloc::dealloc(self.start, layout) },
            Owner::Mapping { reserved, bytes } => {
                // SAFETY: exactly what was mapped, unmapped once.
                unsafe { libc::munmap(reserved.cast(), bytes) };
            }
        }
    }
}

/// The size of a transparent huge page.
fn huge_bytes() -> io::Result<usize> {
    let text = fs::read_to_string(HUGE_SIZE)?;
    text.trim()
        .parse()
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
