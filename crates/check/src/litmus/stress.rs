//! Repeating a litmus test on real lanes, and what a count is worth.
//!
//! Many instances of a test lie side by side. In each round the lanes of all hosts walk over them,
//! each after small delays of its own, so that they meet in ever other orders; one lane then reads
//! what every lane loaded, and what the watched words hold, and counts outcomes. On a machine whose
//! hosts are processes the memory is coherent, and the counts are those of a *coherent stand-in*:
//! they show that nothing forbidden happens there, and say nothing of a pod. On a pod they can
//! refute that publishes are synchronous ([`Tally::compatible`]), and never prove it.

use std::collections::BTreeMap;
use std::hint::black_box;

use fabric::{Arena, Gone, Port, Seat, Slice, SplitMix64};
use model::WriteMode;

use super::{LINE_STRIDE, Litmus, Set};

/// Binary magnitudes of the delay before an instance, in turns of an empty loop: from nothing to
/// microseconds. The short ones are what a line takes from one core to another, so that every order
/// of a few accesses comes up; the long ones move lanes that left their barrier microseconds apart
/// through each other. With short ones alone a simulated posted pod passed for a synchronous one.
const DELAY_MAGNITUDES: u64 = 14;

/// A litmus test laid out many times.
#[derive(Clone, Debug)]
pub struct Stress {
    test: Litmus,
    instances: u64,
    area: Slice<u64>,
    /// What each thread loaded: its loads of the first instance, of the second, and so on.
    loads: Vec<Slice<u64>>,
}

impl Stress {
    /// Lays out `instances` instances.
    pub fn lay_out(arena: &mut Arena, test: Litmus, instances: u64) -> Self {
        let words = (test.region_bytes() / 8 * instances) as usize;
        let area = arena.aligned("litmus.area", words, LINE_STRIDE);
        let each = |(thread, loads): (usize, usize)| {
            let len = loads.max(1) * instances as usize;
            arena.aligned(format!("litmus.loads[{thread}]"), len, LINE_STRIDE)
        };
        let loads = (0..).zip(test.loads()).map(each).collect();
        Self {
            test,
            instances,
            area,
            loads,
        }
    }

    /// The test.
    pub fn test(&self) -> &Litmus {
        &self.test
    }

    /// One lane's part of `rounds` rounds. `meet` returns once every lane of the pod has called it,
    /// and orders what each published before it. Lane 0 of host 0 brings back the counts.
    ///
    /// # Errors
    /// Whatever ended a wait.
    pub fn run<P: Port>(
        &self,
        port: &P,
        seat: Seat,
        rounds: u64,
        mut meet: impl FnMut() -> Result<(), Gone>,
    ) -> Result<Option<Tally>, Gone> {
        let mut delays = SplitMix64::new(u64::from(seat.host) << 32 | u64::from(seat.lane));
        let mut tally = Tally::default();
        for _ in 0..rounds {
            self.clear(port, seat, &mut meet)?;
            if let Some(thread) = self.test.thread_of(seat) {
                let loads = self.walk(port, thread, &mut delays);
                port.write_published(self.loads[thread].start(), &loads);
            }
            meet()?;
            if seat.leads_host() {
                // What is dirty here is evicted, as it may be at any time: serves the leader's
                // look at the watched words.
                port.publish(self.area.lines());
            }
            meet()?;
            if seat.leads_pod() {
                self.count(port, &mut tally);
            }
        }
        Ok(seat.leads_pod().then_some(tally))
    }

    /// Zeroes the area at the device and drops every host's copies of it.
    fn clear<P: Port>(
        &self,
        port: &P,
        seat: Seat,
        meet: &mut impl FnMut() -> Result<(), Gone>,
    ) -> Result<(), Gone> {
        if seat.leads_pod() {
            for index in 0..self.area.len() {
                port.store(self.area.at(index), 0);
            }
            // Serves every first load of the instances.
            port.publish(self.area.lines());
        }
        meet()?;
        if seat.leads_host() {
            // Serves the same loads: copies of the last round, or fetched while it was cleared.
            port.observe(self.area.lines());
        }
        meet()
    }

    fn walk<P: Port>(&self, port: &P, thread: usize, delays: &mut SplitMix64) -> Vec<u64> {
        let lines = self.test.region_bytes() / fabric::LINE_BYTES;
        let first = self.area.start().line().0;
        let mut loads = Vec::with_capacity(self.loads[thread].len());
        for instance in 0..self.instances {
            let longest = 1 << delays.below(DELAY_MAGNITUDES);
            let turns = delays.below(longest);
            // The one delays where time is real, the other where it is simulated.
            for turn in 0..turns {
                black_box(turn);
            }
            port.work(turns as u32);
            loads.extend(self.test.perform(port, thread, first + instance * lines));
        }
        loads
    }

