//! `push`: a host adds up what its own vertices give to each vertex, and sends the sums.
//!
//! *Kernel.* Of each row a host takes the part whose sources it owns: that is what its vertices
//! give to the row's vertex, combined in one word. No contribution leaves its host.
//!
//! *Sharing.* A word for each vertex and host, written by the host that gives, read by the owner of
//! the vertex.
//!
//! *Maintenance a step.* A publish for each chunk of vertices that other hosts own; an observe of
//! the own part of every other host's sums; 2 barriers, the second because sums of the next step
//! must not overwrite those that are still read.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, Pod, Slice};

use super::rows::Rows;
use super::step::{Rank, gather};
use crate::kernel::crew::Phase;
use crate::kernel::split::lines_of;

/// Sums, by giving host.
#[derive(Clone, Debug)]
pub(super) struct Partials(Vec<Slice<f32>>);

impl Partials {
    pub(super) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize) -> Self {
        Self(arena.per_host("rank.partials", pod.hosts, vertices))
    }
}

impl<P: HostAtomics> Rank<'_, P> {
    fn partials(&self, host: usize) -> Slice<f32> {
        self.layout
            .partials
            .as_ref()
            .expect("this variant laid them out")
            .0[host]
    }

    pub(super) fn run_push(&mut self) -> Result<(), Gone> {
        let rows = self.rows;
        self.start(&rows);
        loop {
            // What this host's vertices give has been written by all its lanes.
            self.crew.lanes_meet()?;
            self.add_up()?;
            self.crew.pod_meets()?;
            let own = self.crew.share(&self.mine, 64);
            for host in (0..self.crew.pod().hosts as usize).filter(|&h| h != self.crew.host()) {
                // Serves the loads below: the sums of the last step are in the cache.
                self.port.observe(lines_of(self.partials(host), &own));
            }
            self.crew.took(Phase::Observe);
            let change = self.take_in(own);
            if !self.end_step(change)? {
                return Ok(());
            }
        }
    }

    /// What this host's vertices give to each vertex.
    fn add_up(&mut self) -> Result<(), Gone> {
        let (gives, sums) = (
            self.layout.contributions[0],
            self.partials(self.crew.host()),
        );
        let (all, mine) = (0..self.graph.vertices, self.mine.clone());
        let grain = self.grain(&all);
        while let Some(chunk) = self.crew.next(&all, grain)? {
            for vertex in chunk.clone() {
                let part = self.part(self.rows.row(vertex), &mine);
                let sum = gather(self.port, gives, &self.rows.targets, part);
                self.port.store(sums.at(vertex), sum);
            }
            self.crew.took(Phase::Compute);
            for others in self.split.others(self.crew.host()) {
                let part = chunk.start.max(others.start)..chunk.end.min(others.end);
                if !part.is_empty() {
                    self.publish(sums, &part);
                }
            }
        }
        Ok(())
    }

    /// Makes the sums of all hosts the scores of this lane's vertices; the change.
    fn take_in(&mut self, own: Range<usize>) -> f64 {
        let (gives, hosts) = (self.layout.contributions[0], self.crew.pod().hosts as usize);
        let mut change = 0.0;
        for vertex in own {
            let mut sum = 0.0;
            for host in 0..hosts {
                sum += self.port.load_overlapped(self.partials(host).at(vertex));
            }
            let (score, moved) = self.update(vertex, sum);
            change += f64::from(moved);
            self.port
                .store(gives.at(vertex), self.rows.contribution(vertex, score));
        }
        self.crew.took(Phase::Compute);
        change
    }
}
