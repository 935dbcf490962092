//! One workload under several policies, as a table.
//!
//! `cargo run --release -p tiering --example trial -- silo-paper 1:8 memtis-paper first-touch`

use std::time::Instant;

use tiering::experiment::Experiment;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, ratio, policies @ ..] = arguments.as_slice() else {
        println!("usage: trial WORKLOAD[@SCALE] FAST:CAPACITY POLICY...");
        return;
    };
    let (workload, scale) = match workload.split_once('@') {
        Some((workload, scale)) => (workload, Some(scale.parse().expect("a scale"))),
        None => (workload.as_str(), None),
    };
    let experiment = Experiment {
        workload: workload.to_owned(),
        ratio: ratio.parse().expect("a ratio"),
        scale,
        ..Experiment::default()
    };
    let start = Instant::now();
    let reference = experiment.reference(1).expect("a workload");
    println!(
        "reference {:.1} s wall; all-capacity {:.1} s, all-fast {:.1} s, setup {:.1} s, {:.1} GB, fast {} huge pages",
        start.elapsed().as_secs_f64(),
        reference.all_capacity.seconds,
        reference.all_fast.seconds,
        reference.all_capacity.setup_seconds,
        reference.all_capacity.resident_bytes / 1e9,
        reference.fast_pages / 512,
    );
    for policy in policies {
        let start = Instant::now();
        let outcome = experiment.run(policy, 1, &reference).expect("a policy");
        let wall = start.elapsed().as_secs_f64();
        println!(
            "{policy:14} {:7.1} s  x{:.3}  hit {:.3}  moved {:7.2} GB  rss {:5.1} GB  splits {:5}  coolings {:3}  T {} W {}  ksampled {:.2} %  {:.1} M/s",
            outcome.seconds,
            reference.all_capacity.seconds / outcome.seconds,
            outcome.tally.fast_hit_ratio(),
            outcome.migrated_bytes / 1e9,
            outcome.resident_bytes / 1e9,
            outcome.whole.splits,
            outcome.gauges.coolings,
            outcome.gauges.hot_threshold,
            outcome.gauges.warm_threshold,
            100.0 * outcome.sampler_share,
            outcome.whole.accesses as f64 / wall / 1e6,
        );
        let spent: Vec<String> = outcome
            .spent
            .iter()
            .map(|(name, seconds)| format!("{name} {:.1}", seconds / 20.0))
            .collect();
        println!("    {}", spent.join("  "));
        for truth in outcome.truths.iter().take(12) {
            println!(
                "    {:7.1} s  eHR {:.3} (true {:.3})  rHR {:.3} (true {:.3})",
                truth.seconds,
                truth.estimated_ehr,
                truth.true_ehr,
                truth.sampled_rhr,
                truth.true_rhr
            );
        }
    }
}
