//! One time for the hosts of a pod: what host 0's clock shows now, seen from here.
//!
//! Hosts of one machine share a counter. Others ask host 0 over the region, a batch of rounds at
//! the start of each trial and once a second between repetitions, so that the bounds follow the
//! drift ([`sync::clocks`]). That is good enough to start together and to say how far apart lanes
//! started; it says nothing of one-way times, whose error would be as large as they are.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fabric::{Gone, Port, Seat, Ticks};
use serde::{Deserialize, Serialize};
use sync::clocks::{ClockLines, Estimator, Offset};

/// Rounds of a batch: the narrowest counts, and one of a few tens meets neither an interrupt nor
/// another lane's traffic.
const ROUNDS: u32 = 32;

/// Between two batches: a drift of the 15 ppm that rates may stray by adds 15 us meanwhile.
const AGAIN_NS: f64 = 1e9;

/// When a lane started a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// By host 0's clock.
    pub at_ns: f64,
    /// How far that may be off.
    pub error_ns: f64,
    /// How long after the time that host 0 had named; 0 where it named none.
    pub late_ns: f64,
}

/// Where host 0's clock comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// It is this host's; the error, where somebody vouches for one.
    Shared { error_ns: Option<f64> },
    /// Over the region.
    Asked,
}

/// One host's idea of host 0's clock.
#[derive(Debug)]
pub struct Timekeeper<'a> {
    lines: Option<&'a ClockLines>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    source: Source,
    estimator: Estimator,
    asked: u64,
    due_ns: f64,
}

impl<'a> Timekeeper<'a> {
    /// For hosts of one machine, whose readings differ by no more than `error_ns`; none where
    /// nobody vouches for that.
    pub fn shared(error_ns: Option<f64>) -> Self {
        Self::with(None, Source::Shared { error_ns })
    }

    /// For hosts that ask each other over the region.
    pub fn asking(lines: &'a ClockLines) -> Self {
        Self::with(Some(lines), Source::Asked)
    }

    fn with(lines: Option<&'a ClockLines>, source: Source) -> Self {
        let state = State {
            source,
            estimator: Estimator::default(),
            asked: 0,
            due_ns: 0.0,
        };
        Self {
            lines,
            state: Mutex::new(state),
        }
    }

    /// The hosts have found out that they are one machine.
    pub fn share(&self, error_ns: Option<f64>) {
        self.state().source = Source::Shared { error_ns };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another batch is due; host 0 asks, for all.
    pub fn due<P: Port>(&self, port: &P) -> bool {
        let state = self.state();
        state.source == Source::Asked && own_ns(port, port.now()) >= state.due_ns
    }

    /// One batch, by lane 0 of every host; nothing where hosts share a clock.
    ///
    /// Cost: 2 publishes a round and host, one host after the other.
    ///
    /// # Errors
    /// Whatever ended a wait.
    pub fn estimate<P: Port>(&self, port: &P, seat: Seat) -> Result<(), Gone> {
        let (source, asked) = {
            let mut state = self.state();
            let asked = state.asked;
            state.asked += u64::from(ROUNDS);
            state.due_ns = own_ns(port, port.now()) + AGAIN_NS;
            (state.source, asked)
        };
        let (Source::Asked, Some(lines)) = (source, self.lines) else {
            return Ok(());
        };
        let clock = |port: &P| own_ns(port, port.now());
        if seat.host == 0 {
            return lines.answer(port, asked, ROUNDS, clock);
        }
        let batch = lines.ask(port, seat.host, asked, ROUNDS, clock)?;
        self.state().estimator.add(&batch);
        Ok(())
    }

    /// Host 0's clock less this host's; none where nobody can tell.
    pub fn offset<P: Port>(&self, port: &P, seat: Seat, at: Ticks) -> Option<Offset> {
        let state = self.state();
        let known = |error_ns| Offset {
            offset_ns: 0.0,
            error_ns,
            drift_bound: 0.0,
            age_ns: 0.0,
            round_trip_ns: 0.0,
        };
        match state.source {
            Source::Shared { error_ns } => error_ns.map(known),
            Source::Asked if seat.host == 0 => Some(known(0.0)),
            Source::Asked => state.estimator.at(own_ns(port, at)),
        }
    }

    /// When a lane started, if that can be told; `named_ns` is when it should have.
    pub(crate) fn started<P: Port>(
        &self,
        port: &P,
        seat: Seat,
        at: Ticks,
        named_ns: Option<f64>,
    ) -> Option<Started> {
        let offset = self.offset(port, seat, at)?;
        let at_ns = own_ns(port, at) + offset.offset_ns;
        Some(Started {
            at_ns,
            error_ns: offset.error_ns,
            late_ns: named_ns.map_or(0.0, |named_ns| (at_ns - named_ns).max(0.0)),
        })
    }
}

/// A reading in nanoseconds.
pub(crate) fn own_ns<P: Port>(port: &P, at: Ticks) -> f64 {
    at.0 as f64 / port.clock().ticks_per_ns
}
