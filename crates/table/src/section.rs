//! What a writer does while it has a key's home to itself.
//!
//! Between hosts that means the group: its lock, or that its owner is this host. On one host alone
//! it means the home bucket's version, which its lanes make busy by an atomic instruction; other
//! buckets of the group are then entered likewise, one at a time and without waiting, so that two
//! lanes that want each other's home give way instead of waiting for ever.
//!
//! Whoever has a key's home decides whether the key is there, where, and with what value. Keys do
//! not move: a key that lies elsewhere stays there until it is removed.

use fabric::{Discipline, HostAtomics, Line, Port};
use sync::Arrival;

use crate::bucket::{Bucket, Displaced, Entry, FREE, SLOTS, Version};
use crate::error::TableError;
use crate::layout::{Table, send_along};
use crate::mail::Outcome;

/// What is to be done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'v> {
    /// Put it there, if it is not.
    Insert(&'v [u64]),
    /// Replace its value, if it is there.
    Update(&'v [u64]),
    /// Either.
    Upsert(&'v [u64]),
    /// Take it away, if it is there.
    Remove,
}

impl<'v> Change<'v> {
    pub(crate) fn value(self) -> Option<&'v [u64]> {
        match self {
            Self::Insert(value) | Self::Update(value) | Self::Upsert(value) => Some(value),
            Self::Remove => None,
        }
    }
}

/// Why a section was left without having done what it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Another lane is in a bucket that was needed: leave, and try again.
    Again,
    /// It cannot be done.
    Error(TableError),
}

/// How the buckets of a group are had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One host: a bucket's version is its lock.
    Alone,
    /// This host owns the group: nobody else ever writes it, so its copies are never stale.
    Owner,
    /// The group's lock.
    Lock,
}

/// A writer inside.
pub(crate) struct Section<'s, P> {
    pub(crate) table: &'s Table,
    pub(crate) port: &'s P,
    pub(crate) host: u32,
    pub(crate) way: Way,
    /// The key's home, which this writer has.
    pub(crate) home: u64,
    /// Whether a fence follows that ends several changes at once.
    pub(crate) lazy: bool,
}

