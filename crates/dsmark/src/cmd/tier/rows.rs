//! Outcomes as rows: one a metric, its samples one a seed.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;

use record::{About, Coherence, Device, Directory, Label, Origin, Row, Substrate, Summary};
use serde_json::{Map, Value, json};
use tiering::experiment::Experiment;
use tiering::run::{Outcome, Point};

use crate::build::build;
use crate::cli::Tiered;
use crate::failure::Failure;
use crate::out::print;

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

/// Rows, with the samples behind each.
#[derive(Default)]
pub(super) struct Rows(Vec<(Row, Vec<f64>)>);

impl Rows {
    /// Adds the metrics of a policy.
    pub(super) fn add(
        &mut self,
        experiment: &Experiment,
        policy: &str,
        metrics: Vec<Metric>,
    ) -> Result<(), Failure> {
        self.add_to("tier", &params(experiment, policy)?, metrics)
    }

    /// Adds metrics of a workload.
    pub(super) fn add_to(
        &mut self,
        workload: &str,
        params: &Map<String, Value>,
        metrics: Vec<Metric>,
    ) -> Result<(), Failure> {
        let trial = self.0.last().map_or(0, |(row, _)| row.trial + 1);
        for metric in metrics {
            let mut row = blank(workload, params.clone());
            row.trial = trial;
            metric.name.clone_into(&mut row.metric);
            metric.unit.clone_into(&mut row.unit);
            row.answer = metric.answer;
            let samples = match metric.samples {
                Ok(samples) => {
                    let summary = Summary::of(&samples).map_err(Failure::after)?;
                    row.summarize(&summary);
                    row.reps = samples.len() as u32;
                    samples
                }
                Err(why) => {
                    row.reason = Some(why.to_owned());
                    Vec::new()
                }
            };
            row.digest = row.comparability_digest();
            self.0.push((row, samples));
        }
        Ok(())
    }

    /// Writes the directory, if one was named, with its figures; then the rows, or a table.
    pub(super) fn conclude(mut self, out: Option<&Path>, json: bool) -> Result<(), Failure> {
        if let Some(out) = out {
            let command = std::env::args().collect::<Vec<_>>().join(" ");
            let plan = format!("# run by: {command}\n");
            let build = build();
            let origin = Origin {
                command: &command,
                plan: &plan,
                build: &build,
            };
            let mut directory = Directory::create(out, &origin).map_err(Failure::after)?;
            for (row, samples) in &mut self.0 {
                directory.append(row, samples).map_err(Failure::after)?;
            }
            directory.finish(true, &[]).map_err(Failure::after)?;
        }
        let rows = self.0.into_iter().map(|(row, _)| row);
        if json {
            let mut text = String::new();
            for row in rows {
                text += &serde_json::to_string(&row).map_err(Failure::after)?;
                text.push('\n');
            }
            print(&text)
        } else {
            let mut text = String::new();
            for row in rows {
                text += &line(&row);
            }
            print(&text)
        }?;
        match out {
            Some(out) if !json => {
                let results = record::Results::open(out).map_err(Failure::after)?;
                crate::cmd::run::write_report(&results, out)
            }
            _ => Ok(()),
        }
    }
}

fn line(row: &Row) -> String {
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

fn params(experiment: &Experiment, policy: &str) -> Result<Map<String, Value>, Failure> {
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
    let spent: Map<String, Value> = outcome
        .spent
        .iter()
        .map(|(name, seconds)| ((*name).to_owned(), json!(seconds / lanes())))
        .collect();
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
        "truth_columns": ["seconds", "estimated_ehr", "true_ehr", "sampled_rhr", "true_rhr"],
        "truths": truths.collect::<Vec<_>>(),
        "splits": outcome.whole.splits,
        "coolings": outcome.gauges.coolings,
        "splitting_off": outcome.gauges.splitting_off,
        "sampler_share": outcome.sampler_share,
    })
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

/// Progress, on a terminal only.
pub(super) fn say(tiered: &Tiered, what: &str) {
    if !tiered.quiet && stderr().is_terminal() {
        // Where standard error is closed nobody reads it.
        let _ = writeln!(stderr(), "{what}");
    }
}
