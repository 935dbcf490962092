//! A lane's clock, and what it is worth on another host.

/// A reading of a lane's clock, in its own units: TSC counts natively, picoseconds in a simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub u64);

/// What is known about a lane's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Ticks in a nanosecond, calibrated.
    pub ticks_per_ns: f64,
    /// What one serialized reading adds to a span between two, in ticks; subtracted from spans.
    pub read_overhead: Ticks,
    /// Whether readings of two hosts may be subtracted.
    pub across_hosts: Across,
}

/// Whether the clocks of two hosts are comparable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Across {
    /// They are one clock, or disciplined independently of the path under test.
    Comparable {
        /// Largest error of a difference, in nanoseconds.
        error_ns: f64,
    },
    /// They are not, and why. An offset from round trips over the same path has an error as large
    /// as the one-way time that it would be used for.
    Incomparable(&'static str),
}

impl Clock {
    /// Nanoseconds from `start` to `end`, the cost of one reading subtracted.
    ///
    /// A span shorter than the overhead is 0: never negative, never wrapped
    /// (18446744073709550438 ns is a known figure of another tool).
    #[inline(always)]
    pub fn span_ns(&self, start: Ticks, end: Ticks) -> f64 {
        let ticks = end
            .0
            .saturating_sub(start.0)
            .saturating_sub(self.read_overhead.0);
        ticks as f64 / self.ticks_per_ns
    }

    /// Nanoseconds of a raw difference, which may be negative where two hosts' clocks are compared.
    pub fn difference_ns(&self, start: Ticks, end: Ticks) -> f64 {
        (end.0.wrapping_sub(start.0) as i64) as f64 / self.ticks_per_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_never_wraps() {
        let clock = Clock {
            ticks_per_ns: 2.0,
            read_overhead: Ticks(10),
            across_hosts: Across::Incomparable("test"),
        };
        assert!(clock.span_ns(Ticks(5), Ticks(3)).abs() < f64::EPSILON);
        assert!((clock.span_ns(Ticks(0), Ticks(110)) - 50.0).abs() < 1e-12);
        assert!((clock.difference_ns(Ticks(10), Ticks(4)) + 3.0).abs() < 1e-12);
    }
}
