//! Outcomes as rows: one a metric, its samples one a seed.

use harness::collect::Measured;
use record::{About, Coherence, Device, Label, Row, Substrate, Summary};
use serde_json::{Map, Value, json};
use tiering::experiment::Experiment;
use tiering::run::{Outcome, Point};

use crate::failure::Failure;

/// One metric of several trials.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// One a seed; none where a trial has no such figure, and why.
    pub(super) samples: Result<Vec<f64>, &'static str>,
    pub(super) answer: Option<Value>,
}

impl Metric {
    /// A metric without an answer.
    pub(super) fn of(
        name: &'static str,
        unit: &'static str,
        samples: Result<Vec<f64>, &'static str>,
    ) -> Self {
        Self {
            name,
            unit,
            samples,
            answer: None,
        }
    }
}

/// Rows of one trial with the samples behind each.
pub(super) fn rows(
    workload: &str,
    params: &Map<String, Value>,
    trial: u32,
    metrics: &[Metric],
) -> Result<Vec<Measured>, Failure> {
    let row = |metric: &Metric| {
        let mut row = blank(workload, params.clone());
        row.trial = trial;
        metric.name.clone_into(&mut row.metric);
        metric.unit.clone_into(&mut row.unit);
        row.answer.clone_from(&metric.answer);
        let samples = match &metric.samples {
            Ok(samples) => {
                let summary = Summary::of(samples).map_err(Failure::after)?;
                row.summarize(&summary);
                row.reps = samples.len() as u32;
                samples.clone()
            }
            Err(why) => {
                row.reason = Some((*why).to_owned());
                Vec::new()
            }
        };
        Ok((row, samples))
    };
    metrics.iter().map(row).collect()
}

/// A row as a line of text.
pub(super) fn line(row: &Row) -> String {
    let named = |key| row.params.get(key).map(ToString::to_string);
    let policy = named("policy").unwrap_or_else(|| {
        let values = row
            .params
            .iter()
            .map(|(key, value)| format!("{key} {value}"));
        values.collect::<Vec<_>>().join(", ")
    });
    let policy = policy.trim_matches('"');
    let (factor, unit) = match row.unit.as_str() {
        "ns" => (1e-9, "s"),
        "B" => (1e-9, "GB"),
        unit => (1.0, unit),
    };
    let value = match (row.p50, row.ci95) {
        (Some(median), Some([low, high])) => {
            let [median, low, high] = [median, low, high].map(|value| value * factor);
            format!("{median:.3} [{low:.3}, {high:.3}] {unit}")
        }
        (Some(median), None) => format!("{:.3} {unit}", median * factor),
        (None, _) => format!("- ({})", row.reason.as_deref().unwrap_or("absent")),
    };
    format!("{policy:<32} {:<24} {value}\n", row.metric)
}

/// What tells one policy's rows from another's.
pub(super) fn params(experiment: &Experiment, policy: &str) -> Result<Map<String, Value>, Failure> {
    let mut params = Map::new();
    let mut put = |key: &str, value: String| params.insert(key.to_owned(), Value::String(value));
    put("policy", policy.to_owned());
    put("workload", experiment.workload.clone());
    put("ratio", experiment.ratio.to_string());
    put("capacity_tier", experiment.capacity_tier.name().to_owned());
    put("scale", experiment.effective_scale()?.to_string());
    Ok(params)
}

fn blank(workload: &str, params: Map<String, Value>) -> Row {
    Row::unmeasured(About {
        workload: workload.into(),
        params,
        substrate: Substrate::Sim,
        label: Label::Simulated,
        pod: "two-tier-host".into(),
        coherence: Coherence::Hardware,
        device: Device::Model,
        hosts: 1,
        lanes: tiering::preset::machine().cpu.threads.value,
        seed: 1,
    })
}

/// What one trial shows besides its figures: where the time went, and how it went on. Times are in
/// seconds at full scale; `moments` are arrays in the order of `columns`.
pub(super) fn history(outcome: &Outcome) -> Value {
    let spent = seconds(&outcome.spent, lanes());
    let truths = outcome.truths.iter().map(|truth| {
        json!([
            truth.seconds,
            truth.estimated_ehr,
            truth.true_ehr,
            truth.sampled_rhr,
            truth.true_rhr
        ])
    });
    let columns = [
        "seconds",
        "fast_hit_ratio",
        "resident_bytes",
        "moved_bytes",
        "hot_threshold",
        "warm_threshold",
        "base_threshold",
    ];
    json!({
        "spent_s": spent,
        "columns": columns,
        "moments": outcome.series.iter().map(moment).collect::<Vec<_>>(),
        "histograms": outcome.series.iter().map(|p| p.gauges.histogram).collect::<Vec<_>>(),
        "background_s": seconds(&outcome.background, 1.0),
        "truth_columns": ["seconds", "estimated_ehr", "true_ehr", "sampled_rhr", "true_rhr"],
        "truths": truths.collect::<Vec<_>>(),
        "splits": outcome.whole.splits,
        "coolings": outcome.gauges.coolings,
        "splitting_off": outcome.gauges.splitting_off,
        "sampler_share": outcome.sampler_share,
    })
}

/// Times by name, each a share of what stands there.
fn seconds(times: &[(&str, f64)], of: f64) -> Map<String, Value> {
    let times = times.iter();
    let named = times.map(|(name, seconds)| ((*name).to_owned(), json!(seconds / of)));
    named.collect()
}

fn moment(point: &Point) -> Value {
    json!([
        point.seconds,
        point.fast_hit_ratio,
        point.resident_bytes,
        point.moved_bytes,
        point.gauges.hot_threshold,
        point.gauges.warm_threshold,
        point.gauges.base_threshold,
    ])
}

fn lanes() -> f64 {
    f64::from(tiering::preset::machine().cpu.threads.value)
}
