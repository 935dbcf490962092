//! The similarity law: what is scaled how, so that small runs keep the ratios of large ones.
//!
//! With `s` the footprint's share of the full one and `g` the divisor of the page sizes (always
//! 512 subpages a huge page), pages scale by `p = s g`. Bytes and times scale by `s`; counts of
//! pages and of samples by `p`; sampling periods and costs a page by `1/g`; costs a byte,
//! latencies, bandwidths, shares and the number of threads not at all.
//!
//! Records shrink with the pages, or fewer of them would share one ([`Grain::Record`]); then the
//! lines shrink too, and addresses are kept at full size because only the ratios count. Arrays that
//! are streamed keep 64-byte lines and shrink the pages ([`Grain::Stream`]), or a pass over memory
//! would take `g` times too long.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::machine::EVENT_PARTS;

/// Base pages in a huge page, at every scale.
pub const SUBPAGES: u32 = 512;

/// Bytes of a base page at full scale.
pub const PAGE_BYTES: u64 = 4096;

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 64;

/// What an application's locality is made of, and so what shrinks with the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Records at random: they and the lines shrink with the pages.
    Record,
    /// Arrays in order: lines stay, pages shrink.
    Stream,
}

/// A scale that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScaleError {
    /// Not two numbers.
    #[error("scale {0:?}: write SIZE:GEOMETRY, such as 4096:64 for 1/4096 of the bytes")]
    Form(String),
    /// Pages cannot be divided like that.
    #[error("scale {size}:{geometry}: the geometry must be a power of two, such as 64")]
    Geometry {
        /// The size's divisor.
        size: u32,
        /// The pages' divisor.
        geometry: u32,
    },
    /// Nothing would be left, or more than the model has numbers for.
    #[error(
        "scale {size}:{geometry}: the size must be from twice the geometry, {}, to {}",
        u64::from(*geometry) * 2, Scale::GREATEST_SIZE
    )]
    Size {
        /// The size's divisor.
        size: u32,
        /// The pages' divisor.
        geometry: u32,
    },
    /// Streams need pages of a line or more.
    #[error(
        "scale {size}:{geometry}: streamed arrays need a geometry of at most {0}, such as \
         {size}:{0}",
        Scale::STREAM_GEOMETRY
    )]
    Stream {
        /// The size's divisor.
        size: u32,
        /// The pages' divisor.
        geometry: u32,
    },
}

/// How far a run is scaled down: bytes to `1/size`, pages to `1/geometry` of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    size: u32,
    geometry: u32,
}

impl Scale {
    /// The largest geometry of [`Grain::Stream`]: four lines a base page, so that a page still is
    /// more than a line.
    pub const STREAM_GEOMETRY: u32 = 16;

    /// The largest size: every application has hundreds of operations a thread left.
    pub const GREATEST_SIZE: u32 = 1 << 20;

    /// A scale. Half of the pages of the full one are as many as lines can be numbered for.
    ///
    /// # Errors
    /// The geometry is no power of two; the size is less than twice the geometry, or too large.
    pub fn new(size: u32, geometry: u32) -> Result<Self, ScaleError> {
        if !geometry.is_power_of_two() {
            return Err(ScaleError::Geometry { size, geometry });
        }
        if size > Self::GREATEST_SIZE || u64::from(size) < u64::from(geometry) * 2 {
            return Err(ScaleError::Size { size, geometry });
        }
        Ok(Self { size, geometry })
    }

    /// Itself, if it suits the grain.
    ///
    /// # Errors
    /// Pages too small for streams.
    pub fn suits(self, grain: Grain) -> Result<Self, ScaleError> {
        if grain == Grain::Stream && self.geometry > Self::STREAM_GEOMETRY {
            return Err(ScaleError::Stream {
                size: self.size,
                geometry: self.geometry,
            });
        }
        Ok(self)
    }

    /// The divisor of page sizes, `g`.
    pub fn geometry(self) -> u32 {
        self.geometry
    }

    /// The divisor of bytes, `1/s`.
    pub fn size(self) -> u32 {
        self.size
    }

    /// Time constants, in picoseconds from nanoseconds at full scale.
    pub fn time_ps(self, full_ns: f64) -> u64 {
        ((full_ns * 1000.0 / f64::from(self.size)).round() as u64).max(1)
    }

    /// A simulated time in nanoseconds at full scale.
    pub fn full_ns(self, scaled_ps: u64) -> f64 {
        scaled_ps as f64 / 1000.0 * f64::from(self.size)
    }

