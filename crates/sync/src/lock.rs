//! Mutual exclusion between hosts that share nothing but published lines.
//!
//! ```
//! use fabric::{Arena, Gone, HostAtomics, Pod};
//! use sync::lock::{Bakery, Lock, Member, NotAcquired, Options};
//! use sync::Patience;
//!
//! fn layout(arena: &mut Arena) -> Bakery {
//!     Bakery::lay_out(arena, "my.lock", &Options::of(Pod::new(4, 1)))
//! }
//!
//! fn work<P: HostAtomics>(port: &P, lock: &Bakery, host: u32) -> Result<(), NotAcquired> {
//!     let mut me = Member::new(host);
//!     lock.acquire(port, &mut me, Patience::Endless)?;
//!     // Observe what the lock protects, change it, post it.
//!     lock.release(port, &mut me)?;
//!     Ok(())
//! }
//! ```
//!
//! A lock orders; it does not move data. Inside, the holder observes the protected lines before it
//! loads them and posts them before it releases: the release is a post itself, so whoever sees it
//! sees them.
//!
//! # Cost
//!
//! P is one publish (flush to the device and fence), O one observe, however many lines it flushes
//! at once: k flushes overlap and share a fence. N hosts, four of them in the two right columns;
//! nothing else contends, and nothing is retained from an earlier hold. With
//! [`Arrival::Confirm`](crate::Arrival) each P of an acquire that a load follows costs an O more.
//! A test counts all of them.
//!
//! | lock | acquire | release | N = 4 | order |
//! |---|---|---|---|---|
//! | [`BakeryFastPath`] | 1 P + 1 O | 1 P | 1 P + 1 O | FCFS |
//! | [`Bakery`] | 2 P + 2 O | 1 P | 2 P + 2 O | FCFS |
//! | [`LamportFast`] | 3 P + 2 O | 2 P | 3 P + 2 O | may starve |
//! | [`PetersonTournament`] | (2 P + 1 O) log2 N | 1 P | 4 P + 2 O | bounded bypass |
//! | [`YangAnderson`] | (3 P + 1 O) log2 N | (1 P + 1 O) log2 N | 6 P + 2 O | no starvation |
//! | [`Szymanski`] | 3 P + 3 O | 1 P + 1 O | 3 P + 3 O | linear wait |
//! | [`BurnsLynch`] | 1 P + 1 O | 1 P | 1 P + 1 O | lower index first, may starve |
//! | [`TokenRing`] | 0 P + 1 O a look | 1 P | wait for the token | round robin |
//! | [`Fischer`] | 1 P + 2 O + delay | 1 P | 1 P + 2 O | may starve; timed |
//! | [`TicketServer`] | 1 P + 1 O a look | 1 P | 1 P, one reply | FIFO at the server |
//! | [`McsServer`] | 1 P + 1 O a look | 1 P | 1 P, one reply | FIFO at the server |
//!
//! The last scan of Szymanski's acquire and the one of its release watch lower and higher hosts
//! only, so the lowest and the highest host save one.
//!
//! No lock of atomic registers acquires with less than one write followed by one read (Attiya et
//! al., "Laws of Order", POPL 2011), so 1 P + 1 O is the bound; Burns and Lynch (1993) show that N
//! registers are needed. [`BurnsLynch`] meets the bound unfairly; [`BakeryFastPath`] meets it first
//! come, first served.
//!
//! # When a host dies
//!
//! Nothing recovers a lock from a dead host: whatever it protected is in an unknown state. A timed
//! acquire notices, names who was waited for, and leaves the algorithm consistent: *withdrawn*, as
//! if never asked; or *queued*, where withdrawing would need the others' help: the next acquire of
//! the same member goes on waiting where this one stopped.
//!
//! | lock | a host dies idle | waiting | holding | timed acquire |
//! |---|---|---|---|---|
//! | bakeries, Burns-Lynch | harmless | all others stop | all stop | withdrawn |
//! | Lamport fast | harmless | may stop all | all stop | withdrawn; queued once at the gate |
//! | Peterson, Yang-Anderson | harmless | its subtree's rivals stop | all stop | withdrawn |
//! | Szymanski | harmless | all stop | all stop | queued |
//! | Fischer | harmless | harmless, or as holding | all stop | withdrawn |
//! | token ring | all stop when the token comes to it | likewise | all stop | withdrawn |
//! | servers | harmless | all stop when its turn comes | all stop | queued |
//! | servers, the server's host | all stop | | | queued |
//!
//! *Idle* means that its last release has arrived. A release is a post, which is not awaited: a
//! host that dies right behind it may take it along, and then died *holding*. A checker lets two
//! hosts die at every step of each register lock, with every dirty line lost or written back, and
//! finds survivors as in this table (`crates/subjects/tests/dying.rs`); it also lets an acquire run
//! out of time at any moment, and whoever comes after still gets in.

mod bakery;
mod bakery_fast_path;
mod burns_lynch;
mod fischer;
mod hardware;
mod lamport_fast;
mod mcs_server;
mod peterson_tournament;
mod registry;
mod rw;
mod szymanski;
mod ticket_server;
mod token_ring;
mod two_level;
mod yang_anderson;

use fabric::{Arena, Gone, HostAtomics, Pod};
use thiserror::Error;

