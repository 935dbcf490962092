//! Work on a graph with somebody who waits for it.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use graph::{GraphError, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time between two looks at the progress.
const LOOK: Duration = Duration::from_millis(100);

/// Time between two plain lines, so that a log stays short.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Time from a signal until work that has not looked up is given up: it hangs in the system, as in
/// opening a pipe that nobody writes. It loses nothing: a file that is being written has no name yet.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does `work` on a thread of its own, tells standard error how far it is, and lets it end early on
/// the first interrupt. A second one ends the program, and so does the first where the work hangs.
///
/// # Errors
/// Those of the work.
pub(crate) fn watched<T: Send>(
    quiet: bool,
    work: impl FnOnce(&Arc<Progress>) -> Result<T, GraphError> + Send,
) -> Result<T, GraphError> {
    let interrupted = interrupts();
    let progress = Arc::new(Progress::until(Arc::clone(&interrupted)));
    std::thread::scope(|scope| {
        let (done, waiting) = channel();
        let worker = &progress;
        let working = scope.spawn(move || {
            let result = work(worker);
            // Whoever waits hears of the end by the channel's.
            drop(done);
            result
        });
        let mut teller = (!quiet).then(Teller::new);
        let mut since = None;
        while waiting.recv_timeout(LOOK) == Err::<(), _>(RecvTimeoutError::Timeout) {
            if let Some(teller) = &mut teller {
                teller.tell(&progress);
            }
            if interrupted.load(Relaxed)
                && since.get_or_insert_with(Instant::now).elapsed() > PATIENCE
            {
                give_up();
            }
        }
        if let Some(Teller { bar: Some(bar), .. }) = teller {
            bar.finish_and_clear();
        }
        working
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Ends the program although its work has not ended.
fn give_up() -> ! {
    // Where standard error is closed nobody reads it.
    let _ = writeln!(stderr(), "dsmark: {}", GraphError::Interrupted);
    std::process::exit(1)
}

/// A flag that a signal sets. Without one, a signal ends the program, which is no harm either.
fn interrupts() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let again = Arc::clone(&interrupted);
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, again);
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    interrupted
}

/// A bar on a terminal, plain lines otherwise.
struct Teller {
    bar: Option<ProgressBar>,
    last_line: Instant,
}

impl Teller {
    fn new() -> Self {
        let bar = stderr().is_terminal().then(|| {
            let target = ProgressDrawTarget::stderr();
            let template = "{bar:30} {percent:>3} %, {eta} left  {msg}";
            let style = ProgressStyle::with_template(template).expect("the template is fixed");
            ProgressBar::with_draw_target(Some(0), target).with_style(style)
        });
        Self {
            bar,
            last_line: Instant::now(),
        }
    }

    fn tell(&mut self, progress: &Progress) {
        let (phase, done, total) = progress.look();
        let (name, unit) = phase.name_and_unit();
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(format!("{name}: {done} of {total} {unit}"));
        } else if self.last_line.elapsed() > LINE_EVERY {
            self.last_line = Instant::now();
            // Where standard error is closed nobody reads it.
            let _ = writeln!(stderr(), "{name}: {done} of {total} {unit}");
        }
    }
}
