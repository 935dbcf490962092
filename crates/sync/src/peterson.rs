//! Mutual exclusion of two hosts, without a word that both write.
//!
//! Peterson ("Myths about the mutual exclusion problem", IPL 12(3), 1981) lets two processes give
//! way to each other through a *turn* that both write. On this memory a word of two writers is a
//! line of two writers, in which a late write-back can put an old turn over a newer one. Kessels
//! ("Arbitration without common modifiable variables", Acta Informatica 17, 1982) splits the turn
//! into one bit of each process, and the turn is whether they differ. Only its owner writes a bit.
//!
//! Lines: one a host, of two words: whether it wants in, and its bit of the turn.
//!
//! Both words toggle, which the rest of this crate avoids because an old copy of a toggled word can
//! mislead. Here none does: every look observes, so it returns what the device held after the look
//! began, and that is all that the proof asks of a register.

use fabric::{Arena, Gone, Port, Slice, wait_until};

const WANTS: usize = 0;
const TURN: usize = 1;

/// Where the lock lies.
#[derive(Clone, Copy, Debug)]
pub struct Peterson {
    /// By host: wants, turn.
    hosts: [Slice<u64>; 2],
}

impl Peterson {
    /// Lays out a lock between two hosts.
    pub fn lay_out(arena: &mut Arena, name: &str) -> Self {
        let hosts = arena.per_host(name, 2, 2);
        Self {
            hosts: [hosts[0], hosts[1]],
        }
    }
}

/// One host's end of the lock; one lane holds it.
#[derive(Debug)]
pub struct Contender {
    lock: Peterson,
    host: usize,
    /// This host's bit of the turn, as its line holds it.
    turn: u64,
}

impl Contender {
    /// The end of `host`, 0 or 1, of a zeroed lock.
    ///
    /// # Panics
    /// If `host` is neither.
    pub fn new(lock: Peterson, host: u32) -> Self {
        assert!(host < 2, "host {host}: this lock is for hosts 0 and 1");
        Self {
            lock,
            host: host as usize,
            turn: 0,
        }
    }

    /// Enters the critical section once the other host is not in it. Both wanting, the one that
    /// asked first goes first: nobody is overtaken twice.
    ///
    /// What the section reads must be observed in it. On an error the lock was not taken.
    ///
    /// Cost: 2 confirms of the own line, observes of 1 line: one, and one a poll (so at least 2).
    ///
    /// # Errors
    /// Whatever ended the wait.
    pub fn acquire<P: Port>(&mut self, port: &P) -> Result<(), Gone> {
        let (own, peer) = (self.own(), self.lock.hosts[1 - self.host]);
        port.store(own.at(WANTS), 1);
        // At the device before the load of the peer's turn. Else both may choose their turns while
        // neither is seen to want in, and then the later choice lets both in.
        port.confirm(own.at(WANTS).line());
        // Serves the load below: an old turn would be answered with the wrong one.
        port.observe(peer.lines());
        let theirs = port.load(peer.at(TURN));
        self.turn = self.giving_way_to(theirs);
        port.store(own.at(TURN), self.turn);
        // At the device before the loads of the poll: the peer that is about to poll must find
        // this turn if this host does not find that the peer has left.
        port.confirm(own.at(TURN).line());
        let entered = wait_until(port, || {
            // Serves both loads below. They may see two states of the line: either is enough.
            port.observe(peer.lines());
            let left = port.load(peer.at(WANTS)) == 0;
            (left || self.turn != self.giving_way_to(port.load(peer.at(TURN)))).then_some(())
        });
        if entered.is_err() {
            self.release(port);
        }
        entered
    }

    /// Leaves. What the section wrote must have been posted, or published, before; where writes to
    /// different devices are unordered (posted-unordered pods), confirmed.
    ///
    /// Cost: 1 post.
    pub fn release<P: Port>(&mut self, port: &P) {
        let wants = self.own().at(WANTS);
        // No load of the section can be passed by this store (TSO).
        port.store(wants, 0);
        // Serves the peer's poll. Nothing here reads afterwards, so a store fence will do.
        port.post(wants.line());
    }

    fn own(&self) -> Slice<u64> {
        self.lock.hosts[self.host]
    }

    /// The own bit that makes it the other's turn: equal bits are host 1's turn, different bits
    /// host 0's.
    fn giving_way_to(&self, theirs: u64) -> u64 {
        if self.host == 0 { theirs } else { 1 - theirs }
    }
}
