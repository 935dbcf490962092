//! A queue lock whose one atomic step, joining the queue, is done by a server.
//!
//! Mellor-Crummey and Scott (TOCS 9(1), 1991) join with a swap; no such thing exists between hosts,
//! so a lane of the pod keeps the tail and tells each client its predecessor. From there on the
//! server is out of the way: a hand-over is one one-way trip, from holder to next. The next waits
//! on the holder's own line, as in the CLH form of the queue (Craig, 1993; Landin and Hagersten,
//! 1994): to spin on one's own line saves nothing where all lines are equally far, and naming the
//! successor would cost a publish and an observe.
//!
//! A client's line counts its requests and releases ([`Turn`]), so the server also learns from it
//! whether the last in line has left. Invariant: a client is in only if its predecessor has given
//! up the acquisition that the server named.
//!
//! The request of a client that gives up stands.

use fabric::{Arena, Gone, HostAtomics, Slice};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::Board;
use crate::desk::{Desk, Turn};
use crate::patience::{Patience, wait};

/// Waiting for the server's answer.
const ASKED: u64 = 1;
/// Waiting for the predecessor.
const IN_LINE: u64 = 2;

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct McsServer {
    requests: Board,
    /// The server's line for each client: the acquisition it answers; the predecessor.
    answers: Vec<Slice<u64>>,
}

/// Whom to wait for, in one word: `acquisition * 256 + client + 1`; 0 for nobody.
#[derive(Clone, Copy)]
struct Predecessor(u64);

impl Predecessor {
    fn of(last: Option<(u32, u64)>) -> Self {
        Self(last.map_or(0, |(who, number)| (number << 8) + u64::from(who) + 1))
    }

    fn get(self) -> Option<(u32, u64)> {
        let who = (self.0 & 0xff).checked_sub(1)?;
        Some((who as u32, self.0 >> 8))
    }
}

impl Lock for McsServer {
    const SERVED: bool = true;

    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        let clients = options.pod.hosts;
        Self {
            requests: Board::lay_out(arena, &format!("{name}.request"), clients),
            answers: arena.per_host(&format!("{name}.answer"), clients, 2),
        }
    }

    /// Cost: 1 publish, 1 observe of 1 line a look: at the answer, then, if the lock was held, at
    /// the predecessor.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        if me.stage == 0 {
            me.number += 1;
            me.stage = ASKED;
            self.requests.post(port, me.who, Turn::asking(me.number).0);
        }
        let answer = self.answers[me.who as usize];
        let answered = || {
            // Serves the two loads: the words of a line arrive together.
            port.observe(answer.lines());
            let here = port.load(answer.at(0)) == me.number;
            here.then(|| Predecessor(port.load(answer.at(1))).get())
        };
        let predecessor = wait(port, patience, answered).map_err(|ended| ended.at(None, true))?;
        if let Some((before, number)) = predecessor {
            me.stage = IN_LINE;
            let left =
                || (Turn(self.requests.look(port, before)).given_up() >= number).then_some(());
            wait(port, patience, left).map_err(|ended| ended.at(Some(before), true))?;
        }
        me.stage = 0;
        Ok(())
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.requests
            .post(port, me.who, Turn::released(me.number).0);
        Ok(())
    }

    /// Cost: 1 observe of N lines.
    fn desk<P: HostAtomics>(&self, port: &P) -> Desk {
        Desk::of(port, &self.requests)
    }

    /// Cost: 1 observe of N lines; 1 publish a new request.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut Desk) {
        desk.take_in(port, &self.requests);
        while let Some(next) = desk.queue.pop_front() {
            let acquisition = desk.asked[next as usize];
            let answer = self.answers[next as usize];
            // Plain stores, the number last: they reach the line in this order, and the line leaves
            // whole, so a client that finds the number finds the predecessor.
            port.store(answer.at(1), Predecessor::of(desk.last).0);
            port.store(answer.at(0), acquisition);
            // Serves the client's look.
            port.post(answer.lines());
            desk.last = Some((next, acquisition));
        }
    }
}
