//! What changing one thing at a time does, paired by seed: each switch of a policy, or each
//! constant of the model, from the differences that stand beside the time against the base's.

use record::Results;
use serde_json::Value;

use super::chart::Estimate;
use super::forest::{Entry, differs};
use super::page::{BODY, GAP, Page, SMALL};
use super::palette::{INK, MUTED, Style, style};
use super::scene::Scene;
use super::tier::WORKLOAD;
use crate::condition::Condition;
use crate::phrase;

/// The metric beside which differences stand.
const METRIC: &str = "relative_time";

/// Figures of a difference: as the record names them, and a heading. Those behind [`PANELS`] are
/// told in words only.
const FIGURES: [(&str, &str); 4] = [
    ("time", "time"),
    ("fast_hit_ratio", "misses served fast"),
    ("rss", "resident at the end"),
    ("migrated", "moved"),
];
const PANELS: usize = 3;

/// Rows of one group at most.
const MOST: usize = 40;

/// Something that was changed, with what that did.
struct Change {
    name: String,
    /// Which of the marks of its row it is: a constant is made smaller and larger.
    series: usize,
    effects: Vec<Option<Estimate>>,
}

impl Change {
    fn time(&self) -> Option<Estimate> {
        self.effects[0]
    }

    /// Whether all seeds gave the same with and without, to the last bit.
    fn does_nothing(&self) -> bool {
        let zero = |one: &Estimate| one.values().all(|value| value == 0.0);
        self.effects.iter().flatten().all(zero)
    }
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A part of a policy.
    Changes,
    /// A constant of the model, by which two policies' difference changes.
    Constants,
}

/// Changes to the same base in one setting.
struct Group {
    setting: String,
    /// What they are changes of, and what they are.
    base: String,
    kind: Kind,
    units: Vec<String>,
    seeds: u64,
    basis: Option<String>,
    changes: Vec<Change>,
}

fn groups(conditions: &[Condition<'_>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for condition in conditions {
        let Some((group, change)) = told(condition, conditions) else {
            continue;
        };
        let same = |one: &Group| (&one.setting, &one.base) == (&group.setting, &group.base);
        let at = groups.iter().position(same).unwrap_or_else(|| {
            groups.push(group);
            groups.len() - 1
        });
        groups[at].changes.extend(change);
    }
    groups.retain(|group| !group.changes.is_empty());
    groups
}

/// The group of a condition, still empty, and its change; the base itself has none.
fn told(condition: &Condition<'_>, all: &[Condition<'_>]) -> Option<(Group, Option<Change>)> {
    let row = condition.middle(METRIC)?;
    let answer = row.answer.as_ref()?;
    let against = answer["against"].as_str()?;
    let policy = condition.param("policy")?;
    let constant = condition.param("constant");
    let listed = |key: &str| -> Vec<Option<String>> {
        let of = |(figure, _): &(&str, &str)| Some(found(answer, figure)?[key].as_str()?.into());
        FIGURES.iter().map(of).collect()
    };
    let setting = condition.distinguishing(all, &["policy", "constant", "factor", "law"]);
    let (base, kind) = match &constant {
        Some(_) => {
            let from = condition.param("from")?;
            (format!("{policy} against {from}"), Kind::Constants)
        }
        None => (against.to_owned(), Kind::Changes),
    };
    let name = constant.unwrap_or_else(|| bare(&policy, against));
    let is_base = name == against;
    let larger = condition
        .number("factor")
        .is_some_and(|factor| factor > 1.0);
    let change = Change {
        name,
        series: usize::from(larger),
        effects: FIGURES
            .iter()
            .map(|(figure, _)| estimate(answer, figure))
            .collect(),
    };
    let group = Group {
        setting: setting.join(", "),
        base,
        kind,
        units: listed("unit")
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect(),
        seeds: row.n,
        basis: listed("interval").into_iter().flatten().next(),
        changes: Vec::new(),
    };
    Some((group, (!is_base).then_some(change)))
}

/// A variant by what it has more than the base; a base's own name, whole.
fn bare(policy: &str, base: &str) -> String {
    let more = policy
        .strip_prefix(base)
        .filter(|more| more.starts_with('+'));
    more.unwrap_or(policy).to_owned()
}

fn found<'a>(answer: &'a Value, figure: &str) -> Option<&'a Value> {
    let effects = answer["effects"].as_array()?;
    effects.iter().find(|effect| effect["figure"] == figure)
}

fn estimate(answer: &Value, figure: &str) -> Option<Estimate> {
    let effect = found(answer, figure)?;
    let ends = &effect["ci95"];
    let interval = ends[0].as_f64().zip(ends[1].as_f64());
    Some(Estimate {
        median: effect["median"].as_f64()?,
        interval: interval.map(|(low, high)| [low, high]),
    })
}

