//! Locks, barriers, atomics: every way beside what none can beat, and beside what the hardware of
//! one host does; then the same against contention.

mod over;
mod panel;

use record::{Coherence, Results};

use super::page::{Page, SMALL};
use super::palette::{MUTED, Style, style};
use super::scene::Scene;
use crate::condition::{Condition, places};
use crate::phrase;
use over::Over;
pub(crate) use panel::{Entry, Panel};

/// What a panel asks: a metric, what it is called, and the least that it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    metric: &'static str,
    pub(crate) what: &'static str,
    bound: &'static str,
    /// What the bound is made of.
    pub(crate) because: &'static str,
}

/// A workload whose ways are compared.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) workload: &'static str,
    /// Parameters that name a way.
    ways: &'static [&'static str],
    /// Parameters, alike for all ways of a panel.
    setup: &'static [&'static str],
    ask: fn(&Condition<'_>) -> Ask,
    charts: &'static [Over],
}

const ACQUIRE: Ask = Ask {
    metric: "acquire_ns",
    what: "acquire",
    bound: "acquire_bound_ns",
    because: "a write, then a read",
};
const HANDOVER: Ask = Ask {
    metric: "handover_ns",
    what: "hand-over",
    bound: "handover_bound_ns",
    because: "one trip between hosts",
};
const BARRIER: Ask = Ask {
    metric: "barrier_ns",
    what: "barrier",
    bound: "barrier_bound_ns",
    because: "one trip between hosts",
};
const OPERATION: Ask = Ask {
    metric: "op_ns",
    what: "operation",
    bound: "op_bound_ns",
    because: "two trips between hosts",
};

pub(crate) static LOCK: Subject = Subject {
    workload: "lock",
    ways: &["algorithm"],
    setup: &["contenders", "critical_section_ns", "protected_lines"],
    ask: |one| {
        if one.number("contenders") == Some(1.0) {
            ACQUIRE
        } else {
            HANDOVER
        }
    },
    charts: &[
        Over::new(
            "throughput_per_s",
            "contenders",
            "Holds a second",
            "contenders",
        ),
        Over::new(
            "jain_fairness",
            "contenders",
            "Fairness (Jain)",
            "contenders",
        ),
        Over::new(
            "throughput_per_s",
            "critical_section_ns",
            "Holds a second",
            "critical section, ns",
        ),
        Over::new(
            "throughput_per_s",
            "protected_lines",
            "Holds a second",
            "lines that each holder republishes",
        ),
    ],
};

pub(crate) static BARRIERS: Subject = Subject {
    workload: "barrier",
    ways: &["algorithm"],
    setup: &["contenders", "skew_ns"],
    ask: |_| BARRIER,
    charts: &[Over::new(
        "barrier_ns",
        "skew_ns",
        "The last lane's barrier",
        "from the first lane's arrival to the last's, ns",
    )],
};

pub(crate) static ATOMIC: Subject = Subject {
    workload: "atomic",
    ways: &["via", "op"],
    setup: &["contenders", "read_share"],
    ask: |_| OPERATION,
    charts: &[
        Over::new(
            "throughput_per_s",
            "contenders",
            "Operations a second",
            "contenders",
        ),
        Over::new("op_ns", "contenders", "An operation", "contenders"),
        Over::new("op_ns", "read_share", "An operation", "share of reads"),
    ],
};

/// Where something happens.
pub(crate) const PLACES: [&str; 3] = [
    "between hosts",
    "inside one host, by its hardware",
    "between hosts, without an answer",
];

const KEY: &str = "Marker: median. Thick line: its 95 % interval. Thin line: to its 99th \
                   percentile. Vertical line: the least that any algorithm between the hosts can \
                   take, measured in the same trials; behind each value, how many times it that \
                   is.";

/// Fields that have a place of their own.
const KNOWN: [&str; 3] = ["spread", "lanes", "label"];

/// The figure; none where there are no rows.
fn draw(subject: &Subject, results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, subject.workload);
    conditions.first()?;
    let title = subject.title(&conditions);
    let mut page = Page::new(&title, subject.workload, results, &conditions);
    let legend: Vec<(&str, Style)> = PLACES
        .iter()
        .enumerate()
        .filter(|(index, _)| conditions.iter().any(|one| place(subject, one) == *index))
        .map(|(index, name)| (*name, style(index)))
        .collect();
    page.legend(&legend);
    page.paragraph(SMALL, MUTED, KEY);
    let (mut label, all) = (None, places(&conditions));
    for section in conditions.chunk_by(|left, right| left.place() == right.place()) {
        if label.replace(section[0].label) != Some(section[0].label) {
            page.section(section[0].label);
        }
        page.place(section[0].place(), &all);
        for panel in subject.panels(section) {
            page.panel(&panel);
        }
        for over in subject.charts {
            over.draw(&mut page, subject, section);
        }
        page.notes(subject.notes(section).into_iter());
    }
    Some(page.finish(results))
}

