//! The first lines of a region.
//!
//! ```text
//! line 0          identity   magic, format version, line bytes, region bytes      host 0
//! line 1          run        cookie, hosts, lanes, build id, layout hash, state   host 0
//! line 2 + 2h     host[h]    cookie, build id, layout hash, lanes, pid, -, beat, state   host h
//! line 130 + 2h   arrival[h] run key, nonce of host h                             host h
//! line 258 + 2h   welcome[h] cookie, nonce of host h as host 0 saw it             host 0
//! ```
//!
//! Arrivals have lines of their own, so that a host that arrives at a region in use, and is about
//! to be refused, has not overwritten the line of a host that lives.
//!
//! Device memory is not zeroed: it holds whatever the last run, or another program, left there. So
//! a word means nothing until the cookie of this run stands beside it, and a cookie means nothing
//! until a host has found its own nonce echoed in its welcome line (see [`rendezvous`]).
//!
//! In every line the last word, the state, is stored last; in the identity line the magic is.
//! Stores drain in order and a line is written back whole, so a reader that sees a state sees the
//! words before it.
//!
//! [`rendezvous`]: crate::rendezvous

use fabric::{Arena, LINE_BYTES, MAX_HOSTS, Port, Ptr, Slice};
use serde::Serialize;

/// "dsmark", a version of the format, and two bytes that text tools break.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dsmark\r\n");

/// Changes whenever a line of the header does.
pub const FORMAT_VERSION: u64 = 1;

const WORDS: usize = (LINE_BYTES / 8) as usize;

/// Where the header's lines are. The same on every host and in every run of this format.
#[derive(Clone, Debug)]
pub struct Header {
    pub(crate) identity: Slice<u64>,
    pub(crate) run: Slice<u64>,
    pub(crate) hosts: Vec<Slice<u64>>,
    pub(crate) arrivals: Vec<Slice<u64>>,
    pub(crate) welcomes: Vec<Slice<u64>>,
}

/// The identity line as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IdentityLine {
    /// [`MAGIC`] in a formatted region.
    pub magic: u64,
    /// [`FORMAT_VERSION`] of the build that formatted it.
    pub format_version: u64,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Bytes of the region when it was formatted.
    pub region_bytes: u64,
}

/// What the region's first line says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All zero: never used, or wiped. Also where only the magic is missing: a host is formatting
    /// it, or was killed while it did.
    Blank,
    /// Formatted, in this version.
    Formatted,
    /// Formatted by a build with another header.
    OtherVersion(IdentityLine),
    /// Holds something that is not a dsmark region.
    Foreign {
        /// Its first word.
        first_word: u64,
    },
}

/// State of a run, in the run line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// No run has claimed the region since it was formatted.
    Idle,
    /// Host 0 is gathering hosts.
    Gathering,
    /// All hosts have joined.
    Running,
    /// Host 0 refused a host: the pod cannot run.
    Refused,
    /// The run has ended.
    Ended,
    /// A number that this build does not know.
    Unknown,
}

/// State of a host, in its own line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostState {
    /// Never seen.
    Absent,
    /// It has found its nonce echoed and took the cookie.
    Joined,
    /// It left after its work was done.
    Done,
    /// It left early: the others must stop.
    Failed,
    /// A number that this build does not know.
    Unknown,
}

macro_rules! numbered {
    ($name:ident: $($variant:ident = $number:literal),*) => {
        impl $name {
            pub(crate) fn number(self) -> u64 {
                match self { $(Self::$variant => $number,)* Self::Unknown => u64::MAX }
            }

            pub(crate) fn of_number(number: u64) -> Self {
                match number { $($number => Self::$variant,)* _ => Self::Unknown }
            }
        }
    };
}

// Not small numbers: random bytes must not look like a state.
numbered!(RunState: Idle = 0, Gathering = 0x6761_7468, Running = 0x7275_6e6e,
    Refused = 0x7265_6675, Ended = 0x656e_6465);
numbered!(HostState: Absent = 0, Joined = 0x6a6f_696e,
    Done = 0x646f_6e65, Failed = 0x6661_696c);

