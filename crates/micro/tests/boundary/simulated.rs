//! The mailbox and `visibility` in simulated time.

use fabric::{Discipline, NoWatch, ObserveBy, Pod, PublishBy, Seat, Setting, Substrate};
use micro::visibility::Params;
use workload::{Mismatch, Verified};

use crate::programs::{Exchange, Ran, Trial, message};
use crate::simulator::{Costs, Simulator};

const PUBLISH: [PublishBy; 5] = [
    PublishBy::ClFlush,
    PublishBy::ClFlushOpt,
    PublishBy::Clwb,
    PublishBy::StoreNt,
    PublishBy::Line64,
];
const OBSERVE: [ObserveBy; 2] = [ObserveBy::ClFlush, ObserveBy::ClFlushOpt];

fn every_discipline() -> impl Iterator<Item = Discipline> {
    PUBLISH.iter().flat_map(|&publish| {
        OBSERVE
            .iter()
            .map(move |&observe| Discipline { publish, observe })
    })
}

fn run(trial: &Trial) -> Vec<(Seat, Ran)> {
    let simulator = Simulator::new(Costs::MADE_UP, trial.region_bytes);
    let outs = simulator.run(&trial.setting(), &NoWatch, trial);
    let outs = outs.into_iter();
    outs.map(|(seat, out)| (seat, out.expect("nothing ends a wait here")))
        .collect()
}

#[test]
fn messages_arrive_by_every_discipline() {
    for discipline in every_discipline() {
        let exchange = Exchange::new(5, 11);
        let setting = Setting {
            pod: Pod::new(2, 1),
            discipline,
            host_bytes: 0,
        };
        let simulator = Simulator::new(Costs::MADE_UP, exchange.region_bytes);
        let outs = simulator.run(&setting, &NoWatch, &exchange);
        let expected: Vec<_> = (1..=5).map(|number| message(number, 11)).collect();
        assert_eq!(outs[1].1, Ok(expected), "{discipline}");
    }
}

#[test]
fn visibility_is_verified_by_every_discipline() {
    for Discipline { publish, observe } in every_discipline() {
        for (hosts, lanes, lines) in [(2, 1, 1), (2, 2, 4), (3, 1, 4), (3, 2, 1)] {
            let params = Params {
                publish,
                observe,
                lines,
                rounds: 8,
            };
            let trial = Trial::new(Pod::new(hosts, lanes), params, 2);
            let first = run(&trial);
            for (seat, ran) in &first {
                let expected = if seat.leads_host() {
                    Verified::Right
                } else {
                    Verified::Nothing
                };
                assert_eq!(ran.verified, Ok(expected), "{publish} {observe} {lines}");
            }
            assert_eq!(first, run(&trial), "two runs are not identical");
        }
    }
}

/// The verifier can fail: told of a repetition that never ran, it misses its messages.
#[test]
fn a_verifier_that_expects_more_than_was_sent_finds_it() {
    let params = Params {
        rounds: 3,
        ..Params::default()
    };
    let short = Trial::new(Pod::new(2, 1), params, 1);
    let simulator = Simulator::new(Costs::MADE_UP, short.region_bytes);
    let long = short.expecting(2);
    let outs = simulator.run(&long.setting(), &NoWatch, &long);
    let ran = outs[0].1.as_ref().expect("nothing ends a wait here");
    // Two passes of 3 rounds a repetition: 6 in the first, 12 after a second.
    let found = Mismatch {
        what: "flag of host 0".into(),
        expected: "12".into(),
        found: "6".into(),
    };
    assert_eq!(ran.verified, Err(found));
}

/// The round trip by hand. A message is visible `leaves` after its sender began; the sender polls
/// from `sent` on, and a look takes `look` until its load returns, then a pause.
///
/// The answer of a peer that began `x` later is visible at `x + leaves`, so the sender looks in
/// vain k = ceil((x + leaves - sent - look) / (look + pause)) times, then reads the payload and
/// begins anew: `sent + look + k (look + pause) + read`, by either host's clock.
///
/// The first `x` is when the peer, looking every 500 ns, sees what leaves at 501 (1 line) or 2035
/// (4 lines) and has read it. One line: 501 <= x < 1001, and k = ceil((x - 470) / 500) = 1 up to
/// 970. Four: 3437 <= x < 3937, and k = ceil((x - 470) / 500) = 7 above 3470.
fn round_trip_by_hand(costs: Costs, payload_lines: u64, in_vain: u64) -> u64 {
    let post = payload_lines * (8 * costs.store + costs.flush_dirty);
    let mut sent = post + costs.store + costs.flush_dirty + costs.fence;
    let mut read = payload_lines * (costs.flush_clean + costs.miss + 7 * costs.hit);
    if payload_lines > 0 {
        sent += costs.fence;
        read += costs.fence;
    }
    let look = costs.flush_clean + costs.fence + costs.miss;
    sent + look + in_vain * (look + costs.pause) + read
}

#[test]
fn half_round_trip_is_what_the_costs_give() {
    for (lines, in_vain, by_hand_ns) in [(1, 1, 1_471), (4, 7, 7_407)] {
        let params = Params {
            lines,
            rounds: 50,
            ..Params::default()
        };
        let ran = run(&Trial::new(Pod::new(2, 1), params, 1));
        let series = &ran[0].1.series;
        assert_eq!(series[0].metric, "half_round_trip_ns");
        let costs = round_trip_by_hand(Costs::MADE_UP, u64::from(lines) - 1, in_vain);
        assert_eq!(costs, by_hand_ns, "{lines} lines");
        // The first round also waits for the peer to leave the barrier.
        assert_eq!(
            series[0].samples[1..],
            [by_hand_ns as f64 / 2.0; 49],
            "{lines} lines"
        );
        assert_eq!(series[1].metric, "one_way_ns");
        assert!(series[1].samples.iter().all(|&ns| ns > 0.0));
    }
}
