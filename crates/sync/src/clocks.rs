//! What another clock says now, and how far that may be off.
//!
//! An [`Exchange`] brackets one reading of a reference clock by two of one's own. The reading was
//! taken somewhere in between, so it bounds the offset; nothing is assumed about where (Cristian,
//! "Probabilistic clock synchronization", Distributed Computing 3, 1989). [`Estimator`] keeps the
//! narrowest exchange of each batch and carries each bound to the present by the drift that it
//! cannot exclude; the truth lies in all of them, so in their intersection.
//!
//! The reference is another host's clock, read over the region ([`ClockLines`]), or a clock that
//! is independent of the region, such as a network card's. From round trips over the region a
//! one-way time over the same region cannot be told: the error is half a round trip. What they
//! serve is starting hosts together, and saying how far apart they started.
//!
//! Assumed, and stated in records: two clocks' rates differ by at most [`MAX_DRIFT`], and a rate
//! stays within [`WANDER`] of its mean over the exchanges that are kept.

use std::collections::VecDeque;

use fabric::{Arena, Gone, Port, Slice, wait_until};

/// The largest difference of two clocks' rates: what NTP disciplines at most (RFC 5905, `MAXFREQ`).
pub const MAX_DRIFT: f64 = 500e-6;

/// How far a rate strays from its mean: the frequency tolerance of RFC 5905 (`PHI`).
pub const WANDER: f64 = 15e-6;

/// Exchanges that are kept, one a batch.
const KEPT: usize = 32;

/// One reading of the reference, between two of one's own clock; all in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Own clock, before the reference was asked.
    pub before_ns: f64,
    /// The reference's answer.
    pub reference_ns: f64,
    /// Own clock, with the answer at hand.
    pub after_ns: f64,
}

impl Exchange {
    /// How long it took.
    pub fn round_trip_ns(&self) -> f64 {
        self.after_ns - self.before_ns
    }

    /// Bounds of the offset, reference less own, when the reference was read.
    fn bounds(&self) -> Span {
        Span {
            low: self.reference_ns - self.after_ns,
            high: self.reference_ns - self.before_ns,
        }
    }

    /// Bounds of the offset at `now_ns`, for any drift in `drift`. The reference was read at a time
    /// t between `before_ns` and `after_ns`, so the offset is `reference - t + drift (now - t)`,
    /// whose extremes are at the corners.
    fn bounds_at(&self, now_ns: f64, drift: Span) -> Span {
        let at =
            |read_ns: f64, drift: f64| self.reference_ns - read_ns + drift * (now_ns - read_ns);
        let corners = [self.before_ns, self.after_ns]
            .into_iter()
            .flat_map(|read_ns| [at(read_ns, drift.low), at(read_ns, drift.high)]);
        Span::around(corners)
    }
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let all = Self {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        };
        values.fold(all, |span, value| Self {
            low: span.low.min(value),
            high: span.high.max(value),
        })
    }

    fn and(self, other: Self) -> Self {
        Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    fn widened(self, by: f64) -> Self {
        Self {
            low: self.low - by,
            high: self.high + by,
        }
    }
}

/// The reference's offset from one's own clock at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// Reference less own.
    pub offset_ns: f64,
    /// The truth is no further from it. At most half of `round_trip_ns`, plus `drift_bound` times
    /// `age_ns`.
    pub error_ns: f64,
    /// No drift that cannot be excluded is larger, in either direction.
    pub drift_bound: f64,
    /// Since the narrowest exchange began.
    pub age_ns: f64,
    /// What the narrowest exchange took.
    pub round_trip_ns: f64,
}

/// Bounds on the offset of one reference.
#[derive(Clone, Debug, Default)]
pub struct Estimator {
    kept: VecDeque<Exchange>,
}

impl Estimator {
    /// Takes in a batch of exchanges, of which the narrowest counts.
    pub fn add(&mut self, batch: &[Exchange]) {
        let best = batch
            .iter()
            .min_by(|a, b| a.round_trip_ns().total_cmp(&b.round_trip_ns()));
        let Some(&best) = best else {
            return;
        };
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(best);
    }

    /// The offset at `now_ns` of one's own clock; none without an exchange, or where the exchanges
    /// contradict each other: a clock was set, or strays by more than is assumed.
    pub fn at(&self, now_ns: f64) -> Option<Offset> {
        let drift = self.drift()?;
        let mut span = Span {
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
        };
        for exchange in &self.kept {
            span = span.and(exchange.bounds_at(now_ns, drift));
        }
        let narrowest = self
            .kept
            .iter()
            .min_by(|a, b| a.round_trip_ns().total_cmp(&b.round_trip_ns()))?;
        (span.low <= span.high).then(|| Offset {
            offset_ns: f64::midpoint(span.low, span.high),
            error_ns: (span.high - span.low) / 2.0,
            drift_bound: drift.low.abs().max(drift.high.abs()),
            age_ns: (now_ns - narrowest.before_ns).abs(),
            round_trip_ns: narrowest.round_trip_ns(),
        })
    }

    /// What the drift may be: no pair of exchanges excludes it. Between two of them the mean drift
    /// is bounded by how the offset can have moved.
    fn drift(&self) -> Option<Span> {
        let mut drift = Span {
            low: -MAX_DRIFT,
            high: MAX_DRIFT,
        };
        for (index, later) in self.kept.iter().enumerate() {
            for earlier in self.kept.iter().take(index) {
                if let Some(mean) = mean_drift(earlier, later) {
                    drift = drift.and(mean.widened(WANDER));
                }
            }
        }
        (drift.low <= drift.high).then_some(drift)
    }
}

