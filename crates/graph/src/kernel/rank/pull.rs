//! `pull`: what vertices give lies in the pool, republished in each step.
//!
//! *Sharing.* Two arrays of contributions that steps use in turn: while a host reads those of the
//! last step, everyone writes those of the next. Each line has one writer.
//!
//! *Maintenance a step.* A publish for each chunk of a host's vertices, all its lines; an observe of
//! the other hosts' part, each lane a share; 1 barrier.

use fabric::{Gone, HostAtomics};

use super::step::{Rank, gather};

impl<P: HostAtomics> Rank<'_, P> {
    pub(super) fn run_pull(&mut self) -> Result<(), Gone> {
        self.start();
        let own = self.crew.share(&self.mine, 64);
        self.publish(self.layout.contributions[0], &own);
        self.crew.pod_meets()?;
        let mut step = 0;
        loop {
            self.observe(self.layout.contributions[step % 2]);
            self.crew.lanes_meet()?;
            let change = self.pull_step(step)?;
            if !self.end_step(change)? {
                return Ok(());
            }
            step += 1;
        }
    }

    fn pull_step(&mut self, step: usize) -> Result<f64, Gone> {
        let (from, to) = (
            self.layout.contributions[step % 2],
            self.layout.contributions[(step + 1) % 2],
        );
        let (mine, grain, mut change) = (self.mine.clone(), self.grain(&self.mine), 0.0);
        while let Some(chunk) = self.crew.next(&mine, grain)? {
            for vertex in chunk.clone() {
                let sum = gather(self.port, from, &self.targets, self.row(vertex));
                let (score, moved) = self.update(vertex, sum);
                change += f64::from(moved);
                self.port
                    .store(to.at(vertex), self.contribution(vertex, score));
            }
            self.crew.took(crate::kernel::crew::Phase::Compute);
            self.publish(to, &chunk);
        }
        Ok(change)
    }
}