impl<P: HostAtomics> Section<'_, P> {
    /// Does it. Where a value lies beside its key and the key lies at home: 1 publish; 1 more for a
    /// value elsewhere, 1 more for a key elsewhere that comes or goes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn change(&self, key: u64, change: Change<'_>) -> Result<Outcome, Refused> {
        if let Some(slot) = self.table.bucket(self.home).find(self.port, key) {
            return self.change_found(key, self.home, slot, change);
        }
        self.change_elsewhere(key, change)
    }

    #[inline(never)]
    #[track_caller]
    fn change_elsewhere(&self, key: u64, change: Change<'_>) -> Result<Outcome, Refused> {
        match self.find_displaced(key) {
            Some((bucket, slot)) => self.change_found(key, bucket, slot, change),
            None => match change {
                Change::Insert(value) | Change::Upsert(value) => {
                    self.add(key, value)?;
                    Ok(Outcome::WasAbsent)
                }
                Change::Update(_) | Change::Remove => Ok(Outcome::WasAbsent),
            },
        }
    }

    #[inline(always)]
    #[track_caller]
    fn change_found(
        &self,
        key: u64,
        bucket: u64,
        slot: usize,
        change: Change<'_>,
    ) -> Result<Outcome, Refused> {
        match change {
            Change::Insert(_) => return Err(Refused::Error(TableError::Duplicate { key })),
            Change::Update(value) | Change::Upsert(value) => {
                let version = self.open(bucket)?;
                self.put(bucket, version, slot, value, None);
            }
            Change::Remove => self.take_away(bucket, slot)?,
        }
        Ok(Outcome::WasThere)
    }

    /// Where a key lies that is not in its home bucket.
    #[track_caller]
    pub(crate) fn find_displaced(&self, key: u64) -> Option<(u64, usize)> {
        let displaced = Displaced::of(self.port.load(self.table.bucket(self.home).displaced()));
        if displaced.keys == 0 {
            return None;
        }
        if self.way == Way::Lock {
            // Serves the loads below: another host may have written these since.
            let lines = self.table.neighbours(self.home, displaced.distance);
            self.port.observe(lines);
        }
        for distance in 1..=displaced.distance {
            let bucket = self.table.shape.nth(self.home, distance);
            if let Some(slot) = self.table.bucket(bucket).find(self.port, key) {
                return Some((bucket, slot));
            }
        }
        None
    }

    #[track_caller]
    fn add(&self, key: u64, value: &[u64]) -> Result<(), Refused> {
        let home = self.table.bucket(self.home);
        if let Some(slot) = home.find(self.port, FREE) {
            let version = self.open(self.home)?;
            self.put(self.home, version, slot, value, Some(key));
            return Ok(());
        }
        let shape = self.table.shape;
        if self.way == Way::Lock {
            // Serves the loads below, as above.
            let lines = self.table.neighbours(self.home, shape.group_buckets - 1);
            self.port.observe(lines);
        }
        for distance in 1..shape.group_buckets {
            let at = shape.nth(self.home, distance);
            let bucket = self.table.bucket(at);
            if bucket.find(self.port, FREE).is_none() {
                continue;
            }
            let version = self.open(at)?;
            // On one host another lane may have come first.
            let Some(slot) = bucket.find(self.port, FREE) else {
                self.close(at, version);
                continue;
            };
            self.put(at, version, slot, value, Some(key));
            // The key before the word that leads to it: a reader that finds neither was earlier.
            return self.displace(|displaced| displaced.with_one_more(distance));
        }
        let slots = shape.group_slots();
        Err(Refused::Error(TableError::Full { key, slots }))
    }

    #[track_caller]
    fn take_away(&self, bucket: u64, slot: usize) -> Result<(), Refused> {
        let version = self.open(bucket)?;
        self.begin(bucket, version);
        // The entry stays: it says which place is this slot's.
        let place = self.table.bucket(bucket).key(slot);
        self.port.store(place, FREE);
        self.close(bucket, version);
        if bucket == self.home {
            return Ok(());
        }
        self.displace(Displaced::with_one_less)
    }

    fn displace(&self, change: impl FnOnce(Displaced) -> Displaced) -> Result<(), Refused> {
        let version = self.open(self.home)?;
        let word = self.table.bucket(self.home).displaced();
        let displaced = change(Displaced::of(self.port.load(word)));
        self.begin(self.home, version);
        self.port.store(word, displaced.word());
        self.close(self.home, version);
        Ok(())
    }

    /// Puts a value, and its key if the slot was free; closes the bucket.
    #[inline(always)]
    #[track_caller]
    fn put(&self, bucket: u64, version: Version, slot: usize, value: &[u64], key: Option<u64>) {
        let line = self.table.bucket(bucket);
        let entry = if self.table.config.value_words == 1 {
            value[0]
        } else {
            self.write_value(bucket, version, slot, value)
        };
        self.begin(bucket, version);
        self.port.store(line.entry(slot), entry);
        if let Some(key) = key {
            // After its entry, so that whatever part of the line a crash leaves makes sense.
            self.port.store(line.key(slot), key);
        }
        self.close(bucket, version);
    }

    /// Writes a value into the spare place and publishes it; the slot's next entry.
    #[inline(never)]
    #[track_caller]
    fn write_value(&self, bucket: u64, version: Version, slot: usize, value: &[u64]) -> u64 {
        let line = self.table.bucket(bucket);
        // Four places, three in use: 0 ^ 1 ^ 2 ^ 3 = 0.
        let mut spare = 0;
        for other in 0..SLOTS {
            spare ^= Entry::unpack(self.port.load(line.entry(other)), other).place;
        }
        let entry = Entry {
            stamp: version.count(),
            words: value.len(),
            place: spare,
        };
        let place = self.table.place(bucket, spare);
        place.write(self.port, entry.stamp, value);
        // Serves the loads of a reader that has seen the entry: the value is there before it.
        self.port.post(place.lines(value.len()));
        entry.pack(slot)
    }

    /// The version that a bucket will have after a change that this writer is about to make.
    #[inline(always)]
    #[track_caller]
    fn open(&self, bucket: u64) -> Result<Version, Refused> {
        let place = self.table.bucket(bucket).version();
        let version = Version(self.port.load(place));
        match self.way {
            // Made busy when the section was entered.
            Way::Alone if bucket == self.home => Ok(version),
            Way::Alone => {
                let next = version.begin(self.host);
                let free = !version.is_busy()
                    && self.port.compare_exchange(place, version.0, next.0).is_ok();
                if free { Ok(next) } else { Err(Refused::Again) }
            }
            Way::Owner | Way::Lock => Ok(version.begin(self.host)),
        }
    }

    /// Makes a bucket busy, if it is not.
    #[inline(always)]
    #[track_caller]
    fn begin(&self, bucket: u64, version: Version) {
        if self.way != Way::Alone {
            let place = self.table.bucket(bucket).version();
            self.port.store(place, version.0);
        }
    }

    /// Ends a change.
    #[inline(always)]
    #[track_caller]
    fn close(&self, bucket: u64, version: Version) {
        let line = self.table.bucket(bucket);
        if self.way == Way::Alone {
            // The home's version ends with the section.
            if bucket != self.home {
                self.port.atomic_store(line.version(), version.end().0);
            }
            return;
        }
        self.port.store(line.version(), version.end().0);
        self.settle(line.line());
    }

    /// Has a line at the device before the operation returns: serves every reader that looks
    /// later, by whatever clock.
    #[inline(always)]
    #[track_caller]
    fn settle(&self, line: Line) {
        if self.lazy {
            // Serves the same readers, once the caller's fence has come.
            send_along(self.port, line);
            return;
        }
        let arrives = self.table.config.arrival == Arrival::Fence;
        if arrives && self.port.discipline() != Discipline::NONE {
            self.port.publish(line);
        } else {
            // Where nothing needs to be published this is one full fence.
            self.port.confirm(line);
        }
    }
}

/// The version of a bucket, as whoever may write it loads it.
#[inline(always)]
#[track_caller]
pub(crate) fn version_of<P: Port>(port: &P, bucket: Bucket) -> Version {
    Version(port.load(bucket.version()))
}
