//! A timed acquire that gives up leaves the lock as its documentation says: withdrawn, or queued.
//!
//! Each host asks once with patience, which may be over at any moment, and then without. If the
//! first try left anything behind that it should not, both are in, or nobody ever is again.

use check::Timeouts;
use fabric::{HostAtomics, Mark};
use sync::Patience;
use sync::lock::{Lock, Member, NotAcquired};

use super::asking::{Asking, Way};
use super::count;

/// Every host counts once, after it may have given up once.
pub type Timed<L> = Asking<L, AsksAgain>;

/// Patience may be over at any moment; a host that gave up asks again, without.
#[derive(Debug)]
pub struct AsksAgain;

impl Way for AsksAgain {
    const NAME: &'static str = "timed";
    const TIMEOUTS: Timeouts = Timeouts::Anytime;

    type Out = ();

    fn contend<L: Lock, P: HostAtomics>(
        it: &Timed<L>,
        host: u32,
        port: &P,
    ) -> Result<(), NotAcquired> {
        let mut me = Member::new(host);
        // How long does not matter: time passes when the checker says so.
        let patience = Patience::for_ns(port, 1.0);
        match it.lock.acquire(port, &mut me, patience) {
            Err(NotAcquired::TimedOut { .. }) => {
                it.lock.acquire(port, &mut me, Patience::Endless)?;
            }
            tried => tried?,
        }
        port.mark(Mark::Enter(0));
        count(port, it.counter);
        port.mark(Mark::Leave(0));
        it.lock.release(port, &mut me)?;
        Ok(())
    }
}
