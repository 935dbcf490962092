//! Read-modify-write of one 64-bit word, where no instruction does it.
//!
//! Between hosts there are loads, stores and lines that travel: registers. Registers have consensus
//! number 1 (Herlihy, TOPLAS 13(1), 1991), so **a wait-free compare-and-swap or fetch-and-add
//! cannot be built from them, however cleverly**: somebody has to wait for somebody. What can be
//! chosen is for whom.
//!
//! # Cost
//!
//! P is one publish, O one observe. One-way is one publish and the look that finds it. N hosts.
//!
//! | via | an operation | a read | waits for |
//! |---|---|---|---|
//! | [`ServerAtomic`] | 1 P, a look at one line; the server 1 O of N lines, 1 P | the same | the server: 2 one-ways |
//! | [`CombiningAtomic`] | the same for up to 3 operations of a host | the same | the server, a lane of its host |
//! | [`LockedAtomic`] | lock, 1 O, 1 P, release: 3 P + 2 O | 1 O | whoever has the lock |
//! | [`ShardedAtomic`] | 1 P, adds only, no result | 1 O of N lines | nobody |
//! | [`HardwareAtomic`] | 1 instruction | 1 load | nobody; within one coherence domain |
//!
//! Operations via a server are linearizable: the server applies them one by one, between a client's
//! publish and its answer. Those under the lock likewise. A read of a sharded counter is the sum of
//! values that each shard had at some moment of the look: with adds of positive numbers it lies
//! between the counter at the look's start and at its end, but it is no snapshot.
//!
//! A dead server stops everyone; a dead client, nobody, unless it dies inside the lock.

mod combining;
mod delegated;
mod hardware;
mod locked;
mod registry;
mod server;
mod sharded;

use fabric::{Arena, Gone, HostAtomics};

pub use combining::CombiningAtomic;
pub use delegated::ValueDesk;
pub use hardware::HardwareAtomic;
pub use locked::LockedAtomic;
pub use registry::{AnyAtomic, AtomicVisitor, Via};
pub use server::ServerAtomic;
pub use sharded::ShardedAtomic;

use crate::lock::Options;

/// One operation on the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rmw {
    /// Reads it.
    Load,
    /// Adds, wrapping.
    FetchAdd(u64),
    /// Puts `new` if it is `current`.
    CompareExchange {
        /// What it must be.
        current: u64,
        /// What it becomes.
        new: u64,
    },
    /// Puts a value.
    Swap(u64),
    /// Sets bits.
    FetchOr(u64),
}

impl Rmw {
    /// What the word is afterwards, if it was `old`.
    #[must_use]
    pub fn apply(self, old: u64) -> u64 {
        match self {
            Self::FetchAdd(add) => old.wrapping_add(add),
            Self::CompareExchange { current, new } if old == current => new,
            Self::Load | Self::CompareExchange { .. } => old,
            Self::Swap(value) => value,
            Self::FetchOr(bits) => old | bits,
        }
    }

    /// As three words, the first of them below 8.
    fn encode(self) -> [u64; 3] {
        match self {
            Self::Load => [1, 0, 0],
            Self::FetchAdd(add) => [2, add, 0],
            Self::CompareExchange { current, new } => [3, current, new],
            Self::Swap(value) => [4, value, 0],
            Self::FetchOr(bits) => [5, bits, 0],
        }
    }

    fn decode([kind, first, second]: [u64; 3]) -> Option<Self> {
        Some(match kind {
            1 => Self::Load,
            2 => Self::FetchAdd(first),
            3 => Self::CompareExchange {
                current: first,
                new: second,
            },
            4 => Self::Swap(first),
            5 => Self::FetchOr(first),
            _ => return None,
        })
    }
}

/// A word of 64 bits that all lanes of a pod operate on; it starts as 0. Lanes are counted host
/// by host.
pub trait Atomic64: Sized + Sync {
    /// Whether a lane has to serve it ([`serve`](Self::serve)).
    const SERVED: bool = false;

    /// Lays its lines out; they are zero when the first lane operates.
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self;

    /// Whether it can do `op`.
    fn can(op: Rmw) -> bool {
        let _ = op;
        true
    }

    /// Applies `op` for lane `who`; the word's value before, where that is known.
    ///
    /// # Errors
    /// Whatever ended a wait.
    ///
    /// # Panics
    /// If it [cannot](Self::can).
    fn apply<P: HostAtomics>(&self, port: &P, who: u32, op: Rmw) -> Result<Option<u64>, Gone>;

    /// The word's value.
    ///
    /// # Errors
    /// Whatever ended a wait.
    fn load<P: HostAtomics>(&self, port: &P, who: u32) -> Result<u64, Gone>;

    /// What a server knows while nobody operates; the word is 0 from then on.
    fn desk<P: HostAtomics>(&self, port: &P) -> ValueDesk {
        let _ = port;
        ValueDesk::default()
    }

    /// One round of the server where [`SERVED`](Self::SERVED) says so; one lane of the pod, which
    /// is no member meanwhile, calls it again and again with the desk that [`desk`](Self::desk)
    /// gave it.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut ValueDesk) {
        let _ = (port, desk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_survive_their_encoding() {
        let exchange = Rmw::CompareExchange { current: 7, new: 9 };
        for op in [
            Rmw::Load,
            Rmw::FetchAdd(3),
            exchange,
            Rmw::Swap(4),
            Rmw::FetchOr(5),
        ] {
            assert_eq!(Rmw::decode(op.encode()), Some(op));
            assert!(op.encode()[0] < 8);
        }
        assert_eq!((exchange.apply(7), exchange.apply(8)), (9, 8));
        assert_eq!(Rmw::decode([0; 3]), None);
    }
}
