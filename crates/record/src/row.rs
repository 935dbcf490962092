//! One trial, one metric: the row that `measure --json` prints and `trials.ndjson` holds.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stats::Summary;

/// The version of the row's schema. Fields may be added within a version; a field that is renamed
/// or changes its meaning makes a new one.
pub const SCHEMA: u32 = 1;

/// Writes an enum's words once, for JSON and for people.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word that stands in a record.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// What executed the workload.
    Substrate {
        /// Machine instructions on a mapping.
        Native = "native",
        /// The timed model.
        Sim = "sim",
    }
}

words! {
    /// What kind of evidence a number is. Numbers of two labels are never compared in silence.
    Label {
        /// Measured on memory that several hosts share without hardware coherence.
        Real = "real",
        /// Measured on memory that the hardware keeps coherent: it stands in for a pool.
        StandIn = "coherent stand-in",
        /// The same, with the pool's latencies imitated.
        StandInEmulated = "coherent stand-in, emulated",
        /// Computed by the model.
        Simulated = "simulated",
    }
}

words! {
    /// What backs the region.
    Device {
        /// A character device, `/dev/daxX.Y`.
        DevDax = "devdax",
        /// A file on a DAX file system.
        FsDax = "fs-dax",
        /// A file in memory (tmpfs or memfd).
        Tmpfs = "tmpfs",
        /// A file of huge pages.
        HugeTlbFs = "hugetlbfs",
        /// The simulator's device.
        Model = "model",
    }
}

words! {
    /// Who keeps the caches of different hosts coherent.
    Coherence {
        /// The hardware.
        Hardware = "hardware",
        /// The program.
        Software = "software",
    }
}

words! {
    /// What ended a trial's repetitions.
    Stop {
        /// The interval of the median met the plan's target.
        Target = "target",
        /// The plan's number of repetitions was reached first.
        MaxReps = "max_reps",
        /// The plan's time was used up first.
        MaxSeconds = "max_seconds",
        /// A signal or a lost host.
        Interrupted = "interrupted",
    }
}

/// Fences per operation, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fences {
    /// Store fences per operation.
    pub store: f64,
    /// Load fences per operation.
    pub load: f64,
    /// Full fences per operation.
    pub full: f64,
}

/// Maintenance per operation of the workload, counted in an untimed repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CensusPerOp {
    /// Publishes per operation.
    pub publishes: f64,
    /// Observes per operation.
    pub observes: f64,
    /// Lines published per operation.
    pub lines_published: f64,
    /// Lines observed per operation.
    pub lines_observed: f64,
    /// Bytes published per operation.
    pub bytes_published: f64,
    /// Bytes observed per operation.
    pub bytes_observed: f64,
    /// Fences per operation.
    pub fences: Fences,
}

