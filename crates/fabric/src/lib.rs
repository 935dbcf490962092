//! The boundary between algorithms and memory that no hardware keeps coherent.
//!
//! A *pod* is a set of *hosts* that map one *pool*. Each host is one coherence domain: its *lanes*
//! (hardware threads) share caches, other hosts do not. The span they map is the *region*, made of
//! *lines* of 64 bytes. A host that wrote a line must *publish* it, a host that wants another's
//! value must *observe* it, and it must do so again for every look.
//!
//! An algorithm is written once, generic over [`Port`], and runs on every substrate: natively on a
//! mapping, in simulated time, and under a checker that tries whatever the memory may legally do.
//!
//! ```
//! use fabric::{Gone, Port, Ptr, wait_until};
//!
//! /// Message passing by one word: the payload is the number itself.
//! fn send<P: Port>(port: &P, flag: Ptr<u64>, value: u64) {
//!     port.write_published(flag, &[value]); // store, flush, full fence
//! }
//!
//! fn receive<P: Port>(port: &P, flag: Ptr<u64>, last: u64) -> Result<u64, Gone> {
//!     wait_until(port, || {
//!         port.observe(flag.line()); // flush, full fence: the load below must miss
//!         Some(port.load(flag)).filter(|&value| value != last)
//!     })
//! }
//! ```
//!
//! # Reading order
//!
//! 1. [`Pod`], [`Seat`]: who takes part. 2. [`Ptr`], [`Slice`], [`Line`], [`Arena`]: where things
//!    are. 3. [`Discipline`]: how a line travels. 4. [`Port`]: the verbs, each with its ordering
//!    rules. 5. [`wait_until`], [`Gone`]: how a lane waits and why it stops; [`Mark`]: what a
//!    program says about itself. 6. [`Substrate`], [`Program`]: what runs lanes, and what they run.
//!    7. [`Tapped`] with [`Count`], [`Omit`], [`Trace`]: a port seen through an observer.
//!
//! # Invariants
//!
//! * Region memory never becomes a Rust reference: every access is a verb of a port.
//! * A [`Ptr`] is an offset, so it means the same on every host, whatever address each maps at.
//! * Nothing here knows a substrate, a workload, or x86. There is no `unsafe`.
//! * There is no *invalidate*: no user-mode instruction drops a dirty line without writing it back.
//! * A port is one lane's and is not `Sync`. Nothing that touches a port happens in a `Drop`:
//!   substrates unwind suspended lanes.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adapt;
mod arena;
mod discipline;
mod maintain;
mod mark;
mod name;
mod place;
mod pod;
mod port;
mod random;
mod stream;
mod substrate;
mod time;
mod wait;
mod word;

pub use adapt::Verdict;
pub use adapt::{Census, Count, Fences, Maintenance, Omit, Op, Site, Tap, Tapped, Trace, Traced};
pub use arena::{Arena, Entry, Space};
pub use discipline::{Coherence, Discipline, Fence, Flush, ObserveBy, PublishBy};
pub use mark::Mark;
pub use name::{nearest, suggestion};
pub use place::{Cell, Frozen, HostShared, HostSlice, LINE_BYTES, Line, Lines, Ptr, Slice};
pub use pod::{MAX_HOSTS, MAX_LANES, Pod, Seat};
pub use port::{HostAtomics, Port, Private, View};
pub use random::SplitMix64;
pub use stream::{Pages, Stream, TRIAD_SCALAR, generic};
pub use substrate::{Counted, NoWatch, Program, Setting, Substrate, Watch};
pub use time::{Across, Clock, Ticks};
pub use wait::{Gone, wait_until};
pub use word::{AtomicWord, Word};
