//! dsmark on real memory: a [`Port`](fabric::Port) over a mapping.
//!
//! A [`Region`] maps a device-DAX node, a DAX file, or a stand-in (tmpfs, hugetlbfs). A [`Host`]
//! runs a [`Program`](fabric::Program) on pinned lanes; each lane gets a [`NativePort`], whose
//! verbs are single instructions: a load is one `mov`. What the CPU can do is asked from [`Cpu`],
//! what its clock is worth from [`TscClock`].
//!
//! # Reading order
//!
//! 1. [`Region`], [`Device`]: what is mapped, and what is refused with a remedy. 2. [`Cpu`]: which
//!    disciplines this machine can follow. 3. [`TscClock`]. 4. [`Pins`]: which lane runs on which
//!    CPU. 5. [`Host`]: the substrate. 6. [`NativePort`]: the verbs.
//! 7. [`nodes_of`], [`mapping_at`]: where pages lie, and how large they are.
//!
//! # Invariants
//!
//! * This is the workspace's only crate with `unsafe`. Each block names its invariant and who
//!   upholds it.
//! * No Rust reference to region memory exists: other hosts and other processes write it.
//! * Bounds of single accesses are asserted in debug builds only; a [`Ptr`](fabric::Ptr) comes from
//!   an arena that the region was opened for. A forged one is outside the contract.
//! * There is no fallback that changes what is measured: a missing instruction, an unusable clock,
//!   a mapping that is not DAX are errors.

#![warn(missing_docs)]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "native drives x86-64 cache instructions on Linux mappings; on other targets use the simulator"
);

mod affinity;
mod clock;
mod counters;
mod cpu;
mod dram;
mod host;
mod instr;
mod loops;
mod numa;
mod port;
mod region;
mod smaps;
mod word;

pub use affinity::{AffinityError, Pins, available_cpus, pin, plan_pins};
pub use clock::{ClockError, TscClock};
pub use counters::{Counter, Counters, Event, Reading, Why};
pub use cpu::{Cpu, Feature, Unsupported};
pub use host::Host;
pub use numa::{nodes_of, own_node};
pub use port::{NativePort, NativePrivate, NativeView};
pub use region::{Backing, Device, Label, Placement, Region, RegionError, Request, backing};
pub use smaps::{Mapping, mapping_at};
