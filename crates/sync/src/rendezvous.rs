//! How hosts agree on one run over memory that still holds the last one.
//!
//! Published systems trusted a stale `init_done` flag from the run before, or let two hosts each
//! initialise the device (split brain). Here:
//!
//! 1. Host 0 first looks whether another run is alive: a header in state gathering or running whose
//!    heartbeats move is refused.
//! 2. Host 0 draws the run's *cookie* and says gathering. Every other host writes a random *nonce*
//!    of its own in its arrival line, with the key that all hosts of its run were started with.
//! 3. Host 0 echoes each nonce that comes with its own key, beside the cookie, again whenever one
//!    changes: a nonce left by an earlier run is echoed first and corrected when the host arrives.
//! 4. A host that finds **its own** nonce echoed takes the cookie and says joined. Nothing stale
//!    can fool it: nobody knew its nonce before.
//! 5. Host 0 waits until all hosts have joined **this** cookie, compares builds and layouts, clears
//!    the control lines that they will use, and says running, or refused with the host that
//!    differs.
//!
//! Cost: 4 publishes a host and 2 more a host at host 0; observes until everyone has arrived.

use fabric::{Gone, Pod, Port, Slice, Ticks, wait_until};
use thiserror::Error;

use crate::header::{Condition, Header, HostLine, HostState, RunLine, RunState};

/// What a host brings to the rendezvous.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The pod it believes to be in.
    pub pod: Pod,
    /// Its index.
    pub host: u32,
    /// What all hosts of this run were started with, and no other run: a launcher's random number,
    /// a hash of the job's id. 0 where there is none; then two runs that gather on one region in
    /// the same moment may mix.
    pub run_key: u64,
    /// A fresh random number, not 0. Host 0's becomes the cookie.
    pub nonce: u64,
    /// Which build it runs.
    pub build_id: u64,
    /// Which layout and plan it computed.
    pub layout_hash: u64,
    /// Its process, for the reader of a dump.
    pub pid: u32,
    /// Bytes of the mapped region.
    pub region_bytes: u64,
    /// How long to wait for the others, in milliseconds.
    pub timeout_ms: u64,
}

/// Why a host did not join. The message names the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JoinError {
    /// Not a dsmark region.
    #[error(
        "the region holds something that is not a dsmark region (first word {first_word:#018x}); \
         if nothing in it is needed, run `dsmark region format --force PATH`"
    )]
    Foreign {
        /// What stands there.
        first_word: u64,
    },
    /// A region of another format.
    #[error(
        "the region was formatted by a build with header version {found}, lines of {line_bytes} \
         bytes; this build has version {own}, lines of 64; run `dsmark region format PATH`"
    )]
    OtherVersion {
        /// Version found.
        found: u64,
        /// Line size found.
        line_bytes: u64,
        /// Version of this build.
        own: u64,
    },
    /// Another run is alive on it.
    #[error(
        "the region is in use: host {host} (process {pid} on its machine) of another run is \
         beating; wait for it or stop it, then `dsmark region reset PATH`"
    )]
    InUse {
        /// A host whose heart beats.
        host: u32,
        /// Its process.
        pid: u64,
    },
    /// A host did not arrive.
    #[error(
        "host {host} did not arrive within {timeout_ms} ms (its line says {state:?}); start it, \
         or correct --hosts"
    )]
    Missing {
        /// The first that is missing.
        host: u32,
        /// How long was waited.
        timeout_ms: u64,
        /// What its line said last.
        state: HostState,
    },
    /// Host 0 never welcomed this host.
    #[error(
        "host 0 did not welcome this host within {timeout_ms} ms; is it running on the same region?"
    )]
    NotWelcomed {
        /// How long was waited.
        timeout_ms: u64,
    },
    /// Host 0 welcomed this host, but the run did not start.
    #[error(
        "host 0 welcomed this host, but did not start the run within {timeout_ms} ms more: it says \
         which host is missing, or is itself suspended; look at its output"
    )]
    NotStarted {
        /// How long was waited.
        timeout_ms: u64,
    },
    /// Builds, layouts or plans differ.
    #[error(
        "host {host} differs from host 0 in its {what} ({theirs:#018x} against {own:#018x}); \
         run the same build with the same plan on every host"
    )]
    Differs {
        /// Which host.
        host: u32,
        /// `build` or `plan and layout`.
        what: &'static str,
        /// Its value.
        theirs: u64,
        /// Host 0's.
        own: u64,
    },
    /// Waiting was cut short.
    #[error("{0}")]
    Gone(#[from] Gone),
}

