//! The launch `local`: one process a host on this machine, over one region.
//!
//! Nothing is left behind: a host process dies with its launcher (parent-death signal, set by the
//! host itself), the launcher ends hosts that outlive their run, and an anonymous region goes with
//! its last process.
//!
//! Each host has a thread here, which starts it, writes its configuration and reads its frames. The
//! thread must be the one that starts it, and live as long: a parent-death signal is sent when the
//! *thread* that forked ends (prctl(2), `PR_SET_PDEATHSIG`).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use crate::host::HostConfig;
use crate::hosts::{Event, Hosts};

/// How long hosts that were told to stop may take, before they are killed. A stopped host beats no
/// more, so this also bounds the wait for one that is suspended.
const GRACE: Duration = Duration::from_secs(2);

/// How long a process may take from its making to its first instruction, as long as hosts bear each
/// other's silence.
const BIRTH: Duration = Duration::from_millis(sync::HeartRates::DEFAULT.silent_ms);

/// Host processes could not be started.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The program could not be run again.
    #[error("cannot start host {host} as {program}: {source}")]
    Spawn {
        /// Which host.
        host: u32,
        /// Which program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A process was made and did not begin.
    #[error(
        "host {host} (process {process}) was suspended before it ran, and ended after {} s; \
         run again",
        BIRTH.as_secs()
    )]
    Suspended {
        /// Which host.
        host: u32,
        /// Its process, as far as the kernel told.
        process: String,
    },
}

/// The host processes of one run.
#[derive(Debug)]
pub struct Pack {
    hosts: Vec<Member>,
    events: Receiver<Event>,
    stopping_since: Option<Instant>,
}

#[derive(Debug)]
struct Member {
    child: Child,
    reader: Option<JoinHandle<()>>,
    open: bool,
    ending: Option<ExitStatus>,
}

impl Pack {
    /// Starts one process a config: `program args...`, its configuration on standard input.
    ///
    /// # Errors
    /// A process that does not start; those started before are ended.
    pub fn start(
        program: &Path,
        args: &[&str],
        configs: &[HostConfig],
    ) -> Result<Self, LaunchError> {
        let (sender, events) = channel();
        let mut pack = Self {
            hosts: Vec::new(),
            events,
            stopping_since: None,
        };
        for config in configs {
            match start_host(program, args, config, sender.clone()) {
                Ok(member) => pack.hosts.push(member),
                Err(error) => {
                    pack.end();
                    return Err(error);
                }
            }
        }
        Ok(pack)
    }

    /// The process of `host`.
    pub fn pid(&self, host: u32) -> u32 {
        self.hosts[host as usize].child.id()
    }

    fn signal(&self, signal: Signal) {
        for host in self.hosts.iter().filter(|host| host.open) {
            if let Some(pid) = Pid::from_raw(host.child.id().cast_signed()) {
                // It may have ended meanwhile; it is not reaped before its output is closed, so the
                // number is still its own.
                let _ = kill_process(pid, signal);
            }
        }
    }

    fn close(&mut self, host: u32) {
        let member = &mut self.hosts[host as usize];
        member.open = false;
        member.ending = member.child.wait().ok();
        if let Some(reader) = member.reader.take() {
            let _ = reader.join();
        }
    }

    /// Ends whatever still runs, and reaps it.
    fn end(&mut self) {
        self.signal(Signal::KILL);
        for host in 0..self.hosts.len() {
            if self.hosts[host].open {
                self.close(host as u32);
            }
        }
    }
}

impl Drop for Pack {
    fn drop(&mut self) {
        self.end();
    }
}

impl Hosts for Pack {
    /// After a grace period this also kills what was told to stop.
    fn next(&mut self, patience: Duration) -> Event {
        if self
            .stopping_since
            .is_some_and(|since| since.elapsed() > GRACE)
        {
            self.signal(Signal::KILL);
        }
        match self.events.recv_timeout(patience) {
            Ok(Event::Closed(host)) => {
                self.close(host);
                Event::Closed(host)
            }
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Event::Quiet,
        }
    }

    fn open(&self) -> Vec<u32> {
        let hosts = (0..).zip(&self.hosts);
        hosts
            .filter_map(|(id, host)| host.open.then_some(id))
            .collect()
    }

    fn name(&self, host: u32) -> String {
        format!("host {host} (process {})", self.pid(host))
    }

