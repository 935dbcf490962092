//! A litmus test as a workload: how often each outcome comes out, on whatever the pod is.
//!
//! *Kernel.* Instances of one test side by side; the lanes of all hosts walk over them after small
//! delays of their own, and one lane counts what came out ([`check::litmus::stress`]).
//!
//! *Sharing, maintenance.* The test's own: that is what is tested. Clearing and counting publish
//! and observe.
//!
//! *Verified.* No outcome is outside every set that the model allows, and none is missing from the
//! count. The answer names the counts, the write modes that are left, and for each outcome that was
//! never seen the probability that it is below at 95 %. On a pod one outcome can refute that its
//! publishes are synchronous; no number of runs can prove it.
//!
//! It lives here and not beside the other workloads because the tests belong to the checker, which
//! a workload must not name.

use std::collections::BTreeSet;

use check::WriteMode;
use check::litmus::stress::{Stress, Tally, never_seen_bound};
use check::litmus::{FILES, find};
use fabric::{Arena, Gone, HostAtomics, Pod, Port, Slice, nearest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use workload::{Mismatch, Outcome, Series, Verified, Worker, Workload};

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Params {
    /// Which test: a file's name.
    test: String,
    /// Instances side by side.
    instances: u64,
    /// Walks over them in a repetition.
    rounds: u64,
}

impl Default for Params {
    /// The test that tells posted pods from synchronous ones.
    fn default() -> Self {
        Self {
            test: "sb+publish+observe".to_owned(),
            instances: 128,
            rounds: 8,
        }
    }
}

/// Where its words lie.
pub(crate) struct Layout {
    stress: Stress,
    /// Every outcome that some write mode allows.
    rows: Vec<Vec<u64>>,
    /// How often each came out, and in the end all others; written and read by lane 0 of host 0.
    counts: Slice<u64>,
    /// The last of those others.
    foreign: Slice<u64>,
}

/// The workload.
pub(crate) struct Litmus;

impl Workload for Litmus {
    const NAME: &'static str = "litmus";
    const ABOUT: &'static str = "how often each outcome of a litmus test comes out";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, _: Pod, params: &Params) -> Layout {
        let test = find(&params.test).expect("checked before it is laid out");
        let rows = test
            .sets()
            .iter()
            .flat_map(|set| set.exact().iter().cloned());
        let rows: Vec<_> = rows.collect::<BTreeSet<_>>().into_iter().collect();
        Layout {
            counts: arena.slice("litmus.counts", rows.len() + 1),
            foreign: arena.slice("litmus.foreign", test.labels().len()),
            stress: Stress::lay_out(arena, test, params.instances),
            rows,
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        let Some(test) = find(&params.test) else {
            let near = nearest(&params.test, FILES.iter().map(|(name, _)| *name));
            let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            return Err(format!(
                "test = {:?} is no litmus test{near}; see crates/check/litmus",
                params.test
            ));
        };
        let Pod { hosts, lanes } = test.pod();
        if pod.hosts != hosts || pod.lanes < lanes {
            return Err(format!(
                "{} is for {hosts} hosts: use --hosts {hosts} --lanes {lanes}",
                params.test
            ));
        }
        if params.instances == 0 || params.rounds == 0 {
            return Err("instances and rounds: use 1 or more of each".to_owned());
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let (port, seat) = (worker.port(), worker.seat());
        let stress = &layout.stress;
        let tally = stress.run(port, seat, params.rounds, || worker.line_up())?;
        let Some(tally) = tally else {
            return Ok(Outcome::default());
        };
        layout.keep(port, &tally);
        let metric = "outside_synchronous_share";
        let series = match stress.test().set(WriteMode::Synchronous) {
            Some(set) => {
                let counts = tally.counts().iter();
                let outside = counts.filter(|(row, _)| !set.exact().contains(*row));
                let outside: u64 = outside.map(|(_, count)| count).sum();
                let share = outside as f64 / tally.runs() as f64;
                Series::of(metric, "1", vec![share])
            }
            None => Series::absent(metric, "1", "the test does not speak of synchronous pods"),
        };
        Ok(Outcome {
            series: vec![series],
            operations: tally.runs(),
        })
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        if !worker.seat().leads_pod() {
            return Ok(Verified::Nothing);
        }
        let tally = layout.kept(worker.port())?;
        let expected = u64::from(repetitions) * params.rounds * params.instances;
        if tally.runs() != expected {
            return Err(Mismatch {
                what: format!("runs of {}", params.test),
                expected: expected.to_string(),
                found: tally.runs().to_string(),
            });
        }
        Ok(Verified::Answer(layout.answer(&tally)))
    }
}

impl Layout {
    fn keep<P: Port>(&self, port: &P, tally: &Tally) {
        for (row, count) in tally.counts() {
            let place = self.rows.iter().position(|its| its == row);
            let at = self.counts.at(place.unwrap_or(self.rows.len()));
            port.store(at, port.load(at) + count);
            if place.is_none() {
                port.write_from(self.foreign.start(), row);
            }
        }
    }

    /// The counts of all repetitions.
    ///
    /// # Errors
    /// An outcome that no write mode allows.
    fn kept<P: Port>(&self, port: &P) -> Result<Tally, Mismatch> {
        let test = self.stress.test();
        let others = port.load(self.counts.at(self.rows.len()));
        if others > 0 {
            let mut row = vec![0; self.foreign.len()];
            port.read_into(self.foreign.start(), &mut row);
            return Err(Mismatch {
                what: format!("an outcome of {}", test.name()),
                expected: "one that some write mode allows".to_owned(),
                found: format!("{others} that none does, the last {}", test.say(&row)),
            });
        }
        let mut tally = Tally::default();
        for (index, row) in self.rows.iter().enumerate() {
            let count = port.load(self.counts.at(index));
            if count > 0 {
                tally.add(row.clone(), count);
            }
        }
        Ok(tally)
    }

    fn answer(&self, tally: &Tally) -> Value {
        let test = self.stress.test();
        let counts = tally.counts().iter();
        let outcomes: Map<String, Value> = counts
            .map(|(row, count)| (test.say(row), json!(count)))
            .collect();
        let unseen = self
            .rows
            .iter()
            .filter(|row| !tally.counts().contains_key(*row));
        let bound = json!(never_seen_bound(tally.runs()));
        let never: Map<String, Value> = unseen.map(|row| (test.say(row), bound.clone())).collect();
        let left: Vec<_> = tally.compatible(test).iter().map(|it| it.name()).collect();
        json!({
            "runs": tally.runs(),
            "outcomes": outcomes,
            "never_seen_below_at_95_percent": never,
            "write_modes_left": left,
        })
    }
}

#[cfg(test)]
mod tests {
    use fabric::{Discipline, NoWatch, Program, Seat, Setting, Substrate};
    use sim::{Sim, pod};
    use sync::{Barrier, BarrierLayout};

    use super::*;

    struct Trial {
        pod: Pod,
        params: Params,
        barrier: BarrierLayout,
        layout: Layout,
    }

    impl Program for Trial {
        type Out = Result<Verified, Mismatch>;

        fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
            let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
            let worker = |repetition| Worker::new(port, self.pod, seat, &barrier, 1, repetition);
            for repetition in 0..2 {
                let run = Litmus::run(&worker(repetition), &self.layout, &self.params);
                run.expect("nobody dies");
            }
            Litmus::verify(&worker(2), &self.layout, &self.params, 2)
        }
    }

    /// The answer of a test on a simulated pod that holds writes for so long after their fence.
    fn answer(test: &str, writes: WriteMode, hold_ns: f64) -> Value {
        let params = Params {
            test: test.to_owned(),
            rounds: 2,
            ..Params::default()
        };
        let pod = Pod::new(2, 1);
        Litmus::check(pod, &params).expect("a test of two hosts");
        let mut arena = Arena::new();
        let trial = Trial {
            pod,
            barrier: BarrierLayout::lay_out(&mut arena, "test.barrier", pod),
            layout: Litmus::layout(&mut arena, pod, &params),
            params,
        };
        let mut file = pod::load("sc26-four-host").expect("built in");
        writes.name().clone_into(&mut file.write_mode.value);
        file.fence.posted_hold_ns.value = hold_ns;
        let setting = Setting {
            pod,
            discipline: Discipline::DEFAULT,
            host_bytes: arena.host_bytes(),
        };
        let outs = Sim::new(file, pod).run(&setting, &NoWatch, &trial);
        match &outs[0].1 {
            Ok(Verified::Answer(answer)) => answer.clone(),
            other => panic!("no answer: {other:?}"),
        }
    }

    /// What the stress is for: it refutes that a posted pod's publishes are synchronous, and leaves
    /// a synchronous pod alone.
    #[test]
    fn a_posted_pod_is_found_out() {
        let test = "sb+publish+observe";
        let posted = answer(test, WriteMode::Posted, 900.0);
        assert_eq!(posted["runs"], 2 * 2 * 128);
        assert_eq!(
            posted["write_modes_left"],
            json!(["posted", "posted-unordered"])
        );
        assert!(
            posted["outcomes"]["r0=0 r1=0"].as_u64() > Some(0),
            "{posted}"
        );
        let synchronous = answer(test, WriteMode::Synchronous, 0.0);
        assert_eq!(
            synchronous["write_modes_left"].as_array().map(Vec::len),
            Some(3)
        );
        let bound = &synchronous["never_seen_below_at_95_percent"]["r0=0 r1=0"];
        assert!(bound.as_f64() < Some(3.0 / 512.0), "{synchronous}");
    }

    #[test]
    fn a_test_that_does_not_fit_is_refused_with_the_remedy() {
        let params = Params {
            test: "tso-sb".to_owned(),
            ..Params::default()
        };
        let refused = Litmus::check(Pod::new(2, 1), &params);
        let said = "tso-sb is for 1 hosts: use --hosts 1 --lanes 2".to_owned();
        assert_eq!(refused, Err(said));
        let params = Params {
            test: "sb+publihs+observe".to_owned(),
            ..Params::default()
        };
        let refused = Litmus::check(Pod::new(2, 1), &params).expect_err("no such test");
        assert!(
            refused.contains("did you mean `sb+publish+observe`?"),
            "{refused}"
        );
    }
}