/// The run line as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunLine {
    /// Random number of this run.
    pub cookie: u64,
    /// Hosts that it gathers.
    pub hosts: u64,
    /// Lanes of each.
    pub lanes: u64,
    /// Build of host 0.
    pub build_id: u64,
    /// Layout of host 0.
    pub layout_hash: u64,
    /// Index of the host that was refused, in state refused.
    pub refused_host: u64,
    /// Where the run stands.
    pub state: RunState,
}

/// One host's line as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HostLine {
    /// Cookie that it joined.
    pub cookie: u64,
    /// Its build.
    pub build_id: u64,
    /// Its layout.
    pub layout_hash: u64,
    /// Its lanes.
    pub lanes: u64,
    /// Its process on its own machine.
    pub pid: u64,
    /// Grows while it lives.
    pub beat: u64,
    /// Where it stands.
    pub state: HostState,
}

impl HostLine {
    pub(crate) const BEAT: usize = 6;
    pub(crate) const STATE: usize = 7;
}

impl Header {
    /// Lays the header out; the first call on a fresh arena.
    ///
    /// # Panics
    /// If something was allocated before: the header starts the region.
    pub fn lay_out(arena: &mut Arena) -> Self {
        assert_eq!(arena.region_bytes(), 0, "the header starts the region");
        let identity = arena.slice("header.identity", WORDS);
        let run = arena.slice("header.run", WORDS);
        let hosts = arena.per_host("header.host", MAX_HOSTS, WORDS);
        let arrivals = arena.per_host("header.arrival", MAX_HOSTS, WORDS);
        let welcomes = arena.per_host("header.welcome", MAX_HOSTS, WORDS);
        Self {
            identity,
            run,
            hosts,
            arrivals,
            welcomes,
        }
    }

    /// Writes a clean header: identity, everything else zero. For `dsmark region format`, and for
    /// host 0 before it claims a blank region.
    ///
    /// Cost: 194 publishes of a line.
    pub fn format<P: Port>(&self, port: &P, region_bytes: u64) {
        let blank = [0u64; WORDS];
        let rest = std::iter::once(&self.run)
            .chain(&self.hosts)
            .chain(&self.arrivals)
            .chain(&self.welcomes);
        for line in rest {
            port.write_posted(line.start(), &blank);
        }
        let identity = [FORMAT_VERSION, LINE_BYTES, region_bytes, 0, 0, 0, 0];
        port.write_posted(self.identity.at(1), &identity);
        // After the rest: whoever observes the magic finds its version and a clean header.
        port.write_published(self.identity.start(), &[MAGIC]);
    }

    /// What the first line says. Cost: 1 observe.
    pub fn condition<P: Port>(&self, port: &P) -> Condition {
        let words = look(port, self.identity);
        let line = IdentityLine {
            magic: words[0],
            format_version: words[1],
            line_bytes: words[2],
            region_bytes: words[3],
        };
        match line {
            IdentityLine {
                magic: MAGIC,
                format_version: FORMAT_VERSION,
                line_bytes,
                ..
            } if line_bytes == LINE_BYTES => Condition::Formatted,
            IdentityLine { magic: MAGIC, .. } => Condition::OtherVersion(line),
            _ if is_blank(&words) => Condition::Blank,
            _ => Condition::Foreign {
                first_word: line.magic,
            },
        }
    }

    /// Bytes of the region when it was formatted. Cost: 1 observe.
    pub fn formatted_bytes<P: Port>(&self, port: &P) -> u64 {
        look(port, self.identity)[3]
    }

    /// Reads the run line. Cost: 1 observe.
    pub fn run<P: Port>(&self, port: &P) -> RunLine {
        let words = look(port, self.run);
        RunLine {
            cookie: words[0],
            hosts: words[1],
            lanes: words[2],
            build_id: words[3],
            layout_hash: words[4],
            refused_host: words[5],
            state: RunState::of_number(words[7]),
        }
    }

