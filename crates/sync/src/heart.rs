//! How hosts notice that another has died: nothing in the suite waits for ever.
//!
//! Each host's lane 0 publishes a growing number in its own header line, in the slow path of
//! `pause` and between repetitions, and looks at the others' at the same rate. Cost: 1 publish and
//! 1 observe of N lines every [`HeartRates::beat_ms`], nothing in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use fabric::{Gone, Pod, Port, Seat, Watch};

use crate::header::{Header, HostState};

/// Why a host that was asked to stop gives up ([`Gone::Teardown`]).
pub const INTERRUPTED: &str = "interrupted";

/// Why a host gives up where another left early ([`Gone::Teardown`]).
pub const ANOTHER_FAILED: &str = "another host failed";

/// How often hosts beat, and how long silence is borne.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartRates {
    /// Milliseconds between two beats.
    pub beat_ms: u64,
    /// Milliseconds of silence after which a host counts as lost.
    pub silent_ms: u64,
}

impl HeartRates {
    /// A beat every 100 ms, given up after 5 s: fifty missed beats are more than a stalled VM.
    pub const DEFAULT: Self = Self {
        beat_ms: 100,
        silent_ms: 5_000,
    };
}

/// One host's heart: beats for it and listens to the others.
#[derive(Debug)]
pub struct Heart {
    header: Header,
    pod: Pod,
    host: u32,
    rates: HeartRates,
    /// Set from outside (a signal, the launcher) to stop this host.
    stop: Arc<AtomicBool>,
    /// What lane 0 found, for the other lanes: host + 1, or 0.
    lost: AtomicU64,
    failed: AtomicBool,
    beat: AtomicU64,
    next_ns: AtomicU64,
    /// When the current trial must be over, on this host's clock; set at its first look.
    deadline_ns: AtomicU64,
    allowed_ms: AtomicU64,
    late: AtomicBool,
    heard: Vec<Heard>,
}

/// What was heard of one host: its last beat, and when it changed.
#[derive(Debug, Default)]
struct Heard {
    beat: AtomicU64,
    at_ns: AtomicU64,
}

impl Heart {
    /// The heart of `host`, which has joined; `stop` ends every wait of this host.
    pub fn new(
        header: Header,
        pod: Pod,
        host: u32,
        rates: HeartRates,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            header,
            pod,
            host,
            rates,
            stop,
            lost: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            // Rendezvous beat from 1; continue above whatever it reached.
            beat: AtomicU64::new(1 << 32),
            next_ns: AtomicU64::new(0),
            deadline_ns: AtomicU64::new(u64::MAX),
            allowed_ms: AtomicU64::new(0),
            late: AtomicBool::new(false),
            heard: (0..pod.hosts).map(|_| Heard::default()).collect(),
        }
    }

    /// Gives the trial that starts now `seconds` to end.
    pub fn allow(&self, seconds: f64) {
        self.allowed_ms.store((seconds * 1e3) as u64, Relaxed);
        // The clock belongs to a port: the first look turns the allowance into a time.
        self.deadline_ns.store(0, Relaxed);
    }

    /// Notes whether the trial has had its time.
    fn check_deadline(&self, now_ns: u64) {
        match self.deadline_ns.load(Relaxed) {
            0 => {
                let end_ns = now_ns.saturating_add(self.allowed_ms.load(Relaxed) * 1_000_000);
                self.deadline_ns.store(end_ns, Relaxed);
            }
            end_ns if now_ns > end_ns => self.late.store(true, Relaxed),
            _ => {}
        }
    }

    fn verdict(&self) -> Result<(), Gone> {
        if self.stop.load(Relaxed) {
            return Err(Gone::Teardown { why: INTERRUPTED });
        }
        if self.late.load(Relaxed) {
            return Err(Gone::Deadline {
                after_ms: self.allowed_ms.load(Relaxed),
            });
        }
        match self.lost.load(Relaxed) {
            0 if self.failed.load(Relaxed) => Err(Gone::Teardown {
                why: ANOTHER_FAILED,
            }),
            0 => Ok(()),
            host => Err(Gone::LostHost {
                host: host as u32 - 1,
                silent_ms: self.rates.silent_ms,
            }),
        }
    }

    /// Forgets how long the others have been silent, if this host was away itself: a run that was
    /// suspended as a whole would otherwise wake up to silence everywhere, and late.
    fn forgive_after_absence(&self, now_ns: u64) {
        let away_ns = now_ns.saturating_sub(self.next_ns.load(Relaxed));
        if away_ns > self.rates.silent_ms * 500_000 {
            // 0 and the largest are not times: no look yet, no trial yet.
            if !matches!(self.deadline_ns.load(Relaxed), 0 | u64::MAX) {
                self.deadline_ns.fetch_add(away_ns, Relaxed);
            }
            for heard in &self.heard {
                heard.at_ns.store(now_ns, Relaxed);
            }
        }
    }

    /// Listens once to every other host.
    fn listen<P: Port>(&self, port: &P, now_ns: u64) {
        for (host, line) in self
            .header
            .all_hosts(port, self.pod.hosts)
            .iter()
            .enumerate()
        {
            let heard = &self.heard[host];
            let first = heard.at_ns.load(Relaxed) == 0;
            if first || heard.beat.swap(line.beat, Relaxed) != line.beat {
                heard.beat.store(line.beat, Relaxed);
                heard.at_ns.store(now_ns, Relaxed);
            }
            let silent_ns = now_ns - heard.at_ns.load(Relaxed);
            let other = host as u32 != self.host;
            match line.state {
                HostState::Done => {}
                HostState::Failed if other => self.failed.store(true, Relaxed),
                _ if other && silent_ns > self.rates.silent_ms * 1_000_000 => {
                    self.lost.store(host as u64 + 1, Relaxed);
                }
                _ => {}
            }
        }
    }
}

impl Watch for Heart {
    fn look<P: Port>(&self, seat: Seat, port: &P) -> Result<(), Gone> {
        if !seat.leads_host() {
            return self.verdict();
        }
        let now_ns = (port.now().0 as f64 / port.clock().ticks_per_ns) as u64;
        if now_ns >= self.next_ns.load(Relaxed) {
            self.forgive_after_absence(now_ns);
            self.next_ns
                .store(now_ns + self.rates.beat_ms * 1_000_000, Relaxed);
            let beat = self.beat.fetch_add(1, Relaxed);
            self.header.beat(port, self.host, beat);
            self.listen(port, now_ns);
            self.check_deadline(now_ns);
        }
        self.verdict()
    }
}
