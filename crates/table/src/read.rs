//! Reads that take nothing and validate what they find.

use fabric::HostAtomics;

use crate::bucket::{Displaced, Entry, FREE, Look, Version};
use crate::cache::Cache;
use crate::error::TableError;
use crate::handle::Handle;

/// What one attempt at a read gave: how many words; or whose change was in the way.
type Attempt<T> = Result<T, Version>;

impl<P: HostAtomics> Handle<'_, P> {
    /// One attempt; `afar`: other hosts may have written what it reads.
    #[track_caller]
    pub(crate) fn try_read(
        &self,
        cache: &mut Option<Cache<'_, P>>,
        key: u64,
        value: &mut [u64],
        afar: bool,
    ) -> Attempt<Result<Option<usize>, TableError>> {
        let home = self.table.shape.home(key);
        if afar {
            // Serves the look below, anew for each attempt.
            self.port.observe(self.table.line_of(home));
        }
        match self.table.bucket(home).look(self.port, key) {
            Look::Found { slot, entry } => self.fetch(cache, (home, slot), key, entry, value, afar),
            Look::Absent { displaced: 0 } => Ok(Ok(None)),
            Look::Absent { displaced } => {
                self.try_elsewhere(cache, home, Displaced::of(displaced), key, value, afar)
            }
            Look::Changing(version) => Err(version),
        }
    }

    /// Looks at the buckets after the home. A key does not move while it is there, and whoever
    /// missed it in each of them was there while it was nowhere.
    #[inline(never)]
    #[track_caller]
    fn try_elsewhere(
        &self,
        cache: &mut Option<Cache<'_, P>>,
        home: u64,
        displaced: Displaced,
        key: u64,
        value: &mut [u64],
        afar: bool,
    ) -> Attempt<Result<Option<usize>, TableError>> {
        if afar {
            // Serves the looks below.
            let lines = self.table.neighbours(home, displaced.distance);
            self.port.observe(lines);
        }
        for distance in 1..=displaced.distance {
            let bucket = self.table.shape.nth(home, distance);
            match self.table.bucket(bucket).look(self.port, key) {
                Look::Found { slot, entry } => {
                    return self.fetch(cache, (bucket, slot), key, entry, value, afar);
                }
                Look::Absent { .. } => {}
                Look::Changing(version) => return Err(version),
            }
        }
        Ok(Ok(None))
    }

    /// Has the value of an entry.
    #[track_caller]
    fn fetch(
        &self,
        cache: &mut Option<Cache<'_, P>>,
        (bucket, slot): (u64, usize),
        key: u64,
        word: u64,
        value: &mut [u64],
        afar: bool,
    ) -> Attempt<Result<Option<usize>, TableError>> {
        let inline = self.table.config.value_words == 1;
        let entry = Entry::unpack(word, slot);
        let words = if inline { 1 } else { entry.words };
        if words > value.len() {
            let room = value.len();
            return Ok(Err(TableError::NoRoom { key, room, words }));
        }
        if inline {
            value[0] = word;
            return Ok(Ok(Some(1)));
        }
        let value = &mut value[..words];
        if let Some(cache) = cache
            && cache.get(key, bucket, word, value)
        {
            return Ok(Ok(Some(words)));
        }
        self.copy(bucket, entry, value, afar)?;
        if let Some(cache) = cache {
            cache.put(key, bucket, word, value);
        }
        Ok(Ok(Some(words)))
    }

    #[track_caller]
    fn copy(&self, bucket: u64, entry: Entry, value: &mut [u64], afar: bool) -> Attempt<()> {
        let place = self.table.place(bucket, entry.place);
        if afar {
            // Serves the read below: lines of an older value may be here.
            self.port.observe(place.lines(value.len()));
        }
        if place.read(self.port, entry.stamp, value) {
            return Ok(());
        }
        // Two changes have come since the look.
        Err(Version(0))
    }

    /// What a slot holds, if anything; `fresh`: its bucket has just been observed.
    #[track_caller]
    pub(crate) fn try_slot(
        &self,
        bucket: u64,
        slot: usize,
        value: &mut [u64],
        fresh: bool,
    ) -> Attempt<Option<(u64, usize)>> {
        let line = self.table.bucket(bucket);
        if !fresh {
            // Serves the loads below, anew for each attempt.
            self.port.observe(line.line());
        }
        let before = Version(self.port.load(line.version()));
        let key = self.port.load(line.key(slot));
        let word = self.port.load(line.entry(slot));
        let after = Version(self.port.load(line.version()));
        if before != after || after.is_busy() {
            return Err(after);
        }
        if key == FREE {
            return Ok(None);
        }
        if self.table.config.value_words == 1 {
            value[0] = word;
            return Ok(Some((key, 1)));
        }
        let entry = Entry::unpack(word, slot);
        self.copy(bucket, entry, &mut value[..entry.words], true)?;
        Ok(Some((key, entry.words)))
    }
}
