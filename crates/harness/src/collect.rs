//! From lanes' reports to rows.

use fabric::{Census, Coherence};
use record::{
    CensusPerOp, Device, Directory, Fences, Label, Row, SCHEMA, Stop, Substrate, Summary,
    WriteError,
};

use crate::spec::TrialSpec;
use crate::trial::{LaneReport, LaneSeries};

/// What all rows of a run have in common.
#[derive(Clone, Debug)]
pub struct Place {
    /// What executed them.
    pub substrate: Substrate,
    /// What kind of evidence they are.
    pub label: Label,
    /// The pod's name.
    pub pod: String,
    /// Who keeps hosts coherent.
    pub coherence: Coherence,
    /// What backs the region.
    pub device: Device,
    /// Whether lanes outnumbered cores.
    pub oversubscribed: bool,
}

/// A row and the samples behind it.
pub type Measured = (Row, Vec<f64>);

/// The rows of one trial: for each metric one over all samples, and one for each host or pair where
/// there are several. `failure` is what befell the trial beyond what its lanes say.
pub fn rows(
    place: &Place,
    spec: &TrialSpec,
    lanes: &[LaneReport],
    failure: Option<&str>,
) -> Vec<Measured> {
    let base = base_row(place, spec, lanes, failure);
    let mut rows = Vec::new();
    for (metric, unit) in metrics(lanes) {
        let groups = groups(lanes, &metric);
        let row = Row {
            metric: metric.clone(),
            unit: unit.clone(),
            ..base.clone()
        };
        rows.push(measured(
            row.clone(),
            groups.iter().flat_map(|group| &group.series),
        ));
        if groups.len() > 1 {
            for group in &groups {
                let row = Row {
                    host: Some(group.host),
                    peer: group.peer,
                    ..row.clone()
                };
                rows.push(measured(row, group.series.iter()));
            }
        }
    }
    if rows.is_empty() {
        let reason = "the trial brought no samples".to_owned();
        let row = Row {
            metric: "trial".into(),
            reason: Some(reason),
            ..base
        };
        rows.push((row, Vec::new()));
    }
    rows
}

/// Metrics in the order in which lanes give them.
fn metrics(lanes: &[LaneReport]) -> Vec<(String, String)> {
    let mut metrics = Vec::new();
    for series in lanes.iter().flat_map(|lane| &lane.series) {
        let metric = (series.metric.clone(), series.unit.clone());
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}

/// The series of one host, or of one pair.
struct Group<'a> {
    host: u32,
    peer: Option<u32>,
    series: Vec<&'a LaneSeries>,
}

fn groups<'a>(lanes: &'a [LaneReport], metric: &str) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for lane in lanes {
        for series in lane.series.iter().filter(|series| series.metric == metric) {
            let same =
                |group: &&mut Group<'_>| group.host == lane.host && group.peer == series.peer;
            if let Some(group) = groups.iter_mut().find(same) {
                group.series.push(series);
            } else {
                groups.push(Group {
                    host: lane.host,
                    peer: series.peer,
                    series: vec![series],
                });
            }
        }
    }
    groups
}

/// Fills a row from samples. A metric that is absent anywhere is absent here, with the reason.
fn measured<'a>(
    mut row: Row,
    series: impl Iterator<Item = &'a &'a LaneSeries> + Clone,
) -> Measured {
    row.reason = series.clone().find_map(|series| series.absent.clone());
    let samples: Vec<f64> = match row.reason {
        None => series
            .flat_map(|series| series.samples.iter().copied())
            .collect(),
        Some(_) => Vec::new(),
    };
    if samples.is_empty() {
        row.reason
            .get_or_insert_with(|| "no repetition was finished".into());
        return (row, samples);
    }
    match Summary::of(&samples) {
        Ok(summary) => {
            row.summarize(&summary);
            (row, samples)
        }
        Err(bad) => {
            row.error.get_or_insert(bad.to_string());
            row.reason = Some("the samples are not figures".into());
            (row, Vec::new())
        }
    }
}