/// How long a header is watched for moving heartbeats, in milliseconds: several beats of
/// [`HeartRates::DEFAULT`](crate::HeartRates).
const WATCH_MS: u64 = 1_000;

/// Joins the run on this region and returns its cookie.
///
/// # Errors
/// See [`JoinError`]; within the timeout, whatever the others do.
pub fn join<P: Port>(port: &P, header: &Header, me: &Identity) -> Result<u64, JoinError> {
    join_and_clear(port, header, me, None)
}

/// As [`join`]; `control`, what the hosts use from the first moment on, is zero for all of them.
/// Otherwise the epochs of the last run's barriers would let this run's hosts pass.
///
/// Cost: 1 publish for each line of `control` at host 0.
///
/// # Errors
/// As for [`join`].
pub fn join_and_clear<P: Port>(
    port: &P,
    header: &Header,
    me: &Identity,
    control: Option<Slice<u64>>,
) -> Result<u64, JoinError> {
    check_condition(port, header, me)?;
    if me.host == 0 {
        refuse_if_alive(port, header)?;
        gather(port, header, me, control)
    } else {
        arrive(port, header, me)
    }
}

/// The line of a host that takes `cookie`.
fn joined(me: &Identity, cookie: u64) -> HostLine {
    HostLine {
        cookie,
        build_id: me.build_id,
        layout_hash: me.layout_hash,
        lanes: u64::from(me.pod.lanes),
        pid: u64::from(me.pid),
        beat: 0,
        state: HostState::Joined,
    }
}

/// Looks at a region from outside: whether hosts could start a run on it now.
///
/// # Errors
/// What they would be refused with.
pub fn check_region<P: Port>(port: &P, header: &Header) -> Result<(), JoinError> {
    match header.condition(port) {
        Condition::Blank => Ok(()),
        Condition::Formatted => refuse_if_alive(port, header),
        other => Err(refuse_condition(&other)),
    }
}

fn refuse_condition(condition: &Condition) -> JoinError {
    match *condition {
        Condition::OtherVersion(line) => JoinError::OtherVersion {
            found: line.format_version,
            line_bytes: line.line_bytes,
            own: crate::header::FORMAT_VERSION,
        },
        Condition::Foreign { first_word } => JoinError::Foreign { first_word },
        Condition::Blank | Condition::Formatted => {
            unreachable!("a blank or formatted region is not refused for its condition")
        }
    }
}

/// A blank region is formatted by host 0; the others wait until the magic stands.
fn check_condition<P: Port>(port: &P, header: &Header, me: &Identity) -> Result<(), JoinError> {
    let wait = Patience::new(port, me.timeout_ms);
    wait_until(port, || match header.condition(port) {
        Condition::Formatted => Some(Ok(())),
        Condition::Blank if me.host == 0 => {
            header.format(port, me.region_bytes);
            Some(Ok(()))
        }
        Condition::Blank if wait.is_over(port) => Some(Err(JoinError::NotWelcomed {
            timeout_ms: me.timeout_ms,
        })),
        Condition::Blank => None,
        other => Some(Err(refuse_condition(&other))),
    })?
}

