//! The workload `visibility`, unchanged, on every pod.

mod common;

use common::{Trial, median};
use fabric::{Coherence, ObserveBy, Pod, PublishBy};
use micro::visibility::Params;
use sim::{Sim, pod};

fn params(publish: PublishBy, observe: ObserveBy, lines: u32) -> Params {
    Params {
        publish,
        observe,
        lines,
        rounds: 20,
    }
}

#[test]
fn every_pod_runs_every_method_and_twice_the_same() {
    for name in pod::built_in().filter(|name| *name != "direct-attach-one-host") {
        let file = pod::load(name).unwrap();
        let coherent = file.coherence.value == Coherence::Hardware;
        for &publish in PublishBy::ALL {
            for lines in [1, 4] {
                if (publish == PublishBy::None) != coherent {
                    continue;
                }
                let observe = if coherent {
                    ObserveBy::None
                } else {
                    ObserveBy::ClFlushOpt
                };
                let params = params(publish, observe, lines);
                let trial = Trial::new(Pod::new(file.hosts.value, 2), params, coherent);
                let run = || format!("{:?}", trial.run(&Sim::new(file.clone(), trial.pod)));
                let first = run();
                assert_eq!(first, run(), "{name} {publish} {lines}");
                let outcomes = trial.run(&Sim::new(file.clone(), trial.pod));
                let half = median(&outcomes, "half_round_trip_ns").unwrap();
                let one_way = median(&outcomes, "one_way_ns").unwrap();
                eprintln!("{name} {publish} x{lines}: half {half:.0} one way {one_way:.0}");
                assert!(half > 0.0 && one_way > 0.0);
            }
        }
    }
}
