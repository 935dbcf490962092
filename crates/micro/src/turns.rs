//! Who measures while who waits.

use fabric::{Arena, Gone, HostAtomics, Pod, Seat, Slice, Stream};
use serde::{Deserialize, Serialize};
use workload::Worker;

/// Which hosts measure at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostsActive {
    /// Each alone, the others wait: what one host has.
    #[default]
    Each,
    /// All at once: what they have of a pool they share.
    All,
    /// Each pair at once, the others wait: what a host has beside one other.
    Pairs,
    /// Each alone, while all others write to the pool: what noisy neighbours leave.
    Noisy,
}

impl HostsActive {
    /// How often a host measures in a repetition.
    pub(crate) fn turns(self, pod: Pod) -> u64 {
        match self {
            Self::Pairs => u64::from(pod.hosts) - 1,
            Self::Each | Self::All | Self::Noisy => 1,
        }
    }

    /// Whether two hosts may measure at one time.
    pub(crate) fn together(self) -> bool {
        matches!(self, Self::All | Self::Pairs)
    }
}

/// Refuses lanes and pairs that the pod does not have.
pub(crate) fn check_turns(pod: Pod, active_lanes: u32, hosts: HostsActive) -> Result<(), String> {
    if active_lanes == 0 || active_lanes > pod.lanes {
        return Err(format!(
            "active_lanes = {active_lanes}: use 1 to {}, or give hosts more --lanes",
            pod.lanes
        ));
    }
    if pod.hosts < 2 && matches!(hosts, HostsActive::Pairs | HostsActive::Noisy) {
        return Err(
            "hosts_active = pairs and noisy are between hosts: use --hosts 2 or more".into(),
        );
    }
    Ok(())
}

/// Words that a noisy lane writes between two looks whether it may stop: 32 KiB.
const NOISE_WORDS: usize = 4 << 10;

/// Where hosts make noise; nothing unless they do.
#[derive(Debug)]
pub(crate) struct Noise {
    /// Each host's, a piece for each lane.
    areas: Vec<Slice<u64>>,
    /// Written by each host when it has measured: how often it has.
    measured: Vec<Slice<u64>>,
}

impl Noise {
    pub(crate) fn lay_out(arena: &mut Arena, pod: Pod, hosts: HostsActive) -> Self {
        if hosts != HostsActive::Noisy {
            return Self {
                areas: Vec::new(),
                measured: Vec::new(),
            };
        }
        let words = NOISE_WORDS * pod.lanes as usize;
        Self {
            areas: arena.per_host("noise.area", pod.hosts, words),
            measured: arena.per_host("noise.measured", pod.hosts, 1),
        }
    }

    /// Writes around the caches until `host` has measured: whatever size a cache has, that is
    /// traffic of the pool. Aside: noise is the experiment's.
    fn make<P: HostAtomics>(&self, worker: &Worker<'_, P>, host: u32) -> Result<(), Gone> {
        let (port, me) = (worker.port(), worker.seat());
        let first = me.lane as usize * NOISE_WORDS;
        let area = self.areas[me.host as usize].range(first, first + NOISE_WORDS);
        let measured = self.measured[host as usize];
        loop {
            let over = port.aside(|port| {
                port.stream(Stream::NtWrite, area, u64::from(me.lane));
                // Serves the load behind it, anew for each look.
                port.observe(measured.lines());
                port.load(measured.start()) > u64::from(worker.repetition())
            });
            if over {
                return Ok(());
            }
            port.check_in()?;
        }
    }

    /// Ends the noise around this host.
    fn end<P: HostAtomics>(&self, worker: &Worker<'_, P>) {
        let measured = self.measured[worker.seat().host as usize];
        worker.port().aside(|port| {
            port.store(measured.start(), u64::from(worker.repetition()) + 1);
            // Serves the looks of the hosts that make noise.
            port.publish(measured.lines());
        });
    }
}

/// Who measures when.
#[derive(Clone, Copy)]
pub(crate) struct Turns<'a> {
    pub(crate) active_lanes: u32,
    pub(crate) hosts: HostsActive,
    pub(crate) noise: &'a Noise,
}