/// Watches a region whose last run did not say that it ended.
///
/// # Errors
/// [`JoinError::InUse`] if a heart of that run beats.
pub fn refuse_if_alive<P: Port>(port: &P, header: &Header) -> Result<(), JoinError> {
    let run = header.run(port);
    if !matches!(run.state, RunState::Gathering | RunState::Running) {
        return Ok(());
    }
    let hosts = run.hosts.clamp(1, u64::from(fabric::MAX_HOSTS)) as u32;
    let before = header.all_hosts(port, hosts);
    let wait = Patience::new(port, WATCH_MS);
    wait_until(port, || {
        for (host, line) in header.all_hosts(port, hosts).iter().enumerate() {
            // Lines of still older runs do not count, nor do arrivals, which have their own.
            if line.cookie == run.cookie && line.beat != before[host].beat {
                return Some(Err(JoinError::InUse {
                    host: host as u32,
                    pid: line.pid,
                }));
            }
        }
        wait.is_over(port).then_some(Ok(()))
    })?
}

/// Host 0's side.
fn gather<P: Port>(
    port: &P,
    header: &Header,
    me: &Identity,
    control: Option<Slice<u64>>,
) -> Result<u64, JoinError> {
    let cookie = me.nonce;
    let mut run = RunLine {
        cookie,
        hosts: u64::from(me.pod.hosts),
        lanes: u64::from(me.pod.lanes),
        build_id: me.build_id,
        layout_hash: me.layout_hash,
        refused_host: 0,
        state: RunState::Gathering,
    };
    header.set_host(port, 0, &joined(me, cookie));
    header.set_run(port, &run);

    if let Err(error) = welcome_all(port, header, me, cookie) {
        if let JoinError::Differs { host, .. } = error {
            run.refused_host = u64::from(host);
        }
        run.state = RunState::Refused;
        header.set_run(port, &run);
        return Err(error);
    }
    // By one host, which no other run's hosts obey any more, and before any host goes on: all wait
    // for the state below, which is published later.
    if let Some(control) = control {
        port.write_posted(control.start(), &vec![0; control.len()]);
    }
    run.state = RunState::Running;
    header.set_run(port, &run);
    Ok(cookie)
}

/// Echoes nonces until every host has joined this cookie.
fn welcome_all<P: Port>(
    port: &P,
    header: &Header,
    me: &Identity,
    cookie: u64,
) -> Result<(), JoinError> {
    let mut echoed = vec![0; me.pod.hosts as usize];
    let mut beat = 0;
    let wait = Patience::new(port, me.timeout_ms);
    wait_until(port, || {
        // A gathering run is alive: a second run that watches this header must see it move.
        beat += 1;
        header.beat(port, 0, beat);
        let lines = header.all_hosts(port, me.pod.hosts);
        let mut missing = None;
        for (host, line) in lines.iter().enumerate().skip(1) {
            if line.cookie == cookie && line.state == HostState::Joined {
                if let Err(error) = compare(host as u32, line, me) {
                    return Some(Err(error));
                }
                continue;
            }
            missing = missing.or(Some((host as u32, line.state)));
            echo(port, header, me, host, cookie, &mut echoed[host]);
        }
        match missing {
            None => Some(Ok(())),
            Some((host, state)) if wait.is_over(port) => Some(Err(JoinError::Missing {
                host,
                timeout_ms: me.timeout_ms,
                state,
            })),
            Some(_) => None,
        }
    })?
}

/// Echoes the nonce in the arrival line of `host`, if it is of this run and new. Cost: 1 observe,
/// and 2 publishes where it is.
fn echo<P: Port>(
    port: &P,
    header: &Header,
    me: &Identity,
    host: usize,
    cookie: u64,
    echoed: &mut u64,
) {
    let (arrival, welcome) = (header.arrivals[host], header.welcomes[host]);
    // Serves the two loads below. The nonce was published after the key.
    port.observe(arrival.lines());
    let nonce = port.load(arrival.at(1));
    let ours = port.load(arrival.at(0)) == me.run_key;
    if ours && nonce != 0 && nonce != *echoed {
        *echoed = nonce;
        // The cookie before the nonce: a host that finds its nonce takes the cookie of that look.
        port.write_posted(welcome.at(0), &[cookie]);
        port.write_published(welcome.at(1), &[nonce]);
    }
}

