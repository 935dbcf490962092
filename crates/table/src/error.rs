//! Why an operation on a table failed.

use fabric::Gone;
use sync::lock::NotAcquired;
use thiserror::Error;

/// An operation that was not done. The table is as it was before, but for [`TableError::Held`] and
/// [`TableError::Gone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// No free slot where the key may lie.
    #[error(
        "key {key:#x}: the {slots} slots of its group are taken; remove entries, or lay the table \
         out for more (entries)"
    )]
    Full {
        /// Which key.
        key: u64,
        /// Slots where it might have gone.
        slots: u64,
    },
    /// A value that no slot holds.
    #[error("a value of {words} words; this table holds values of 1 to {capacity} (value_words)")]
    Oversized {
        /// As given.
        words: usize,
        /// The most.
        capacity: usize,
    },
    /// Room for a value that is smaller than the table's values may be.
    #[error("room for {room} words, but the value of key {key:#x} has {words}; pass room for it")]
    NoRoom {
        /// Which key.
        key: u64,
        /// As given.
        room: usize,
        /// As found.
        words: usize,
    },
    /// An insert of a key that is there.
    #[error("key {key:#x} is there already; use update, or upsert for either case")]
    Duplicate {
        /// Which key.
        key: u64,
    },
    /// The key that marks a free slot.
    #[error("key {key:#x} is reserved for free slots; use another")]
    Reserved {
        /// It.
        key: u64,
    },
    /// Somebody keeps the key's group for longer than this lane's patience: a host that died in it.
    /// Where the change was sent to an owner, that may still make it, if it lives.
    #[error(
        "key {key:#x}: its group of buckets is held{}; if that host is dead, repair the table",
        by(*.host)
    )]
    Held {
        /// Which key.
        key: u64,
        /// By whom, where that is known.
        host: Option<u32>,
    },
    /// The lane must give up.
    #[error(transparent)]
    Gone(#[from] Gone),
}

fn by(host: Option<u32>) -> String {
    host.map_or_else(String::new, |host| format!(" by host {host}"))
}

impl TableError {
    /// The error of a lock that was not had while `key` was to be changed; members are lanes, of
    /// which each host has `lanes`.
    pub(crate) fn of_lock(error: NotAcquired, key: u64, lanes: u32) -> Self {
        match error {
            NotAcquired::Gone(gone) => Self::Gone(gone),
            NotAcquired::TimedOut { waited_for, .. } => Self::Held {
                key,
                host: waited_for.map(|who| who / lanes.max(1)),
            },
        }
    }
}
