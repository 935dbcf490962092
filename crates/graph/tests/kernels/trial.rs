//! A trial as the protocol runs it: prepared once, repeated, verified.

use fabric::{Arena, HostAtomics, Pod, Program, Seat};
use graph::rank;
use serde_json::Value;
use sync::{Barrier, BarrierLayout};
use workload::{Outcome, Verified, Worker, Workload};

use crate::common;

/// The second repetition finds what the first has left behind.
const REPETITIONS: u32 = 2;

/// The variants of PageRank, and the orders that they go in.
pub(crate) const RANKS: [(rank::Variant, rank::Ordering); 4] = [
    (rank::Variant::Pull, rank::Ordering::AsGiven),
    (rank::Variant::Pull, rank::Ordering::EachRun),
    (rank::Variant::Push, rank::Ordering::AsGiven),
    (rank::Variant::Residual, rank::Ordering::AsGiven),
];

/// Which substrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Sim,
    Native,
}

struct Trial<'a, L: Workload> {
    pod: Pod,
    params: &'a L::Params,
    barrier: BarrierLayout,
    layout: L::Layout,
}

impl<L: Workload> Program for Trial<'_, L> {
    type Out = (Outcome, Verified);

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
        let worker = |repetition| Worker::new(port, self.pod, seat, &barrier, 1, repetition);
        L::prepare(&worker(0), &self.layout, self.params).unwrap();
        let mut outcome = Outcome::default();
        for repetition in 0..REPETITIONS {
            barrier.wait(port).unwrap();
            outcome = L::run(&worker(repetition), &self.layout, self.params).unwrap();
        }
        barrier.wait(port).unwrap();
        let last = worker(REPETITIONS);
        let verified = L::verify(&last, &self.layout, self.params, REPETITIONS).unwrap();
        // Nobody leaves while another still reads.
        barrier.wait(port).unwrap();
        (outcome, verified)
    }
}

/// Runs a trial; the answer.
pub(crate) fn answer<L: Workload>(on: On, hosts: u32, lanes: u32, params: &L::Params) -> Value
where
    L::Params: std::fmt::Debug,
{
    let pod = Pod::new(hosts, lanes);
    L::check(pod, params).unwrap();
    let mut arena = Arena::new();
    let barrier = BarrierLayout::lay_out(&mut arena, "test.barrier", pod);
    let layout = L::layout(&mut arena, pod, params);
    let trial = Trial::<L> {
        pod,
        params,
        barrier,
        layout,
    };
    let outs = match on {
        On::Sim => common::on_sim(pod, &arena, &trial),
        On::Native => common::on_native(pod, &arena, &trial),
    };
    let (outcome, verified) = &outs[0];
    let time = outcome
        .series
        .iter()
        .find(|series| series.metric == "time_ns");
    assert!(time.unwrap().samples[0] > 0.0, "{params:?}");
    match verified {
        Verified::Answer(answer) => answer.clone(),
        other => panic!("{params:?} on {hosts} x {lanes}: {other:?}"),
    }
}
