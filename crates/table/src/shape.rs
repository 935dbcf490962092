//! What a table is laid out for, and where a key belongs.

use fabric::Pod;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use std::hash::Hasher;
use sync::Arrival;
use sync::lock::Algorithm;

use crate::bucket::SLOTS;

/// Words of the largest value: 1 KiB.
pub const MAX_VALUE_WORDS: usize = 128;

/// The most requests that one lane sends to one owner at a time: a reply says two bits of each in
/// one word.
pub const MAX_BATCH: u32 = 32;

/// Share of all slots that a table's entries take when it is as full as it was laid out for. With
/// groups of 64 buckets a group's entries then stay seven standard deviations below its slots, as
/// keys fall into groups at random.
const LOAD: f64 = 0.6;

/// How hosts share the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each host owns a part and alone writes it; the others send it batches of changes. Reads go
    /// to the pool directly and validate.
    Partitioned,
    /// Whoever works on a group of buckets, reading or writing, holds its lock.
    BucketLocks,
    /// Whoever writes holds the group's lock; readers take none and validate.
    #[default]
    Seqlock,
    /// As `seqlock`; a lane besides keeps values that it has read in its own DRAM and fetches one
    /// again only if its version in the bucket has moved.
    Cached,
}

/// What a table is laid out for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Entries that it holds for sure as long as keys are not chosen to collide.
    pub entries: u64,
    /// Words of the largest value, 1 to [`MAX_VALUE_WORDS`]. One word lies beside its key.
    pub value_words: usize,
    /// Buckets of a group, a power of two: a key goes to its home bucket, or, if that is full, to
    /// the nearest of its group.
    pub group_buckets: u32,
    /// How hosts share it.
    pub sharing: Sharing,
    /// Which lock, where there are locks.
    pub lock: Algorithm,
    /// The most locks; groups share them in turn.
    pub locks: u32,
    /// Whether a fence means arrival on this pod.
    pub arrival: Arrival,
    /// Values that a lane keeps where sharing is `cached`; a power of two.
    pub cached_values: u32,
}

impl Config {
    /// Defaults for this many entries with values of this many words.
    pub fn of(entries: u64, value_words: usize) -> Self {
        Self {
            entries,
            value_words,
            group_buckets: 64,
            sharing: Sharing::default(),
            lock: Algorithm::BakeryFastPath,
            locks: 1024,
            arrival: Arrival::default(),
            cached_values: 1024,
        }
    }

    /// Refuses what cannot be laid out.
    ///
    /// # Errors
    /// One sentence with the operand and the remedy.
    pub fn check(&self, pod: Pod) -> Result<(), String> {
        if self.entries == 0 || self.entries > 1 << 40 {
            return Err(format!("entries = {}: use 1 to 2^40", self.entries));
        }
        if !(1..=MAX_VALUE_WORDS).contains(&self.value_words) {
            let bytes = self.value_words * 8;
            return Err(format!(
                "value_bytes = {bytes}: use a multiple of 8 from 8 to {}",
                MAX_VALUE_WORDS * 8
            ));
        }
        for (name, number) in [
            ("group_buckets", self.group_buckets),
            ("cached_values", self.cached_values),
        ] {
            if !number.is_power_of_two() || number > 1 << 20 {
                return Err(format!("{name} = {number}: use a power of two up to 2^20"));
            }
        }
        if self.locks == 0 {
            return Err("locks = 0: use 1 or more".into());
        }
        if self.uses_locks(pod) && self.lock.is_hardware() {
            return Err(format!(
                "lock = {}: atomic instructions do not work between the hosts of a table; use a \
                 lock of registers or of a server",
                self.lock
            ));
        }
        Ok(())
    }

    /// Whether hosts exclude each other by locks: one host alone needs none.
    pub fn uses_locks(&self, pod: Pod) -> bool {
        pod.hosts > 1 && self.sharing != Sharing::Partitioned
    }
}

/// Counts of buckets, and which key goes where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) buckets: u64,
    pub(crate) group_buckets: u64,
    pub(crate) groups_a_host: u64,
}

