//! The launch `local`: one process a host on this machine, over one region.
//!
//! Nothing is left behind: a host process dies with its launcher (parent-death signal, set by the
//! host itself), the launcher ends hosts that outlive their run, and an anonymous region goes with
//! its last process.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use crate::frame::Frame;
use crate::host::HostConfig;

/// How long hosts that were told to stop may take, before they are killed. A stopped host beats no
/// more, so this also bounds the wait for one that is suspended.
const GRACE: Duration = Duration::from_secs(2);

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
}

/// Something that happened at a host.
#[derive(Debug)]
pub enum Event {
    /// It said something.
    Frame(u32, Box<Frame>),
    /// It said something that is not a frame.
    Garbled(u32, String),
    /// Its output has ended.
    Closed(u32),
    /// Nothing, for as long as was asked.
    Quiet,
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

    /// The next event, or [`Event::Quiet`] after `patience`.
    pub fn next(&mut self, patience: Duration) -> Event {
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

    /// Whether a host may still say something.
    pub fn is_open(&self) -> bool {
        self.hosts.iter().any(|host| host.open)
    }

    /// The hosts that may still say something.
    pub fn open_hosts(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.hosts)
            .filter_map(|(id, host)| host.open.then_some(id))
    }

    /// The process of `host`.
    pub fn pid(&self, host: u32) -> u32 {
        self.hosts[host as usize].child.id()
    }

    /// How `host` ended, in words, once its output is closed; none if it ended by itself.
    pub fn violent_end(&self, host: u32) -> Option<String> {
        let status = self.hosts[host as usize].ending?;
        let pid = self.pid(host);
        if let Some(signal) = status.signal() {
            let name = signal_name(signal);
            return Some(format!(
                "host {host} (process {pid}) was killed by signal {signal}{name}"
            ));
        }
        let code = status.code().unwrap_or(-1);
        (code > 1).then(|| format!("host {host} (process {pid}) exited with status {code}"))
    }

    /// Tells every host to stop; after a grace period [`next`](Self::next) kills what is left.
    pub fn stop(&mut self) {
        if self.stopping_since.is_none() {
            self.stopping_since = Some(Instant::now());
            self.signal(Signal::TERM);
        }
    }

    fn signal(&mut self, signal: Signal) {
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

fn start_host(
    program: &Path,
    args: &[&str],
    config: &HostConfig,
    events: Sender<Event>,
) -> Result<Member, LaunchError> {
    let host = config.host;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| LaunchError::Spawn {
            host,
            program: program.display().to_string(),
            source,
        })?;
    let mut line = serde_json::to_vec(config).expect("a configuration is plain values");
    line.push(b'\n');
    let mut input = child.stdin.take().expect("standard input was piped");
    let output = child.stdout.take().expect("standard output was piped");
    // The configuration may be longer than a pipe holds: a host that is suspended before it has
    // read all of it must not hold up the launcher, so the host's own thread writes it.
    let reader = std::thread::spawn(move || {
        // A host that died first is told by its end.
        let _ = input.write_all(&line);
        drop(input);
        read_frames(host, output, &events);
    });
    Ok(Member {
        child,
        reader: Some(reader),
        open: true,
        ending: None,
    })
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