    /// Counts of pages or of samples, at least one.
    pub fn count(self, full: f64) -> u64 {
        ((full * self.page_share()).round() as u64).max(1)
    }

    /// Bytes at full scale as base pages of this one, at least one.
    pub fn pages(self, full_bytes: f64) -> u64 {
        self.count(full_bytes / PAGE_BYTES as f64)
    }

    /// A number of operations, which take up time: as time.
    pub fn operations(self, full: f64) -> u64 {
        ((full / f64::from(self.size)).round() as u64).max(1)
    }

    /// Base pages of this scale in bytes at full scale.
    pub fn full_bytes(self, pages: u64) -> f64 {
        (pages * PAGE_BYTES) as f64 / self.page_share()
    }

    /// A sampling period in parts of an event ([`EVENT_PARTS`]), at least one event.
    pub fn period(self, full: u64) -> u64 {
        let parts = (full * EVENT_PARTS) as f64 / f64::from(self.geometry);
        (parts.round() as u64).max(EVENT_PARTS)
    }

    /// A fixed cost a page or a sample, in picoseconds from nanoseconds at full scale.
    pub fn page_cost_ps(self, full_ns: f64) -> u64 {
        (full_ns * 1000.0 / f64::from(self.geometry)).round() as u64
    }

    /// Bytes that moving one base page moves.
    pub fn moved_bytes(self) -> f64 {
        PAGE_BYTES as f64 / f64::from(self.geometry)
    }

    /// Bits of an address within a base page.
    pub fn page_shift(self, grain: Grain) -> u32 {
        match grain {
            Grain::Record => PAGE_BYTES.trailing_zeros(),
            Grain::Stream => PAGE_BYTES.trailing_zeros() - self.geometry.trailing_zeros(),
        }
    }

    /// Lines of a cache of so many bytes at full scale.
    pub fn cache_lines(self, full_bytes: f64, grain: Grain) -> usize {
        let share = match grain {
            Grain::Record => self.page_share(),
            Grain::Stream => 1.0 / f64::from(self.size),
        };
        ((full_bytes * share / LINE_BYTES as f64).round() as usize).max(1)
    }

    /// Base pages whose page-table entries share a line: 8 at full scale.
    pub fn entries_per_line_shift(self, grain: Grain) -> u32 {
        match grain {
            Grain::Record => 3,
            Grain::Stream => 3 + self.geometry.trailing_zeros(),
        }
    }

    /// Pages of this scale for one of the full scale, `p`.
    pub fn page_share(self) -> f64 {
        f64::from(self.geometry) / f64::from(self.size)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.size, self.geometry)
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    fn from_str(text: &str) -> Result<Self, ScaleError> {
        let form = || ScaleError::Form(text.to_owned());
        let (size, geometry) = text.split_once(':').ok_or_else(form)?;
        let number = |part: &str| part.parse().map_err(|_| form());
        Self::new(number(size)?, number(geometry)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_s_own_example_holds() {
        // s = 1/128, g = 4: the right column of the law's table.
        let scale = Scale::new(128, 4).unwrap();
        assert_eq!(scale.time_ps(5e8), 3_906_250_000); // 3.9 ms
        assert_eq!(scale.count(50.0), 2);
        assert_eq!(scale.count(2e6), 62_500);
        assert_eq!(scale.count(1e5), 3_125);
        assert_eq!(scale.period(199) * 4, 199 * EVENT_PARTS);
        assert_eq!(scale.page_cost_ps(1050.0), 262_500);
        assert_eq!(scale.count(1536.0), 48);
        assert_eq!(scale.cache_lines(28_835_840.0, Grain::Stream), 3_520); // 220 KB
        assert_eq!(1 << scale.page_shift(Grain::Stream), 1_024);
    }

    #[test]
    fn both_grains_hold_as_many_pages_in_the_cache() {
        let scale = Scale::new(1024, 16).unwrap();
        let pages = |grain| {
            let lines = scale.cache_lines(28_835_840.0, grain);
            (lines as u64 * LINE_BYTES) >> scale.page_shift(grain)
        };
        assert_eq!(pages(Grain::Record), pages(Grain::Stream));
    }

    #[test]
    fn a_bad_scale_says_what_would_be_right() {
        assert!(matches!("4096".parse::<Scale>(), Err(ScaleError::Form(_))));
        let error = "4096:48".parse::<Scale>().unwrap_err().to_string();
        assert!(error.contains("power of two"), "{error}");
        let fine: Scale = "4096:64".parse().unwrap();
        assert!(fine.suits(Grain::Record).is_ok());
        assert!(fine.suits(Grain::Stream).is_err());
    }
}