impl Turns<'_> {
    /// Runs `f` on the first lanes of each host, every lane of the pod in its own turn where hosts
    /// measure alone, and else together. `f` is told the other host of a pair. Lanes wait for
    /// their turn and nothing else meanwhile. What a lane brought, one for each of its turns.
    pub(crate) fn lane_by_lane<P: HostAtomics, R>(
        self,
        worker: &Worker<'_, P>,
        mut f: impl FnMut(Option<u32>) -> Result<R, Gone>,
    ) -> Result<Vec<R>, Gone> {
        if self.hosts != HostsActive::Each {
            return self.host_by_host(worker, f);
        }
        let mut brought = Vec::new();
        for seat in turns(worker.pod(), self.active_lanes) {
            worker.line_up()?;
            if seat == worker.seat() {
                brought.push(f(None)?);
            }
        }
        Ok(brought)
    }

    /// As [`lane_by_lane`](Self::lane_by_lane), but the lanes of a host always together.
    pub(crate) fn host_by_host<P: HostAtomics, R>(
        self,
        worker: &Worker<'_, P>,
        mut f: impl FnMut(Option<u32>) -> Result<R, Gone>,
    ) -> Result<Vec<R>, Gone> {
        let me = worker.seat();
        let active = me.lane < self.active_lanes;
        let mut brought = Vec::new();
        for turn in host_turns(worker.pod(), self.hosts) {
            worker.line_up()?;
            let mine = turn.measures(me.host);
            if mine && active {
                brought.push(f(turn.other(me.host))?);
            }
            match (self.hosts, turn) {
                (HostsActive::Noisy, HostTurn::Alone(_)) if mine && me.lane == 0 => {
                    self.noise.end(worker);
                }
                (HostsActive::Noisy, HostTurn::Alone(host)) if !mine && active => {
                    self.noise.make(worker, host)?;
                }
                _ => {}
            }
        }
        Ok(brought)
    }
}

/// Hosts that measure at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostTurn {
    Alone(u32),
    Pair(u32, u32),
    All,
}

impl HostTurn {
    fn measures(self, host: u32) -> bool {
        match self {
            Self::Alone(one) => host == one,
            Self::Pair(first, second) => host == first || host == second,
            Self::All => true,
        }
    }

    /// The other host of a pair.
    fn other(self, host: u32) -> Option<u32> {
        match self {
            Self::Pair(first, second) => Some(if host == first { second } else { first }),
            Self::Alone(_) | Self::All => None,
        }
    }
}

fn host_turns(pod: Pod, hosts: HostsActive) -> Vec<HostTurn> {
    let all = 0..pod.hosts;
    let pairs = |first| (first + 1..pod.hosts).map(move |second| HostTurn::Pair(first, second));
    match hosts {
        HostsActive::All => vec![HostTurn::All],
        HostsActive::Each | HostsActive::Noisy => all.map(HostTurn::Alone).collect(),
        HostsActive::Pairs => all.flat_map(pairs).collect(),
    }
}

/// The number of a seat's turn.
pub(crate) fn turn_of(seat: Seat, active_lanes: u32) -> u64 {
    u64::from(seat.host) * u64::from(active_lanes) + u64::from(seat.lane)
}

fn turns(pod: Pod, active_lanes: u32) -> impl Iterator<Item = Seat> {
    pod.seats().filter(move |seat| seat.lane < active_lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_numbered_in_the_order_in_which_they_are_taken() {
        for (number, seat) in turns(Pod::new(3, 4), 2).enumerate() {
            assert_eq!(turn_of(seat, 2), number as u64);
        }
        assert_eq!(turns(Pod::new(3, 4), 2).count(), 6);
    }

    #[test]
    fn lanes_that_do_not_exist_are_refused_with_the_number_that_do() {
        let check = |lanes| check_turns(Pod::new(2, 2), lanes, HostsActive::Each);
        let refused = check(3).unwrap_err();
        assert!(refused.contains("use 1 to 2"), "{refused}");
        assert!(check(0).is_err());
        assert!(check(2).is_ok());
        assert!(check_turns(Pod::new(1, 2), 1, HostsActive::Pairs).is_err());
    }

    #[test]
    fn every_host_meets_every_other_once() {
        let pod = Pod::new(4, 1);
        let turns = host_turns(pod, HostsActive::Pairs);
        assert_eq!(turns.len(), 6);
        for host in 0..4 {
            let mut met: Vec<_> = turns
                .iter()
                .filter(|turn| turn.measures(host))
                .filter_map(|turn| turn.other(host))
                .collect();
            met.sort_unstable();
            let others: Vec<_> = (0..4).filter(|&other| other != host).collect();
            assert_eq!(met, others);
            assert_eq!(met.len() as u64, HostsActive::Pairs.turns(pod));
        }
    }
}
