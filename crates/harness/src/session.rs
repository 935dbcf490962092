//! One run from the launcher's side: frames in, rows out, and what to do when a host dies.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sync::HeartRates;

use crate::collect::{Place, Recorder, rows};
use crate::frame::{Blame, Failure, Frame};
use crate::hosts::{Event, Hosts};
use crate::progress::Progress;
use crate::spec::TrialSpec;
use crate::trial::LaneReport;

/// How often the launcher looks up from waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Beyond a trial's own deadline, how long the launcher believes in hosts that report nothing.
const DISBELIEF: Duration = Duration::from_secs(30);

/// How long hosts may take to leave once one of them has left or the last trial is over: as long as
/// they bear each other's silence.
const FAREWELL: Duration = Duration::from_millis(HeartRates::DEFAULT.silent_ms);

/// The launcher itself was away if waiting took so much longer than it was to.
const ABSENCE: Duration = Duration::from_secs(1);

/// How long the launcher waits for a better story than that of a host that failed because another
/// did: hosts give up within moments of each other.
const STORY: Duration = Duration::from_millis(500);

/// A run under supervision.
pub struct Session<'a, H> {
    /// The hosts.
    pub hosts: H,
    /// What they run.
    pub trials: &'a [TrialSpec],
    /// What rows have in common.
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