impl Group {
    /// Of its changes, each once: those of one constant follow each other.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.changes.iter().map(|one| one.name.as_str()).collect();
        names.dedup();
        names
    }

    /// What its differences allow to say of time.
    fn finding(&self) -> String {
        let all = self.names().len();
        let base = &self.base;
        let (kind, time) = match self.kind {
            Kind::Constants => ("constant", format!("the time of {base}")),
            Kind::Changes => ("change", "its time".to_owned()),
        };
        let of = |count: u64| match self.kind {
            Kind::Constants => phrase::counted(count, kind),
            Kind::Changes => format!("{} to {base}", phrase::counted(count, kind)),
        };
        if self.basis.is_none() {
            let seeds = phrase::counted(self.seeds, "seed");
            return format!(
                "{}, {seeds}: nothing tells {time} from chance",
                of(all as u64)
            );
        }
        let times = self
            .changes
            .iter()
            .filter_map(|one| Some((one.name.as_str(), one.time()?)));
        let telling: Vec<(&str, Estimate)> = times.filter(|(_, time)| differs(*time)).collect();
        let strongest = telling
            .iter()
            .max_by(|a, b| a.1.median.abs().total_cmp(&b.1.median.abs()));
        let Some((name, most)) = strongest else {
            return format!("None of {} changes {time}", of(all as u64));
        };
        let mut distinct: Vec<&str> = telling.iter().map(|(name, _)| *name).collect();
        distinct.dedup();
        let changes = if distinct.len() == 1 {
            "changes"
        } else {
            "change"
        };
        format!(
            "{} of {} {changes} {time}; most does {name}, {:+.1} {}",
            distinct.len(),
            of(all as u64),
            most.median,
            self.units[0]
        )
    }

    /// Rows for a figure, by what they do to time, and the names that are left out: of those that
    /// change nothing, and of those that would be too many.
    fn entries(&self) -> (Vec<Entry>, Vec<String>, usize) {
        let names = self.names();
        let of = |name: &str| -> Vec<&Change> {
            self.changes.iter().filter(|one| one.name == name).collect()
        };
        let (none, some): (Vec<&str>, Vec<&str>) = names
            .into_iter()
            .partition(|name| of(name).iter().all(|one| one.does_nothing()));
        let reach = |name: &str| -> f64 {
            let times = of(name).into_iter().filter_map(Change::time);
            times.map(|time| time.median.abs()).fold(0.0, f64::max)
        };
        let mut shown = some;
        shown.sort_by(|a, b| reach(b).total_cmp(&reach(a)));
        let beyond = shown.len().saturating_sub(MOST);
        shown.truncate(MOST);
        let signed = |name: &str| of(name)[0].time().map_or(0.0, |time| time.median);
        shown.sort_by(|a, b| signed(a).total_cmp(&signed(b)));
        let entry = |name: &&str| {
            let mut series = vec![vec![None; PANELS]; self.series().len()];
            for change in of(name) {
                series[change.series] = change.effects[..PANELS].to_vec();
            }
            Entry {
                name: (*name).to_owned(),
                series,
            }
        };
        let entries = shown.iter().map(entry).collect();
        (
            entries,
            none.into_iter().map(str::to_owned).collect(),
            beyond,
        )
    }

    fn series(&self) -> Vec<(&'static str, Style)> {
        match self.kind {
            Kind::Constants => vec![("25 % less", style(0)), ("25 % more", style(1))],
            Kind::Changes => vec![("with the change", style(0))],
        }
    }
}

/// The findings, a sentence a group.
pub(crate) fn sentences(conditions: &[Condition<'_>]) -> Vec<String> {
    let groups = groups(conditions);
    let many = groups.len() > 1;
    let sentence = |group: &Group| {
        let finding = group.finding();
        if many {
            format!("{}: {finding}.", group.setting)
        } else {
            format!("{finding}.")
        }
    };
    groups.iter().map(sentence).collect()
}

/// A panel a figure, a row a change.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let conditions = Condition::of_workload(results, WORKLOAD);
    let groups = groups(&conditions);
    let first = groups.first()?;
    let title = match groups.len() {
        1 => first.finding(),
        many => format!("Differences to {}, in {many} settings", first.base),
    };
    let mut page = Page::new(&title, WORKLOAD, results, &conditions);
    page.paragraph(SMALL, MUTED, &key(first));
    for group in &groups {
        section(&mut page, group, groups.len() > 1);
    }
    Some(page.finish(results))
}

fn key(group: &Group) -> String {
    let drawn = FIGURES[..PANELS]
        .iter()
        .map(|(_, heading)| (*heading).to_owned());
    let basis = match &group.basis {
        Some(basis) => format!("lines their 95 % intervals ({basis}); pale where one holds 0"),
        None => "without intervals, of which one seed makes none: pale".to_owned(),
    };
    format!(
        "Differences of the same seed with and without. Markers: medians, {basis}. An arrow: \
         beyond the axis. Drawn are {}; bytes moved are in the record.",
        phrase::joined(drawn)
    )
}

fn section(page: &mut Page, group: &Group, named: bool) {
    page.y += GAP;
    if named {
        page.paragraph(BODY, INK, &group.setting);
    }
    let series = group.series();
    if series.len() > 1 {
        page.legend(&series);
    }
    let (entries, none, beyond) = group.entries();
    let headings = FIGURES.iter().zip(&group.units).take(PANELS);
    let headings: Vec<String> = headings
        .map(|((_, heading), unit)| format!("{heading}, {unit}"))
        .collect();
    let styles: Vec<Style> = series.into_iter().map(|(_, style)| style).collect();
    if !entries.is_empty() {
        page.forest(&headings, &entries, &styles);
    }
    if beyond > 0 {
        let shown = format!("Left out: {beyond} that change the time least.");
        page.paragraph(SMALL, MUTED, &shown);
    }
    if !none.is_empty() {
        let names = phrase::joined(none);
        let same = format!("Left out, for they change nothing, to the last bit: {names}.");
        page.paragraph(SMALL, MUTED, &same);
    }
}
