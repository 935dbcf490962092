//! Whether a scaled run still is a small picture of the full one: the conditions under which the
//! similarity law of [`scale`](crate::scale) holds.
//!
//! A run that breaks one is no error: it shows that everything works. But its figures say little
//! about policies that differ by a few percent, so whoever writes them down writes the breach too.

use thiserror::Error;

use crate::machine::{EVENT_PARTS, QUANTUM_PS};
use crate::preset::MemtisPreset;
use crate::scale::{Grain, PAGE_BYTES, SUBPAGES, Scale};

/// Huge pages that the fast tier must hold: with fewer, one page more or less is a percent of it.
pub const LEAST_HUGE_PAGES: u64 = 64;

/// Quanta between two wake-ups of a daemon at least, so that it wakes within a tenth of its period
/// of when it should. A choice of this model, whose quantum it is.
const LEAST_QUANTA: u64 = 10;

/// Within how much two scales must agree on hit ratios: the law's own test (tests/trials.rs).
pub const AGREEMENT: f64 = 0.02;

/// What a default scale keeps beyond the least number of huge pages: footprints are rounded to
/// whole ranges, slabs or powers of two.
const MARGIN: f64 = 1.1;

/// A condition of the law that a run breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Breach {
    /// The fast tier is too coarse.
    #[error(
        "at scale {scale} the fast tier holds {held} huge page{}, the similarity law asks for \
         {LEAST_HUGE_PAGES}: choose a SIZE below {}", if *held == 1 { "" } else { "s" },
        scale.size() * *held as u32 / LEAST_HUGE_PAGES as u32
    )]
    FewHugePages {
        /// Of the run.
        scale: Scale,
        /// Whole huge pages of the fast tier.
        held: u64,
    },
    /// Not even every event makes as many samples as the law asks for.
    #[error(
        "at scale {scale} the shortest sampling period, {period}, is less than one event: choose a \
         GEOMETRY of at most {period}"
    )]
    Period {
        /// Of the run.
        scale: Scale,
        /// The policy's shortest period at full scale.
        period: u64,
    },
    /// Daemons wake too rarely, because simulated time has a grain.
    #[error(
        "at scale {scale} daemons that wake every {period_ms} ms would wake within \
         {LEAST_QUANTA} quanta of simulated time: choose a SIZE of at most {most}"
    )]
    Clock {
        /// Of the run.
        scale: Scale,
        /// The daemons' period at full scale.
        period_ms: u64,
        /// The greatest size that leaves so many quanta.
        most: u64,
    },
}

/// Trials of a policy whose hit ratios differ more from seed to seed than two scales may: what one
/// seed says of it is no property of the policy, and no test of the law.
///
/// Chance decides so much where a policy does something once and for ever, as the kernel's Memtis
/// does when it switches splitting off.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "the hit ratio is known to {:.1} points only, from {seeds} seeds, where two scales must agree \
     to {:.0}: run more seeds",
    100.0 * width, 100.0 * AGREEMENT
)]
pub struct Scatter {
    /// The interval's width, or the range where so few seeds make no interval.
    pub width: f64,
    /// Trials.
    pub seeds: usize,
}

impl Scatter {
    /// Of a policy whose median hit ratio lies between `ends`; `None` where that is near enough.
    pub fn of(ends: [f64; 2], seeds: usize) -> Option<Self> {
        let width = ends[1] - ends[0];
        (width > AGREEMENT).then_some(Self { width, seeds })
    }
}

/// The conditions that a run at a scale with so many base pages of fast tier breaks.
pub fn breaches(scale: Scale, fast_pages: u64, preset: &MemtisPreset) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let held = fast_pages / u64::from(SUBPAGES);
    if held < LEAST_HUGE_PAGES {
        breaches.push(Breach::FewHugePages { scale, held });
    }
    let period = preset.load_periods.value.iter().copied().min();
    if let Some(period) = period
        && period * EVENT_PARTS / u64::from(scale.geometry()) < EVENT_PARTS
    {
        breaches.push(Breach::Period { scale, period });
    }
    let wake_ps = preset.wake_ns.value * 1000.0;
    let most = (wake_ps / (LEAST_QUANTA * QUANTUM_PS) as f64) as u64;
    if u64::from(scale.size()) > most {
        breaches.push(Breach::Clock {
            scale,
            period_ms: (preset.wake_ns.value / 1e6) as u64,
            most,
        });
    }
    breaches
}

/// Divisor of page sizes by default: records at random bear much, since they shrink with the pages.
fn geometry(grain: Grain) -> u32 {
    match grain {
        Grain::Record => 128,
        Grain::Stream => Scale::STREAM_GEOMETRY,
    }
}

/// The smallest scale that keeps the law for a fast tier of so many bytes at full scale. Sizes are
/// powers of two where `doubling` data asks for it.
///
/// # Panics
/// Never: geometries are powers of two, and sizes are clamped to what is allowed.
pub fn smallest(grain: Grain, fast_bytes: f64, doubling: bool) -> Scale {
    let geometry = geometry(grain);
    let huge_pages = fast_bytes / (f64::from(SUBPAGES) * PAGE_BYTES as f64);
    let size = f64::from(geometry) * huge_pages / (LEAST_HUGE_PAGES as f64 * MARGIN);
    let size = (size as u32).clamp(geometry * 2, Scale::GREATEST_SIZE);
    let size = if doubling { 1 << size.ilog2() } else { size };
    Scale::new(size, geometry).expect("a power of two, and at least twice that")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset;

    fn breached(scale: &str, huge_pages: u64) -> Vec<Breach> {
        let pages = huge_pages * u64::from(SUBPAGES);
        breaches(scale.parse().unwrap(), pages, &preset::memtis())
    }

    #[test]
    fn the_law_asks_for_64_huge_pages_and_a_period_of_an_event() {
        assert_eq!(breached("4096:128", 64), []);
        let scale = "4096:128".parse().unwrap();
        assert_eq!(
            breached("4096:128", 63),
            [Breach::FewHugePages { scale, held: 63 }]
        );
        let coarse = breached("32768:256", 24);
        assert_eq!(coarse.len(), 3, "{coarse:?}");
        let told = coarse[0].to_string();
        assert!(
            told.contains("24 huge pages") && told.contains("below 12288"),
            "{told}"
        );
        let least = breached("131072:128", 1)[0].to_string();
        assert!(least.contains("holds 1 huge page,"), "{least}");
    }

    #[test]
    fn a_policy_that_scatters_is_told_to_run_more_seeds() {
        assert_eq!(Scatter::of([0.75, 0.769], 10), None);
        let wide = Scatter::of([0.765, 0.802], 10).unwrap().to_string();
        assert!(
            wide.contains("3.7 points") && wide.contains("agree to 2"),
            "{wide}"
        );
    }

    #[test]
    fn the_smallest_scale_keeps_it() {
        for (bytes, grain) in [(38.3e9 / 17.0, Grain::Record), (64e9 / 9.0, Grain::Stream)] {
            let scale = smallest(grain, bytes, grain == Grain::Stream);
            let pages = scale.pages(bytes);
            assert_eq!(breaches(scale, pages, &preset::memtis()), [], "{scale}");
        }
    }
}
