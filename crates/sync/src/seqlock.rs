//! A record of several lines from one host to many, by a sequence lock.
//!
//! Lines: a version, and the record; the writer alone writes both. The version is odd while the
//! record changes. Several lines cannot be published at once, so a reader may catch a mix; it
//! notices because the version has moved, and reads again (Lameter, "Effective synchronization on
//! Linux/NUMA systems", Gelato Conference 2005; Boehm, "Can seqlocks get along with programming
//! language memory models?", MSPC 2012, for what the reads must be).
//!
//! Invariant: from the moment that the device holds an even version until it holds the next odd
//! one, it holds that version's record, whole. Versions only grow, so an old copy of one can cost a
//! retry and never validate a mix.
//!
//! Where writes to different devices are unordered (posted-unordered pods) version and record must
//! lie on one device: nothing else keeps them in order.

use fabric::{Arena, Gone, Port, Ptr, Slice, wait_until};

/// Where a record lies.
#[derive(Clone, Copy, Debug)]
pub struct SeqLock {
    version: Ptr<u64>,
    record: Slice<u64>,
}

impl SeqLock {
    /// Lays out a record of `words` words.
    pub fn lay_out(arena: &mut Arena, name: &str, words: usize) -> Self {
        Self {
            version: arena.word(format!("{name}.version")),
            record: arena.slice(format!("{name}.record"), words),
        }
    }

    /// The record's words. Readers validate what they load of them.
    pub fn record(&self) -> Slice<u64> {
        self.record
    }

    /// The version, which readers first load from whatever copy there is.
    pub fn version(&self) -> Ptr<u64> {
        self.version
    }
}

/// The writing end; one lane of one host holds it.
#[derive(Debug)]
pub struct SeqWriter {
    lock: SeqLock,
    version: u64,
}

/// A reading end; any number of lanes hold one each.
#[derive(Clone, Copy, Debug)]
pub struct SeqReader {
    lock: SeqLock,
}

impl SeqWriter {
    /// The writing end of a zeroed record, which is version 0.
    pub fn new(lock: SeqLock) -> Self {
        Self { lock, version: 0 }
    }

    /// Replaces the record. Never waits.
    ///
    /// Cost: 3 posts: the version's line, the record's lines, the version's line.
    ///
    /// # Panics
    /// If `record` is not as long as the place.
    pub fn write<P: Port>(&mut self, port: &P, record: &[u64]) {
        let SeqLock {
            version,
            record: place,
        } = self.lock;
        assert_eq!(record.len(), place.len(), "words of the record");
        // The store fence keeps every word of the new record behind the odd version, also one that
        // an eviction writes back at once: whoever loads such a word finds the version moved.
        port.write_posted(version, &[self.version + 1]);
        // The whole record is at the device before the even version: serves the loads of a reader
        // that has already seen that version.
        port.write_posted(place.start(), record);
        self.version += 2;
        // Serves the readers' polls. Nothing here reads afterwards, so no full fence.
        port.write_posted(version, &[self.version]);
    }
}

impl SeqReader {
    /// A reading end of a record that was zeroed before its writer began.
    pub fn new(lock: SeqLock) -> Self {
        Self { lock }
    }

    /// Reads the record as it was at some moment of the call, into `record`; returns its version,
    /// which is even and never older than one that this host has returned before.
    ///
    /// The first look at the version needs no observe: an old copy of it will do. If a fresh look
    /// after the record finds the same even version, the version cannot have moved in between, nor
    /// the record; and a look that finds another leaves a fresh copy for the next turn.
    ///
    /// Cost: 2 observes (record, version) if nothing was written since this host last looked, 2
    /// more if something was, and 2 more for each write that comes in between.
    ///
    /// # Errors
    /// Whatever ended the wait: a writer that died inside a write leaves the version odd.
    ///
    /// # Panics
    /// If `record` is not as long as the place.
    pub fn read<P: Port>(&self, port: &P, record: &mut [u64]) -> Result<u64, Gone> {
        let SeqLock {
            version,
            record: place,
        } = self.lock;
        assert_eq!(record.len(), place.len(), "words of the record");
        wait_until(port, || {
            let before = port.load(version);
            // Serves the read below: lines of older records may still be here.
            port.observe(place.lines());
            port.read_into(place.start(), record);
            // Serves the load below, and its full fence puts that behind the read above: a copy of
            // the version from before the read could not tell whether the record moved meanwhile.
            port.observe(version.line());
            let now = port.load(version);
            (now == before && now.is_multiple_of(2)).then_some(now)
        })
    }
}
