//! A link direction or a device: serves one line after another.

use crate::timing::{Time, Timing};

/// Time constant of the load that a server remembers: long against one request, short against a
/// phase of a program.
const MEMORY: f64 = 2e6;

/// Serves lines first come, first served, in the order of the calls.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Time for one line.
    service: Time,
    free: Time,
    /// What one line adds to the load.
    share: f64,
    /// Share of recent time that it was busy, and when that was computed.
    load: f64,
    seen: Time,
}

impl Server {
    pub(crate) fn new(service: Time) -> Self {
        Self {
            service,
            free: 0,
            share: service as f64 / MEMORY,
            load: 0.0,
            seen: 0,
        }
    }

    /// Admits one line at `at`; returns how long it waits.
    ///
    /// The wait is the longer of two: behind lines admitted before, and, above the knee, behind
    /// bursts that interleave with it: M/D/1 with batch arrivals. Only the four operations that
    /// IEEE 754 rounds exactly are used, so every machine computes the same times.
    #[inline(always)]
    pub(crate) fn admit(&mut self, at: Time, timing: &Timing) -> Time {
        let queued = self.free.saturating_sub(at);
        self.free = at.max(self.free) + self.service;
        // Signed, which converts in one instruction: no run lasts 106 days.
        let elapsed = at.saturating_sub(self.seen) as i64 as f64;
        self.seen = self.seen.max(at);
        // One division, that need not wait for the load.
        self.load = (self.load + self.share) * (MEMORY / (MEMORY + elapsed));
        if self.load <= timing.knee {
            return queued;
        }
        queued.max(self.burst_wait(timing))
    }

    /// Above the knee.
    fn burst_wait(&self, timing: &Timing) -> Time {
        let idle = (1.0 - self.load).max(1e-3);
        let burst = self.service as f64 * timing.burst_lines;
        let wait = burst * (self.load - timing.knee) / (2.0 * idle);
        (wait as Time).min(timing.longest_wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod;

    fn timing() -> Timing {
        Timing::of(&pod::load("sc26-four-host").expect("built in"))
    }

    #[test]
    fn an_idle_server_makes_nobody_wait_and_a_busy_one_serves_in_turn() {
        let timing = timing();
        let mut server = Server::new(100);
        assert_eq!(server.admit(1_000, &timing), 0);
        assert_eq!(server.admit(1_000, &timing), 100);
        assert_eq!(server.admit(1_150, &timing), 50);
        assert_eq!(server.admit(9_000, &timing), 0);
    }

    #[test]
    fn waiting_grows_from_the_knee_and_is_capped() {
        let timing = timing();
        let wait_at = |gap: u64| {
            let mut server = Server::new(2_700);
            (1..20_000)
                .map(|turn| server.admit(turn * gap, &timing))
                .last()
        };
        let waits = [4.0, 2.0, 1.25, 1.05].map(|slack| wait_at((2_700.0 * slack) as u64).unwrap());
        assert_eq!(waits[0], 0, "a quarter of the bandwidth is below the knee");
        assert!(
            waits[0] < waits[1] && waits[1] < waits[2] && waits[2] < waits[3],
            "{waits:?}"
        );
        assert!(waits[3] <= timing.longest_wait);
    }
}
