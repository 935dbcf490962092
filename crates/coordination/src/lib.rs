//! What coordination between hosts costs.
//!
//! * [`lock`]: acquire, hand over, release, against contention and what is protected.
//! * [`read_write`]: the same where many read and few write.
//! * [`barrier`]: until everyone knows that everyone has come.
//! * [`atomic`]: read-modify-write of one word, by whoever can do it.
//! * [`ring`]: messages and streams of them.
//! * [`sharing`]: what costs more, bytes that are republished or operations that order them.
//!
//! The algorithms are those of crate `sync`, by name. What the workloads share: who contends,
//! serves and waits ([`Spread`]), and how lanes bring together what each has seen.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod atomic;
pub mod barrier;
pub mod lock;
pub mod read_write;
pub mod ring;
pub mod sharing;

mod cast;
mod crew;
mod holds;
mod stay;
mod verdict;
mod yardstick;

pub use atomic::Atomic;
pub use barrier::Barrier;
pub use cast::Spread;
pub use lock::Lock;
pub use read_write::ReadWrite;
pub use ring::Ring;
pub use sharing::Sharing;