    fn violent_end(&self, host: u32) -> Option<String> {
        let status = self.hosts[host as usize].ending?;
        let host = self.name(host);
        if let Some(signal) = status.signal() {
            let name = signal_name(signal);
            return Some(format!("{host} was killed by signal {signal}{name}"));
        }
        let code = status.code().unwrap_or(-1);
        (code > 1).then(|| format!("{host} exited with status {code}"))
    }

    fn stop(&mut self) {
        if self.stopping_since.is_none() {
            self.stopping_since = Some(Instant::now());
            self.signal(Signal::TERM);
        }
    }
}

/// Starts a host in a thread of its own, and waits for it to begin.
///
/// Starting a process waits in the kernel until the new one runs its own program. If that is
/// suspended first (`SIGSTOP` cannot be blocked), the wait has no end and no deadline; so it is the
/// thread's wait, and whoever suspended the process has it killed.
fn start_host(
    program: &Path,
    args: &[&str],
    config: &HostConfig,
    events: Sender<Event>,
) -> Result<Member, LaunchError> {
    let host = config.host;
    let mut line = serde_json::to_vec(config).expect("a configuration is plain values");
    line.push(b'\n');
    let birth = Birth {
        host,
        program: program.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        line,
    };
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || birth.attend(&tell, &events));
    let Ok(Told::Thread(id)) = told.recv() else {
        unreachable!("a thread says first which it is");
    };
    let child = match told.recv_timeout(BIRTH) {
        Ok(Told::Child(child)) => child,
        Err(RecvTimeoutError::Timeout) => {
            let unborn = children(id);
            for &pid in &unborn {
                let _ = kill_process(pid, Signal::KILL);
            }
            // That ends the wait: what was killed is reaped, or was about to begin after all.
            if let Ok(Told::Child(Ok(mut child))) = told.recv() {
                let _ = child.kill();
                let _ = child.wait();
            }
            let _ = thread.join();
            let pids = unborn.iter().map(|pid| pid.as_raw_nonzero().to_string());
            let process = pids.collect::<Vec<_>>().join(", ");
            return Err(LaunchError::Suspended { host, process });
        }
        _ => unreachable!("a thread says then what became of the process"),
    };
    Ok(Member {
        child: child?,
        reader: Some(thread),
        open: true,
        ending: None,
    })
}

/// What a host's thread tells whoever starts the host.
enum Told {
    /// Itself, before it does anything that may take long.
    Thread(Pid),
    /// The process that it started.
    Child(Result<Child, LaunchError>),
}

/// A process that is to be started.
struct Birth {
    host: u32,
    program: PathBuf,
    args: Vec<String>,
    /// Its configuration.
    line: Vec<u8>,
}

impl Birth {
    /// Starts it, tells, and listens to it until its output ends.
    fn attend(self, tell: &Sender<Told>, events: &Sender<Event>) {
        let _ = tell.send(Told::Thread(rustix::thread::gettid()));
        let spawned = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(source) => {
                let (host, program) = (self.host, self.program.display().to_string());
                let failed = LaunchError::Spawn {
                    host,
                    program,
                    source,
                };
                let _ = tell.send(Told::Child(Err(failed)));
                return;
            }
        };
        let mut input = child.stdin.take().expect("standard input was piped");
        let output = child.stdout.take().expect("standard output was piped");
        let _ = tell.send(Told::Child(Ok(child)));
        // The configuration may be longer than a pipe holds: a host that is suspended before it has
        // read all of it must not hold up the launcher, so this thread writes it. A host that died
        // first is told by its end.
        let _ = input.write_all(&self.line);
        drop(input);
        read_frames(self.host, output, events);
    }
}

/// The processes that a thread of this process has started and not reaped (proc(5)).
fn children(thread: Pid) -> Vec<Pid> {
    let path = format!("/proc/self/task/{thread}/children");
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    let pids = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

fn read_frames(host: u32, output: impl std::io::Read, events: &Sender<Event>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    // A line without its end is what a host was writing when it died.
    while output.read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n") {
        let event = match serde_json::from_slice(&line) {
            Ok(frame) => Event::Frame(host, Box::new(frame)),
            Err(_) => Event::Garbled(host, String::from_utf8_lossy(line.trim_ascii()).into()),
        };
        if events.send(event).is_err() {
            return;
        }
        line.clear();
    }
    let _ = events.send(Event::Closed(host));
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}
