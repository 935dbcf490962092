//! The only host: a bucket's version is its lock, taken by one atomic instruction, and a read of a
//! value beside its key is loads of one line.

use fabric::HostAtomics;

use crate::bucket::{Displaced, Look, Version};
use crate::error::TableError;
use crate::handle::{Handle, wait};
use crate::mail::Outcome;
use crate::section::{Change, Refused, Way, version_of};

impl<P: HostAtomics> Handle<'_, P> {
    /// The entry of a key that was not found at home at once, if it is there: most often it lies in
    /// the next bucket. The version of a bucket on the way, if somebody is changing it.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn look_alone(&self, key: u64) -> Result<Option<u64>, Version> {
        let home = self.table.shape.home(key);
        let mut last = 0;
        let mut distance = 0;
        while distance <= last {
            let bucket = self.table.shape.nth(home, distance);
            match self.table.bucket(bucket).look(self.port, key) {
                Look::Found { entry, .. } => return Ok(Some(entry)),
                // Only the home's word is about keys whose home it is.
                Look::Absent { displaced } if distance == 0 => {
                    last = Displaced::of(displaced).distance;
                }
                Look::Absent { .. } => {}
                Look::Changing(version) => return Err(version),
            }
            distance += 1;
        }
        Ok(None)
    }

    /// A change on the only host: the home's version is the lock.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn change_alone(
        &mut self,
        key: u64,
        change: Change<'_>,
    ) -> Result<bool, TableError> {
        let home = self.table.shape.home(key);
        if let Change::Update(&[word]) | Change::Upsert(&[word]) = change
            && self.direct
            && self.replace_alone(home, key, word)
        {
            return Ok(true);
        }
        self.change_any_alone(key, home, change)
    }

    /// Replaces a value that lies beside its key, at home; whether it did.
    ///
    /// It looks before it takes the bucket, not after: the slot is the key's as long as the version
    /// is the one that was seen, which the atomic instruction compares. Nothing but two stores
    /// waits for that instruction then.
    #[inline(always)]
    #[track_caller]
    fn replace_alone(&self, home: u64, key: u64, word: u64) -> bool {
        let bucket = self.table.bucket(home);
        let Some(hit) = bucket.hit(self.port, key) else {
            return false;
        };
        let (place, busy) = (bucket.version(), hit.version.begin(self.seat.host));
        let taken = self.port.compare_exchange(place, hit.version.0, busy.0);
        if taken.is_err() {
            return false;
        }
        self.port.store(bucket.entry(hit.slot), word);
        self.port.atomic_store(place, busy.end().0);
        true
    }

    /// Any change on the only host.
    #[inline(never)]
    #[track_caller]
    fn change_any_alone(
        &mut self,
        key: u64,
        home: u64,
        change: Change<'_>,
    ) -> Result<bool, TableError> {
        let place = self.table.bucket(home).version();
        loop {
            let version = Version(self.port.load(place));
            let busy = version.begin(self.seat.host);
            let free =
                !version.is_busy() && self.port.compare_exchange(place, version.0, busy.0).is_ok();
            if !free {
                self.wait_idle(key, home)?;
                continue;
            }
            let done = self.section(home, Way::Alone, false).change(key, change);
            self.port.atomic_store(place, busy.end().0);
            match done {
                Ok(outcome) => return Ok(outcome == Outcome::WasThere),
                Err(Refused::Error(error)) => return Err(error),
                Err(Refused::Again) => self.port.pause()?,
            }
        }
    }

    /// Waits until a bucket is not busy.
    #[cold]
    #[inline(never)]
    fn wait_idle(&self, key: u64, bucket: u64) -> Result<(), TableError> {
        let bucket = self.table.bucket(bucket);
        wait(self.port, self.patience_ns, key, || {
            match version_of(self.port, bucket) {
                busy if busy.is_busy() => Err(busy),
                _ => Ok(()),
            }
        })
    }
}
