//! The address space: areas that an application maps, aligned and sized as the kernel would.
//!
//! Page-size skew is an artefact of allocation as much as of access: a slab that starts a huge
//! page and fills an eighth of it makes seven eighths of dead weight.

/// A mapped range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// Length as asked for.
    pub bytes: u64,
}

impl Area {
    /// The address of a byte.
    ///
    /// # Panics
    /// In debug builds, if it lies outside.
    #[inline]
    pub fn at(&self, offset: u64) -> u64 {
        debug_assert!(
            offset < self.bytes,
            "byte {offset} of an area of {}",
            self.bytes
        );
        self.start + offset
    }
}

/// Hands out aligned ranges; freed ones are given again to areas of their size.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    next_region: u32,
    free: Vec<(u32, u32)>,
}

impl Space {
    /// Regions for so many bytes, the first region and how many.
    pub(super) fn take(&mut self, bytes: u64, region_bytes: u64) -> (u32, u32) {
        let regions = bytes.div_ceil(region_bytes) as u32;
        let reuse = self.free.iter().position(|&(_, free)| free == regions);
        if let Some(index) = reuse {
            return self.free.swap_remove(index);
        }
        let first = self.next_region;
        self.next_region += regions;
        (first, regions)
    }

    pub(super) fn give(&mut self, first: u32, regions: u32) {
        self.free.push((first, regions));
    }
}
