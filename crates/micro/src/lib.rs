//! What each step costs: the micro-benchmarks.
//!
//! * [`latency`]: how long one access takes, by the size of what is accessed.
//! * [`bandwidth`]: how many bytes a second lanes move, and what a load costs meanwhile.
//! * [`primitive`]: what one flush, fence, or store around the caches costs.
//! * [`visibility`]: how long until one host's update is seen by another.
//!
//! Each has its own words for its knobs; what they share is which memory is measured
//! ([`Place`]), in which order ([`Order`]) and who measures at once ([`HostsActive`]).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bandwidth;
pub mod latency;
pub mod primitive;
pub mod visibility;

mod area;
mod order;
mod reference;
mod tally;
mod turns;

pub use area::Place;
pub use bandwidth::Bandwidth;
pub use latency::Latency;
pub use order::Order;
pub use primitive::Primitive;
pub use turns::HostsActive;
pub use visibility::Visibility;
