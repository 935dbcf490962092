//! Pod files: the constants of a pod, each with its source.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use fabric::{Coherence, MAX_HOSTS, Pod};
use model::WriteMode;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The pods that every build carries, by name.
const BUILT_IN: &[(&str, &str)] = &[
    (
        "sc26-four-host",
        include_str!("../../../pods/sc26-four-host.toml"),
    ),
    (
        "xc50256-two-host",
        include_str!("../../../pods/xc50256-two-host.toml"),
    ),
    (
        "sc26-posted-four-host",
        include_str!("../../../pods/sc26-posted-four-host.toml"),
    ),
    (
        "sc26-small-cache-four-host",
        include_str!("../../../pods/sc26-small-cache-four-host.toml"),
    ),
    (
        "xc50256-posted-two-host",
        include_str!("../../../pods/xc50256-posted-two-host.toml"),
    ),
    (
        "niagara2-two-host",
        include_str!("../../../pods/niagara2-two-host.toml"),
    ),
    (
        "multi-headed-three-host",
        include_str!("../../../pods/multi-headed-three-host.toml"),
    ),
    (
        "direct-attach-one-host",
        include_str!("../../../pods/direct-attach-one-host.toml"),
    ),
    (
        "coherent-four-host",
        include_str!("../../../pods/coherent-four-host.toml"),
    ),
];

/// A pod file that cannot be used.
#[derive(Debug, Error)]
pub enum PodError {
    /// No such pod, and no such file.
    #[error(
        "no pod {name:?}{}; built in: {known}; or give the path of a pod file",
        fabric::suggestion(.nearest.as_deref())
    )]
    Unknown {
        /// As asked for.
        name: String,
        /// The nearest that exists.
        nearest: Option<String>,
        /// All that exist.
        known: String,
    },
    /// A file that cannot be read.
    #[error("cannot read the pod file {path}: {source}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A key that no pod has.
    #[error(
        "{pod}: no constant is called `{key}`{}; `dsmark pod show` lists them",
        fabric::suggestion(.nearest.as_deref())
    )]
    UnknownKey {
        /// Which pod file.
        pod: String,
        /// As written, with its table.
        key: String,
        /// The nearest that exists.
        nearest: Option<String>,
    },
    /// Not a pod file.
    #[error("{pod} is not a pod file: {why}; compare it with `dsmark pod show sc26-four-host`")]
    Malformed {
        /// Which pod file.
        pod: String,
        /// What is wrong.
        why: String,
    },
    /// A value that no pod can have.
    #[error("{pod}: {key} = {value}: {remedy}")]
    Value {
        /// Which pod file.
        pod: String,
        /// Which constant.
        key: &'static str,
        /// As written.
        value: String,
        /// What it must be.
        remedy: &'static str,
    },
}

/// One constant, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The constant, in the unit that ends its key.
    pub value: T,
    /// A publication, or an assumption that says so.
    pub source: String,
}

/// One level of cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheLevel {
    /// Its name.
    pub name: String,
    /// Its size: of one lane's if private, of the host's if shared.
    pub size_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Load to use.
    pub latency_ns: f64,
    /// Whether the lanes of a host share it; the last level, and no other.
    pub shared: bool,
    /// Where these come from.
    pub source: String,
}

macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident { $($(#[$fdoc:meta])* $key:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $section { $($(#[$fdoc])* pub $key: Sourced<$type>,)* }
    )*};
}