pub(super) fn draw_lock(results: &Results) -> Option<Scene> {
    draw(&LOCK, results)
}

pub(super) fn draw_barrier(results: &Results) -> Option<Scene> {
    draw(&BARRIERS, results)
}

pub(super) fn draw_atomic(results: &Results) -> Option<Scene> {
    draw(&ATOMIC, results)
}

/// Index into [`PLACES`].
fn place(subject: &Subject, condition: &Condition<'_>) -> usize {
    let row = condition.rows[0];
    let lanes = condition.number("contenders").unwrap_or(0.0) <= f64::from(row.lanes);
    let one_host = condition.param("spread").as_deref() == Some("lanes") && lanes;
    let mut ways = subject.ways.iter().filter_map(|way| condition.param(way));
    let instructions = ways.any(|way| way.starts_with("hardware"));
    let confined = instructions && row.coherence == Coherence::Software;
    let silent = condition.param("via").as_deref() == Some("sharded");
    if row.hosts == 1 || one_host || confined {
        return 1;
    }
    // A sharded add returns nothing, so it need not wait for anybody: the bound is not its.
    2 * usize::from(silent)
}

/// A parameter of a setup. Of a barrier, all lanes that meet: four of one host stand beside one of
/// each of four.
fn of_setup(subject: &Subject, condition: &Condition<'_>, name: &str) -> String {
    let given = condition.param(name).unwrap_or_default();
    let row = condition.rows[0];
    match (subject.workload, name) {
        ("barrier", "contenders") => {
            let lanes = given.parse().unwrap_or(0);
            let lanes = if lanes == 0 { row.lanes } else { lanes };
            let one_host = condition.param("spread").as_deref() == Some("lanes");
            let hosts = if one_host { 1 } else { row.hosts };
            (lanes * hosts).to_string()
        }
        _ => given,
    }
}

/// Parameters of a setup and their values.
type Setup = Vec<(&'static str, String)>;

/// A setup for people; a parameter that is not in play is left out.
fn said(subject: &Subject, values: &[(&str, String)]) -> String {
    let words = values.iter().filter_map(|(name, value)| {
        let what = if subject.workload == "barrier" {
            "lane"
        } else {
            "contender"
        };
        match (*name, value.as_str()) {
            ("contenders", many) => Some(phrase::counted(many.parse().ok()?, what)),
            (_, "0" | "0.0" | "") => None,
            (name, value) => Some(format!("{} {value}", name.replace('_', " "))),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

impl Subject {
    /// What a condition's way is called, without what tells it from others of the same way.
    fn way(&self, condition: &Condition<'_>) -> String {
        let ways = self.ways.iter().filter_map(|way| condition.param(way));
        phrase::joined(ways)
    }

    /// The same with whatever else varies.
    fn name(&self, condition: &Condition<'_>, all: &[Condition<'_>]) -> String {
        let mut known: Vec<&str> = KNOWN.to_vec();
        known.extend(self.ways);
        known.extend(self.setup);
        let others = condition.distinguishing(all, &known);
        phrase::joined(std::iter::once(self.way(condition)).chain(others))
    }

    /// The panels of a pod: those of the setups in which most ways were measured.
    pub(crate) fn panels<'a>(&self, section: &[Condition<'a>]) -> Vec<Panel<'a>> {
        Panel::of_setups(self, section)
    }

    /// Each setup's finding, the first one's being the figure's.
    fn title(&self, conditions: &[Condition<'_>]) -> String {
        let first = &conditions[0];
        let same = |one: &&Condition<'_>| one.place() == first.place();
        let section: Vec<Condition<'_>> = conditions.iter().filter(same).cloned().collect();
        let panels = self.panels(&section);
        let finding = panels.first().map(Panel::finding);
        finding.unwrap_or_else(|| format!("No {} was measured", (self.ask)(first).what))
    }

    /// Why something has no value, each reason with the ways it befell.
    fn notes(&self, section: &[Condition<'_>]) -> Vec<String> {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for condition in section {
            let asked = (self.ask)(condition).metric;
            let Some(reason) = condition.absence(asked) else {
                continue;
            };
            let way = self.way(condition);
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, ways)) if ways.contains(&way) => {}
                Some((_, ways)) => ways.push(way),
                None => reasons.push((reason, vec![way])),
            }
        }
        let note = |(reason, ways): (String, Vec<String>)| format!("{}: {reason}", ways.join("; "));
        reasons.into_iter().map(note).collect()
    }
}
