//! Holds of a lock by all lanes on one time line: overlaps, hand-overs, fairness.
//!
//! Pure: what is done with times that lanes have noted. Only where the clocks of two hosts may be
//! compared.

/// One hold, in ticks of a common clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub contender: usize,
    /// When its lane began to acquire.
    pub began: u64,
    /// When it had the lock.
    pub acquired: u64,
    /// When it began to release.
    pub releasing: u64,
}

/// Words in which a hold travels.
pub(crate) const HOLD_WORDS: usize = 3;

impl Hold {
    pub(crate) fn to_words(self) -> [u64; HOLD_WORDS] {
        [self.began, self.acquired, self.releasing]
    }

    pub(crate) fn from_words(contender: usize, words: &[u64]) -> Self {
        Self {
            contender,
            began: words[0],
            acquired: words[1],
            releasing: words[2],
        }
    }
}

/// Holds in the order in which they were acquired.
pub(crate) fn in_order(mut holds: Vec<Hold>) -> Vec<Hold> {
    holds.sort_by_key(|hold| (hold.acquired, hold.releasing));
    holds
}

/// How many holds began before the one before had begun to end, by more than the clocks may err.
pub(crate) fn overlaps(ordered: &[Hold], error_ticks: u64) -> u64 {
    let pairs = ordered.windows(2);
    let overlap = |pair: &&[Hold]| pair[1].acquired + error_ticks < pair[0].releasing;
    pairs.filter(overlap).count() as u64
}

/// From a release to the next acquire, where the next was waiting by then.
pub(crate) fn handovers(ordered: &[Hold]) -> Vec<i64> {
    let waited = |pair: &&[Hold]| pair[1].began < pair[0].releasing;
    let ticks = |pair: &[Hold]| pair[1].acquired.wrapping_sub(pair[0].releasing) as i64;
    ordered.windows(2).filter(waited).map(ticks).collect()
}

/// Jain's index (DEC-TR-301, 1984) of the holds that each of `contenders` had while all contended:
/// until the first of them was done. 1: equal shares; 1/n: one had all.
pub(crate) fn jain_fairness(ordered: &[Hold], contenders: usize) -> Option<f64> {
    let mut last = vec![0; contenders];
    for hold in ordered {
        last[hold.contender] = hold.releasing;
    }
    let end = last.into_iter().min()?;
    let mut shares = vec![0.0f64; contenders];
    for hold in ordered.iter().filter(|hold| hold.releasing <= end) {
        shares[hold.contender] += 1.0;
    }
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (contenders as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(contender: usize, began: u64, acquired: u64, releasing: u64) -> Hold {
        Hold {
            contender,
            began,
            acquired,
            releasing,
        }
    }

    #[test]
    fn overlaps_and_handovers_are_those_of_neighbours() {
        let apart = in_order(vec![
            hold(1, 0, 20, 30),
            hold(0, 0, 5, 12),
            hold(0, 40, 45, 50),
        ]);
        assert_eq!(overlaps(&apart, 0), 0);
        // The third was not waiting when the second released.
        assert_eq!(handovers(&apart), [8]);
        let together = in_order(vec![hold(0, 0, 5, 12), hold(1, 0, 10, 20)]);
        assert_eq!(overlaps(&together, 0), 1);
        assert_eq!(overlaps(&together, 3), 0);
    }

    #[test]
    fn one_that_has_all_is_as_unfair_as_can_be() {
        let mut holds: Vec<_> = (0..10).map(|n| hold(0, 0, 10 * n, 10 * n + 5)).collect();
        holds.push(hold(1, 0, 200, 205));
        // Contender 0 is done first; by then 1 has had nothing.
        assert_eq!(jain_fairness(&in_order(holds.clone()), 2), Some(0.5));
        holds.extend((0..10).map(|n| hold(1, 0, 10 * n + 6, 10 * n + 9)));
        let even = jain_fairness(&in_order(holds), 2).expect("both had some");
        assert!(even > 0.99, "{even}");
    }
}