sections! {
    /// The lanes' clock.
    Clock {
        /// Cycles in a nanosecond.
        core_ghz: f64,
    }
    /// Local DRAM.
    Memory {
        /// Idle load.
        load_ns: f64,
        /// Of one host.
        bandwidth_gb_per_s: f64,
        /// A line from one lane's cache to another's of the same host.
        lane_transfer_ns: f64,
    }
    /// The way to the device.
    PathTo {
        /// Idle load without a switch.
        direct_load_ns: f64,
        /// Idle load through one switch.
        switch_load_ns: f64,
        /// Switches on the way.
        switch_hops: u32,
        /// The request's share of the idle load; the rest is the response's.
        request_share: f64,
    }
    /// One host's link.
    Link {
        /// Towards the host.
        read_gb_per_s: f64,
        /// Towards the device.
        write_gb_per_s: f64,
    }
    /// The devices.
    Device {
        /// How many.
        count: u32,
        /// Bytes of one before the next one's begin.
        interleave_bytes: u64,
        /// Of each, both directions together.
        bandwidth_gb_per_s: f64,
    }
    /// Line maintenance, as published: whole recipes, started with the line absent.
    FlushCosts {
        /// Store, flush, fence.
        publish_dirty_ns: f64,
        /// Flush, full fence, load of a line that no other host has written since the last look.
        observe_clean_ns: f64,
        /// The same of a line that a peer has just written.
        observe_peer_written_ns: f64,
        /// Each further line of a CLFLUSHOPT or CLWB burst.
        burst_line_ns: f64,
        /// Each further line of a CLFLUSH run.
        serial_line_ns: f64,
        /// Non-temporal store or MOVDIR64B, fence.
        publish_nt_ns: f64,
        /// Each further line written around the cache.
        nt_line_ns: f64,
    }
    /// Fences with nothing to wait for.
    FenceCosts {
        /// MFENCE.
        full_ns: f64,
        /// SFENCE.
        store_ns: f64,
        /// LFENCE.
        load_ns: f64,
        /// How long a posted write is held after its fence.
        posted_hold_ns: f64,
    }
    /// One lane's core.
    Core {
        /// Line misses that one lane keeps in flight.
        misses_in_flight: u32,
        /// Lines that its stream prefetcher runs ahead; 0 switches it off.
        stream_lines: u32,
        /// Whether a miss brings the other line of its 128-byte pair along.
        adjacent_line: bool,
        /// Stores on their way to the cache.
        store_buffer: u32,
        /// Lines being combined from non-temporal stores.
        write_combining: u32,
        /// One PAUSE.
        pause_cycles: u32,
        /// A locked instruction on a line that this lane owns.
        atomic_cycles: u32,
    }
    /// How waiting grows with load.
    Queueing {
        /// Share of a link's or device's bandwidth from which requests wait for bursts of others.
        knee: f64,
        /// Lines of such a burst.
        burst_lines: f64,
        /// Loaded latency over idle latency, at most.
        cap: f64,
    }
    /// Deterministic noise, drawn from the trial's seed.
    Jitter {
        /// Share of device accesses that are slow.
        tail_probability: f64,
        /// How much slower.
        tail_factor: f64,
    }
    /// The directory of a coherent pod.
    Directory {
        /// One back-invalidation of another host's copy.
        snoop_ns: f64,
        /// One look-up.
        lookup_ns: f64,
    }
}

/// A pod file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // each section says what it is
pub struct PodFile {
    /// Its name in records.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Hosts that it has.
    pub hosts: Sourced<u32>,
    /// Lanes that each host has.
    pub lanes: Sourced<u32>,
    /// Between hosts.
    pub coherence: Sourced<Coherence>,
    /// Whether a fence means arrival: `synchronous`, `posted` or `posted-unordered`.
    pub write_mode: Sourced<String>,
    /// Caches from the lane outwards.
    pub cache: Vec<CacheLevel>,
    pub clock: Clock,
    pub memory: Memory,
    pub path: PathTo,
    pub link: Link,
    pub device: Device,
    pub flush: FlushCosts,
    pub fence: FenceCosts,
    pub core: Core,
    pub queue: Queueing,
    pub jitter: Jitter,
    pub directory: Directory,
}

/// Names of the pods that every build carries.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|&(name, _)| name)
}

/// The pod called `name`, or the one in the file at that path.
///
/// # Errors
/// See [`PodError`]; a typo in a name or key is answered with the nearest one.
pub fn load(name: &str) -> Result<PodFile, PodError> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return PodFile::parse(name, text);
    }
    let is_path = name.contains('/') || Path::new(name).extension().is_some();
    if !is_path {
        return Err(PodError::Unknown {
            name: name.to_owned(),
            nearest: fabric::nearest(name, built_in()),
            known: built_in().collect::<Vec<_>>().join(", "),
        });
    }
    let text = std::fs::read_to_string(name).map_err(|source| PodError::Unreadable {
        path: name.to_owned(),
        source,
    })?;
    PodFile::parse(name, &text)
}

impl PodFile {
    /// Reads the text of a pod file; `pod` names it in errors.
    ///
    /// # Errors
    /// An unknown key with the nearest known one, a missing one, a value that no pod can have.
    pub fn parse(pod: &str, text: &str) -> Result<Self, PodError> {
        let malformed = |why: String| PodError::Malformed {
            pod: pod.to_owned(),
            why,
        };
        let table: toml::Table = text
            .parse()
            .map_err(|error| malformed(format!("{error}")))?;
        check_keys(pod, &table)?;
        let file: Self = table
            .try_into()
            .map_err(|error| malformed(format!("{error}")))?;
        file.check(pod)?;
        Ok(file)
    }

    /// Hosts and lanes that the pod has.
    pub fn shape(&self) -> Pod {
        Pod::new(self.hosts.value, self.lanes.value)
    }

    /// Whether a fence means arrival.
    ///
    /// # Panics
    /// Never for a file that [`parse`](Self::parse) returned.
    pub fn writes(&self) -> WriteMode {
        let mode = self.write_mode.value.parse();
        mode.expect("parse() checked the write mode")
    }

