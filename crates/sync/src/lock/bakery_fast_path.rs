//! A bakery whose doorway is also its door: one publish and one look when nobody else is there.
//!
//! Lamport's bakery scans twice: once to choose a number, once to wait. If the first scan finds
//! every other member *idle*, the second cannot find anything that matters, and the member enters
//! at once, still marked as choosing. If it finds anybody, it has just learnt the greatest number
//! and goes on as in the bakery. No published algorithm known to us does this with the bakery; the
//! two-register fast path of Lamport (1987) is another, and unfair.
//!
//! # Why it is right
//!
//! Lines are atomic registers. A member *asks* when its choosing mark is at the device; its scan
//! comes after. Say that it enters *fast* or *numbered*.
//!
//! 1. *Fast and fast.* Both asked before they scanned, so the one that asked second scanned after
//!    the first had asked, and found it choosing until its release. It did not enter fast.
//! 2. *Fast i, numbered j.* i found j idle, so j asked after i's scan of j, hence after i had
//!    asked; j's last wait comes later and passes i only when i is not choosing: after its release.
//! 3. *Numbered and numbered.* As in the bakery: i passed j when j was not choosing. If j's number
//!    was there, it was greater. If j was idle, it asked later, so scanned later, and saw i's
//!    number, or i's release.
//! 4. *No deadlock.* A choosing member is in its scan, which waits for nobody, or inside. Among
//!    numbered members one has the least number, and its wait ends.
//! 5. *First come, first served.* The doorway ends when a member enters fast or has published its
//!    number; it waits for nobody. If i has left it before j asks, j finds i inside, choosing or
//!    numbered, and waits until it has gone, or takes a greater number.
//!
//! A member that comes back finds the numbered ones, so it does not enter fast and does not pass
//! them: each waits for at most one hold of every other.

use fabric::{Arena, Gone, HostAtomics};

use super::bakery::{Bakery, number};
use super::{Lock, Member, NotAcquired, Options};
use crate::patience::Patience;

/// The word of a member that asks: choosing in the bakery's sense, perhaps inside already.
const ASKING: u64 = 1;

/// A bakery, entered otherwise.
#[derive(Clone, Debug)]
pub struct BakeryFastPath(Bakery);

impl Lock for BakeryFastPath {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self(Bakery::lay_out(arena, name, options))
    }

    /// Cost: 1 publish, 1 observe of N-1 lines if all others are idle; otherwise 1 publish and the
    /// observes of the wait besides.
    fn acquire<P: HostAtomics>(
        &self,
        port: &P,
        me: &mut Member,
        patience: Patience,
    ) -> Result<(), NotAcquired> {
        let Bakery { board, arrival } = &self.0;
        // Must be at the device before the scan (1 and 2 above).
        arrival.announce(port, board.word(me.who), ASKING);
        let (mut alone, mut greatest) = (true, 0);
        board.watch_others(me.who).scan(port, |_, word| {
            alone &= word == 0;
            greatest = greatest.max(number(word));
        });
        if alone {
            return Ok(());
        }
        self.0.queue(port, me, greatest, patience)
    }

    /// Cost: 1 publish.
    fn release<P: HostAtomics>(&self, port: &P, me: &mut Member) -> Result<(), Gone> {
        self.0.release(port, me)
    }
}
