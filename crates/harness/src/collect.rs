//! From lanes' reports to rows.

use fabric::{Census, Coherence};
use record::{
    About, CensusPerOp, Device, Directory, Fences, Label, Row, StartSkew, Stop, Substrate, Summary,
    WriteError,
};

use serde_json::{Map, Value};

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

impl Place {
    /// Takes in what `hosts` hosts that were started apart found out about each other. The label
    /// was that of the device.
    pub fn settle(&mut self, machines: u32, oversubscribed: bool, hosts: u32) {
        self.oversubscribed = oversubscribed;
        self.pod = if machines > 1 { "cluster" } else { "local" }.into();
        // Hosts that share a machine share its caches, also over a real pool.
        if machines < hosts {
            self.label = Label::StandIn;
        }
    }
}

/// A row and the samples behind it.
pub type Measured = (Row, Vec<f64>);

/// The rows of one trial: for each metric one over all samples, one for each host or pair where
/// there are several, and one for each lane where a host's lanes measured each by itself. `failure`
/// is what befell the trial beyond what its lanes say.
pub fn rows(
    place: &Place,
    spec: &TrialSpec,
    lanes: &[LaneReport],
    failure: Option<&str>,
) -> Vec<Measured> {
    let base = base_row(place, spec, lanes, failure);
    let mut rows = Vec::new();
    for (metric, unit) in metrics(lanes) {
        let hosts = groups(lanes, &metric, |_| None);
        let row = Row {
            metric: metric.clone(),
            unit: unit.clone(),
            ..base.clone()
        };
        rows.push(measured(
            row.clone(),
            hosts.iter().flat_map(|group| &group.series),
        ));
        let by_lane = groups(lanes, &metric, |lane| Some(lane.lane));
        let apart = if by_lane.len() > hosts.len() {
            by_lane
        } else {
            Vec::new()
        };
        let hosts = if hosts.len() > 1 { hosts } else { Vec::new() };
        for group in hosts.into_iter().chain(apart) {
            let row = Row {
                host: Some(group.host),
                lane: group.lane,
                peer: group.peer,
                ..row.clone()
            };
            rows.push(measured(row, group.series.iter()));
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

/// The series of one host, of one pair, or of one lane of these.
struct Group<'a> {
    host: u32,
    lane: Option<u32>,
    peer: Option<u32>,
    series: Vec<&'a LaneSeries>,
}

/// `by` tells lanes of one host apart, or does not.
fn groups<'a>(
    lanes: &'a [LaneReport],
    metric: &str,
    by: impl Fn(&LaneReport) -> Option<u32>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for lane in lanes {
        for series in lane.series.iter().filter(|series| series.metric == metric) {
            let key = (lane.host, by(lane), series.peer);
            let same = |group: &&mut Group<'_>| (group.host, group.lane, group.peer) == key;
            if let Some(group) = groups.iter_mut().find(same) {
                group.series.push(series);
            } else {
                groups.push(Group {
                    host: key.0,
                    lane: key.1,
                    peer: key.2,
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
    let about = About {
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
        seed: spec.seed,
    };
    Row {
        oversubscribed: place.oversubscribed,
        census: if error.is_none() { census(lanes) } else { None },
        verified: verified.map(|all| all.into_iter().all(|right| right)),
        answer: lanes.iter().find_map(|lane| lane.answer.clone()),
        error,
        reps: lead.map_or(0, |lane| lane.reps),
        stopped: lead
            .and_then(|lane| lane.stopped)
            .or(failure.map(|_| Stop::Interrupted)),
        trial: spec.index,
        counters: counters(lanes),
        start: start_skew(spec, lanes),
        ..Row::unmeasured(about)
    }
}

/// How far apart lanes started, over the repetitions that all of them have noted.
fn start_skew(spec: &TrialSpec, lanes: &[LaneReport]) -> Option<StartSkew> {
    let repetitions = lanes.iter().map(|lane| lane.starts.len()).min()?;
    let of = |repetition: usize| lanes.iter().map(move |lane| lane.starts[repetition]);
    let mut skews = Vec::new();
    let (mut missed, mut error_ns) = (0, 0.0_f64);
    for repetition in 0..repetitions {
        let first = of(repetition).map(|it| it.at_ns).fold(f64::MAX, f64::min);
        let last = of(repetition).map(|it| it.at_ns).fold(f64::MIN, f64::max);
        skews.push(last - first);
        // Of two lanes, each may be off in its own direction.
        error_ns = of(repetition).fold(error_ns, |most, it| most.max(2.0 * it.error_ns));
        missed += u32::from(of(repetition).any(|it| it.late_ns > LATE_NS));
    }
    let summary = Summary::of(&skews).ok()?;
    Some(StartSkew {
        by: spec.limits.start,
        skew_p50_ns: summary.p50,
        skew_max_ns: summary.max,
        error_ns,
        missed,
    })
}

/// A lane that notices its time by more than this after it has missed it: a turn of a spin loop and
/// two readings of a clock take a tenth.
const LATE_NS: f64 = 1_000.0;

/// Hardware's counts, summed over lanes. An event that one lane has no count of has none.
fn counters(lanes: &[LaneReport]) -> Option<Map<String, Value>> {
    let mut sums: Map<String, Value> = Map::new();
    let mut absent = None;
    for (event, count) in lanes.iter().flat_map(|lane| &lane.counters) {
        let sum = sums.entry(event.clone()).or_insert_with(|| 0.0.into());
        match (count, sum.as_f64()) {
            (Ok(count), Some(so_far)) => *sum = (so_far + count).into(),
            (Ok(_), None) => {}
            (Err(why), _) => {
                *sum = Value::Null;
                absent.get_or_insert_with(|| why.clone());
            }
        }
    }
    if let Some(why) = absent {
        sums.insert("absent".into(), why.into());
    }
    (!sums.is_empty()).then_some(sums)
}

/// The error of the lane that knows most: of those, the first.
fn root_cause(lanes: &[LaneReport]) -> Option<String> {
    let failed = lanes.iter().filter(|lane| lane.error.is_some());
    let lane = failed.rev().max_by_key(|lane| lane.blame)?;
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

#[cfg(test)]
mod tests {
    use fabric::{Discipline, Pod};
    use serde_json::{Map, json};

    use super::*;
    use crate::frame::Blame;
    use crate::spec::Limits;

    fn place() -> Place {
        Place {
            substrate: Substrate::Native,
            label: Label::StandIn,
            pod: "local".into(),
            coherence: Coherence::Software,
            device: Device::Tmpfs,
            oversubscribed: false,
        }
    }

    fn spec() -> TrialSpec {
        TrialSpec {
            index: 3,
            workload: "visibility".into(),
            params: Map::from_iter([("lines".to_owned(), json!(1))]),
            pod: Pod::new(3, 1),
            discipline: Discipline::DEFAULT,
            seed: 1,
            limits: Limits::default(),
        }
    }

    /// A lane of `host` that measured `samples` with `peer`.
    fn lane(host: u32, peer: u32, samples: &[f64]) -> LaneReport {
        let series = LaneSeries {
            metric: "half_round_trip_ns".into(),
            unit: "ns".into(),
            peer: Some(peer),
            samples: samples.to_vec(),
            absent: None,
        };
        LaneReport {
            host,
            series: vec![series],
            operations: 2,
            verified: Some(true),
            stopped: Some(Stop::Target),
            ..LaneReport::default()
        }
    }

    #[test]
    fn lanes_that_measured_each_by_itself_have_their_rows() {
        let of = |lane_number, samples: &[f64]| {
            let mut report = lane(0, 1, samples);
            report.lane = lane_number;
            report.series[0].peer = None;
            report
        };
        let rows = rows(&place(), &spec(), &[of(0, &[1.0]), of(1, &[2.0])], None);
        let told: Vec<_> = rows
            .iter()
            .map(|(row, samples)| (row.host, row.lane, samples.clone()))
            .collect();
        assert_eq!(
            told,
            [
                (None, None, vec![1.0, 2.0]),
                (Some(0), Some(0), vec![1.0]),
                (Some(0), Some(1), vec![2.0]),
            ]
        );
    }

    fn gave_up(host: u32, error: &str, blame: Blame) -> LaneReport {
        LaneReport {
            host,
            error: Some(error.into()),
            blame: Some(blame),
            ..LaneReport::default()
        }
    }

    #[test]
    fn the_pod_has_a_row_of_all_samples_and_each_pair_one_of_its_own() {
        let lanes = [lane(0, 1, &[1.0, 2.0]), lane(1, 2, &[3.0])];
        let rows = rows(&place(), &spec(), &lanes, None);
        let told: Vec<_> = rows
            .iter()
            .map(|(row, samples)| (row.host, row.peer, samples.clone()))
            .collect();
        assert_eq!(
            told,
            [
                (None, None, vec![1.0, 2.0, 3.0]),
                (Some(0), Some(1), vec![1.0, 2.0]),
                (Some(1), Some(2), vec![3.0]),
            ]
        );
        assert!(
            rows.iter()
                .all(|(row, _)| row.verified == Some(true) && row.trial == 3)
        );
    }

    #[test]
    fn the_census_is_for_each_operation_of_all_lanes() {
        let mut lanes = [lane(0, 1, &[1.0]), lane(1, 0, &[1.0])];
        lanes[0].census.publishes = 2;
        lanes[1].census.publishes = 4;
        let (row, _) = &rows(&place(), &spec(), &lanes, None)[0];
        let census = row.census.expect("operations were counted");
        assert!((census.publishes - 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_figure_that_is_absent_anywhere_is_absent_with_its_reason() {
        let mut lanes = [lane(0, 1, &[1.0]), lane(1, 2, &[])];
        lanes[1].series[0].absent = Some("no common clock".into());
        let (row, samples) = &rows(&place(), &spec(), &lanes, None)[0];
        assert_eq!((row.n, row.p50, samples.len()), (0, None, 0));
        assert_eq!(row.reason.as_deref(), Some("no common clock"));
    }

    #[test]
    fn a_trial_without_samples_is_a_row_with_its_cause() {
        let rows = rows(&place(), &spec(), &[], Some("host 2 was killed"));
        assert_eq!(rows.len(), 1);
        let row = &rows[0].0;
        assert_eq!(row.error.as_deref(), Some("host 2 was killed"));
        assert_eq!((row.verified, row.census), (None, None));
        assert_eq!(row.stopped, Some(Stop::Interrupted));
    }

    #[test]
    fn a_lane_s_own_failure_is_told_before_those_that_follow_from_it() {
        let lanes = [
            gave_up(0, "another host failed", Blame::Another),
            gave_up(1, "host 0 was lost", Blame::Silence),
            gave_up(2, "the deadline passed", Blame::Own),
        ];
        let row = &rows(&place(), &spec(), &lanes, None)[0].0;
        assert_eq!(
            row.error.as_deref(),
            Some("host 2 lane 0: the deadline passed")
        );
    }

    #[test]
    fn one_wrong_answer_makes_the_trial_wrong() {
        let mut lanes = [lane(0, 1, &[1.0]), lane(1, 0, &[1.0])];
        lanes[1].verified = Some(false);
        lanes[1].error = Some("flag of host 1: 3 expected, 2 found".into());
        let mut recorder = Recorder::new(None);
        recorder.add(rows(&place(), &spec(), &lanes, None));
        assert!(!recorder.all_good());
        assert!(recorder.rows.iter().all(|row| row.verified == Some(false)));
    }
}