impl<H: Hosts> Session<'_, H> {
    /// Supervises the run to its end, whatever happens; returns when nothing more can be heard of
    /// any host.
    pub fn run(mut self) -> Ended {
        let mut watch = Watch::new(self.size());
        while !self.hosts.open().is_empty() {
            let before = Instant::now();
            let event = self.hosts.next(LOOK_EVERY);
            if before.elapsed() > LOOK_EVERY + ABSENCE {
                // Not the hosts were silent: the launcher was suspended, as by Ctrl-Z.
                watch.heard = Instant::now();
            }
            // First: an interrupt from a terminal reaches the hosts too, and is why they end.
            if self.interrupted.load(Relaxed) {
                watch.blame("interrupted".into());
            }
            match event {
                Event::Frame(host, frame) => self.hear(&mut watch, host, *frame),
                Event::Garbled(host, line) => {
                    watch.blame(format!(
                        "host {host} said something else than a frame: {line}"
                    ));
                }
                Event::Closed(host) => self.part(&mut watch, host),
                Event::Quiet => {}
            }
            self.check_patience(&mut watch);
            if watch.cause.is_some() && !watch.stopping {
                watch.stopping = true;
                self.hosts.stop();
            }
        }
        self.close(watch)
    }

    fn size(&self) -> usize {
        self.trials
            .first()
            .map_or(0, |spec| spec.pod.hosts as usize)
    }

    fn hear(&mut self, watch: &mut Watch, host: u32, frame: Frame) {
        watch.heard = Instant::now();
        match frame {
            Frame::Hello { machine } => self.recorder.add_host(host, &machine),
            Frame::Agreed {
                machines,
                oversubscribed,
            } => self
                .place
                .settle(machines, oversubscribed, watch.bye.len() as u32),
            Frame::Joined { .. } | Frame::Effective { .. } => {}
            Frame::Progress { trial, repetition } => {
                if let Some(spec) = self.trials.iter().find(|spec| spec.index == trial) {
                    self.progress.repetition(&spec.title(), repetition);
                }
            }
            Frame::Trial { lanes, .. } => {
                watch.reports[host as usize].push_back(lanes);
                self.keep_whole(watch);
            }
            Frame::Bye { failure } => {
                watch.bye[host as usize] = true;
                if let Some(Failure { what, blame }) = failure {
                    let what = format!("{}: {what}", self.hosts.name(host));
                    watch.judge(self.dated(watch, &what), blame);
                }
            }
        }
    }

    /// A host's output has ended. Nothing is wrong if it had said that nothing follows.
    fn part(&self, watch: &mut Watch, host: u32) {
        if watch.bye[host as usize] {
            return;
        }
        let how = self.hosts.violent_end(host);
        // Someone has said already that another host knows more.
        if how.is_none() && watch.suspicion.is_some() {
            return;
        }
        let how = how.unwrap_or_else(|| format!("host {host} left without a word"));
        watch.blame(self.dated(watch, &how));
    }

    /// Keeps the rows of trials that every host has reported. Hosts are read side by side: one may
    /// seem a trial ahead.
    fn keep_whole(&mut self, watch: &mut Watch) {
        while watch.trial < self.trials.len() && watch.reports.iter().all(|of| !of.is_empty()) {
            // A trial that was cut short is kept at the end, when it is known why.
            let gave_up = |lane: &LaneReport| lane.blame.is_some_and(|it| it != Blame::Answer);
            if watch.next_reports().any(gave_up) {
                return;
            }
            let lanes = watch.take_reports();
            let spec = &self.trials[watch.trial];
            self.recorder.add(rows(&self.place, spec, &lanes, None));
            self.progress.trial_done(&spec.title());
            watch.trial += 1;
        }
    }

    fn check_patience(&self, watch: &mut Watch) {
        if let Some((what, since)) = &watch.suspicion
            && since.elapsed() > STORY
        {
            watch.blame(what.clone());
        }
        let patience = match self.trials.get(watch.trial) {
            Some(spec) if !watch.bye.contains(&true) => {
                Duration::from_secs_f64(spec.limits.deadline_seconds) + DISBELIEF
            }
            _ => FAREWELL,
        };
        if watch.heard.elapsed() > patience {
            let open = self.hosts.open().into_iter();
            let open = open.map(|host| self.hosts.name(host));
            let open = open.collect::<Vec<_>>().join(", ");
            let what = format!("no word for {} s from {open}", patience.as_secs());
            watch.blame(self.dated(watch, &what));
        }
    }

    fn dated(&self, watch: &Watch, what: &str) -> String {
        match self.trials.get(watch.trial) {
            Some(spec) => format!("{what} during trial {} ({})", spec.index, spec.title()),
            None => format!("{what} after the last trial"),
        }
    }

    /// Keeps what was measured of a trial that was cut short.
    fn close(&mut self, mut watch: Watch) -> Ended {
        let cut_short = watch.trial < self.trials.len();
        if cut_short {
            let suspicion = watch.suspicion.take().map(|(what, _)| what);
            let cause = watch.cause.take().or(suspicion);
            let cause = cause.unwrap_or_else(|| "the hosts left early".into());
            let lanes = watch.take_reports();
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
    /// By host, from that trial on.
    reports: Vec<VecDeque<Vec<LaneReport>>>,
    bye: Vec<bool>,
    /// Why the run is being stopped: the first thing that went wrong by itself.
    cause: Option<String>,
    /// What a host said that follows from something worse, and when.
    suspicion: Option<(String, Instant)>,
    stopping: bool,
    heard: Instant,
}

impl Watch {
    fn new(hosts: usize) -> Self {
        Self {
            trial: 0,
            reports: vec![VecDeque::new(); hosts],
            bye: vec![false; hosts],
            cause: None,
            suspicion: None,
            stopping: false,
            heard: Instant::now(),
        }
    }

    fn blame(&mut self, what: String) {
        self.cause.get_or_insert(what);
    }

    /// What a host says went wrong, by whose doing it was.
    fn judge(&mut self, what: String, blame: Blame) {
        match blame {
            Blame::Answer => {}
            Blame::Own | Blame::Silence => self.blame(what),
            Blame::Another => {
                self.suspicion.get_or_insert((what, Instant::now()));
            }
        }
    }

    /// What hosts reported of the current trial.
    fn next_reports(&self) -> impl Iterator<Item = &LaneReport> {
        self.reports.iter().filter_map(VecDeque::front).flatten()
    }

    fn take_reports(&mut self) -> Vec<LaneReport> {
        let reports = self.reports.iter_mut().filter_map(VecDeque::pop_front);
        reports.flatten().collect()
    }
}
