//! The boundary, proved by two throw-away substrates.
//!
//! A simulator and a checker, as small as they can be, run the mailbox and `visibility` unchanged.
//! What they share is a memory of whole lines and coroutine lanes; what differs is who decides what
//! happens next: the earliest clock, or a search. Once crates of their own do both, this goes.
//!
//! * `memory`, `lanes`: what both are made of. `programs`: what both run.
//! * `simulator`, `simulated`: costs, exact half round trips, determinism.
//! * `checker` with `buffer` and `search`, `checked`: every choice within bounds, faulty twins.
//! * `joined`, `beating`: rendezvous, hearts and barriers of `sync` in simulated time.

mod beating;
mod buffer;
mod checked;
mod checker;
mod joined;
mod lanes;
mod memory;
mod programs;
mod search;
mod simulated;
mod simulator;
