//! Lanes that keep a lock going for others: its server, and hosts that pass things on.

use fabric::{Gone, HostAtomics, wait_until};
use sync::Desk;
use sync::lock::{Lock, Member};
use workload::Worker;

use crate::cast::{Cast, Done};

/// Rounds of a server or bystander between two looks at who is done.
const ROUNDS_PER_LOOK: u32 = 64;

/// Serves until all contenders are done. Aside: it is done all the time, asked or not.
pub(crate) fn serve<P: HostAtomics, L: Lock>(
    worker: &Worker<'_, P>,
    done: &Done,
    lock: &L,
    mut desk: Desk,
) -> Result<(), Gone> {
    until_done(worker, done, |port| lock.serve(port, &mut desk))
}

/// Does what others may wait for until all contenders are done. Aside, likewise.
pub(crate) fn tend<P: HostAtomics, L: Lock>(
    worker: &Worker<'_, P>,
    done: &Done,
    cast: &Cast,
    lock: &L,
) -> Result<(), Gone> {
    let mut me = Member::new(cast.lane(worker.seat()));
    until_done(worker, done, |port| lock.tend(port, &mut me))
}

fn until_done<P: HostAtomics>(
    worker: &Worker<'_, P>,
    done: &Done,
    mut round: impl FnMut(&P),
) -> Result<(), Gone> {
    let (port, repetition) = (worker.port(), worker.repetition());
    wait_until(port, || {
        port.aside(|port| {
            for _ in 0..ROUNDS_PER_LOOK {
                round(port);
            }
        });
        done.all(port, 0, repetition).then_some(())
    })
}
