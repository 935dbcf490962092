//! Dealing out what is to be counted: by a counter of the pool, in batches that shrink.
//!
//! Batch `t` takes a share of what is left, so that few operations on a software atomic hand out
//! most of the work and small batches even out the end (Polychronopoulos and Kuck, "Guided
//! self-scheduling", IEEE Transactions on Computers C-36, 1987). Each host's first batch is its own
//! without asking. Inside a host, lanes take chunks of the host's batch from a counter in its DRAM,
//! and the lane that begins a batch asks for the next one, while the others count.
//!
//! *Maintenance.* One operation on the software atomic a batch, and one a host that finds nothing
//! left.

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, Seat, wait_until};
use sync::atomic::{Atomic64, LockedAtomic, Rmw};
use sync::lock::Options;

use crate::kernel::crew::{Crew, Phase};

/// Batches for each host that what is left would make: twice as many as hosts, so that the batch
/// that ends last is half a host's share of what was left when it began.
const ROUNDS: usize = 2;

/// The smallest batch has about this many chunks for each lane of a host.
const CHUNKS_A_LANE: usize = 16;

/// The host's batch after its last.
const OVER: u64 = u64::MAX;

/// Where the counters lie.
#[derive(Clone, Debug)]
pub(crate) struct DealLayout {
    /// Batches that were asked for, by all hosts.
    asked: LockedAtomic,
    /// One more than the batch that a host got, by turn: [`OVER`] behind its last, 0 for not yet.
    got: HostSlice<u64>,
    /// Chunks of a host's batch that lanes took, by turn.
    taken: HostSlice<u64>,
    chunks: usize,
}

impl DealLayout {
    pub(super) fn lay_out(arena: &mut Arena, pod: Pod, chunks: usize) -> Self {
        // One host may get every batch, and is told that there is none behind.
        let turns = Bounds::new(pod, chunks).batches() + 2;
        Self {
            asked: LockedAtomic::lay_out(arena, "triangles.asked", &Options::of(pod)),
            got: arena.host_shared("triangles.got", turns),
            taken: arena.host_shared("triangles.taken", turns),
            chunks,
        }
    }

    /// Nothing is dealt out yet: by lane 0 of each host, before any lane begins.
    pub(super) fn reset<P: HostAtomics>(&self, port: &P, seat: Seat) -> Result<(), Gone> {
        port.aside(|port| {
            if seat.leads_pod() {
                self.asked.apply(port, 0, Rmw::Swap(0))?;
            }
            for turn in 0..self.got.len() {
                port.atomic_store(self.got.at(turn), 0u64);
                port.atomic_store(self.taken.at(turn), 0u64);
            }
            port.atomic_store(self.got.at(0), u64::from(seat.host) + 1);
            Ok(())
        })
    }
}

/// Where each batch starts.
struct Bounds(Vec<usize>);

impl Bounds {
    fn new(pod: Pod, chunks: usize) -> Self {
        let parts = ROUNDS * pod.hosts as usize;
        let least = (pod.lanes as usize * CHUNKS_A_LANE).min(chunks / parts);
        let (mut bounds, mut at) = (vec![0], 0);
        while at < chunks {
            let share = (chunks - at) / parts;
            at = (at + share.max(least).max(1)).min(chunks);
            bounds.push(at);
        }
        Self(bounds)
    }

    fn batches(&self) -> usize {
        self.0.len() - 1
    }
}

/// One lane's hand.
pub(super) struct Deal<'a> {
    layout: &'a DealLayout,
    bounds: Bounds,
    pod: Pod,
    member: u32,
    turn: usize,
}

impl<'a> Deal<'a> {
    pub(super) fn new(layout: &'a DealLayout, pod: Pod, member: u32) -> Self {
        Self {
            bounds: Bounds::new(pod, layout.chunks),
            layout,
            pod,
            member,
            turn: 0,
        }
    }

    /// The next chunk of this lane; asking and waiting are told apart from computing.
    pub(super) fn next<P: HostAtomics>(
        &mut self,
        crew: &mut Crew<'_, P>,
    ) -> Result<Option<usize>, Gone> {
        let port = crew.port();
        loop {
            let got = self.layout.got.at(self.turn);
            let batch = match port.atomic_load(got) {
                0 => {
                    crew.took(Phase::Compute);
                    let batch = self.wait(port)?;
                    crew.took(Phase::Barrier);
                    batch
                }
                batch => batch,
            };
            if batch == OVER {
                return Ok(None);
            }
            let batch = batch as usize - 1;
            let [start, end] = [self.bound(batch), self.bound(batch + 1)];
            let taken: u64 = port.fetch_add(self.layout.taken.at(self.turn), 1u64);
            if taken == 0 {
                crew.took(Phase::Compute);
                self.ask(port, self.turn + 1)?;
                crew.took(Phase::Barrier);
            }
            let chunk = start + taken as usize;
            if chunk < end {
                return Ok(Some(chunk));
            }
            self.turn += 1;
        }
    }

    fn bound(&self, batch: usize) -> usize {
        self.bounds.0[batch.min(self.bounds.batches())]
    }

    /// Waits for the batch that another lane of this host asks for.
    fn wait<P: HostAtomics>(&self, port: &P) -> Result<u64, Gone> {
        let got = self.layout.got.at(self.turn);
        wait_until(port, || match port.atomic_load(got) {
            0 => None,
            batch => Some(batch),
        })
    }

    /// Asks the pool for the host's batch of `turn`.
    fn ask<P: HostAtomics>(&self, port: &P, turn: usize) -> Result<(), Gone> {
        let taken = self
            .layout
            .asked
            .apply(port, self.member, Rmw::FetchAdd(1))?;
        let before = taken.expect("an addition tells what was before") as usize;
        // The first batches are the hosts' own.
        let batch = before + self.pod.hosts as usize;
        let got = if batch < self.bounds.batches() {
            batch as u64 + 1
        } else {
            OVER
        };
        port.atomic_store(self.layout.got.at(turn), got);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_shrink_and_leave_nothing_out() {
        for (hosts, lanes, chunks) in [(2, 1, 8), (4, 4, 4096), (8, 4, 4096), (3, 2, 1), (2, 1, 0)]
        {
            let Bounds(bounds) = Bounds::new(Pod::new(hosts, lanes), chunks);
            assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, chunks));
            let sizes: Vec<usize> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
            assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
        }
        let few = Bounds::new(Pod::new(4, 4), 4096).batches();
        assert!((8..64).contains(&few), "{few}");
    }
}
