//! True heat: the demand misses of each base page.

/// Misses noted before they are counted.
const NOTED: usize = 128;

/// Counts of demand misses. A miss is only noted; counts are brought up to date many at a time,
/// since each lies in a line of its own that is rarely cached: loads that nothing waits for
/// overlap, and one in the midst of an access holds up what comes after it.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    counts: Vec<u32>,
    noted: [u32; NOTED],
    /// How many of them hold a miss, below `NOTED`.
    next: usize,
}

impl Heat {
    pub(super) fn new() -> Self {
        Self {
            counts: Vec::new(),
            noted: [0; NOTED],
            next: 0,
        }
    }

    /// Makes room for base pages below a limit.
    pub(super) fn resize(&mut self, limit: u32) {
        self.counts.resize(limit as usize, 0);
    }

    /// Counts a demand miss on a base page.
    #[inline]
    pub(super) fn add(&mut self, vpn: u32) {
        self.noted[self.next % NOTED] = vpn;
        self.next += 1;
        if self.next == NOTED {
            self.settle();
        }
    }

    fn settle(&mut self) {
        for &vpn in &self.noted[..self.next] {
            self.counts[vpn as usize] += 1;
        }
        self.next = 0;
    }

    /// Demand misses of each base page since the last decay.
    pub(super) fn counts(&mut self) -> &[u32] {
        self.settle();
        &self.counts
    }

    /// Forgets all.
    pub(super) fn reset(&mut self) {
        self.next = 0;
        self.counts.fill(0);
    }

    /// Halves each count.
    pub(super) fn decay(&mut self) {
        self.settle();
        self.counts.iter_mut().for_each(|count| *count /= 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_miss_counts_however_many_are_noted() {
        let mut heat = Heat::new();
        heat.resize(3);
        for misses in [1, NOTED - 1, NOTED, 3 * NOTED + 7] {
            heat.reset();
            (0..misses).for_each(|turn| heat.add(turn as u32 % 2));
            let halves = [misses.div_ceil(2) as u32, misses as u32 / 2];
            assert_eq!(heat.counts(), [halves[0], halves[1], 0]);
            heat.add(2);
            heat.decay();
            assert_eq!(heat.counts(), [halves[0] / 2, halves[1] / 2, 0]);
        }
    }
}
