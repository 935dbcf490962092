//! A lock server: one lane of the pod hands out the lock, in the order in which it sees requests.
//!
//! After the two-tier lock of `TraCT` (arXiv 2512.18194): lanes of a host settle among themselves
//! first ([`TwoLevel`](super::TwoLevel)), so that the server has one client a host. There client
//! and server write the same slot in turn; here each has a line of its own, so that no write-back
//! of one can cover the other's.
//!
//! A client's line counts its requests and releases ([`Turn`]); the server's line for it, the
//! acquisitions granted. Invariant: at most one client has been granted more than it has given up.
//!
//! A hand-over takes two one-way trips, holder to server to next. The request of a client that
//! gives up stands.

use fabric::{Arena, Gone, HostAtomics};

use super::{Lock, Member, NotAcquired, Options};
use crate::board::Board;
use crate::desk::{Desk, Turn};
use crate::patience::{Patience, wait};

/// Waiting for the server's answer.
const ASKED: u64 = 1;

/// Where the lock lies.
#[derive(Clone, Debug)]
pub struct TicketServer {
    requests: Board,
    grants: Board,
}

impl Lock for TicketServer {
    const SERVED: bool = true;

    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            requests: Board::lay_out(arena, &format!("{name}.request"), options.pod.hosts),
            grants: Board::lay_out(arena, &format!("{name}.grant"), options.pod.hosts),
        }
    }

    /// Cost: 1 publish, 1 observe of 1 line a look.
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
        let granted = || (self.grants.look(port, me.who) == me.number).then_some(());
        wait(port, patience, granted).map_err(|ended| ended.at(None, true))?;
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

    /// Cost: 1 observe of N lines; a publish besides if the lock changes hands.
    fn serve<P: HostAtomics>(&self, port: &P, desk: &mut Desk) {
        desk.take_in(port, &self.requests);
        if desk.last.is_none()
            && let Some(next) = desk.queue.pop_front()
        {
            let acquisition = desk.asked[next as usize];
            desk.last = Some((next, acquisition));
            self.grants.post(port, next, acquisition);
        }
    }
}
