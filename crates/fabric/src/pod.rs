//! Who takes part: hosts, and lanes inside them.

use serde::{Deserialize, Serialize};

/// The most hosts a region's header has lines for.
pub const MAX_HOSTS: u32 = 64;

/// The most lanes of a host: several times the hardware threads of the largest servers. Beyond it a
/// number is a slip of the keyboard.
pub const MAX_LANES: u32 = 4096;

/// The shape of a pod: how many coherence domains, and how many lanes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pod {
    /// Hosts, 1 to [`MAX_HOSTS`].
    pub hosts: u32,
    /// Lanes (hardware threads) of each host, 1 to [`MAX_LANES`].
    pub lanes: u32,
}

impl Pod {
    /// A pod of `hosts` hosts with `lanes` lanes each.
    pub fn new(hosts: u32, lanes: u32) -> Self {
        Self { hosts, lanes }
    }

    /// Every seat, host by host.
    pub fn seats(self) -> impl Iterator<Item = Seat> {
        (0..self.hosts).flat_map(move |host| (0..self.lanes).map(move |lane| Seat { host, lane }))
    }
}

/// One lane's place in the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Seat {
    /// Host, from 0.
    pub host: u32,
    /// Lane inside the host, from 0.
    pub lane: u32,
}

impl Seat {
    /// Lane 0 speaks for its host: it beats, and it takes part in barriers between hosts.
    pub fn leads_host(self) -> bool {
        self.lane == 0
    }

    /// Lane 0 of host 0 decides for the pod.
    pub fn leads_pod(self) -> bool {
        self.host == 0 && self.lane == 0
    }
}
