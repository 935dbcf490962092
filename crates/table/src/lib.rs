//! A concurrent hash table across hosts that share nothing but published lines.
//!
//! 64-bit keys, values of 8 bytes to 1 KiB. A bucket is a line of three slots; a key goes to its
//! home bucket or, if that is full, to the nearest of its group. Four ways to share it
//! ([`Sharing`]), one layout.
//!
//! ```
//! use fabric::{Arena, HostAtomics, Pod, Seat};
//! use table::{Config, Handle, Table, TableError};
//!
//! fn layout(arena: &mut Arena) -> Table {
//!     Table::lay_out(arena, "my.table", Pod::new(4, 1), &Config::of(1_000_000, 1))
//! }
//!
//! fn count<P: HostAtomics>(port: &P, table: &Table, seat: Seat) -> Result<(), TableError> {
//!     let mut handle = Handle::open(table, port, seat);
//!     let mut value = [0];
//!     let found = handle.get(42, &mut value)?;
//!     handle.upsert(42, &[found.map_or(0, |_| value[0]) + 1])?;
//!     handle.close();
//!     Ok(())
//! }
//! ```
//!
//! Each operation of one key is linearizable. Invariants: no two hosts write a line at one time; a
//! line that a reader validates is written back whole, with its version; a value that lies
//! elsewhere than beside its key is at the device before the entry that names it, and is not
//! overwritten by the next change, but by the one after it.
//!
//! What is absent: growth (the table is laid out once), a scan in the order of keys, an operation
//! on two keys at once.
//!
//! [`hashtable`] and [`alloc`] are the workloads; [`history`] checks what lanes saw.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod alloc;
mod alone;
mod bucket;
mod cache;
mod client;
pub mod draw;
mod error;
mod exclusive;
mod handle;
pub mod hashtable;
pub mod history;
mod layout;
mod mail;
mod read;
mod recorder;
mod repair;
mod section;
mod shape;
mod value;

pub use alloc::Alloc;
pub use bucket::{FREE, SLOTS};
pub use client::{Mix, Placement};
pub use error::TableError;
pub use handle::Handle;
pub use hashtable::Hashtable;
pub use layout::Table;
pub use repair::{Left, Repaired};
pub use section::Change;
pub use shape::{Config, MAX_BATCH, MAX_VALUE_WORDS, Sharing};
