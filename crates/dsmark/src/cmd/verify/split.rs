//! Where a prediction's time goes: its trial once more, recorded, and the median sample's span
//! split along its critical path.

use fabric::{Seat, Ticks};
use record::Row;
use sim::pod::PodFile;
use sim::{Attribution, Split};

use crate::on_sim::{Short, again};

/// Few rounds: on a simulated pod without jitter they soon repeat themselves.
const ROUNDS: u64 = 50;

/// Metrics of a single lane's call, which its clock is read before and after and not within.
const CALLS: [(&str, &str); 4] = [
    ("lock", "acquire_ns"),
    ("lock", "release_ns"),
    ("barrier", "barrier_ns"),
    ("atomic", "op_ns"),
];

/// The split of the median sample: of visibility between hosts 0 and 1, of a call by lane 0 of host
/// 0. None for other metrics: only of these the sample is known to be the time between two clock
/// readings.
pub(crate) fn of_median(row: &Row, file: PodFile) -> Option<Split> {
    let call = CALLS.contains(&(row.workload.as_str(), row.metric.as_str()));
    if row.workload != "visibility" && !call {
        return None;
    }
    let short = Short {
        warmup: 0,
        reps: 1,
        rounds: Some(ROUNDS),
        recording: true,
    };
    let again = again(row, file, &short);
    if call {
        let same = |found: &&Row| found.metric == row.metric && found.host == row.host;
        let median = again.rows.iter().find(same)?.p50?;
        let attribution = again.attribution?;
        let spans = attribution.spans(LEADER).map(|(_, _, split)| split);
        return nearest(spans, median);
    }
    let pair = again.rows.iter().find(|found| {
        found.metric == row.metric && found.host == Some(0) && found.peer == Some(1)
    })?;
    let attribution = again.attribution?;
    match row.metric.as_str() {
        "half_round_trip_ns" => round_trip(&attribution, 2.0 * pair.p50?),
        "one_way_ns" => one_way(&attribution, pair.p50?),
        _ => None,
    }
}

const LEADER: Seat = Seat { host: 0, lane: 0 };
const PEER: Seat = Seat { host: 1, lane: 0 };

/// The leader reads its clock before and after each round trip.
fn round_trip(attribution: &Attribution, length_ns: f64) -> Option<Split> {
    let spans = attribution.spans(LEADER).map(|(_, _, split)| split);
    nearest(spans, length_ns)
}

/// The leader reads its clock before it sends, the peer when it has received: a message left at the
/// leader's last reading before it arrived.
fn one_way(attribution: &Attribution, length_ns: f64) -> Option<Split> {
    let departures: Vec<Ticks> = attribution.spans(LEADER).map(|(from, _, _)| from).collect();
    let arrivals = attribution.spans(PEER).map(|(from, _, _)| from);
    let messages = arrivals.filter_map(|arrival| {
        let before = departures.partition_point(|departure| departure.0 < arrival.0);
        let departure = departures[..before].last()?;
        Some(attribution.split(PEER, *departure, arrival))
    });
    nearest(messages, length_ns)
}

fn nearest(splits: impl Iterator<Item = Split>, length_ns: f64) -> Option<Split> {
    let off = |split: &Split| (split.total_ns() - length_ns).abs();
    let found = splits.min_by(|a, b| off(a).total_cmp(&off(b)))?;
    // A span of another length is not the sample.
    (off(&found) < 0.01 * length_ns).then_some(found)
}