/// One trial and metric. Fields stand in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The schema's version, [`SCHEMA`].
    pub schema: u32,
    /// The workload's name.
    pub workload: String,
    /// Its parameters, each a single value, in the workload's order.
    pub params: Map<String, Value>,
    /// What executed it.
    pub substrate: Substrate,
    /// What kind of evidence the figures are.
    pub label: Label,
    /// The pod's name.
    pub pod: String,
    /// Who keeps hosts coherent.
    pub coherence: Coherence,
    /// What backs the region.
    pub device: Device,
    /// Hosts that took part.
    pub hosts: u32,
    /// Lanes on each host.
    pub lanes: u32,
    /// The host the figures belong to; null where they are the pod's.
    pub host: Option<u32>,
    /// Whether lanes outnumbered the cores they could be pinned to.
    pub oversubscribed: bool,
    /// The repetition the row describes, where it describes only one; otherwise 0.
    pub rep: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// What was measured, its unit last: `half_round_trip_ns`.
    pub metric: String,
    /// The unit of the statistics.
    pub unit: String,
    /// The number of samples.
    pub n: u64,
    /// The least sample.
    pub min: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The greatest sample.
    pub max: Option<f64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The 95 % confidence interval of the median; null below six samples.
    pub ci95: Option<[f64; 2]>,
    /// Maintenance per operation; null where it was not counted.
    pub census: Option<CensusPerOp>,
    /// Whether the answer was right; null where there is nothing to verify.
    pub verified: Option<bool>,
    /// The answer, where the workload has one.
    pub answer: Option<Value>,
    /// What the row may be compared with ([`Row::comparability_digest`]).
    pub digest: String,
    /// The index of the first sample in `samples.bin`, counted in samples; null without samples.
    pub samples_at: Option<u64>,
    /// Why the trial failed; null where it did not.
    pub error: Option<String>,
    /// The other host of a pair.
    pub peer: Option<u32>,
    /// Repetitions that were run and timed.
    pub reps: u32,
    /// What ended the repetitions.
    pub stopped: Option<Stop>,
    /// Why the statistics are absent.
    pub reason: Option<String>,
    /// The trial's number within the run: the metrics of one trial share it.
    pub trial: u32,
    /// What hardware counted over the whole trial, warm-up and waiting included, summed over its
    /// lanes: a number for each event, or null where the machine has no such counter, and then the
    /// reason under `absent`. Null where nothing counts, as in a simulator.
    #[serde(default)]
    pub counters: Option<Map<String, Value>>,
    /// The lane of `host`, where the lanes of a host measured each by itself.
    #[serde(default)]
    pub lane: Option<u32>,
    /// What limits the meaning of the figures, in a sentence, where something that is known does.
    #[serde(default)]
    pub caveat: Option<String>,
    /// How far apart lanes started repetitions; null where nobody could tell, as in a simulator,
    /// where they start together.
    #[serde(default)]
    pub start: Option<StartSkew>,
}

/// How far apart the lanes of a pod started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartSkew {
    /// Whether a barrier or a named time let them loose.
    pub by: StartBy,
    /// From the first lane's start to the last one's: the median over repetitions.
    pub skew_p50_ns: f64,
    /// The same, the longest.
    pub skew_max_ns: f64,
    /// How far a skew may be off, since lanes of several hosts have clocks of their own.
    pub error_ns: f64,
    /// Repetitions for which a lane came after the time that was named.
    pub missed: u32,
}

/// What lets the lanes of a pod loose on a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartBy {
    /// Each goes on when it leaves a barrier.
    #[default]
    Barrier,
    /// Each at a time that host 0 names, a moment after a barrier, by its own clock.
    Window,
}

/// What a row is about, before anything is measured.
#[derive(Clone, Debug)]
pub struct About {
    /// What ran.
    pub workload: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// What executed it.
    pub substrate: Substrate,
    /// What kind of evidence its figures are.
    pub label: Label,
    /// The pod's name.
    pub pod: String,
    /// Who keeps hosts coherent.
    pub coherence: Coherence,
    /// What backs the region.
    pub device: Device,
    /// Hosts.
    pub hosts: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// The seed of everything random.
    pub seed: u64,
}

impl Row {
    /// A row of a whole pod without figures, verdict or reason: whoever measured fills it.
    pub fn unmeasured(about: About) -> Self {
        Self {
            schema: SCHEMA,
            workload: about.workload,
            params: about.params,
            substrate: about.substrate,
            label: about.label,
            pod: about.pod,
            coherence: about.coherence,
            device: about.device,
            hosts: about.hosts,
            lanes: about.lanes,
            host: None,
            oversubscribed: false,
            rep: 0,
            seed: about.seed,
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
            census: None,
            verified: None,
            answer: None,
            digest: String::new(),
            samples_at: None,
            error: None,
            peer: None,
            reps: 0,
            stopped: None,
            reason: None,
            trial: 0,
            counters: None,
            lane: None,
            caveat: None,
            start: None,
        }
    }
}

