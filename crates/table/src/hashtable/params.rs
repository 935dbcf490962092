//! The knobs of the workload.

use fabric::Pod;
use serde::{Deserialize, Serialize};
use sync::Arrival;
use sync::lock::Algorithm;

use crate::client::{MOST_INSERTS, Mix, Placement, key};
use crate::draw::{Distribution, Draw};
use crate::shape::{Config, MAX_BATCH, Shape, Sharing};

/// Events that a lane records in a repetition at most.
const MAX_EVENTS: usize = 4_096;
/// The most locks that one lane serves: each look at one is a round trip to the device.
const MAX_SERVED: u32 = 64;

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// What is asked for.
    pub mix: Mix,
    /// How often which entry.
    pub distribution: Distribution,
    /// Skew of `zipf`, and of the recency in mix D: 0 to 1, both excluded.
    pub theta: f64,
    /// Whether popular entries are strewn over all.
    pub scrambled: bool,
    /// Whose entries a lane asks for.
    pub placement: Placement,
    /// How hosts share the table.
    pub sharing: Sharing,
    /// Which lock, where there are locks.
    pub lock: Algorithm,
    /// The most locks.
    pub locks: u32,
    /// Buckets of a group, a power of two.
    pub group_buckets: u32,
    /// Bytes of a value, a multiple of 8 up to 1024.
    pub value_bytes: u32,
    /// Entries.
    pub entries: u64,
    /// Hosts that ask, the first ones; the others only serve. 0: all.
    pub clients: u32,
    /// Operations of a lane in a repetition; `load` does as many as there are entries.
    pub operations: u32,
    /// Changes that a lane asks for together; 1 where sharing is not partitioned.
    pub batch: u32,
    /// `hot-set`: the share of operations that goes to the hot entries (YCSB: 0.8).
    pub hot_operations: f64,
    /// `hot-set`: the share of entries that is hot (YCSB: 0.2).
    pub hot_entries: f64,
    /// Values that a lane keeps where sharing is `cached`.
    pub cached_values: u32,
    /// Keys whose histories are checked.
    pub checked_keys: u32,
    /// Whether a fence means arrival on this pod; posted pods need `confirm`.
    pub arrival: Arrival,
}

impl Default for Params {
    fn default() -> Self {
        let config = Config::of(1, 1);
        Self {
            mix: Mix::default(),
            distribution: Distribution::default(),
            theta: 0.99,
            scrambled: true,
            placement: Placement::default(),
            sharing: config.sharing,
            lock: config.lock,
            locks: 256,
            group_buckets: config.group_buckets,
            value_bytes: 8,
            entries: 10_000,
            clients: 0,
            operations: 1_000,
            batch: 1,
            hot_operations: 0.8,
            hot_entries: 0.2,
            cached_values: config.cached_values,
            checked_keys: 4,
            arrival: config.arrival,
        }
    }
}

impl Params {
    pub(super) fn config(&self, pod: Pod) -> Config {
        Config {
            entries: self.entries + self.inserts(pod),
            value_words: self.value_bytes as usize / 8,
            group_buckets: self.group_buckets,
            sharing: self.sharing,
            lock: self.lock,
            locks: self.locks,
            arrival: self.arrival,
            cached_values: self.cached_values,
        }
    }

    pub(super) fn draw(&self) -> Draw {
        let hot = (self.hot_operations, self.hot_entries);
        Draw::new(
            self.distribution,
            self.entries,
            self.theta,
            self.scrambled,
            hot,
        )
    }

    /// Hosts that ask.
    pub(super) fn clients(&self, pod: Pod) -> u32 {
        match self.clients {
            0 => pod.hosts,
            clients => clients,
        }
    }

    pub(super) fn is_served(&self, pod: Pod) -> bool {
        self.config(pod).uses_locks(pod) && self.lock.is_served()
    }

    /// Events that a lane may record in a repetition: every one, up to the most.
    pub(super) fn events(&self) -> usize {
        match (self.checked_keys, self.mix) {
            (0, _) | (_, Mix::Load) => 0,
            _ => MAX_EVENTS.min(2 * self.operations as usize),
        }
    }

    /// Keys that a lane may insert beside the entries, all lanes together.
    fn inserts(&self, pod: Pod) -> u64 {
        let lanes = u64::from(pod.hosts * pod.lanes);
        match self.mix {
            Mix::D => lanes * (u64::from(self.operations) / MOST_INSERTS + 1),
            _ => 0,
        }
    }

    /// Refuses groups too small for the keys that fall into them. As many buckets as the default
    /// has are enough for any keys that were not chosen to collide; of fewer, keys are counted.
    fn check_groups(&self, pod: Pod) -> Result<(), String> {
        let config = self.config(pod);
        if self.group_buckets >= Config::of(1, 1).group_buckets {
            return Ok(());
        }
        let shape = Shape::of(&config, pod);
        let mut keys = vec![0u64; shape.groups() as usize];
        // Where lanes insert into some parts only, they skip the keys of others.
        let skipped = match self.placement {
            Placement::Mixed => 1,
            _ => u64::from(pod.hosts),
        };
        for index in 0..self.entries + skipped * self.inserts(pod) {
            keys[shape.group(shape.home(key(index))) as usize] += 1;
        }
        let (most, slots) = (keys.into_iter().max().unwrap_or(0), shape.group_slots());
        if most <= slots {
            return Ok(());
        }
        Err(format!(
            "group_buckets = {}: {most} keys fall into one group, which has {slots} slots; use \
             more buckets a group (group_buckets)",
            self.group_buckets
        ))
    }

    /// Refuses what cannot run.
    pub(super) fn check(&self, pod: Pod) -> Result<(), String> {
        if !self.value_bytes.is_multiple_of(8) {
            let bytes = self.value_bytes;
            return Err(format!("value_bytes = {bytes}: use a multiple of 8"));
        }
        self.config(pod).check(pod)?;
        self.check_groups(pod)?;
        if self.theta <= 0.0 || self.theta >= 1.0 {
            return Err(format!(
                "theta = {}: use more than 0, less than 1",
                self.theta
            ));
        }
        for (name, share) in [
            ("hot_operations", self.hot_operations),
            ("hot_entries", self.hot_entries),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name} = {share}: use 0 to 1"));
            }
        }
        if self.clients > pod.hosts || self.clients > 0 && self.mix == Mix::Load {
            return Err(format!(
                "clients = {}: use 0 (all) to {} hosts; a load takes all",
                self.clients, pod.hosts
            ));
        }
        if self.operations == 0 {
            return Err("operations = 0: use 1 or more".into());
        }
        if self.placement == Placement::Remote && pod.hosts == 1 {
            return Err("placement = remote: use --hosts 2 or more".into());
        }
        let batches = self.sharing == Sharing::Partitioned;
        if self.batch == 0 || self.batch > if batches { MAX_BATCH } else { 1 } {
            let most = if batches { MAX_BATCH } else { 1 };
            return Err(format!(
                "batch = {}: use 1 to {most} (more than 1 where sharing = partitioned)",
                self.batch
            ));
        }
        if self.is_served(pod) && self.locks > MAX_SERVED {
            return Err(format!(
                "locks = {}: one lane serves all locks of {}; use 1 to {MAX_SERVED}",
                self.locks, self.lock
            ));
        }
        Ok(())
    }
}