pub use bakery::Bakery;
pub use bakery_fast_path::BakeryFastPath;
pub use burns_lynch::BurnsLynch;
pub use fischer::Fischer;
pub use hardware::{HardwareMcs, HardwareSpin, HardwareTicket};
pub use lamport_fast::LamportFast;
pub use mcs_server::McsServer;
pub use peterson_tournament::PetersonTournament;
pub use registry::{Algorithm, AnyLock, AnyReadWrite, LockVisitor, ReadWriteVisitor};
pub use rw::{ReadWrite, Reader};
pub use szymanski::Szymanski;
pub use ticket_server::TicketServer;
pub use token_ring::TokenRing;
pub use two_level::TwoLevel;
pub use yang_anderson::YangAnderson;

use crate::board::Arrival;
use crate::desk::Desk;
use crate::patience::{Ended, Patience};

/// What a lock is built for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Hosts and lanes. The participants of a lock between hosts are the hosts; those of
    /// [`TwoLevel`] and of the hardware locks are all lanes, host by host.
    pub pod: Pod,
    /// Whether a fence means arrival on this pod.
    pub arrival: Arrival,
    /// [`Fischer`]: nanoseconds within which every publish of the pod is visible, counted from
    /// the load that decided on it.
    pub delay_ns: f64,
    /// [`TwoLevel`]: how often in a row a host passes the lock among its own lanes while another
    /// host may wait.
    pub local_passes: u64,
}

impl Options {
    /// Defaults: fences mean arrival; 20 us for Fischer, seven times the publish and observe of
    /// the slowest published pod (1.56 + 2.85 us, FUSEE-CXL) and near the worst that `MemChannel`
    /// saw at saturation (7 times idle); 16 local passes, so that the two one-way trips of a
    /// hand-over between hosts add less than a fifth to each hold.
    pub fn of(pod: Pod) -> Self {
        Self {
            pod,
            arrival: Arrival::Fence,
            delay_ns: 20_000.0,
            local_passes: 16,
        }
    }
}

/// One participant of one lock, and what it remembers between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which, from 0.
    pub who: u32,
    /// The last number it used: a ticket, a request, a turn.
    pub(crate) number: u64,
    /// How far an acquire got that was given up while queued; 0: it is not queued.
    pub(crate) stage: u64,
}

impl Member {
    /// Participant `who` of a lock whose lines are zero; made once.
    pub fn new(who: u32) -> Self {
        Self {
            who,
            number: 0,
            stage: 0,
        }
    }
}

/// Why a lock was not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotAcquired {
    /// The lane must give up.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// Patience was over.
    #[error(
        "the lock was not had in time: {} was waited for; {}",
        named(*.waited_for),
        remedy(*.queued)
    )]
    TimedOut {
        /// The participant that was waited for last: the holder, or one that is before this one.
        waited_for: Option<u32>,
        /// Whether this member still stands in the queue: its next acquire goes on from there.
        queued: bool,
    },
}

impl NotAcquired {
    /// Why an acquire without an end of its patience did not end well.
    ///
    /// # Panics
    /// If its patience could end.
    pub fn gone(self) -> Gone {
        match self {
            Self::Gone(gone) => gone,
            Self::TimedOut { .. } => unreachable!("patience is endless"),
        }
    }
}

fn named(who: Option<u32>) -> String {
    who.map_or_else(
        || "the server".to_owned(),
        |who| format!("participant {who}"),
    )
}

fn remedy(queued: bool) -> &'static str {
    if queued {
        "acquire again to go on waiting, or end the run if that host is dead"
    } else {
        "try again, or end the run if that host is dead"
    }
}

impl Ended {
    /// The error of an acquire that waited for `who`.
    pub(crate) fn at(self, waited_for: Option<u32>, queued: bool) -> NotAcquired {
        match self {
            Self::Gone(gone) => NotAcquired::Gone(gone),
            Self::Impatient => NotAcquired::TimedOut { waited_for, queued },
        }
    }
}

/// Mutual exclusion among participants.
pub trait Lock: Sized + Sync {
    /// Whether a lane has to serve it ([`serve`](Self::serve)).
    const SERVED: bool = false;
    /// Whether participants that do not acquire have to pass it on ([`tend`](Self::tend)).
    const TENDED: bool = false;

    /// Lays its lines out; they are zero when the first member acquires.
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self;

    /// Waits until this member holds the lock. What earlier holders posted before they released is
    /// at the device afterwards; the caller observes it.
    ///
    /// # Errors
    /// What ended the wait: see [`NotAcquired`].
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired>;

    /// Gives the lock up, behind everything that this lane has posted.
    ///
    /// # Errors
    /// Whatever ended a wait, where a release waits.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone>;

    /// Does what others may be waiting for. A member that neither holds nor acquires calls it now
    /// and then where [`TENDED`](Self::TENDED) says so.
    fn tend<P: HostAtomics>(&self, port: &P, me: &mut Member) {
        let _ = (port, me);
    }

    /// What a server of this lock knows while nobody holds it or acquires.
    fn desk<P: HostAtomics>(&self, port: &P) -> Desk {
        let _ = port;
        Desk::default()
    }

    /// One round of the server where [`SERVED`](Self::SERVED) says so; one lane of the pod, which
    /// is no participant meanwhile, calls it again and again with the desk that
    /// [`desk`](Self::desk) gave it.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut Desk) {
        let _ = (port, desk);
    }
}
