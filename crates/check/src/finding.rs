//! What a search found, for people and for programs.

use std::fmt;

use serde::Serialize;

use crate::columns;
use crate::trace::Event;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A load returned an older value than one that its lane knew of.
    StaleRead,
    /// A write-back put old bytes over another host's newer ones.
    Clobber,
    /// Words of one record that never stood together.
    Torn,
    /// Nobody can go on.
    Deadlock,
    /// Somebody always goes on, and nobody gets anywhere.
    Livelock,
    /// An update that another one undid.
    LostUpdate,
    /// Two lanes where only one may be.
    MutualExclusion,
    /// An atomic instruction on the region of a pod without hardware coherence.
    HostAtomic,
    /// A store to a range that was frozen.
    FrozenStore,
    /// A lane that does not do the same when it sees the same.
    Nondeterminism,
    /// A panic.
    Panic,
    /// Whatever else the program calls wrong.
    Wrong,
}

impl Kind {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::StaleRead => "stale-read",
            Self::Clobber => "clobber",
            Self::Torn => "torn",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
            Self::LostUpdate => "lost-update",
            Self::MutualExclusion => "mutual-exclusion",
            Self::HostAtomic => "host-atomic",
            Self::FrozenStore => "frozen-store",
            Self::Nondeterminism => "nondeterminism",
            Self::Panic => "panic",
            Self::Wrong => "wrong",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A finding, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// What is wrong, in a sentence.
    pub what: String,
    /// The source line at fault.
    #[serde(rename = "where")]
    pub place: String,
    /// What cures it, where one or two maintenance operations do.
    pub cure: Option<String>,
    /// Environment moves on the way: evictions, fetches, crashes.
    pub unasked: usize,
    /// What replays it.
    pub token: String,
    /// What happened.
    pub trace: Vec<Event>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}.", self.kind, self.what)?;
        writeln!(f, "  at    {}", self.place)?;
        if let Some(cure) = &self.cure {
            writeln!(f, "  cure  {cure}")?;
        }
        writeln!(f, "  token {}\n", self.token)?;
        f.write_str(&columns::of(&self.trace))
    }
}
