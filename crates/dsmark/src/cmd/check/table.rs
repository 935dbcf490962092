//! The same as a Markdown table, a program a row, and the twins that nothing decided.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use check::{Fate, Record, Survey, Tally, Verdict};

use super::show;

/// Above the rows.
pub(super) const HEAD: &str = "\
| program | verdict | environment moves, pre-emptions | states | by chance (PCT) | left out | \
weakened | seconds |
|---|---|---|---|---|---|---|---|
";

/// A twin that was neither caught nor shown to be unnecessary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Undecided {
    program: String,
    /// The operation, its file, and what became of it in the twin.
    what: String,
    why: String,
}

/// One program.
pub(super) fn row(record: &Record) -> String {
    let kind = match &record.finding {
        Some(finding) if record.is_as_expected() => format!(": {}", finding.kind),
        _ => String::new(),
    };
    let verdict = show::verdict(record);
    let runs = match record.runs {
        0 => String::new(),
        runs => format!("{runs} ({})", record.pct_runs),
    };
    format!(
        "| `{}` | {verdict}{kind} | {} | {} | {runs} | {} | {} | {:.1} |\n",
        record.name,
        bounds(record),
        record.states,
        of_twins(record.omissions),
        of_twins(record.weakenings),
        record.seconds,
    )
}

fn bounds(record: &Record) -> String {
    let told = |bound: Option<u32>| bound.map_or("any".to_owned(), |bound| bound.to_string());
    let (moves, leaves) = (record.bounds.environment, record.bounds.preemptions);
    let all = match (record.verdict, record.exhausted) {
        (Verdict::Fail, _) => return String::new(),
        _ if record.states == 0 => return "no search".to_owned(),
        (_, true) => "all",
        (_, false) => "in part",
    };
    format!("{}, {}: {all}", told(moves), told(leaves))
}

/// Caught, wasted, undecided.
fn of_twins(tally: Tally) -> String {
    if tally.tried == 0 {
        return String::new();
    }
    format!("{} / {} / {}", tally.caught, tally.wasted, tally.undecided)
}

/// The undecided twins of one program.
pub(super) fn undecided(survey: &Survey) -> Vec<Undecided> {
    let twins = survey.omissions.iter().chain(&survey.weakenings);
    let open = twins.filter_map(|twin| {
        let Fate::Undecided(why) = &twin.fate else {
            return None;
        };
        let change = twin.weaker.map_or("left out", |how| how.name());
        Some(Undecided {
            program: survey.record.name.clone(),
            what: format!("{}, {change}", twin.site),
            why: why.clone(),
        })
    });
    open.collect()
}

/// All of them, by program.
pub(super) fn listed(twins: &[Undecided]) -> String {
    let mut programs: BTreeMap<&str, Vec<&Undecided>> = BTreeMap::new();
    for twin in twins {
        programs.entry(&twin.program).or_default().push(twin);
    }
    let mut text = String::new();
    for (program, twins) in programs {
        let _ = writeln!(text, "\nUndecided twins of `{program}`:\n");
        for twin in twins {
            let _ = writeln!(text, "- {}: {}", twin.what, twin.why);
        }
    }
    text
}