    /// Writes the run line; host 0 only. Cost: 1 publish.
    pub(crate) fn set_run<P: Port>(&self, port: &P, run: &RunLine) {
        let words = [
            run.cookie,
            run.hosts,
            run.lanes,
            run.build_id,
            run.layout_hash,
            run.refused_host,
            0,
            run.state.number(),
        ];
        write_in_order(port, self.run, &words);
    }

    /// Reads the line of `host`. Cost: 1 observe.
    pub fn host<P: Port>(&self, port: &P, host: u32) -> HostLine {
        host_line(&look(port, self.hosts[host as usize]))
    }

    /// Reads the lines of hosts `0..hosts`. Cost: 1 observe of `hosts` lines, one fence.
    pub fn all_hosts<P: Port>(&self, port: &P, hosts: u32) -> Vec<HostLine> {
        let places = &self.hosts[..hosts as usize];
        let lines: Vec<_> = places.iter().map(|place| place.start().line()).collect();
        // Serves the loads just below; a heartbeat is observed anew for each look.
        port.observe_each(&lines);
        places
            .iter()
            .map(|&place| host_line(&read(port, place)))
            .collect()
    }

    /// Writes the line of `host`; that host only. Cost: 1 publish.
    pub(crate) fn set_host<P: Port>(&self, port: &P, host: u32, line: &HostLine) {
        let words = [
            line.cookie,
            line.build_id,
            line.layout_hash,
            line.lanes,
            line.pid,
            0,
            line.beat,
            line.state.number(),
        ];
        write_in_order(port, self.hosts[host as usize], &words);
    }

    /// Beats for `host`. Cost: 1 publish.
    pub(crate) fn beat<P: Port>(&self, port: &P, host: u32, beat: u64) {
        let word = self.hosts[host as usize].at(HostLine::BEAT);
        publish_word(port, word, beat);
    }

    /// Says that `host` leaves, done or failed. Cost: 1 publish.
    pub fn leave<P: Port>(&self, port: &P, host: u32, state: HostState) {
        let word = self.hosts[host as usize].at(HostLine::STATE);
        publish_word(port, word, state.number());
    }

    /// Says that the run has ended; host 0 only. Cost: 1 publish, 1 observe.
    pub fn end_run<P: Port>(&self, port: &P) {
        let run = RunLine {
            state: RunState::Ended,
            ..self.run(port)
        };
        self.set_run(port, &run);
    }
}

/// Whether each word of an identity line is zero or what a format puts there, the magic apart.
fn is_blank(words: &[u64; WORDS]) -> bool {
    let or_zero = |word: u64, expected: u64| word == 0 || word == expected;
    words[0] == 0
        && or_zero(words[1], FORMAT_VERSION)
        && or_zero(words[2], LINE_BYTES)
        && words[4..].iter().all(|&word| word == 0)
}

fn look<P: Port>(port: &P, line: Slice<u64>) -> [u64; WORDS] {
    // Serves the read just below: whatever this host holds of the line may be old.
    port.observe(line.lines());
    read(port, line)
}

fn read<P: Port>(port: &P, line: Slice<u64>) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    port.read_into(line.start(), &mut words);
    words
}

/// Stores the words in ascending order and publishes the line, whatever the discipline.
///
/// By plain stores on purpose: a host also reads its own header lines, and a `movnti` store to a
/// line that its writer holds may stay in the cache. Plain stores drain in order and the line is
/// written back whole, so a reader that sees the last word sees those before it.
fn write_in_order<P: Port>(port: &P, line: Slice<u64>, words: &[u64; WORDS]) {
    port.write_from(line.start(), words);
    // Serves the other hosts' next look at the line.
    port.publish(line.lines());
}

/// One word of a line that this host owns; by a plain store, as above.
fn publish_word<P: Port>(port: &P, word: Ptr<u64>, value: u64) {
    port.store(word, value);
    // Serves the watches of the other hosts.
    port.publish(word.line());
}

fn host_line(words: &[u64; WORDS]) -> HostLine {
    HostLine {
        cookie: words[0],
        build_id: words[1],
        layout_hash: words[2],
        lanes: words[3],
        pid: words[4],
        beat: words[HostLine::BEAT],
        state: HostState::of_number(words[HostLine::STATE]),
    }
}