/// Bounds of the mean drift between two exchanges; none where they overlap in time.
fn mean_drift(earlier: &Exchange, later: &Exchange) -> Option<Span> {
    let shortest = later.before_ns - earlier.after_ns;
    let longest = later.after_ns - earlier.before_ns;
    let (from, to) = (earlier.bounds(), later.bounds());
    (shortest > 0.0).then(|| {
        let moved = [to.low - from.high, to.high - from.low];
        let over = |moved: f64| [moved / shortest, moved / longest];
        Span::around(moved.into_iter().flat_map(over))
    })
}

/// Where hosts ask host 0 for its clock.
#[derive(Clone, Debug)]
pub struct ClockLines {
    /// Written by its host: how often it has asked.
    asked: Vec<Slice<u64>>,
    /// Written by host 0: its clock, then how often it has answered.
    answered: Vec<Slice<u64>>,
}

/// A line.
const WORDS: usize = 8;

impl ClockLines {
    /// Lays out two lines a host; they must be zero when a run starts.
    pub fn lay_out(arena: &mut Arena, hosts: u32) -> Self {
        Self {
            asked: arena.per_host("clock.asked", hosts, WORDS),
            answered: arena.per_host("clock.answered", hosts, WORDS),
        }
    }

    /// Asks host 0 `rounds` times, as `host`, which has asked `before` times in this run. `clock`
    /// reads this host's clock in nanoseconds.
    ///
    /// Cost a round: 1 publish, and observes of a line until the answer is there.
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn ask<P: Port>(
        &self,
        port: &P,
        host: u32,
        before: u64,
        rounds: u32,
        clock: impl Fn(&P) -> f64,
    ) -> Result<Vec<Exchange>, Gone> {
        let asked = self.asked[host as usize];
        let answered = self.answered[host as usize];
        let mut exchanges = Vec::with_capacity(rounds as usize);
        for number in before + 1..=before + u64::from(rounds) {
            let before_ns = clock(port);
            port.store(asked.start(), number);
            // Serves host 0's poll. The full fence keeps the reading above before the question.
            port.publish(asked.lines());
            wait_until(port, || {
                // Serves the load below, anew for each look; the number was stored last.
                port.observe(answered.lines());
                (port.load(answered.at(1)) == number).then_some(())
            })?;
            let after_ns = clock(port);
            let reference_ns = f64::from_bits(port.load(answered.start()));
            exchanges.push(Exchange {
                before_ns,
                reference_ns,
                after_ns,
            });
        }
        Ok(exchanges)
    }

    /// Answers every other host `rounds` times, one host after the other, so that no answer waits
    /// for another host's; as host 0.
    ///
    /// Cost: `rounds` publishes a host, and observes of a line until it has asked.
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn answer<P: Port>(
        &self,
        port: &P,
        before: u64,
        rounds: u32,
        clock: impl Fn(&P) -> f64,
    ) -> Result<(), Gone> {
        for (asked, answered) in self.asked.iter().zip(&self.answered).skip(1) {
            for number in before + 1..=before + u64::from(rounds) {
                wait_until(port, || {
                    // Serves the load below, anew for each look.
                    port.observe(asked.lines());
                    (port.load(asked.start()) == number).then_some(())
                })?;
                // The number last: a line that has it has the time (stores drain in order).
                port.store(answered.start(), clock(port).to_bits());
                port.store(answered.at(1), number);
                // Serves the poll of the host that asked.
                port.publish(answered.lines());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(before_ns: f64, reference_ns: f64, after_ns: f64) -> Exchange {
        Exchange {
            before_ns,
            reference_ns,
            after_ns,
        }
    }

    #[test]
    fn one_exchange_bounds_the_offset_by_half_its_length() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.at(0.0), None);
        estimator.add(&[
            exchange(0.0, 5_000.0, 400.0),
            exchange(500.0, 5_520.0, 600.0),
        ]);
        let offset = estimator.at(600.0).expect("there is an exchange");
        // The narrowest counts: 5,520 was read between 500 and 600.
        assert!((offset.offset_ns - 4_970.0).abs() < 0.1, "{offset:?}");
        assert!((offset.error_ns - 50.0).abs() < 0.1, "{offset:?}");
        assert!((offset.round_trip_ns - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_error_grows_with_age_and_shrinks_with_a_second_exchange() {
        let mut estimator = Estimator::default();
        estimator.add(&[exchange(0.0, 50.0, 100.0)]);
        let after_a_second = estimator.at(1e9).expect("there is an exchange");
        assert!(
            (after_a_second.error_ns - 500_050.0).abs() < 1.0,
            "{after_a_second:?}"
        );
        estimator.add(&[exchange(1e9, 1e9 + 10_050.0, 1e9 + 100.0)]);
        let again = estimator.at(2e9).expect("there are two");
        // The second clock gains 10 ppm; that is known to 0.1 ppm, and may stray by 15.
        assert!((again.offset_ns - 20_000.0).abs() < 200.0, "{again:?}");
        assert!(again.error_ns < 15_200.0, "{again:?}");
    }

    #[test]
    fn a_clock_that_was_set_is_no_clock() {
        let mut estimator = Estimator::default();
        estimator.add(&[exchange(0.0, 50.0, 100.0)]);
        estimator.add(&[exchange(1e9, 2e9, 1e9 + 100.0)]);
        assert_eq!(estimator.at(1e9), None);
    }
}
