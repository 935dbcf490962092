//! What each step costs here, in sentences: every number with its interval, every sentence about
//! rows of one label only.

use record::{Label, Results, Row};

use crate::condition::{Condition, capital, places};
use crate::figure::bandwidth::{self, by_lanes, loaded, unloaded};
use crate::figure::bounded::{self, Entry, PLACES, Panel, Subject};
use crate::figure::curve::Curve;
use crate::figure::latency::{self, by_working_set};
use crate::figure::ruler::bytes;
use crate::figure::{finding, primitive, tier, tier_effects, visibility};
use crate::law;
use crate::phrase;
use crate::scaling;

/// What one kind of step costs, by one kind of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) step: &'static str,
    pub(crate) label: Label,
    pub(crate) sentences: Vec<String>,
}

/// The steps of the question, and the workload that measures each.
const STEPS: [(&str, &str); 8] = [
    ("Loads and stores", latency::WORKLOAD),
    ("Bandwidth", bandwidth::WORKLOAD),
    ("Cache instructions and fences", primitive::WORKLOAD),
    ("Publish and observe", visibility::WORKLOAD),
    ("Locks", "lock"),
    ("Barriers", "barrier"),
    ("Atomic operations", "atomic"),
    ("Sharing", law::WORKLOAD),
];

/// Questions about one host: whether they were asked shows in the rows alone.
const BESIDES: [(&str, &str); 2] = [
    ("Tiering", tier::WORKLOAD),
    ("What a sampler sees of huge pages", tier::SKEW),
];

/// The answers, in the order of the question, and the steps that no row is about. Results of
/// tiering alone leave no step of the pod unanswered: nobody asked for one.
pub(crate) fn answers(results: &Results) -> (Vec<Topic>, Vec<&'static str>) {
    let (mut topics, mut unanswered) = (Vec::new(), Vec::new());
    for (step, workload) in STEPS.into_iter().chain(BESIDES) {
        let conditions = Condition::of_workload(results, workload);
        for of_label in conditions.chunk_by(|left, right| left.label == right.label) {
            topics.push(Topic {
                step,
                label: of_label[0].label,
                sentences: sentences(results, workload, of_label),
            });
        }
        if conditions.is_empty() && STEPS.iter().any(|(asked, _)| *asked == step) {
            unanswered.push(step);
        }
    }
    topics.extend(scaling::scalings(results).iter().map(|scaling| Topic {
        step: "Graph kernels",
        label: scaling.label,
        sentences: scaling.sentences(),
    }));
    let besides = |row: &Row| {
        BESIDES
            .iter()
            .any(|(_, workload)| *workload == row.workload)
    };
    if !results.rows.is_empty() && results.rows.iter().all(besides) {
        unanswered.clear();
    }
    (topics, unanswered)
}

