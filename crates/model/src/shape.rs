//! What is fixed about a pod's memory: hosts, coherence, what a fence means.

use std::fmt;
use std::str::FromStr;

use fabric::{Coherence, LINE_BYTES, Line};

/// Whether a fence means that a write has arrived at the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WriteMode {
    /// It does.
    Synchronous,
    /// A write may be held after its fence; held writes of one host leave in fence order, and the
    /// host's own read of a line waits behind its held write of it.
    Posted,
    /// As posted, but between devices there is no order.
    PostedUnordered,
}

impl WriteMode {
    /// Every mode, strictest first.
    pub const ALL: [Self; 3] = [Self::Synchronous, Self::Posted, Self::PostedUnordered];

    /// Its name in pod files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Posted => "posted",
            Self::PostedUnordered => "posted-unordered",
        }
    }
}

impl fmt::Display for WriteMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WriteMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| format!("write mode {text:?} is none of {known}"))
    }
}

/// What is fixed about a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Hosts.
    pub hosts: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// Between hosts.
    pub coherence: Coherence,
    /// What a fence means.
    pub writes: WriteMode,
    /// Devices that the region is interleaved over.
    pub devices: u64,
    /// Bytes of one device before the next one's begin.
    pub interleave_bytes: u64,
}

impl Shape {
    /// A pod without coherence between hosts, on one device.
    pub fn software(hosts: u32, lanes: u32, writes: WriteMode) -> Self {
        Self {
            hosts,
            lanes,
            coherence: Coherence::Software,
            writes,
            devices: 1,
            interleave_bytes: LINE_BYTES,
        }
    }

    /// The same with hardware coherence between hosts: one domain.
    #[must_use]
    pub fn coherent(self) -> Self {
        Self {
            coherence: Coherence::Hardware,
            ..self
        }
    }

    /// The coherence domain of a lane, lanes numbered host by host.
    pub fn domain(self, lane: usize) -> usize {
        match self.coherence {
            Coherence::Software => self.host(lane),
            Coherence::Hardware => 0,
        }
    }

    /// The host of a lane.
    pub fn host(self, lane: usize) -> usize {
        lane / self.lanes as usize
    }

    pub(crate) fn domains(self) -> usize {
        match self.coherence {
            Coherence::Software => self.hosts as usize,
            Coherence::Hardware => 1,
        }
    }

    pub(crate) fn device(self, line: Line) -> u64 {
        line.offset() / self.interleave_bytes % self.devices
    }
}
