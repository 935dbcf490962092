//! Progress on standard error: a bar on a terminal, plain lines otherwise, nothing when quiet.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time between two plain lines, so that a log stays short.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Tells a person how far a run is.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    total: u64,
    done: u64,
    last_line: Instant,
}

impl Progress {
    /// Progress over `total` trials.
    ///
    /// # Panics
    /// Never: the bar's template is fixed and valid.
    pub fn new(total: usize, quiet: bool) -> Self {
        let terminal = stderr().is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let target = ProgressDrawTarget::stderr();
            let template = "{bar:30} {pos}/{len} trials, {eta} left  {wide_msg}";
            let style = ProgressStyle::with_template(template).expect("the template is fixed");
            ProgressBar::with_draw_target(Some(total as u64), target).with_style(style)
        });
        let lines = !quiet && !terminal;
        Self {
            bar,
            lines,
            total: total as u64,
            done: 0,
            last_line: Instant::now(),
        }
    }

    /// A trial goes on: so many repetitions are done, and a share of the next.
    pub fn repetition(&mut self, title: &str, done: f64) {
        let share = done.fract();
        let how_far = if share == 0.0 {
            format!("{title}: repetition {done}")
        } else {
            format!(
                "{title}: repetition {}, {:.0} %",
                done.ceil(),
                share * 100.0
            )
        };
        if let Some(bar) = &self.bar {
            bar.set_message(how_far);
        } else if self.lines && share > 0.0 && self.last_line.elapsed() > LINE_EVERY {
            self.last_line = Instant::now();
            self.say(&how_far);
        }
    }

    /// A trial is over.
    pub fn trial_done(&mut self, title: &str) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
        let last = self.done == self.total;
        if self.lines && (last || self.last_line.elapsed() > LINE_EVERY) {
            self.last_line = Instant::now();
            self.say(&format!("trial {} of {}: {title}", self.done, self.total));
        }
    }

    /// A sentence for the person, on a line of its own; also where standard error is closed.
    pub fn say(&self, sentence: &str) {
        if let Some(bar) = &self.bar {
            bar.println(sentence);
        } else if self.lines {
            let _ = writeln!(stderr(), "{sentence}");
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
