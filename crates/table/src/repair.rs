//! What a host that died has left, found and put right.
//!
//! A repair is for a table that nobody has open. Survivors close their ends first; afterwards every
//! lane opens the table anew, with memory of its host's that is zero.
//!
//! What can be left:
//! * a group's lock, held or wanted. The dead lane's intent says which group; the intent left
//!   with the lock's first flush, before anything of the group changed;
//! * a bucket that is busy. Its slots make sense whatever part of the change they show: an entry
//!   is stored before its key, and a value is at the device before the entry that names it. So the
//!   version is all there is to mend;
//! * a key that is in a bucket, while the word that leads to it is still the old one, or the
//!   reverse.
//!
//! Values are never torn: a new one goes to a spare place, and the entry is exchanged last.

use fabric::{Port, Seat};
use serde::Serialize;

use crate::bucket::{Displaced, FREE, SLOTS};
use crate::layout::Table;
use crate::section::version_of;

/// A lane that was in a group, or on its way in or out, when it was last heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Its host.
    pub host: u32,
    /// Which of its lanes.
    pub lane: u32,
    /// The group.
    pub group: u64,
}

/// What a repair found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Lanes that did not close the table, and the group each was at.
    pub left: Vec<Left>,
    /// Buckets in mid-change, by number, with the host whose change it was.
    pub busy: Vec<(u64, u32)>,
    /// Homes whose count of keys that lie elsewhere was wrong.
    pub miscounted: Vec<u64>,
    /// Entries that are there.
    pub entries: u64,
}

impl Table {
    /// Finds what dead hosts have left, and changes nothing. While the table is in use it also
    /// tells what the living are at, as far as this host can see.
    ///
    /// Cost: 1 observe of each group and of each lane's intent.
    pub fn inspect<P: Port>(&self, port: &P) -> Repaired {
        let (mut found, wrong) = self.look_at_all(port);
        found.miscounted = wrong.iter().map(|&(home, _)| home).collect();
        found
    }

    /// Finds and mends what dead hosts have left. One lane calls it while nobody has the table
    /// open, after the dead hosts' lines have been written back or lost.
    ///
    /// Cost: those of [`Table::inspect`]; 1 publish of each bucket mended; 1 publish of all locks,
    /// rings and intents.
    pub fn repair<P: Port>(&self, port: &P) -> Repaired {
        let (mut found, wrong) = self.look_at_all(port);
        for &(bucket, _) in &found.busy {
            let line = self.bucket(bucket);
            let made = version_of(port, line).end();
            port.store(line.version(), made.0);
            // Serves every later look.
            port.publish(line.line());
        }
        for (home, right) in wrong {
            found.miscounted.push(home);
            let line = self.bucket(home);
            let version = version_of(port, line).begin(0);
            port.store(line.version(), version.0);
            port.store(line.displaced(), right.word());
            port.store(line.version(), version.end().0);
            // Serves every later look.
            port.publish(line.line());
        }
        self.start_anew(port);
        found
    }

    /// Zeroes locks, rings and intents.
    fn start_anew<P: Port>(&self, port: &P) {
        let zeros = [0; 512];
        let mut from = 0;
        while from < self.control.len() {
            let to = (from + zeros.len()).min(self.control.len());
            let chunk = self.control.range(from, to);
            port.write_from(chunk.start(), &zeros[..to - from]);
            // Serves the first acquires of every host.
            port.publish(chunk.lines());
            from = to;
        }
    }

    /// Everything that is found, and of each miscounted home the right word.
    fn look_at_all<P: Port>(&self, port: &P) -> (Repaired, Vec<(u64, Displaced)>) {
        let mut found = Repaired {
            left: self.intents_left(port),
            ..Repaired::default()
        };
        let mut wrong = Vec::new();
        for group in 0..self.shape.groups() {
            self.look_at(port, group, &mut found, &mut wrong);
        }
        (found, wrong)
    }

    fn intents_left<P: Port>(&self, port: &P) -> Vec<Left> {
        let mut left = Vec::new();
        for lane in 0..self.intent_lanes() {
            let intent = self.intent(lane);
            // Serves the load below.
            port.observe(intent.line());
            if let Some(group) = port.load(intent).checked_sub(1) {
                let (host, lane) = (lane / self.pod.lanes, lane % self.pod.lanes);
                left.push(Left { host, lane, group });
            }
        }
        left
    }

    fn look_at<P: Port>(
        &self,
        port: &P,
        group: u64,
        found: &mut Repaired,
        wrong: &mut Vec<(u64, Displaced)>,
    ) {
        let size = self.shape.group_buckets;
        let first = group * size;
        // Serves every load of the group below.
        port.observe(self.bucket_lines(first, size));
        let mut displaced = vec![Displaced::default(); size as usize];
        for bucket in first..first + size {
            let line = self.bucket(bucket);
            let version = version_of(port, line);
            if version.is_busy() {
                found.busy.push((bucket, version.host()));
            }
            for slot in 0..SLOTS {
                let key = port.load(line.key(slot));
                if key == FREE {
                    continue;
                }
                found.entries += 1;
                let home = self.shape.home(key);
                if home != bucket {
                    let distance = bucket.wrapping_sub(home) & (size - 1);
                    let at = &mut displaced[(home - first) as usize];
                    *at = at.with_one_more(distance);
                }
            }
        }
        for (home, right) in (first..).zip(displaced) {
            let word = Displaced::of(port.load(self.bucket(home).displaced()));
            // A distance that is too great is a bound all the same.
            if word.keys != right.keys || word.distance < right.distance {
                wrong.push((home, right));
            }
        }
    }

    /// The group of a key, as [`Left`] and [`Repaired`] count them.
    pub fn group_of(&self, key: u64) -> u64 {
        self.shape.group(self.shape.home(key))
    }

    /// The home bucket of a key.
    pub fn home_of(&self, key: u64) -> u64 {
        self.shape.home(key)
    }

    /// The lock that a group shares with others: groups of one number exclude each other.
    pub fn lock_number(&self, group: u64) -> Option<usize> {
        (!self.locks.is_empty()).then(|| self.lock_of(group))
    }

    /// The seat of a lane by its number, host by host.
    pub fn seat(&self, lane: u32) -> Seat {
        Seat {
            host: lane / self.pod.lanes,
            lane: lane % self.pod.lanes,
        }
    }
}
