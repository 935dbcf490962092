//! In which order lines are visited: one that neither prefetcher nor TLB spoils.

use fabric::SplitMix64;
use serde::{Deserialize, Serialize};

/// Lines of a group of pages: 256 KiB, 64 pages of 4 KiB, which every first-level TLB since Skylake
/// and Zen holds.
const GROUP_LINES: usize = 4096;

/// Which random order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Any line may follow any other: a hop may also miss the TLB.
    #[default]
    Random,
    /// All lines of one group of pages before those of the next: TLB misses are a hop in hundreds.
    Tlb,
}

/// The lines 0 to `lines` - 1, each once, in the order in which they are visited; the last is
/// followed by the first, so that links along it make one cycle.
///
/// A uniformly random order closed to a ring is a uniformly random cycle, as Sattolo's algorithm
/// draws it; the order itself is needed as well, to know where a chase must end.
pub(crate) fn visiting(order: Order, lines: usize, seed: u64) -> Vec<u32> {
    let lines = u32::try_from(lines).expect("Params::check limits the lines");
    let mut all: Vec<u32> = (0..lines).collect();
    let mut random = SplitMix64::new(seed);
    match order {
        Order::Random => shuffle(&mut random, &mut all),
        Order::Tlb => {
            let mut groups: Vec<&[u32]> = all.chunks(GROUP_LINES).collect();
            shuffle(&mut random, &mut groups);
            let mut grouped: Vec<u32> = groups.concat();
            // A group that is shorter than the others shifts the bounds of those behind it.
            let mut rest = grouped.as_mut_slice();
            while let Some(&first) = rest.first() {
                let begun = first as usize / GROUP_LINES * GROUP_LINES;
                let len = GROUP_LINES.min(lines as usize - begun);
                let (group, others) = rest.split_at_mut(len);
                shuffle(&mut random, group);
                rest = others;
            }
            all = grouped;
        }
    }
    all
}

/// Fisher and Yates. The bias of a multiplication instead of a division is below 2^-32.
fn shuffle<T>(random: &mut SplitMix64, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let chosen = (u128::from(random.word()) * (last as u128 + 1)) >> 64;
        items.swap(last, chosen as usize);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_order_is_one_cycle_over_all_lines(
            lines in 1usize..20_000,
            seed: u64,
            tlb: bool,
        ) {
            let order = visiting(if tlb { Order::Tlb } else { Order::Random }, lines, seed);
            prop_assert_eq!(order.len(), lines);
            let mut next = vec![u32::MAX; lines];
            for (index, &line) in order.iter().enumerate() {
                next[line as usize] = order[(index + 1) % lines];
            }
            let (mut at, mut hops) = (order[0], 0);
            loop {
                at = next[at as usize];
                hops += 1;
                if at == order[0] || hops > lines {
                    break;
                }
            }
            prop_assert_eq!(hops, lines);
        }

        #[test]
        fn a_group_of_pages_is_left_once(lines in 1usize..40_000, seed: u64) {
            let order = visiting(Order::Tlb, lines, seed);
            let group = |line: u32| line as usize / GROUP_LINES;
            let changes = order.windows(2).filter(|pair| group(pair[0]) != group(pair[1])).count();
            prop_assert_eq!(changes + 1, lines.div_ceil(GROUP_LINES));
        }
    }

    #[test]
    fn orders_follow_the_seed_and_are_not_sorted() {
        let order = visiting(Order::Random, 1000, 1);
        assert_eq!(order, visiting(Order::Random, 1000, 1));
        assert_ne!(order, visiting(Order::Random, 1000, 2));
        let neighbours = order
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + 1)
            .count();
        // Expected once in a random order of a thousand.
        assert!(
            neighbours < 10,
            "{neighbours} lines are followed by their neighbour"
        );
    }
}