fn base_row(place: &Place, spec: &TrialSpec, lanes: &[LaneReport], failure: Option<&str>) -> Row {
    let error = failure.map(str::to_owned).or_else(|| root_cause(lanes));
    let verdicts: Vec<bool> = lanes.iter().filter_map(|lane| lane.verified).collect();
    let wrong = verdicts.contains(&false);
    let verified = (wrong || error.is_none())
        .then_some(verdicts)
        .filter(|all| !all.is_empty());
    let lead = lanes.iter().min_by_key(|lane| (lane.host, lane.lane));
    Row {
        schema: SCHEMA,
        workload: spec.workload.clone(),
        params: spec.params.clone(),
        substrate: place.substrate,
        label: place.label,
        pod: place.pod.clone(),
        coherence: match place.coherence {
            Coherence::Hardware => record::Coherence::Hardware,
            Coherence::Software => record::Coherence::Software,
        },
        device: place.device,
        hosts: spec.pod.hosts,
        lanes: spec.pod.lanes,
        host: None,
        oversubscribed: place.oversubscribed,
        rep: 0,
        seed: spec.seed,
        metric: String::new(),
        unit: String::new(),
        n: 0,
        min: None,
        p50: None,
        p90: None,
        p99: None,
        p999: None,
        max: None,
        mean: None,
        ci95: None,
        census: if error.is_none() { census(lanes) } else { None },
        verified: verified.map(|all| all.into_iter().all(|right| right)),
        answer: lanes.iter().find_map(|lane| lane.answer.clone()),
        digest: String::new(),
        samples_at: None,
        error,
        peer: None,
        reps: lead.map_or(0, |lane| lane.reps),
        stopped: lead
            .and_then(|lane| lane.stopped)
            .or(failure.map(|_| Stop::Interrupted)),
        reason: None,
        trial: spec.index,
    }
}

/// The error of the first lane that has one of its own, not one that follows from another's.
fn root_cause(lanes: &[LaneReport]) -> Option<String> {
    let failed = || lanes.iter().filter(|lane| lane.error.is_some());
    let own = failed().find(|lane| lane.stopped != Some(Stop::Interrupted));
    let lane = own.or_else(|| failed().next())?;
    let error = lane.error.as_deref().unwrap_or_default();
    Some(format!("host {} lane {}: {error}", lane.host, lane.lane))
}

/// What one operation asks of the memory, over all lanes; none if nothing was done.
fn census(lanes: &[LaneReport]) -> Option<CensusPerOp> {
    let mut total = Census::default();
    let mut operations = 0;
    for lane in lanes {
        total += lane.census;
        operations += lane.operations;
    }
    let each = |count: u64| count as f64 / operations as f64;
    (operations > 0).then(|| CensusPerOp {
        publishes: each(total.publishes),
        observes: each(total.observes),
        lines_published: each(total.lines_published),
        lines_observed: each(total.lines_observed),
        bytes_published: each(total.bytes_published()),
        bytes_observed: each(total.bytes_observed()),
        fences: Fences {
            store: each(total.fences.store),
            load: each(total.fences.load),
            full: each(total.fences.full),
        },
    })
}

/// Keeps rows: in a directory where there is one, and in memory for what is printed at the end.
#[derive(Debug, Default)]
pub struct Recorder {
    directory: Option<Directory>,
    /// Every row so far.
    pub rows: Vec<Row>,
    /// Rows that could not be written: the caller prints them, so that nothing measured is lost.
    pub unsaved: Vec<Row>,
    /// The first failed write.
    pub write_error: Option<WriteError>,
    problems: Vec<String>,
}

impl Recorder {
    /// A recorder into `directory`, or into memory alone.
    pub fn new(directory: Option<Directory>) -> Self {
        Self {
            directory,
            ..Self::default()
        }
    }

    /// Describes a host.
    pub fn add_host(&mut self, host: u32, machine: &serde_json::Value) {
        if let Some(directory) = &mut self.directory
            && let Err(error) = directory.add_host(host, machine)
        {
            self.write_error.get_or_insert(error);
        }
    }

    /// Keeps the rows of a trial.
    pub fn add(&mut self, rows: Vec<Measured>) {
        for (mut row, samples) in rows {
            self.save(&mut row, &samples);
            if let Some(error) = &row.error {
                let problem = format!("trial {}: {error}", row.trial);
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
            }
            self.rows.push(row);
        }
    }

    fn save(&mut self, row: &mut Row, samples: &[f64]) {
        let Some(directory) = &mut self.directory else {
            row.digest = row.comparability_digest();
            return;
        };
        if let Err(error) = directory.append(row, samples) {
            self.unsaved.push(row.clone());
            self.write_error.get_or_insert(error);
        }
    }

    /// Whether every trial ran to its end and was right.
    pub fn all_good(&self) -> bool {
        let good = |row: &Row| row.error.is_none() && row.verified != Some(false);
        self.write_error.is_none() && !self.rows.is_empty() && self.rows.iter().all(good)
    }

    /// Closes the directory; `complete` if every planned trial ran, `cause` if something cut the
    /// run short.
    pub fn finish(&mut self, complete: bool, cause: Option<&str>) {
        if let Some(cause) = cause
            && !self.problems.iter().any(|known| known.ends_with(cause))
        {
            self.problems.push(cause.to_owned());
        }
        if let Some(directory) = self.directory.take()
            && let Err(error) = directory.finish(complete, &self.problems)
        {
            self.write_error.get_or_insert(error);
        }
    }
}
