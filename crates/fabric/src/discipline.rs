//! How a line travels between hosts: which instructions publish, which observe.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Whether hardware keeps the hosts' copies of a line equal. Fixed for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coherence {
    /// It does, within a host always, between hosts on coherent pods.
    Hardware,
    /// Software publishes and observes.
    Software,
}

impl Coherence {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
        }
    }
}

/// Which instruction drops a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flush {
    /// CLFLUSH: ordered with stores and with other CLFLUSH, so k of them cost k round trips.
    ClFlush,
    /// CLFLUSHOPT: unordered with flushes of other lines, so k of them overlap until the fence.
    ClFlushOpt,
}

/// Which earlier operations must be done before later ones start. The rules stand at
/// [`Port::fence`](crate::Port::fence).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// SFENCE.
    Store,
    /// LFENCE.
    Load,
    /// MFENCE.
    Full,
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in plans and records.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|v| v.name() == text).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|v| v.name()).collect();
                    format!("{text:?} is none of {}", known.join(", "))
                })
            }
        }
    };
}

names! {
    /// How a host makes its writes to a line visible at the device.
    PublishBy {
        /// Plain stores, then CLFLUSH.
        ClFlush = "clflush",
        /// Plain stores, then CLFLUSHOPT.
        ClFlushOpt = "clflushopt",
        /// Plain stores, then CLWB: written back, and the copy may stay, clean.
        Clwb = "clwb",
        /// MOVNTI around the caches. Where an implementation lets a non-temporal store that hits a
        /// cached line stay in the cache, a fence does not publish it (Intel's optimization manual
        /// warns of this), so the writer must not hold the line.
        StoreNt = "movnti",
        /// MOVDIR64B: a whole line in one write of 64 bytes.
        Line64 = "movdir64b",
        /// Nothing: hardware keeps the copies equal.
        None = "none",
    }
}

names! {
    /// How a host makes sure that its next load of a line comes from the device.
    ObserveBy {
        /// CLFLUSH, full fence.
        ClFlush = "clflush",
        /// CLFLUSHOPT, full fence. Never CLWB: it may keep the stale copy.
        ClFlushOpt = "clflushopt",
        /// Nothing: hardware keeps the copies equal.
        None = "none",
    }
}

/// How lines travel, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Discipline {
    /// Writer's half.
    pub publish: PublishBy,
    /// Reader's half.
    pub observe: ObserveBy,
}

impl Discipline {
    /// What a coherent pod, or a pod of one host, needs: nothing.
    pub const NONE: Self = Self {
        publish: PublishBy::None,
        observe: ObserveBy::None,
    };

    /// CLFLUSHOPT both ways: overlapping flushes, available since Skylake and Zen.
    pub const DEFAULT: Self = Self {
        publish: PublishBy::ClFlushOpt,
        observe: ObserveBy::ClFlushOpt,
    };
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "publish={} observe={}", self.publish, self.observe)
    }
}