    fn count<P: Port>(&self, port: &P, tally: &mut Tally) {
        let mut all = Vec::new();
        for place in &self.loads {
            // Serves the read below.
            port.observe(place.lines());
            let mut words = vec![0; place.len()];
            port.read_into(place.start(), &mut words);
            all.push(words);
        }
        // Serves the loads of the watched words.
        port.observe(self.area.lines());
        let words = (self.test.region_bytes() / 8) as usize;
        for instance in 0..self.instances as usize {
            let own = |(words, loads): (&Vec<u64>, usize)| {
                words[instance * loads..(instance + 1) * loads].to_vec()
            };
            let loads: Vec<_> = all.iter().zip(self.test.loads()).map(own).collect();
            let mut memory = Vec::new();
            for at in self.test.watched() {
                let index = at.offset() as usize / 8 + instance * words;
                memory.push(port.load(self.area.at(index)));
            }
            tally.add(self.test.row(&loads, &memory), 1);
        }
    }
}

/// How often each outcome came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: BTreeMap<Vec<u64>, u64>,
}

impl Tally {
    /// Counts an outcome `times` times.
    pub fn add(&mut self, outcome: Vec<u64>, times: u64) {
        *self.counts.entry(outcome).or_default() += times;
    }

    /// Runs in all.
    pub fn runs(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Every outcome that came out, and how often.
    pub fn counts(&self) -> &BTreeMap<Vec<u64>, u64> {
        &self.counts
    }

    /// Outcomes that came out and are not in the set.
    pub fn foreign(&self, set: &Set) -> Vec<&Vec<u64>> {
        let seen = self.counts.keys();
        seen.filter(|row| !set.exact().contains(*row)).collect()
    }

    /// Outcomes of the set that never came out: each has a probability below
    /// [`never_seen_bound`] of [`runs`](Self::runs).
    pub fn never<'s>(&self, set: &'s Set) -> Vec<&'s Vec<u64>> {
        let possible = set.exact().iter();
        possible
            .filter(|row| !self.counts.contains_key(*row))
            .collect()
    }

    /// The write modes that the test speaks of and no outcome has refuted.
    pub fn compatible(&self, test: &Litmus) -> Vec<WriteMode> {
        let fits = |writes: &WriteMode| {
            let set = test.set(*writes);
            set.is_some_and(|set| self.foreign(set).is_empty())
        };
        test.modes().filter(fits).collect()
    }
}

/// The largest probability of an outcome that is compatible, at 95 % confidence, with never having
/// seen it in `runs` independent runs: the solution of `(1 - p)^runs = 0.05`, which is near
/// `3 / runs` (Hanley, Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249,
/// 1983). Runs that share machine, placement and timing are not independent in the strict sense;
/// the bound speaks of repeating *these* runs.
pub fn never_seen_bound(runs: u64) -> f64 {
    if runs == 0 {
        return 1.0;
    }
    -(0.05f64.ln() / runs as f64).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::find;

    /// One-sided 95 % limits of Clopper and Pearson (Biometrika 26, 1934) for none seen.
    #[test]
    fn the_bound_is_the_tabled_one() {
        for (runs, tabled) in [(1, 0.95), (10, 0.2589), (30, 0.0950), (100, 0.0295)] {
            let bound = never_seen_bound(runs);
            assert!((bound - tabled).abs() <= 0.00005, "{runs}: {bound}");
        }
        assert!((never_seen_bound(1_000_000) / 3e-6 - 1.0).abs() < 0.002);
        assert!((never_seen_bound(0) - 1.0).abs() < 1e-12);
    }

    /// What a stress on a pod is for: both hosts miss the other's publish once, and synchronous
    /// publishes are refuted. Only both seeing it is compatible with anything.
    #[test]
    fn one_outcome_refutes_synchronous_publishes() {
        let test = find("sb+publish+observe").expect("built in");
        let mut tally = Tally::default();
        tally.add(vec![1, 1], 1_000_000);
        assert_eq!(tally.compatible(&test), WriteMode::ALL);
        tally.add(vec![0, 0], 1);
        let posted = [WriteMode::Posted, WriteMode::PostedUnordered];
        assert_eq!(tally.compatible(&test), posted);
        let set = test.set(WriteMode::Synchronous).expect("in the file");
        assert_eq!(tally.foreign(set), [&vec![0, 0]]);
        assert_eq!(tally.never(set), [&vec![0, 1], &vec![1, 0]]);
        assert_eq!(tally.runs(), 1_000_001);
    }
}