impl Row {
    /// Fills in the statistics.
    pub fn summarize(&mut self, summary: &Summary) {
        self.n = summary.n;
        self.min = Some(summary.min);
        self.p50 = Some(summary.p50);
        self.p90 = Some(summary.p90);
        self.p99 = Some(summary.p99);
        self.p999 = Some(summary.p999);
        self.max = Some(summary.max);
        self.mean = Some(summary.mean);
        self.ci95 = summary.ci95;
    }

    /// The name of a figure that no record may hold, and its value: JSON would turn a NaN into
    /// null and so into "absent", and a negative time or bandwidth is a failed subtraction.
    pub fn bad_figure(&self) -> Option<(&'static str, f64)> {
        self.figures()
            .into_iter()
            .find(|(_, value)| !value.is_finite() || *value < 0.0)
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let statistics = [
            ("min", self.min),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p99", self.p99),
            ("p999", self.p999),
            ("max", self.max),
            ("mean", self.mean),
            ("ci95[0]", self.ci95.map(|ci| ci[0])),
            ("ci95[1]", self.ci95.map(|ci| ci[1])),
        ];
        let mut figures: Vec<_> = statistics
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        if let Some(census) = &self.census {
            figures.extend([
                ("census.publishes", census.publishes),
                ("census.observes", census.observes),
                ("census.lines_published", census.lines_published),
                ("census.lines_observed", census.lines_observed),
                ("census.bytes_published", census.bytes_published),
                ("census.bytes_observed", census.bytes_observed),
                ("census.fences.store", census.fences.store),
                ("census.fences.load", census.fences.load),
                ("census.fences.full", census.fences.full),
            ]);
        }
        figures
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row as the design gives it.
    pub(crate) fn example() -> Row {
        serde_json::from_str(EXAMPLE).unwrap()
    }

    const EXAMPLE: &str = concat!(
        r#"{"schema":1,"workload":"visibility","params":{"publish":"clflushopt","#,
        r#""observe":"clflushopt","lines":1},"substrate":"sim","label":"simulated","#,
        r#""pod":"sc26-four-host","coherence":"software","device":"model","hosts":2,"#,
        r#""lanes":1,"host":null,"oversubscribed":false,"rep":0,"seed":1,"#,
        r#""metric":"half_round_trip_ns","unit":"ns","n":10000,"min":1.5,"p50":2.5,"#,
        r#""p90":3.5,"p99":4.5,"p999":5.5,"max":6.5,"mean":2.75,"ci95":[2.25,2.75],"#,
        r#""census":{"publishes":1.0,"observes":1.0,"lines_published":1.0,"#,
        r#""lines_observed":1.0,"bytes_published":64.0,"bytes_observed":64.0,"#,
        r#""fences":{"store":0.0,"load":0.0,"full":2.0}},"verified":true,"answer":null,"#,
        r#""digest":"0","samples_at":0,"error":null,"peer":null,"reps":10,"#,
        r#""stopped":"target","reason":null,"trial":0,"counters":null,"lane":null,"#,
        r#""caveat":null,"start":null}"#,
    );

    #[test]
    fn a_row_is_written_in_the_schema_s_order() {
        assert_eq!(serde_json::to_string(&example()).unwrap(), EXAMPLE);
    }

    #[test]
    fn words_are_the_same_in_json_and_in_prose() {
        for label in Label::ALL {
            assert_eq!(serde_json::to_value(label).unwrap(), label.as_str());
        }
        for device in Device::ALL {
            assert_eq!(serde_json::to_value(device).unwrap(), device.as_str());
        }
        assert_eq!(serde_json::to_value(Stop::MaxReps).unwrap(), "max_reps");
    }

    #[test]
    fn a_bad_figure_is_named() {
        let mut row = example();
        assert_eq!(row.bad_figure(), None);
        row.ci95 = Some([1.0, f64::INFINITY]);
        assert_eq!(row.bad_figure(), Some(("ci95[1]", f64::INFINITY)));
        row.ci95 = None;
        row.census.as_mut().unwrap().fences.full = -1.0;
        assert_eq!(row.bad_figure(), Some(("census.fences.full", -1.0)));
    }
}
