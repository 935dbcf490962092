//! `shared`: one tree in the pool, republished at each level.
//!
//! *Kernel.* Level-synchronous, top-down. Every host goes through the whole frontier and takes the
//! edges that lead to its own vertices, so each line of the tree has one writer. The tree is all
//! that hosts tell each other: after each level every host reads it anew to find the next frontier.
//!
//! *Maintenance a level.* A publish for each 64 vertices among which a host found one; an observe
//! of the other hosts' whole part of the tree; 2 barriers, the second because the next level's
//! parents must not be taken for this level's.

use std::ops::Range;

use fabric::{Gone, HostAtomics};

use super::search::{NONE, Search};
use crate::kernel::crew::{Phase, SUMS};
use crate::kernel::split::{lines_of, words_of};

impl<P: HostAtomics> Search<'_, P> {
    pub(super) fn run_shared(&mut self, source: usize) -> Result<(), Gone> {
        self.start(source)?;
        let own = self.crew.share(&self.mine, 64);
        // Serves the other hosts' first scan, which must not find the tree of the last search.
        self.port.publish(lines_of(self.layout.parents, &own));
        self.crew.took(Phase::Publish);
        loop {
            let all = self.words();
            self.each_of_front(&all, |from| {
                self.each_new(from, |to| self.adopt(to, from));
            })?;
            self.crew.took(Phase::Compute);
            // The frontier has been read, the tree written, by all lanes of this host.
            self.crew.lanes_meet()?;
            let own = self.crew.share(&self.mine, 64);
            let found = self.find(&own, true);
            // Parents that were published are at the device.
            let mut sums = [0; SUMS];
            sums[0] = found;
            let [found, ..] = self.crew.sum(sums)?;
            if found == 0 {
                return Ok(());
            }
            for others in self.split.others(self.crew.host()) {
                let share = self.crew.share(&others, 64);
                // Serves the scan: those of the last level are in the cache.
                self.port.observe(lines_of(self.layout.parents, &share));
                self.find(&share, false);
                self.crew.took(Phase::Observe);
            }
            // Nobody writes parents of the next level while another still looks for this one's.
            self.crew.pod_meets()?;
        }
    }

    /// Makes those of `range` the frontier that have a parent and had none before; how many.
    fn find(&mut self, range: &Range<usize>, publish: bool) -> u64 {
        let (port, parents) = (self.port, self.layout.parents);
        let mut found = 0;
        for word in words_of(range) {
            let vertices = word * 64..(word * 64 + 64).min(range.end);
            let mut reached = 0u64;
            for vertex in vertices.clone() {
                let parent = port.load_overlapped(parents.at(vertex));
                reached |= u64::from(parent != NONE) << (vertex % 64);
            }
            let before = port.load_overlapped(self.seen.at(word));
            let new = reached & !before;
            port.store(self.front.at(word), new);
            if new == 0 {
                continue;
            }
            port.store(self.seen.at(word), before | new);
            found += u64::from(new.count_ones());
            if publish {
                self.crew.took(Phase::Compute);
                // Serves the other hosts' scans after the barrier.
                port.publish(lines_of(parents, &vertices));
                self.crew.took(Phase::Publish);
            }
        }
        self.crew.took(Phase::Compute);
        found
    }
}
