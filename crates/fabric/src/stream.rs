//! What bandwidth and latency are measured with: loops that a substrate may run as one piece.
//!
//! Each has a generic form over the verbs of a [`Port`], which every substrate runs unless it has a
//! better one. A native one is assembly; what it does stays what stands here.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::place::Slice;
use crate::port::{Port, Private};

/// The factor of [`Stream::Triad`], as in the STREAM benchmark.
pub const TRIAD_SCALAR: f64 = 3.0;

/// One sweep over an area that holds one, two or three arrays of equal length back to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Loads every word and adds them up, wrapping.
    Read,
    /// Stores one value to every word.
    Write,
    /// The same around the caches.
    NtWrite,
    /// `a[i] = b[i]`, by plain stores.
    Copy,
    /// `a[i] = b[i] + 3.0 * c[i]`, words as `f64`, by plain stores: STREAM's triad.
    Triad,
}

impl Stream {
    /// Arrays in its area: a; a, b; or a, b, c.
    pub fn arrays(self) -> usize {
        match self {
            Self::Read | Self::Write | Self::NtWrite => 1,
            Self::Copy => 2,
            Self::Triad => 3,
        }
    }

    /// Words of each array in an area of `len` words.
    ///
    /// # Panics
    /// If the arrays would not be equal, or not start lines: native loops use aligned vectors.
    pub fn array_len(self, len: usize) -> usize {
        let each = len / self.arrays();
        assert!(
            each * self.arrays() == len && each.is_multiple_of(8),
            "an area of {len} words does not hold {} arrays of whole lines",
            self.arrays()
        );
        each
    }
}

/// The pages that a lane's own DRAM is asked to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// Whatever the system gives.
    #[default]
    Any,
    /// The base size only.
    Small,
    /// Huge pages only.
    Huge,
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Small => "small",
            Self::Huge => "huge",
        })
    }
}

/// The generic forms, for substrates and tests that set them beside their own.
pub mod generic {
    pub use super::{chase, stream};
}

/// The generic [`Port::chase`]: one load a hop.
#[inline(always)]
#[track_caller]
pub fn chase<P: Port + ?Sized>(port: &P, links: Slice<u64>, from: u64, hops: u64) -> u64 {
    let mut at = from;
    let mut left = hops;
    while left != 0 {
        at = port.load(links.at_byte(at));
        left -= 1;
    }
    at
}

#[inline(always)]
pub(crate) fn chase_private<M: Private<u64> + ?Sized>(links: &M, from: u64, hops: u64) -> u64 {
    let mut at = from;
    for _ in 0..hops {
        at = links.get((at / 8) as usize);
    }
    at
}

/// Words that the generic sweeps move at a time: few enough that private blocks stay in the
/// first-level cache beside what is swept.
const BLOCK_WORDS: usize = 64;

/// The generic [`Port::stream`]: block by block, by the bulk verbs.
#[inline(always)]
#[track_caller]
pub fn stream<P: Port + ?Sized>(port: &P, what: Stream, area: Slice<u64>, value: u64) -> u64 {
    let len = what.array_len(area.len());
    let (mut a, mut b) = ([value; BLOCK_WORDS], [0; BLOCK_WORDS]);
    let (mut sum, mut done) = (0u64, 0);
    while done < len {
        let words = BLOCK_WORDS.min(len - done);
        let (a, b) = (&mut a[..words], &mut b[..words]);
        match what {
            Stream::Read => {
                port.read_into(area.at(done), a);
                sum = a.iter().fold(sum, |sum, &word| sum.wrapping_add(word));
            }
            Stream::Write => port.write_from(area.at(done), a),
            Stream::NtWrite => port.write_nt_from(area.at(done), a),
            Stream::Copy => {
                port.read_into(area.at(len + done), a);
                port.write_from(area.at(done), a);
            }
            Stream::Triad => {
                port.read_into(area.at(len + done), a);
                port.read_into(area.at(2 * len + done), b);
                for (a, &b) in a.iter_mut().zip(&*b) {
                    *a = triad(*a, b);
                }
                port.write_from(area.at(done), a);
            }
        }
        done += words;
    }
    sum
}

#[inline(always)]
pub(crate) fn stream_private<M: Private<u64> + ?Sized>(
    memory: &mut M,
    what: Stream,
    area: Range<usize>,
    value: u64,
) -> u64 {
    let len = what.array_len(area.len());
    let (mut sum, start) = (0u64, area.start);
    for index in start..start + len {
        let word = match what {
            Stream::Read => {
                sum = sum.wrapping_add(memory.get(index));
                continue;
            }
            Stream::Write | Stream::NtWrite => value,
            Stream::Copy => memory.get(len + index),
            Stream::Triad => triad(memory.get(len + index), memory.get(2 * len + index)),
        };
        memory.set(index, word);
    }
    sum
}

/// One element of the triad, not fused: every substrate rounds alike.
#[inline(always)]
fn triad(b: u64, c: u64) -> u64 {
    (f64::from_bits(b) + TRIAD_SCALAR * f64::from_bits(c)).to_bits()
}
