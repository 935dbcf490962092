//! One run from the launcher's side: frames in, rows out, and what to do when a host dies.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::collect::{Place, Recorder, rows};
use crate::frame::{Frame, Hello};
use crate::local::{Event, Pack};
use crate::progress::Progress;
use crate::spec::TrialSpec;
use crate::trial::LaneReport;

/// How often the launcher looks up from waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Seconds beyond a trial's own deadline after which the launcher stops believing in its hosts.
const DISBELIEF_SECONDS: f64 = 30.0;

/// A run under supervision.
pub struct Session<'a> {
    /// The host processes.
    pub pack: Pack,
    /// What they run.
    pub trials: &'a [TrialSpec],
    /// What rows have in common; hosts fill in device, label and oversubscription.
    pub place: Place,
    /// Where rows go.
    pub recorder: &'a mut Recorder,
    /// Who is told.
    pub progress: &'a mut Progress,
    /// Set by a signal to the launcher.
    pub interrupted: &'a AtomicBool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Trials whose rows were kept, failed ones included.
    pub trials: usize,
    /// What cut the run short.
    pub cause: Option<String>,
}

impl Session<'_> {
    /// Supervises the run to its end, whatever happens; returns when every host process is gone.
    pub fn run(mut self) -> Ended {
        let mut watch = Watch::new(self.pack_size());
        while self.pack.is_open() {
            match self.pack.next(LOOK_EVERY) {
                Event::Frame(host, frame) => self.hear(&mut watch, host, *frame),
                Event::Garbled(host, line) => {
                    watch.blame(format!(
                        "host {host} said something else than a frame: {line}"
                    ));
                }
                Event::Closed(host) => {
                    if let Some(end) = self.pack.violent_end(host) {
                        // Only before the hosts were told to stop: afterwards it is our own doing.
                        if !watch.stopping {
                            watch.blame(self.dated(&watch, &end));
                        }
                    } else if !watch.bye[host as usize] && !watch.stopping {
                        watch
                            .blame(self.dated(&watch, &format!("host {host} left without a word")));
                    }
                }
                Event::Quiet => self.check_patience(&mut watch),
            }
            if self.interrupted.load(Relaxed) {
                watch.blame("interrupted".into());
            }
            if watch.cause.is_some() && !watch.stopping {
                watch.stopping = true;
                self.pack.stop();
            }
        }
        self.close(watch)
    }

    fn pack_size(&self) -> usize {
        self.trials
            .first()
            .map_or(0, |spec| spec.pod.hosts as usize)
    }

    fn hear(&mut self, watch: &mut Watch, host: u32, frame: Frame) {
        watch.heard = Instant::now();
        match frame {
            Frame::Hello(hello) => self.greet(host, &hello),
            Frame::Joined { .. } => {}
            Frame::Progress { trial, repetition } => {
                let title = self.trials[trial as usize].title();
                self.progress.repetition(&title, repetition);
            }
            Frame::Trial { trial, lanes } => {
                if trial as usize == watch.trial {
                    watch.reports[host as usize] = Some(lanes);
                    self.keep_if_whole(watch);
                }
            }
            Frame::Bye { error, consequence } => {
                watch.bye[host as usize] = true;
                match error {
                    Some(error) if consequence => watch.suspect(format!("host {host}: {error}")),
                    // A wrong answer stands in its row; a refused rendezvous ends the run.
                    Some(error)
                        if watch.trial == 0 && watch.reports.iter().all(Option::is_none) =>
                    {
                        watch.blame(format!("host {host}: {error}"));
                    }
                    _ => {}
                }
            }
        }
    }

    fn greet(&mut self, host: u32, hello: &Hello) {
        self.place.device = hello.device;
        self.place.label = hello.label;
        self.place.oversubscribed |= hello.oversubscribed;
        self.recorder.add_host(host, &hello.machine);
    }

    /// Keeps a trial's rows once every host has reported.
    fn keep_if_whole(&mut self, watch: &mut Watch) {
        if watch.reports.iter().any(Option::is_none) {
            return;
        }
        let lanes = watch.take_reports();
        // A trial that was cut short is kept at the end, when it is known why.
        if lanes
            .iter()
            .any(|lane| lane.error.is_some() && lane.verified.is_none())
        {
            watch.cut = Some(lanes);
            watch.suspect_lanes();
            return;
        }
        let spec = &self.trials[watch.trial];
        self.recorder.add(rows(&self.place, spec, &lanes, None));
        self.progress.trial_done(&spec.title());
        watch.trial += 1;
    }

    fn check_patience(&self, watch: &mut Watch) {
        let allowed = self
            .trials
            .get(watch.trial)
            .map_or(0.0, |t| t.limits.deadline_seconds);
        let patience = Duration::from_secs_f64(allowed + DISBELIEF_SECONDS);
        if watch.heard.elapsed() > patience {
            watch.blame(format!("no host has reported for {} s", patience.as_secs()));
        }
        // Hosts that give up over a lost host say so within moments of each other; a host that was
        // merely suspended must not keep the launcher waiting.
        if watch.suspicion.is_some() && watch.suspected_for() > Duration::from_millis(500) {
            watch.blame(watch.suspicion.clone().unwrap_or_default());
        }
    }

    fn dated(&self, watch: &Watch, what: &str) -> String {
        match self.trials.get(watch.trial) {
            Some(spec) => format!("{what} during trial {} ({})", watch.trial, spec.title()),
            None => format!("{what} after the last trial"),
        }
    }

    /// Keeps what was measured of a trial that was cut short.
    fn close(&mut self, mut watch: Watch) -> Ended {
        let cut_short = watch.trial < self.trials.len();
        if cut_short {
            let cause = watch.cause.clone().or_else(|| watch.suspicion.clone());
            let cause = cause.unwrap_or_else(|| "the hosts left early".into());
            let mut lanes = watch.cut.take().unwrap_or_default();
            lanes.extend(watch.take_reports());
            let spec = &self.trials[watch.trial];
            self.recorder
                .add(rows(&self.place, spec, &lanes, Some(&cause)));
            watch.cause = Some(cause);
            watch.trial += 1;
        }
        Ended {
            trials: watch.trial,
            cause: watch.cause,
        }
    }
}