fn sentences(results: &Results, workload: &str, conditions: &[Condition<'_>]) -> Vec<String> {
    let label = conditions[0].label;
    let laws = || {
        law::laws(results)
            .into_iter()
            .filter(|law| law.label == label)
    };
    let mut sentences = match workload {
        latency::WORKLOAD => accesses(conditions),
        bandwidth::WORKLOAD => rates(conditions),
        primitive::WORKLOAD => instructions(conditions),
        visibility::WORKLOAD => updates(conditions),
        "lock" => compared(&bounded::LOCK, conditions),
        "barrier" => compared(&bounded::BARRIERS, conditions),
        "atomic" => compared(&bounded::ATOMIC, conditions),
        law::WORKLOAD => laws().flat_map(|law| law.sentences()).collect(),
        tier::WORKLOAD => tiers(conditions),
        tier::SKEW => tier::skew_title(conditions)
            .map(|title| format!("{title}."))
            .into_iter()
            .collect(),
        _ => medians(conditions),
    };
    if sentences.is_empty() {
        let reasons = conditions.iter().find_map(|one| {
            let metric = one.rows[0].metric.as_str();
            one.absence(metric)
        });
        let reason = reasons.unwrap_or_else(|| "the rows hold no figure known here".to_owned());
        sentences.push(format!("Nothing was measured; {reason}."));
    }
    sentences
}

/// A load, a store, a flush and reload, each from the smallest working set to the largest.
fn accesses(conditions: &[Condition<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (metric, _, name) in latency::METRICS {
        for curve in by_working_set(conditions, metric) {
            sentences.push(access(name, &curve));
        }
    }
    sentences
}

fn access(name: &str, curve: &Curve<'_>) -> String {
    let at = |(size, row): &(f64, &Row)| {
        let size = crate::text::unbroken(&bytes(*size));
        format!("{} within {size}", phrase::estimate(row))
    };
    let mut points = vec![at(&curve.points[0])];
    if let [_, .., last] = curve.points.as_slice() {
        points.push(at(last));
    }
    format!(
        "{} costs {} ({}).",
        capital(name),
        points.join(" and "),
        curve.name
    )
}

fn rates(conditions: &[Condition<'_>]) -> Vec<String> {
    let alone = unloaded(conditions);
    let mut places: Vec<String> = alone.iter().map(phrase::the_place).collect();
    places.sort();
    places.dedup();
    let mut sentences = Vec::new();
    for place in places.iter().rev() {
        let here: Vec<Condition<'_>> = alone
            .iter()
            .filter(|one| phrase::the_place(one) == *place)
            .cloned()
            .collect();
        let rates = by_lanes(&here);
        let rates: Vec<String> = rates.iter().filter_map(rate).collect();
        if !rates.is_empty() {
            sentences.push(format!("{}: {}.", capital(place), rates.join("; ")));
        }
    }
    sentences.extend(loaded(conditions).iter().filter_map(under_load));
    sentences
}

fn rate(curve: &Curve<'_>) -> Option<String> {
    let (lanes, row) = curve.points.last()?;
    Some(format!(
        "{} {} by {}",
        curve.name,
        phrase::estimate(row),
        phrase::counted(*lanes as u64, "lane")
    ))
}

fn under_load((name, points): &bandwidth::Loaded<'_>) -> Option<String> {
    let ((idle, light), (busy, heavy)) = (points.first()?, points.last()?);
    if points.len() == 1 {
        return Some(format!(
            "Under load a load costs {} while other lanes move {} ({name}).",
            phrase::estimate(heavy),
            phrase::estimate(busy)
        ));
    }
    Some(format!(
        "Under load a load costs {} while other lanes move {}, and {} at {} ({name}).",
        phrase::estimate(light),
        phrase::estimate(idle),
        phrase::estimate(heavy),
        phrase::estimate(busy)
    ))
}

fn instructions(conditions: &[Condition<'_>]) -> Vec<String> {
    let entries = primitive::entries(conditions);
    let said = entries.iter().filter_map(|entry| {
        let costs: Vec<String> = entry.costs().map(|(mode, row)| cost(mode, row)).collect();
        (!costs.is_empty()).then(|| format!("{}: {}.", entry.name, costs.join("; ")))
    });
    said.collect()
}

fn cost(mode: &str, row: &Row) -> String {
    format!("{} {mode}", phrase::estimate(row))
}

fn updates(conditions: &[Condition<'_>]) -> Vec<String> {
    let mut ordered = visibility::order(conditions.to_vec());
    let mut sentences = vec![format!("{}.", finding::title(&ordered))];
    ordered.retain(|one| one.middle(visibility::METRICS[0].0).is_some());
    let said = ordered.iter().filter_map(|one| {
        let of = |(metric, name): (&str, &str)| {
            let row = one.middle(metric)?;
            Some(format!("{} {name}", phrase::estimate(row)))
        };
        let said: Vec<String> = visibility::METRICS.into_iter().filter_map(of).collect();
        let name = visibility::name(one, conditions);
        (!said.is_empty()).then(|| format!("{name}: {}.", said.join("; ")))
    });
    sentences.extend(said);
    sentences
}

/// Every way in the setups that the figure shows too.
fn compared(subject: &Subject, conditions: &[Condition<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    let all = places(conditions);
    for pod in conditions.chunk_by(|left, right| left.place() == right.place()) {
        let at = pod[0].place();
        for panel in subject.panels(pod) {
            sentences.push(format!("{}{}.", panel.finding(), at.told(&all)));
            for place in 0..PLACES.len() {
                sentences.extend(ways(&panel, place, &at.name(&all)));
            }
        }
    }
    sentences
}

fn ways(panel: &Panel<'_>, place: usize, pod: &str) -> Option<String> {
    let here = panel.entries.iter().filter(|entry| entry.place == place);
    let way = |entry: &Entry<'_>| {
        let estimate = phrase::estimate(entry.row);
        let times = panel
            .times(entry)
            .map(|times| format!("{times:.2} x the bound"));
        phrase::joined([
            format!("{} {estimate}", entry.name),
            times.unwrap_or_default(),
        ])
    };
    let said: Vec<String> = here.map(way).collect();
    let bound = panel
        .bound
        .filter(|_| place == 0)
        .map(|bound| format!("; at least {bound:.0} ns, {}", panel.ask.because));
    let setup = phrase::joined([panel.ask.what.to_owned(), panel.setup.clone()]);
    (!said.is_empty()).then(|| {
        format!(
            "{} {} (pod {pod}{}): {}.",
            capital(&setup),
            PLACES[place],
            bound.unwrap_or_default(),
            said.join("; ")
        )
    })
}

/// What changes made, if some were; a policy's time on a workload, what the fast tier serves, and
/// how far that is from the bounds.
fn tiers(conditions: &[Condition<'_>]) -> Vec<String> {
    let all = places(conditions);
    let said = conditions.iter().filter_map(|one| {
        let param = |name| one.param(name).unwrap_or_default();
        let time = phrase::estimate(one.middle(tier::TIME)?);
        let (policy, workload) = (param("policy"), param("workload"));
        let (ratio, memory) = (param("ratio"), param("capacity_tier"));
        let figures = [
            ("normalized_performance", "of all-capacity's speed"),
            ("fast_hit_ratio", "of misses served by the fast tier"),
            ("oracle_gap_closed", "of the way to the best oracle"),
            ("relative_time", "of the base's time"),
            ("rss_bytes", "resident"),
            ("migrated_bytes", "moved"),
        ];
        let figures = figures.iter().filter_map(|&(metric, name)| {
            let row = one.middle(metric)?;
            Some(format!("{} {name}", phrase::estimate(row)))
        });
        let said: Vec<String> = std::iter::once(time).chain(figures).collect();
        Some(format!(
            "{policy}, {workload} at {ratio} with {memory}{}: {}.",
            one.place().told(&all),
            said.join("; ")
        ))
    });
    let mut sentences = tier_effects::sentences(conditions);
    sentences.extend(said);
    let rows = conditions.iter().flat_map(|one| &one.rows).copied();
    let caveats = phrase::caveats(rows).into_iter();
    sentences.extend(caveats.map(|caveat| format!("Caveat: {caveat}.")));
    sentences
}

/// For a workload without words of its own: every condition's medians.
fn medians(conditions: &[Condition<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    let all = places(conditions);
    for condition in conditions {
        let mut metrics: Vec<&str> = Vec::new();
        for row in condition.rows.iter().filter(|row| row.p50.is_some()) {
            if !metrics.contains(&row.metric.as_str()) {
                metrics.push(&row.metric);
            }
        }
        let said = metrics.into_iter().filter_map(|metric| {
            let row = condition.middle(metric)?;
            Some(format!("{metric} {}", phrase::estimate(row)))
        });
        let said: Vec<String> = said.collect();
        let params = condition.rows[0].params.iter();
        let params =
            params.map(|(name, value)| format!("{name} {}", crate::condition::plain(value)));
        if !said.is_empty() {
            let (at, params) = (condition.place().told(&all), phrase::joined(params));
            sentences.push(format!("{params}{at}: {}.", said.join("; ")));
        }
    }
    sentences
}
