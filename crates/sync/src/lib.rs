//! Synchronization between hosts that share nothing but published lines.
//!
//! Generic over [`fabric::Port`], so what is measured natively, predicted in a simulator and proved
//! by a checker is one source. Every word has one writing host; no two writers share a line;
//! numbers only grow, so that a stale copy can delay but never mislead. The one exception,
//! [`peterson`], says why it may.
//!
//! * [`header`]: the first lines of every region: who formatted it, which run owns it, who is
//!   alive.
//! * [`rendezvous`]: how hosts agree on one run over memory that still holds the last one.
//! * [`heart`]: how hosts notice that another has died.
//! * [`mailbox`]: one message slot from one host to another.
//! * [`barrier`]: all-to-all epochs between hosts, a counter inside each.
//! * [`peterson`]: mutual exclusion of two hosts.
//! * [`seqlock`]: a record of several lines from one host to many.
//!
//! Costs are given in publishes and observes (see `fabric::Census`): on such memory a publish is a
//! write to the device and an observe a read from it, each near a microsecond through a switch,
//! and everything else is noise.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod barrier;
pub mod header;
pub mod heart;
pub mod mailbox;
pub mod peterson;
pub mod rendezvous;
pub mod seqlock;

pub use barrier::{Barrier, BarrierLayout};
pub use header::{Header, HostState, RunState};
pub use heart::{Heart, HeartRates};
pub use mailbox::{Mailbox, Receiver, Sender};
pub use peterson::{Contender, Peterson};
pub use rendezvous::{Identity, JoinError, join};
pub use seqlock::{SeqLock, SeqReader, SeqWriter};
