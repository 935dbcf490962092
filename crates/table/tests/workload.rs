//! The workload on simulated pods, as the trial protocol runs it: every mix, every way to share,
//! every lock, verified, histories included.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use fabric::{Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
use serde_json::json;
use sim::{Sim, pod};
use sync::BarrierLayout;
use sync::lock::Algorithm;
use table::hashtable::{Hashtable, Params};
use table::{Alloc, Mix, Placement, Sharing, alloc};
use workload::{Outcome, Verified, Worker, Workload};

const REPETITIONS: u32 = 3;

struct Trial<'a, L: Workload> {
    pod: Pod,
    params: &'a L::Params,
    barrier: BarrierLayout,
    layout: L::Layout,
}

impl<L: Workload> Program for Trial<'_, L> {
    type Out = (Vec<Outcome>, Verified);

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = sync::Barrier::new(&self.barrier, self.pod, seat, 0);
        let worker = |repetition| Worker::new(port, self.pod, seat, &barrier, 1, repetition);
        let mut outcomes = Vec::new();
        for repetition in 0..REPETITIONS {
            barrier.wait(port).unwrap();
            outcomes.push(L::run(&worker(repetition), &self.layout, self.params).unwrap());
        }
        barrier.wait(port).unwrap();
        let last = worker(REPETITIONS);
        let verified = L::verify(&last, &self.layout, self.params, REPETITIONS).unwrap();
        barrier.wait(port).unwrap();
        (outcomes, verified)
    }
}

/// What host 0 verified, and operations a second: the median of the repetitions.
fn run<L: Workload>(hosts: u32, lanes: u32, params: &L::Params) -> (Verified, f64) {
    let pod = Pod::new(hosts, lanes);
    L::check(pod, params).unwrap();
    let mut arena = Arena::new();
    let barrier = BarrierLayout::lay_out(&mut arena, "test.barrier", pod);
    let layout = L::layout(&mut arena, pod, params);
    let setting = Setting {
        pod,
        discipline: if hosts == 1 {
            Discipline::NONE
        } else {
            Discipline::DEFAULT
        },
        host_bytes: arena.host_bytes(),
    };
    let trial = Trial::<L> {
        pod,
        params,
        barrier,
        layout,
    };
    let sim = Sim::new(pod::load("sc26-four-host").unwrap(), pod).stall_limit_ms(50);
    let mut outs = sim.run(&setting, &NoWatch, &trial);
    let verified = outs[0].1.1.clone();
    let outcomes = outs.drain(..).flat_map(|(_, (outcomes, _))| outcomes);
    let mut rates: Vec<f64> = outcomes
        .flat_map(|outcome| outcome.series)
        .filter(|series| series.metric == "throughput_per_s")
        .flat_map(|series| series.samples)
        .collect();
    rates.sort_by(f64::total_cmp);
    (verified, rates[rates.len() / 2])
}

fn trial(hosts: u32, lanes: u32, params: &Params) -> f64 {
    let (verified, rate) = run::<Hashtable>(hosts, lanes, params);
    if params.mix != Mix::D {
        let answer = json!({ "entries": params.entries });
        assert_eq!(verified, Verified::Answer(answer));
    }
    rate
}

fn params(sharing: Sharing, mix: Mix) -> Params {
    Params {
        sharing,
        mix,
        entries: 300,
        operations: 60,
        group_buckets: 8,
        checked_keys: 6,
        ..Params::default()
    }
}

const SHARINGS: [Sharing; 4] = [
    Sharing::Partitioned,
    Sharing::BucketLocks,
    Sharing::Seqlock,
    Sharing::Cached,
];

#[test]
fn every_mix_is_verified_however_the_table_is_shared() {
    for sharing in SHARINGS {
        for mix in [Mix::A, Mix::B, Mix::C, Mix::D, Mix::F, Mix::Load] {
            for (hosts, lanes, value_bytes) in [(3, 1, 8), (2, 2, 72)] {
                let params = Params {
                    value_bytes,
                    ..params(sharing, mix)
                };
                trial(hosts, lanes, &params);
            }
        }
    }
}

#[test]
fn one_host_needs_neither_locks_nor_messages() {
    for mix in [Mix::A, Mix::D, Mix::F, Mix::Load] {
        trial(1, 2, &params(Sharing::Partitioned, mix));
    }
}

#[test]
fn batches_and_placements_are_verified() {
    for placement in [Placement::Local, Placement::Remote, Placement::Mixed] {
        for mix in [Mix::A, Mix::D, Mix::F, Mix::Load] {
            let params = Params {
                placement,
                batch: 7,
                ..params(Sharing::Partitioned, mix)
            };
            trial(3, 1, &params);
        }
    }
}

#[test]
fn any_lock_between_hosts_will_do() {
    for &lock in Algorithm::ALL {
        let params = Params {
            lock,
            locks: 3,
            operations: 20,
            ..params(Sharing::Seqlock, Mix::A)
        };
        if lock.is_hardware() {
            let refused = Hashtable::check(Pod::new(3, 1), &params).unwrap_err();
            assert!(refused.contains("use a lock of registers"), "{refused}");
        } else {
            trial(3, 1, &params);
        }
    }
}

#[test]
fn local_changes_of_a_partition_cost_less_than_a_lock() {
    let local = |sharing| {
        let params = Params {
            placement: Placement::Local,
            ..params(sharing, Mix::A)
        };
        trial(4, 1, &params)
    };
    assert!(local(Sharing::Partitioned) > 1.5 * local(Sharing::Seqlock));
}

#[test]
fn groups_too_small_for_their_keys_are_refused() {
    let params = |group_buckets| Params {
        group_buckets,
        entries: 4_000,
        ..Params::default()
    };
    let refused = Hashtable::check(Pod::new(2, 1), &params(1)).unwrap_err();
    assert!(refused.contains("use more buckets a group"), "{refused}");
    assert_eq!(Hashtable::check(Pod::new(2, 1), &params(16)), Ok(()));
}

#[test]
fn some_hosts_may_only_serve() {
    let params = Params {
        clients: 1,
        ..params(Sharing::Partitioned, Mix::A)
    };
    trial(3, 1, &params);
}

#[test]
fn everything_allocated_is_freed_by_whomever() {
    for (hosts, lanes) in [(1, 2), (3, 1), (2, 2)] {
        for remote_share in [0.0, 0.3, 1.0] {
            let params = alloc::Params {
                blocks: 40,
                max_bytes: 4_096,
                remote_share,
                ..alloc::Params::default()
            };
            let (verified, _) = run::<Alloc>(hosts, lanes, &params);
            assert_eq!(verified, Verified::Answer(json!({ "blocks": 0 })));
        }
    }
}
