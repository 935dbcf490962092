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
        rounds: 10,
    }
}

#[test]
fn every_pod_runs_every_method_and_twice_the_same() {
    for name in pod::built_in().filter(|name| *name != "direct-attach-one-host") {
        let file = pod::load(name).expect("built in");
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
                let run = || trial.run(&Sim::new(file.clone(), trial.pod));
                let outcomes = run();
                let again = format!("{:?}", run());
                assert_eq!(format!("{outcomes:?}"), again, "{name} {publish} {lines}");
                let half = median(&outcomes, "half_round_trip_ns").unwrap();
                let one_way = median(&outcomes, "one_way_ns").unwrap();
                let floor = file.path.direct_load_ns.value;
                // Nothing between hosts is faster than one idle load.
                assert!(half > floor && one_way > floor, "{name} {publish} x{lines}");
            }
        }
    }
}
