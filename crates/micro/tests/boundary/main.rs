//! The boundary, proved by two throw-away substrates.
//!
//! A simulator and a checker of about 200 lines each run the mailbox and `visibility` unchanged. What
//! they share is a memory of whole lines and coroutine lanes; what differs is who decides what
//! happens next: the earliest clock, or a search.
//!
//! * `memory`, `lanes`: what both are made of. `programs`: what both run.
//! * `simulator`, `simulated`: costs, exact half round trips, determinism.
//! * `checker`, `search`, `checked`: every choice within bounds, faulty twins.

mod lanes;
mod memory;
mod programs;
mod simulated;
mod simulator;
