//! PageRank as a product of matrix and vector: `rows` and `tiled`.
//!
//! *Kernel.* y = A x: x is what each vertex gives, A the adjacency matrix by rows, y the sums.
//! `rows` goes through a row at a time; `tiled` through all rows a tile of columns at a time, so
//! that the part of x in use fits a cache.
//!
//! *Sharing.* Each line of x is written by the host that owns its vertices. `rows` has one x and
//! overwrites it in place; `tiled` has two that steps use in turn.
//!
//! *Maintenance a step.* A publish of each lane's part of x; an observe of the other hosts' part,
//! at once (`rows`) or tile by tile (`tiled`); 2 barriers (`rows`: nobody may still read the x that
//! is overwritten) or 1 (`tiled`).

use std::ops::Range;

use fabric::{Gone, HostAtomics, Private, Slice, View};

use super::rows::Rows;
use super::step::{Rank, gather};
use crate::kernel::crew::Phase;
use crate::kernel::split::lines_of;

impl<P: HostAtomics> Rank<'_, P> {
    pub(super) fn run_rows(&mut self) -> Result<(), Gone> {
        let x = self.layout.contributions[0];
        let rows = self.rows;
        self.start(&rows);
        loop {
            self.spread()?;
            self.observe(x);
            self.crew.lanes_meet()?;
            let (mine, grain, mut change) = (self.mine.clone(), self.grain(&self.mine), 0.0);
            while let Some(chunk) = self.crew.next(&mine, grain)? {
                for vertex in chunk {
                    let sum = gather(self.port, x, &self.rows.targets, self.rows.row(vertex));
                    change += f64::from(self.update(vertex, sum).1);
                }
                self.crew.took(Phase::Compute);
            }
            if !self.end_step(change)? {
                return Ok(());
            }
            self.refill();
        }
    }

    pub(super) fn run_tiled(&mut self, tile: usize) -> Result<(), Gone> {
        let rows = self.rows_of_lane();
        let mut sums = self.port.private(rows.len(), 0f32);
        let mut cursors = self.port.private(rows.len(), 0u64);
        let given = self.rows;
        self.start(&given);
        self.spread()?;
        let mut step = 0;
        loop {
            let x = self.layout.contributions[step % 2];
            for row in rows.clone() {
                sums.set(row - rows.start, 0.0);
                cursors.set(row - rows.start, self.rows.offsets.get(row));
            }
            let mut start = 0;
            while start < self.graph.vertices {
                let columns = start..(start + tile).min(self.graph.vertices);
                self.observe_tile(x, &columns);
                self.crew.lanes_meet()?;
                self.add_tile(x, &rows, columns.end, &mut sums, &mut cursors);
                start = columns.end;
            }
            let change = self.end_rows(step, &rows, &sums);
            if !self.end_step(change)? {
                return Ok(());
            }
            step += 1;
        }
    }

    /// Makes a lane's sums its scores, and publishes the next x; the change.
    fn end_rows(&mut self, step: usize, rows: &Range<usize>, sums: &impl Private<f32>) -> f64 {
        let (next, mut change) = (self.layout.contributions[(step + 1) % 2], 0.0);
        for row in rows.clone() {
            let (score, moved) = self.update(row, sums.get(row - rows.start));
            change += f64::from(moved);
            self.port
                .store(next.at(row), self.rows.contribution(row, score));
        }
        self.crew.took(Phase::Compute);
        self.publish(next, rows);
        change
    }

    /// Publishes x, each lane its part, and waits for everyone's.
    fn spread(&mut self) -> Result<(), Gone> {
        let own = self.crew.share(&self.mine, 64);
        self.publish(self.layout.contributions[0], &own);
        self.crew.pod_meets()
    }

    /// The next x, from the scores, each lane its part.
    fn refill(&mut self) {
        let (x, scores) = (self.layout.contributions[0], self.layout.scores);
        for vertex in self.crew.share(&self.mine, 64) {
            let score = self.port.load_overlapped(scores.at(vertex));
            self.port
                .store(x.at(vertex), self.rows.contribution(vertex, score));
        }
        self.crew.took(Phase::Compute);
    }

    /// Rows of this lane, so that lanes have about as many arcs.
    fn rows_of_lane(&self) -> Range<usize> {
        let lanes = self.crew.pod().lanes as usize;
        let (mine, offsets) = (&self.mine, self.rows.offsets);
        let (from, to) = (offsets.get(mine.start), offsets.get(mine.end));
        let bound = |lane: usize| {
            let wanted = from + (to - from) * lane as u64 / lanes as u64;
            let first =
                crate::kernel::split::first_of(mine.clone(), |row| offsets.get(row) >= wanted);
            let first = if lane == lanes { mine.end } else { first };
            // Scores of two lanes in a line are right: they share a cache. Apart is faster.
            first.next_multiple_of(64).min(mine.end)
        };
        bound(self.crew.lane())..bound(self.crew.lane() + 1)
    }

    /// Makes loads of other hosts' columns of a tile fresh, each lane a share.
    fn observe_tile(&mut self, x: Slice<f32>, columns: &Range<usize>) {
        for others in self.split.others(self.crew.host()) {
            let part = others.start.max(columns.start)..others.end.min(columns.end);
            if part.start < part.end {
                let share = self.crew.share(&part, 64);
                // Serves this host's loads of the tile: those of the last step are in its cache.
                self.port.observe(lines_of(x, &share));
            }
        }
        self.crew.took(Phase::Observe);
    }

    /// Adds to each row what it has in the columns from its cursor to `end`.
    fn add_tile(
        &mut self,
        x: Slice<f32>,
        rows: &Range<usize>,
        end: usize,
        sums: &mut impl Private<f32>,
        cursors: &mut impl Private<u64>,
    ) {
        for row in rows.clone() {
            let (at, last) = (
                cursors.get(row - rows.start) as usize,
                self.rows.offsets.get(row + 1) as usize,
            );
            let mut next = at;
            while next < last && (self.rows.targets.get(next) as usize) < end {
                next += 1;
            }
            if next > at {
                let sum = gather(self.port, x, &self.rows.targets, at..next);
                sums.set(row - rows.start, sums.get(row - rows.start) + sum);
                cursors.set(row - rows.start, next as u64);
            }
        }
        self.crew.took(Phase::Compute);
    }
}
