//! A pod in simulated time: the model of what a load may return, plus what it costs.
//!
//! The values are those of crate `model`, of which a simulator takes the likely choices: stores
//! drain at once, non-temporal stores go around the cache, lines leave when a cache is full. The
//! costs are those of a pod file ([`pod`]), component by component.
//!
//! ```
//! use fabric::{Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
//! use sim::{Sim, pod};
//!
//! struct Hello;
//!
//! impl Program for Hello {
//!     type Out = f64;
//!
//!     fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> f64 {
//!         let word = fabric::Arena::new().word::<u64>("hello");
//!         let start = port.now();
//!         port.load(word);
//!         port.clock().span_ns(start, port.now())
//!     }
//! }
//!
//! let file = pod::load("direct-attach-one-host").unwrap();
//! let sim = Sim::new(file, Pod::new(1, 1));
//! let setting = Setting { pod: Pod::new(1, 1), discipline: Discipline::NONE, host_bytes: 0 };
//! let out = sim.run(&setting, &NoWatch, &Hello);
//! assert_eq!(out[0].1, 270.0); // the pod's idle load, to the picosecond
//! ```
//!
//! # How time passes
//!
//! A lane is a coroutine with a clock of its own. A request is looked up at the device when
//! everything earlier has been simulated, so links, devices and contents see requests in the order
//! of their arrival; a write takes effect when it arrives. What stays inside a host needs no such
//! care: a lane runs ahead through its caches while no other lane of its coherence domain has
//! anything earlier to do, and with hits in lines that it holds for as long again as a line needs
//! from one cache to another. What a program need not wait for (stores, flushes, fences) it queues,
//! and goes on; it gives way for the values of loads, of atomics and of the clock, and then what it
//! has queued is simulated. [`Sim::reference`] never runs ahead and gives the same results.
//!
//! # Invariants
//!
//! * The same program, pod, setting and seed give the same times and values, on every machine.
//! * Nothing is tuned to a result: constants come from the pod file alone.
//! * Not modelled: TLBs, pages, DRAM refresh, hosts that slow down, SMT, a private cache's copy
//!   being taken away by another lane's flush (that lane's next load is charged a hit).

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agenda;
mod host_memory;
mod lane;
mod lookahead;
mod ops;
mod own;
pub mod pod;
mod port;
mod read;
mod record;
mod region;
mod run;
mod server;
mod stream;
mod tags;
mod timing;
mod transit;
mod upkeep;
mod verbs;
mod world;
mod write;

pub use port::{SimPort, SimPrivate, SimView};
pub use record::{Attribution, Split, WriteTime};
pub use run::Sim;
