//! `pull`: what vertices give lies in the pool, republished in each step.
//!
//! *Sharing.* Two arrays of contributions that steps use in turn: while a host reads those of the
//! last step, everyone writes those of the next. Each line has one writer.
//!
//! *Maintenance a step.* A publish for each chunk of a host's vertices, all its lines; an observe
//! of the other hosts' part, each lane a share; 1 barrier.

use fabric::{Gone, HostAtomics};

use super::rows::Rows;
use super::step::{Rank, gather};
use crate::kernel::crew::Phase;

impl<P: HostAtomics> Rank<'_, P> {
    pub(super) fn run_pull(&mut self) -> Result<(), Gone> {
        let rows = self.rows;
        self.pull(&rows)
    }

    /// Steps until the end, over these rows.
    pub(super) fn pull(&mut self, rows: &impl Rows) -> Result<(), Gone> {
        self.start(rows);
        let own = self.crew.share(&self.mine, 64);
        self.publish(self.layout.contributions[0], &own);
        self.crew.pod_meets()?;
        let mut step = 0;
        loop {
            self.observe(self.layout.contributions[step % 2]);
            self.crew.lanes_meet()?;
            let change = self.pull_step(rows, step)?;
            if !self.end_step(change)? {
                return Ok(());
            }
            step += 1;
        }
    }

    fn pull_step(&mut self, rows: &impl Rows, step: usize) -> Result<f64, Gone> {
        let [from, to] = [step, step + 1].map(|step| self.layout.contributions[step % 2]);
        let (mine, grain, mut change) = (self.mine.clone(), self.grain(&self.mine), 0.0);
        while let Some(chunk) = self.crew.next(&mine, grain)? {
            for number in chunk.clone() {
                let sum = gather(self.port, from, rows.sources(), rows.row(number));
                let (score, moved) = self.update(number, sum);
                change += f64::from(moved);
                self.port
                    .store(to.at(number), rows.contribution(number, score));
            }
            self.crew.took(Phase::Compute);
            self.publish(to, &chunk);
        }
        Ok(change)
    }
}
