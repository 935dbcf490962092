//! The hardware and the kernel's mechanisms: what an access, a fault, a move costs, and whom.
//!
//! ```text
//! access -> page table (fault?) -> TLB (walk?) -> cache (hit?) -> stream? -> tier
//!                                                                  |
//!                                     demand misses only: sampler, true heat
//! ```

mod access;
mod cache;
mod costs;
mod heat;
mod mechanism;
mod pages;
mod sampler;
mod space;
mod stream;
mod tally;
mod tiers;
mod tlb;

pub use access::Access;
pub(crate) use access::Entry;
pub use costs::Costs;
pub use mechanism::{DAEMONS, Daemon, Mechanism, Payer, QUANTUM_PS, Setup};
pub use pages::{Page, Pages, Tier};
pub use sampler::{EVENT_PARTS, Periods, Sample};
pub use space::Area;
pub use tally::{SPENT, Spent, Tally};
