//! The workloads on simulated pods, as the trial protocol runs them: every algorithm by its name,
//! several repetitions, verified.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use coordination::{Atomic, Barrier, Lock, ReadWrite, Ring, Sharing, Spread};
use coordination::{atomic, barrier, lock, read_write, ring, sharing};
use fabric::Substrate;
use fabric::{Arena, Coherence, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting};
use sim::{Sim, pod};
use sync::BarrierLayout;
use sync::atomic::Via;
use sync::barrier::BarrierAlgorithm;
use sync::lock::Algorithm;
use workload::{Outcome, Verified, Worker, Workload};

const REPETITIONS: u32 = 3;

struct Trial<'a, L: Workload> {
    pod: Pod,
    params: &'a L::Params,
    barrier: BarrierLayout,
    layout: L::Layout,
}

impl<L: Workload> Program for Trial<'_, L> {
    type Out = Vec<Outcome>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<Outcome> {
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
        let mut series = outcomes.iter().flat_map(|outcome| &outcome.series);
        let measured = series.any(|series| series.absent.is_none());
        if seat.leads_pod() && measured {
            assert_ne!(verified, Verified::Nothing);
        }
        outcomes
    }
}

/// Runs a trial on a pod by name; all samples of each metric.
fn trial<L: Workload>(name: &str, hosts: u32, lanes: u32, params: &L::Params) -> Samples {
    let file = pod::load(name).unwrap();
    let coherent = file.coherence.value == Coherence::Hardware || hosts == 1;
    let pod = Pod::new(hosts, lanes);
    L::check(pod, params).unwrap();
    let mut arena = Arena::new();
    let barrier = BarrierLayout::lay_out(&mut arena, "test.barrier", pod);
    let layout = L::layout(&mut arena, pod, params);
    let setting = Setting {
        pod,
        discipline: if coherent {
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
    let sim = Sim::new(file, pod).stall_limit_ms(10);
    let outs = sim.run(&setting, &NoWatch, &trial);
    let outcomes = outs.into_iter().flat_map(|(_, outcomes)| outcomes);
    Samples(outcomes.flat_map(|outcome| outcome.series).collect())
}

struct Samples(Vec<workload::Series>);

impl Samples {
    fn absence(&self, metric: &str) -> String {
        let mut series = self.0.iter().filter(|series| series.metric == metric);
        series.find_map(|series| series.absent.clone()).unwrap()
    }

    fn least(&self, metric: &str) -> f64 {
        self.of(metric).into_iter().fold(f64::INFINITY, f64::min)
    }

    fn of(&self, metric: &str) -> Vec<f64> {
        let series = self.0.iter().filter(|series| series.metric == metric);
        series.flat_map(|series| series.samples.clone()).collect()
    }

    fn median(&self, metric: &str) -> f64 {
        let mut samples = self.of(metric);
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2]
    }
}

fn lock_params(algorithm: Algorithm, contenders: u32) -> lock::Params {
    lock::Params {
        algorithm,
        contenders,
        rounds: 15,
        protected_lines: 2,
        ..lock::Params::default()
    }
}

#[test]
fn every_lock_is_measured_and_verified_by_its_name() {
    for &algorithm in Algorithm::ALL {
        let name = if algorithm.is_hardware() {
            "coherent-four-host"
        } else {
            "sc26-four-host"
        };
        for contenders in [1, 4, 7] {
            let mut params = lock_params(algorithm, contenders);
            params.critical_section_ns = 500;
            let samples = trial::<Lock>(name, 4, 2, &params);
            let holds = (contenders * params.rounds * REPETITIONS) as usize;
            assert_eq!(samples.of("acquire_ns").len(), holds, "{algorithm}");
            let fairness = samples.median("jain_fairness");
            assert!(
                (1.0 / f64::from(contenders)..=1.0).contains(&fairness),
                "{algorithm}"
            );
            assert_eq!(
                samples.of("handover_ns").is_empty(),
                contenders == 1,
                "{algorithm}"
            );
        }
    }
}

/// What is drawn as a lower bound is one: no sample of any algorithm lies below it.
#[test]
fn nothing_is_faster_than_its_bound() {
    for &algorithm in Algorithm::ALL.iter().filter(|one| !one.is_hardware()) {
        for contenders in [1, 4] {
            let params = lock_params(algorithm, contenders);
            let samples = trial::<Lock>("sc26-four-host", 4, 2, &params);
            let (took, bound) = (
                samples.least("acquire_ns"),
                samples.least("acquire_bound_ns"),
            );
            // Whoever holds the token already has the lock.
            if algorithm != Algorithm::TokenRing {
                assert!(took >= bound, "{algorithm}: {took} ns, bound {bound}");
            }
            let (took, bound) = (
                samples.least("handover_ns"),
                samples.least("handover_bound_ns"),
            );
            assert!(
                took >= bound,
                "{algorithm}: {took} ns handed over, bound {bound}"
            );
        }
    }
    for &algorithm in BarrierAlgorithm::ALL
        .iter()
        .filter(|one| !one.is_hardware())
    {
        let params = barrier::Params {
            algorithm,
            rounds: 10,
            ..barrier::Params::default()
        };
        let samples = trial::<Barrier>("sc26-four-host", 4, 1, &params);
        let (took, bound) = (
            samples.least("barrier_ns"),
            samples.least("barrier_bound_ns"),
        );
        assert!(took >= bound, "{algorithm}: {took} ns, bound {bound}");
    }
    for via in [Via::Server, Via::Combining, Via::Lock] {
        let params = atomic::Params {
            via,
            rounds: 50,
            ..atomic::Params::default()
        };
        let samples = trial::<Atomic>("sc26-four-host", 4, 1, &params);
        let (took, bound) = (samples.least("op_ns"), samples.least("op_bound_ns"));
        assert!(took >= bound, "{via}: {took} ns, bound {bound}");
    }
}

#[test]
fn a_barrier_is_of_some_lanes_of_each_host_or_of_one_host() {
    let median = |contenders, spread, algorithm| {
        let params = barrier::Params {
            algorithm,
            contenders,
            spread,
            rounds: 10,
            ..barrier::Params::default()
        };
        let samples = trial::<Barrier>("sc26-four-host", 4, 3, &params);
        let hosts = if spread == Spread::Hosts { 4 } else { 1 };
        let lanes = if contenders == 0 { 3 } else { contenders };
        let count = samples.of("barrier_ns").len() as u32;
        assert_eq!(count, hosts * lanes * 10 * REPETITIONS);
        samples.median("barrier_ns")
    };
    let between = median(1, Spread::Hosts, BarrierAlgorithm::AllToAll);
    assert!(median(0, Spread::Hosts, BarrierAlgorithm::AllToAll) > between);
    let inside = median(3, Spread::Lanes, BarrierAlgorithm::Hardware);
    assert!(inside < between / 4.0, "{inside} ns inside a host");
    let params = barrier::Params {
        contenders: 4,
        ..barrier::Params::default()
    };
    let refused = Barrier::check(Pod::new(4, 3), &params).unwrap_err();
    assert!(refused.contains("use 1 to 3"), "{refused}");
}

#[test]
fn hardware_locks_are_for_one_host_where_nothing_is_coherent() {
    for algorithm in [Algorithm::HardwareSpin, Algorithm::HardwareMcs] {
        let mut params = lock_params(algorithm, 2);
        params.spread = Spread::Lanes;
        assert!(
            !trial::<Lock>("sc26-four-host", 4, 2, &params)
                .of("acquire_ns")
                .is_empty()
        );
    }
    let (alone, apart) = (Pod::new(4, 2), lock_params(Algorithm::TicketServer, 8));
    let refused = Lock::check(alone, &apart).unwrap_err();
    assert!(refused.contains("use 1 to 7"), "{refused}");
}

#[test]
fn every_barrier_is_measured_and_verified_by_its_name() {
    for &algorithm in BarrierAlgorithm::ALL {
        for skew_ns in [0, 5_000] {
            let params = barrier::Params {
                algorithm,
                skew_ns,
                rounds: 10,
                ..barrier::Params::default()
            };
            let name = if algorithm.is_hardware() {
                "coherent-four-host"
            } else {
                "sc26-four-host"
            };
            let samples = trial::<Barrier>(name, 4, 2, &params).of("barrier_ns").len();
            let lanes = if skew_ns == 0 { 8 } else { 1 };
            assert_eq!(samples as u32, lanes * 10 * REPETITIONS, "{algorithm}");
        }
    }
}

#[test]
fn every_atomic_is_measured_and_verified_by_its_name() {
    use atomic::Operation::{CompareExchange, FetchAdd, FetchOr, Swap};
    for &via in Via::ALL {
        let name = if via.is_hardware() {
            "coherent-four-host"
        } else {
            "sc26-four-host"
        };
        for op in [FetchAdd, CompareExchange, Swap, FetchOr] {
            for (contenders, read_share) in [(1, 0.0), (7, 0.3)] {
                let params = atomic::Params {
                    op,
                    via,
                    contenders,
                    read_share,
                    rounds: 10,
                    ..atomic::Params::default()
                };
                let samples = trial::<Atomic>(name, 4, 2, &params);
                if via == Via::Sharded && op != FetchAdd {
                    let reason = samples.absence("op_ns");
                    assert!(reason.contains("use op = fetch-add"), "{reason}");
                    continue;
                }
                let operations = (contenders * 10 * REPETITIONS) as usize;
                assert_eq!(samples.of("op_ns").len(), operations, "{via} {op:?}");
            }
        }
    }
}

#[test]
fn readers_and_writers_share_a_lock_of_any_name() {
    for &algorithm in Algorithm::ALL {
        let name = if algorithm.is_hardware() {
            "coherent-four-host"
        } else {
            "sc26-four-host"
        };
        let shares: &[f64] = match algorithm {
            Algorithm::BakeryFastPath => &[0.0, 0.7, 1.0],
            _ => &[0.7],
        };
        for &read_share in shares {
            let params = read_write::Params {
                algorithm,
                contenders: 4,
                read_share,
                protected_lines: 3,
                rounds: 6,
                ..read_write::Params::default()
            };
            let samples = trial::<ReadWrite>(name, 4, 2, &params);
            let counted = samples.of("read_ns").len() + samples.of("write_ns").len();
            assert_eq!(counted as u32, 4 * 6 * REPETITIONS, "{algorithm}");
            assert_eq!(samples.of("read_ns").is_empty(), read_share <= 0.0);
            assert_eq!(samples.of("write_ns").is_empty(), read_share >= 1.0);
        }
    }
    let params = read_write::Params {
        contenders: 5,
        ..read_write::Params::default()
    };
    let refused = ReadWrite::check(Pod::new(4, 2), &params).unwrap_err();
    assert!(refused.contains("readers are hosts"), "{refused}");
}

#[test]
fn rings_carry_messages_of_any_size_in_batches() {
    for (payload_bytes, batch, slots) in [(8, 1, 64), (56, 16, 64), (1_000, 3, 8), (3_584, 1, 2)] {
        let params = ring::Params {
            payload_bytes,
            batch,
            slots,
            rounds: 10,
            ..ring::Params::default()
        };
        let samples = trial::<Ring>("sc26-four-host", 3, 1, &params);
        assert_eq!(samples.of("message_ns").len() as u32, 10 * REPETITIONS);
        assert_eq!(samples.of("throughput_per_s").len() as u32, REPETITIONS);
    }
}

#[test]
fn all_pairs_exchange_messages_at_once_and_an_odd_host_waits() {
    let params = ring::Params {
        pairs: ring::Pairs::All,
        rounds: 10,
        ..ring::Params::default()
    };
    for (hosts, pairs) in [(2, 1), (4, 2), (5, 2)] {
        let samples = trial::<Ring>("sc26-four-host", hosts, 1, &params);
        let messages = samples.of("message_ns").len() as u32;
        assert_eq!(messages, pairs * 10 * REPETITIONS, "{hosts} hosts");
    }
}

fn shared(change: impl FnOnce(&mut sharing::Params)) -> f64 {
    let mut params = sharing::Params {
        rounds: 5,
        ..sharing::Params::default()
    };
    change(&mut params);
    trial::<Sharing>("sc26-four-host", 4, 1, &params).median("time_ns")
}

#[test]
fn sharing_is_verified_whoever_writes_where() {
    for placement in [sharing::Placement::Blocked, sharing::Placement::Interleaved] {
        for remote_write_share in [0.0, 0.3, 1.0] {
            for republished_bytes in [0, 64, 64 * 37] {
                shared(|params| {
                    params.placement = placement;
                    params.remote_write_share = remote_write_share;
                    params.republished_bytes = republished_bytes;
                    params.footprint_bytes = 4_096;
                });
            }
        }
    }
}

#[test]
fn bytes_and_operations_both_cost_in_a_knob_of_their_own() {
    let base = shared(|_| {});
    assert!(shared(|params| params.republished_bytes *= 64) > base);
    assert!(shared(|params| params.sync_ops *= 4) > base);
    assert!(shared(|params| params.placement = sharing::Placement::Interleaved) > base);
    assert!(shared(|params| params.footprint_bytes = 1 << 20) > base);
}
