//! Running workloads and litmus programs on a simulated pod, as the trial protocol would.

#![allow(dead_code, unused_imports)] // each test binary uses its part

pub(crate) mod programs;

use fabric::{Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
use micro::Visibility;
use micro::visibility::{Layout, Params};
use sim::Sim;
use sync::{Barrier, BarrierLayout};
use workload::{Outcome, Verified, Worker, Workload};

/// Two repetitions of `visibility`, then its verification.
pub(crate) struct Trial {
    pub(crate) pod: Pod,
    pub(crate) params: Params,
    barrier: BarrierLayout,
    layout: Layout,
    pub(crate) setting: Setting,
}

impl Trial {
    pub(crate) fn new(pod: Pod, params: Params, coherent: bool) -> Self {
        let mut arena = Arena::new();
        let barrier = BarrierLayout::lay_out(&mut arena, "test.barrier", pod);
        let layout = Visibility::layout(&mut arena, pod, &params);
        let discipline = if coherent {
            Discipline::NONE
        } else {
            Visibility::discipline(&params).expect("visibility chooses its discipline")
        };
        let setting = Setting {
            pod,
            discipline,
            host_bytes: arena.host_bytes(),
        };
        Self {
            pod,
            params,
            barrier,
            layout,
            setting,
        }
    }

    /// What each lane measured; panics where a lane's verification fails.
    pub(crate) fn run(&self, sim: &Sim) -> Vec<(Seat, Vec<Outcome>)> {
        sim.run(&self.setting, &NoWatch, self)
    }
}

const REPETITIONS: u32 = 2;

impl Program for Trial {
    type Out = Vec<Outcome>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<Outcome> {
        let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
        let worker = |repetition| Worker::new(port, self.pod, seat, &barrier, 1, repetition);
        let mut outcomes = Vec::new();
        for repetition in 0..REPETITIONS {
            barrier.wait(port).expect("nobody dies");
            let run = Visibility::run(&worker(repetition), &self.layout, &self.params);
            outcomes.push(run.expect("nobody dies"));
        }
        barrier.wait(port).expect("nobody dies");
        let last = worker(REPETITIONS);
        let verified = Visibility::verify(&last, &self.layout, &self.params, REPETITIONS);
        let leads = seat.leads_host();
        let expected = if leads {
            Verified::Right
        } else {
            Verified::Nothing
        };
        assert_eq!(verified, Ok(expected));
        outcomes
    }
}

/// The median of a metric over all lanes and repetitions.
pub(crate) fn median(outcomes: &[(Seat, Vec<Outcome>)], metric: &str) -> Option<f64> {
    let mut samples: Vec<f64> = outcomes
        .iter()
        .flat_map(|(_, outcomes)| outcomes)
        .flat_map(|outcome| &outcome.series)
        .filter(|series| series.metric == metric)
        .flat_map(|series| series.samples.iter().copied())
        .collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied()
}
