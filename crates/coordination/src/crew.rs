//! The lanes of a lock's trial: those that contend, and those that keep it going for them.

use fabric::{Gone, HostAtomics, wait_until};
use sync::Desk;
use sync::lock::{Lock, Member};
use workload::Worker;

use crate::cast::{Cast, Done, Role};

/// Rounds of a server or bystander between two looks at who is done.
const ROUNDS_PER_LOOK: u32 = 64;

/// One repetition of a lane, whatever its role: contends by `contend`, which is told its number,
/// serves, or passes things on.
///
/// # Errors
/// Whatever ended a wait.
pub(crate) fn play<P: HostAtomics, L: Lock>(
    worker: &Worker<'_, P>,
    done: &Done,
    cast: &Cast,
    lock: &L,
    contend: impl FnOnce(u32) -> Result<(), Gone>,
) -> Result<(), Gone> {
    let (seat, port) = (worker.seat(), worker.port());
    let role = cast.role(seat);
    let serves = L::SERVED && role == Role::Server;
    // While nobody acquires: what has been asked so far has been given up.
    let desk = serves.then(|| port.aside(|port| lock.desk(port)));
    worker.line_up()?;
    if let Some(desk) = desk {
        return serve(worker, done, lock, desk);
    }
    if let Role::Contender(number) = role {
        contend(number)?;
        done.say(port, number, worker.repetition());
    }
    if L::TENDED && seat.leads_host() {
        tend(worker, done, cast, lock)?;
    }
    Ok(())
}

/// Serves until all contenders are done. Aside: it is done all the time, asked or not.
fn serve<P: HostAtomics, L: Lock>(
    worker: &Worker<'_, P>,
    done: &Done,
    lock: &L,
    mut desk: Desk,
) -> Result<(), Gone> {
    until_done(worker, done, |port| lock.serve(port, &mut desk))
}

/// Does what others may wait for until all contenders are done. Aside, likewise.
fn tend<P: HostAtomics, L: Lock>(
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
