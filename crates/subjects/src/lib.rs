//! What is checked: every primitive of crate `sync`, as a small program with a judge.
//!
//! A subject is a program that uses a primitive as its documentation says, twice at least, so that
//! lines are used again, and that notices when what it was promised does not hold. It is generic
//! over [`fabric::Port`] like any other program; the checker is only named where its verdicts are.
//!
//! [`all`] lists them. A lock is added by a line in its table.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod atomic;
pub mod barrier;
pub mod hash_table;
pub mod kernel;
pub mod lock;
pub mod mail;
pub mod read_write;
pub mod record;
pub mod rendezvous;
pub mod ring;
pub mod setting;
mod table;

pub use setting::Setting;
pub use table::all;

use std::hash::{DefaultHasher, Hash, Hasher};

use check::{Checkable, WriteMode};
use fabric::{Gone, Mark, Port, wait_until};

/// The graph kernels, a variant each: too long for a search, so that single runs check them.
pub fn kernels() -> Vec<Box<dyn Checkable>> {
    let subject = |kernel| Box::new(kernel::OfKernel::new(kernel)) as Box<dyn Checkable>;
    let kernels = graph::toy::Kernel::all();
    kernels.into_iter().map(subject).collect()
}

/// What a pod's write mode adds to a name: nothing for the default.
fn suffix(writes: WriteMode) -> String {
    match writes {
        WriteMode::Synchronous => String::new(),
        other => format!("@{other}"),
    }
}

/// Serves until the wait ends; what the desk remembers is what the wait carries from turn to turn.
fn serve<P: Port, D: Hash, R>(
    port: &P,
    mut desk: D,
    mut turn: impl FnMut(&mut D),
) -> Result<R, Gone> {
    wait_until(port, || {
        port.mark(Mark::Carries(digest(&desk)));
        turn(&mut desk);
        port.mark(Mark::Carries(digest(&desk)));
        None
    })
}

/// What a server remembers, as a number.
fn digest(desk: &impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    desk.hash(&mut hash);
    hash.finish()
}