impl Shape {
    pub(crate) fn of(config: &Config, pod: Pod) -> Self {
        let group_buckets = u64::from(config.group_buckets);
        let slots = (config.entries as f64 / LOAD).ceil() as u64;
        let groups = slots.div_ceil(SLOTS as u64 * group_buckets);
        let groups_a_host = groups.div_ceil(u64::from(pod.hosts));
        Self {
            buckets: groups_a_host * u64::from(pod.hosts) * group_buckets,
            group_buckets,
            groups_a_host,
        }
    }

    /// The home bucket of a key, by the high bits of rustc's hash before its last step, a rotation
    /// for tables that index by the low bits.
    ///
    /// That hash is a product, and the high bits of products of consecutive keys beat with the
    /// number of buckets: of 4000 keys three in four then lay elsewhere than at home. Folded and
    /// multiplied once more (Knuth vol. 3, 6.4), keys fall into buckets as if at random, whatever
    /// their stride.
    #[inline(always)]
    pub(crate) fn home(self, key: u64) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(key);
        let product = hasher.finish().rotate_right(26);
        let folded = (product ^ (product >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(folded) * u128::from(self.buckets)) >> 64) as u64
    }

    /// The group of a bucket.
    #[inline(always)]
    pub(crate) fn group(self, bucket: u64) -> u64 {
        bucket / self.group_buckets
    }

    /// The host that owns a key's part of the table.
    pub(crate) fn owner(self, key: u64) -> u32 {
        (self.group(self.home(key)) / self.groups_a_host) as u32
    }

    /// The bucket `distance` after `home`, within its group.
    #[inline(always)]
    pub(crate) fn nth(self, home: u64, distance: u64) -> u64 {
        let mask = self.group_buckets - 1;
        (home & !mask) | ((home + distance) & mask)
    }

    /// Slots of one group.
    pub(crate) fn group_slots(self) -> u64 {
        self.group_buckets * SLOTS as u64
    }

    pub(crate) fn groups(self) -> u64 {
        self.buckets / self.group_buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_keys_spread_over_groups() {
        let shape = Shape::of(&Config::of(100_000, 1), Pod::new(4, 1));
        let mut entries = vec![0u64; shape.groups() as usize];
        for key in 1..=100_000 {
            entries[shape.group(shape.home(key)) as usize] += 1;
        }
        let most = entries.iter().max().copied().unwrap_or(0);
        assert!(most < shape.group_slots(), "{most}");
    }

    #[test]
    fn few_keys_lie_elsewhere_than_at_home_whatever_their_stride() {
        for (entries, hosts) in [(1_000, 2), (4_000, 8), (10_000, 4), (300_000, 1)] {
            let shape = Shape::of(&Config::of(entries, 1), Pod::new(hosts, 1));
            for stride in [1, 8, 1 << 12] {
                let mut keys = vec![0u64; shape.buckets as usize];
                for index in 1..=entries {
                    keys[shape.home(index * stride) as usize] += 1;
                }
                let elsewhere: u64 = keys.iter().map(|keys| keys.saturating_sub(3)).sum();
                // Thrown at random, 9 % of them do.
                let share = elsewhere as f64 / entries as f64;
                assert!(share < 0.12, "{entries} keys, stride {stride}: {share}");
                let groups = keys.chunks(shape.group_buckets as usize);
                let fullest = groups.map(|keys| keys.iter().sum::<u64>()).max();
                assert!(
                    fullest < Some(shape.group_slots()),
                    "{entries}, stride {stride}"
                );
            }
        }
    }

    #[test]
    fn neighbours_stay_in_the_group() {
        let shape = Shape::of(&Config::of(1_000, 1), Pod::new(1, 1));
        let home = 3 * shape.group_buckets - 1;
        assert_eq!(shape.nth(home, 1), 2 * shape.group_buckets);
        assert_eq!(shape.group(shape.nth(home, 5)), shape.group(home));
    }
}
