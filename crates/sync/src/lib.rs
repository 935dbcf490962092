//! Synchronization between hosts that share nothing but published lines.
//!
//! Generic over [`fabric::Port`], so what is measured natively, predicted in a simulator and proved
//! by a checker is one source. No two writers share a line at one time, most words have one writing
//! host for good, and numbers grow wherever an algorithm allows, so that a stale copy can delay but
//! never mislead; where a word toggles, or several write it, its page says why it may.
//!
//! * [`lock`]: mutual exclusion, by registers, by a server, by hardware; readers and writers.
//! * [`barrier`]: barriers between hosts, a counter inside each.
//! * [`atomic`]: read-modify-write of one word.
//! * [`alloc`]: memory of the region, by whole lines.
//! * [`ring`]: messages from one host to another, to several, from several.
//! * [`mailbox`]: one message slot from one host to another.
//! * [`peterson`]: mutual exclusion of two hosts, the smallest lock there is.
//! * [`seqlock`]: a record of several lines from one host to many.
//! * [`header`]: the first lines of every region: who formatted it, which run owns it, who is
//!   alive.
//! * [`rendezvous`]: how hosts agree on one run over memory that still holds the last one.
//! * [`heart`]: how hosts notice that another has died.
//! * [`clocks`]: what another host's clock says, and how far that may be off.
//!
//! Costs are given in publishes and observes (see `fabric::Census`): on such memory a publish is a
//! write to the device and an observe a read from it, each near a microsecond through a switch,
//! and everything else is noise.
//!
//! What no algorithm here does: wait-free read-modify-write between hosts, which registers cannot
//! give ([`atomic`]), and recovering what a dead host held ([`lock`]).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod alloc;
pub mod atomic;
pub mod barrier;
pub mod clocks;
pub mod header;
pub mod heart;
pub mod lock;
pub mod mailbox;
pub mod peterson;
pub mod rendezvous;
pub mod ring;
pub mod seqlock;

mod board;
mod cells;
mod desk;
mod names;
mod patience;
mod tree;

pub use barrier::{Barrier, BarrierLayout};
pub use board::Arrival;
pub use desk::Desk;
pub use header::{Header, HostState, RunState};
pub use heart::{Heart, HeartRates};
pub use mailbox::{Mailbox, Receiver, Sender};
pub use patience::Patience;
pub use peterson::{Contender, Peterson};
pub use rendezvous::{Identity, JoinError, join};
pub use seqlock::{SeqLock, SeqReader, SeqWriter};