    fn check(&self, pod: &str) -> Result<(), PodError> {
        let refuse = |key, value: &dyn std::fmt::Display, remedy| {
            Err(PodError::Value {
                pod: pod.to_owned(),
                key,
                value: value.to_string(),
                remedy,
            })
        };
        if self.write_mode.value.parse::<WriteMode>().is_err() {
            let remedy = "use synchronous, posted or posted-unordered";
            return refuse("write_mode", &self.write_mode.value, remedy);
        }
        if self.hosts.value == 0 || self.hosts.value > MAX_HOSTS {
            return refuse("hosts", &self.hosts.value, "use 1 to 64");
        }
        let shared = self.cache.iter().filter(|level| level.shared).count();
        if shared != 1 || !self.cache.last().is_some_and(|level| level.shared) {
            return refuse("cache", &shared, "exactly the last level is shared");
        }
        if self.cache.len() != 3 {
            return refuse(
                "cache",
                &self.cache.len(),
                "use two private levels and a shared one",
            );
        }
        for (key, value) in self.numbers() {
            if !(value.is_finite() && value >= 0.0) {
                let key = "a constant";
                return refuse(key, &value, "numbers are finite and not negative");
            }
            let divides = key.ends_with("_gb_per_s") || key.ends_with("_ghz");
            if divides && value == 0.0 {
                return refuse("a bandwidth or clock", &value, "it must be above 0");
            }
        }
        if self.path.request_share.value > 1.0 {
            return refuse(
                "request_share",
                &self.path.request_share.value,
                "use 0 to 1",
            );
        }
        Ok(())
    }

    fn numbers(&self) -> Vec<(String, f64)> {
        let table = toml::Table::try_from(self).expect("a pod file is plain values");
        let mut numbers = Vec::new();
        for (key, value, _) in constants(&table) {
            if let Some(number) = value.as_float().or(value.as_integer().map(|n| n as f64)) {
                numbers.push((key, number));
            }
        }
        numbers
    }

    /// Dotted names of the constants that are numbers above 0, `flush.publish_dirty_ns`; the shape
    /// of the pod and of its caches left out.
    pub fn components(&self) -> Vec<String> {
        let numbers = self.numbers().into_iter();
        let above_zero = numbers.filter(|(key, value)| *value > 0.0 && key.contains('.'));
        above_zero.map(|(key, _)| key).collect()
    }

    /// The same pod with one constant of [`components`](Self::components) times `factor`; whole
    /// numbers are rounded. None if there is no such constant, or no pod can have the result.
    #[must_use]
    pub fn scaled(&self, component: &str, factor: f64) -> Option<Self> {
        let mut table = toml::Table::try_from(self).ok()?;
        let (section, key) = component.split_once('.')?;
        let constant = table.get_mut(section)?.get_mut(key)?.get_mut("value")?;
        *constant = match constant {
            toml::Value::Float(value) => toml::Value::Float(*value * factor),
            toml::Value::Integer(value) => {
                toml::Value::Integer((*value as f64 * factor).round() as i64)
            }
            _ => return None,
        };
        let file: Self = table.try_into().ok()?;
        file.check(&self.name).ok()?;
        Some(file)
    }

    /// Every constant with its value and its source, one a line, for `dsmark pod show`.
    ///
    /// # Panics
    /// Never: a pod file is plain values.
    pub fn describe(&self) -> String {
        let table = toml::Table::try_from(self).expect("a pod file is plain values");
        let mut text = format!("{}: {}\n", self.name, self.about);
        for level in &self.cache {
            let kib = level.size_bytes / 1024;
            let _ = writeln!(
                text,
                "  cache.{:<32} {kib} KiB, {} ways, {} ns  ({})",
                level.name, level.ways, level.latency_ns, level.source
            );
        }
        for (key, value, source) in constants(&table) {
            let _ = writeln!(text, "  {key:<38} {value}  ({source})");
        }
        text
    }
}

/// The sourced constants of a pod file's table: key, value, source.
fn constants(table: &toml::Table) -> Vec<(String, toml::Value, String)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let Some(inner) = value.as_table() else {
            continue;
        };
        if let (Some(value), Some(source)) = (inner.get("value"), inner.get("source")) {
            let source = source.as_str().unwrap_or_default();
            found.push((key.clone(), value.clone(), source.to_owned()));
            continue;
        }
        for (inner_key, value, source) in constants(inner) {
            found.push((format!("{key}.{inner_key}"), value, source));
        }
    }
    found
}

/// Serde names an unknown field but not its neighbour: compare with a file that has every key.
fn check_keys(pod: &str, table: &toml::Table) -> Result<(), PodError> {
    let reference: toml::Table = BUILT_IN[0]
        .1
        .parse()
        .expect("a test parses every built-in pod");
    let mut known = BTreeMap::new();
    for (key, value) in &reference {
        let keys = value.as_table().into_iter().flat_map(toml::Table::keys);
        known.insert(key.as_str(), keys.map(String::as_str).collect::<Vec<_>>());
    }
    for (key, value) in table {
        let Some(inner_known) = known.get(key.as_str()) else {
            return Err(PodError::UnknownKey {
                pod: pod.to_owned(),
                key: key.clone(),
                nearest: fabric::nearest(key, known.keys().copied()),
            });
        };
        for inner in value.as_table().into_iter().flat_map(toml::Table::keys) {
            if !inner_known.contains(&inner.as_str()) {
                return Err(PodError::UnknownKey {
                    pod: pod.to_owned(),
                    key: format!("{key}.{inner}"),
                    nearest: fabric::nearest(inner, inner_known.iter().copied()),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