/// What the launcher knows of the run.
struct Watch {
    trial: usize,
    reports: Vec<Option<Vec<LaneReport>>>,
    /// Reports of a trial that was cut short on every host.
    cut: Option<Vec<LaneReport>>,
    bye: Vec<bool>,
    /// Why the run is being stopped: the first thing that went wrong by itself.
    cause: Option<String>,
    /// What a host said that may follow from something worse, and when.
    suspicion: Option<String>,
    suspected_at: Instant,
    stopping: bool,
    heard: Instant,
}

impl Watch {
    fn new(hosts: usize) -> Self {
        Self {
            trial: 0,
            reports: vec![None; hosts],
            cut: None,
            bye: vec![false; hosts],
            cause: None,
            suspicion: None,
            suspected_at: Instant::now(),
            stopping: false,
            heard: Instant::now(),
        }
    }

    fn blame(&mut self, what: String) {
        self.cause.get_or_insert(what);
    }

    /// A lost host is worth more than "another host failed", which follows from it.
    fn suspect(&mut self, what: String) {
        if self.suspicion.is_none() {
            self.suspected_at = Instant::now();
        }
        let better = self
            .suspicion
            .as_ref()
            .is_none_or(|known| known.contains("torn down"));
        if better {
            self.suspicion = Some(what);
        }
    }

    fn suspect_lanes(&mut self) {
        let lanes = self.cut.iter().flatten();
        let errors: Vec<_> = lanes
            .filter_map(|lane| Some(format!("host {}: {}", lane.host, lane.error.as_ref()?)))
            .collect();
        for error in errors {
            self.suspect(error);
        }
    }

    fn suspected_for(&self) -> Duration {
        self.suspected_at.elapsed()
    }

    fn take_reports(&mut self) -> Vec<LaneReport> {
        let reports = self.reports.iter_mut().filter_map(Option::take).flatten();
        reports.collect()
    }
}