/// Another host's side.
fn arrive<P: Port>(port: &P, header: &Header, me: &Identity) -> Result<u64, JoinError> {
    let (arrival, welcome) = (
        header.arrivals[me.host as usize],
        header.welcomes[me.host as usize],
    );
    // The key before the nonce: host 0 acts on the nonce.
    port.write_posted(arrival.at(0), &[me.run_key]);
    port.write_published(arrival.at(1), &[me.nonce]);
    let wait = Patience::new(port, me.timeout_ms);
    let late = || JoinError::NotWelcomed {
        timeout_ms: me.timeout_ms,
    };
    let cookie = wait_until(port, || {
        // Serves the two loads below. The nonce was published after the cookie.
        port.observe(welcome.lines());
        if port.load(welcome.at(1)) == me.nonce {
            return Some(Ok(port.load(welcome.at(0))));
        }
        wait.is_over(port).then(|| Err(late()))
    })??;
    let mut line = joined(me, cookie);
    header.set_host(port, me.host, &line);

    // Anew: host 0 may have been waiting for others long after it welcomed this one.
    let wait = Patience::new(port, me.timeout_ms);
    wait_until(port, || {
        let run = header.run(port);
        // A gathering run beats in every host, for the second run that may be watching.
        line.beat += 1;
        header.beat(port, me.host, line.beat);
        match run.state {
            RunState::Running if run.cookie == cookie => Some(Ok(cookie)),
            RunState::Refused if run.cookie == cookie => Some(Err(refusal(me, &run))),
            _ if wait.is_over(port) => Some(Err(JoinError::NotStarted {
                timeout_ms: me.timeout_ms,
            })),
            _ => None,
        }
    })?
}

fn compare(host: u32, line: &HostLine, me: &Identity) -> Result<(), JoinError> {
    let differs = |what, theirs, own| {
        Err(JoinError::Differs {
            host,
            what,
            theirs,
            own,
        })
    };
    if line.build_id != me.build_id {
        return differs("build", line.build_id, me.build_id);
    }
    if line.layout_hash != me.layout_hash {
        return differs("plan and layout", line.layout_hash, me.layout_hash);
    }
    if line.lanes != u64::from(me.pod.lanes) {
        return differs("number of lanes", line.lanes, u64::from(me.pod.lanes));
    }
    Ok(())
}

/// What a refused pod means to this host: its own difference, another's, or a missing host.
fn refusal(me: &Identity, run: &RunLine) -> JoinError {
    let host = run.refused_host as u32;
    if host == 0 {
        return JoinError::Gone(Gone::Teardown {
            why: "host 0 gave up waiting for a host",
        });
    }
    if run.build_id != me.build_id {
        return JoinError::Differs {
            host,
            what: "build",
            theirs: me.build_id,
            own: run.build_id,
        };
    }
    if run.layout_hash != me.layout_hash {
        let (theirs, own) = (me.layout_hash, run.layout_hash);
        return JoinError::Differs {
            host,
            what: "plan and layout",
            theirs,
            own,
        };
    }
    JoinError::Gone(Gone::Teardown {
        why: "host 0 refused another host, which says why",
    })
}

/// A time limit on a port's clock.
#[derive(Clone, Copy)]
struct Patience {
    start: Ticks,
    limit_ns: f64,
}

impl Patience {
    fn new<P: Port>(port: &P, limit_ms: u64) -> Self {
        Self {
            start: port.now(),
            limit_ns: limit_ms as f64 * 1e6,
        }
    }

    fn is_over<P: Port>(&self, port: &P) -> bool {
        port.clock().span_ns(self.start, port.now()) > self.limit_ns
    }
}
