//! What a load may return on memory that no hardware keeps coherent between hosts.
//!
//! One definition for every substrate that pretends to be such memory. The prose, with a source
//! for each rule, is `docs/MODEL.md`; the names there are the names here.
//!
//! * A host is one coherence domain with one cache of whole 64-byte lines, clean or dirty
//!   ([`CachedLine`]). A lane has a buffer of stores, flushes and write-backs on their way
//!   ([`Buffered`]), which leave it in any order that [`ordered`] allows.
//! * The device holds lines. In a posted pod a write may be *held* between a host and the device
//!   after the fence that ordered it ([`WriteMode`]).
//! * A program's instructions are methods of [`Memory`]; whatever else may happen at any moment is
//!   a [`Step`]: draining, evicting, fetching unasked, releasing a held write, a crash.
//! * Every choice goes through [`Chooser::choose`], so that a vector of numbers replays a run.
//!
//! ```
//! use model::{Access, Memory, Shape, WriteMode};
//!
//! let mut memory = Memory::new(Shape::software(2, 1, WriteMode::Synchronous));
//! memory.store(0, Access::word(0, 8), 7);
//! // Host 1 misses and reads the device: host 0's store is in its lane's buffer.
//! assert_eq!(memory.load(1, Access::word(0, 8)), Some(0));
//! assert_eq!(memory.load(0, Access::word(0, 8)), Some(7));
//! ```
//!
//! Absent on purpose: time (the simulator's), search (the checker's), and any instruction that
//! drops a dirty line without writing it back, since user mode has none.
//!
//! # Reading order
//!
//! [`content`], [`cached`]: lines and copies. [`order`]: which pairs of a lane's operations stay in
//! program order. [`shape`], [`memory`], [`step`]: the machine. [`explore`], [`litmus`]: its
//! outcomes on tiny
//! programs, exhaustively.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cached;
mod cells;
pub mod choose;
pub mod content;
pub mod explore;
pub mod litmus;
pub mod memory;
pub mod order;
pub mod shape;
pub mod step;

pub use cached::CachedLine;
pub use cells::Tag;
pub use choose::{Choice, Chooser, Likely, Scripted};
pub use content::{Access, Content, Place};
pub use memory::{Clobber, Memory};
pub use order::{Buffered, ordered};
pub use shape::{Shape, WriteMode};
pub use step::Step;
