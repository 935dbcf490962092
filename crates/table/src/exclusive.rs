//! Work on a part of a table while nobody else is at work on it.
//!
//! Filling and emptying belong to an experiment, not to what it measures: each lane does it to the
//! groups that are its own, without locks, and one fence publishes all of it. A barrier of the pod
//! comes before and after.

use fabric::{Fence, HostAtomics};

use crate::bucket::{FREE, SLOTS};
use crate::error::TableError;
use crate::handle::Handle;
use crate::section::{Change, Refused, Way};

impl<P: HostAtomics> Handle<'_, P> {
    /// Whether a key's group is this lane's own.
    pub fn is_own(&self, key: u64) -> bool {
        let table = self.table;
        let (host, group) = (table.owner(key), table.group_of(key));
        host == self.seat.host && group % u64::from(table.pod.lanes) == u64::from(self.seat.lane)
    }

    /// Puts those keys that are its own, with the values that `value` makes.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn fill<const N: usize>(
        &mut self,
        keys: impl Iterator<Item = u64>,
        mut value: impl FnMut(u64) -> [u64; N],
    ) -> Result<(), TableError> {
        let words = self.table.config.value_words;
        for (number, key) in keys.enumerate() {
            if !self.is_own(key) {
                continue;
            }
            self.change_own(key, Change::Insert(&value(key)[..words]))?;
            if number.is_multiple_of(4096) {
                self.port.check_in()?;
            }
        }
        // Serves everybody's looks after the barrier that follows.
        self.port.fence(Fence::Full);
        Ok(())
    }

    /// Takes away those keys of its own that `keep` does not want.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) -> Result<(), TableError> {
        let shape = self.table.shape;
        for group in 0..shape.groups() {
            let first = group * shape.group_buckets;
            let lane = u64::from(self.seat.lane);
            let own = group / shape.groups_a_host == u64::from(self.seat.host)
                && group % u64::from(self.table.pod.lanes) == lane;
            if !own {
                continue;
            }
            self.port.check_in()?;
            // Serves the loads below, and those of each removal.
            let lines = self.table.bucket_lines(first, shape.group_buckets);
            self.port.observe(lines);
            for bucket in first..first + shape.group_buckets {
                for slot in 0..SLOTS {
                    let key = self.port.load(self.table.bucket(bucket).key(slot));
                    if key != FREE && !keep(key) {
                        self.change_own(key, Change::Remove)?;
                    }
                }
            }
        }
        // Serves everybody's looks after the barrier that follows.
        self.port.fence(Fence::Full);
        Ok(())
    }

    fn change_own(&mut self, key: u64, change: Change<'_>) -> Result<(), TableError> {
        if self.table.is_alone() {
            return self.change(key, change).map(drop);
        }
        let home = self.table.shape.home(key);
        match self.section(home, Way::Owner, true).change(key, change) {
            Ok(_) => Ok(()),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::Again) => unreachable!("only lanes of one host alone give way"),
        }
    }
}
