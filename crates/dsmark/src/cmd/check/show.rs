//! What was found, for people.

use std::fmt::Write as _;

use check::{Fate, Record, Survey, Tally, Twin, Verdict};

pub(super) fn text(survey: &Survey) -> String {
    let record = &survey.record;
    let verdict = verdict(record);
    let mut text = format!(
        "{:<34} {verdict:<8} {:>9} states {:>10} steps{}\n",
        record.name,
        record.states,
        record.steps,
        within(record)
    );
    match &record.finding {
        Some(finding) if record.is_as_expected() => {
            let _ = writeln!(text, "  as it must be: {}: {}", finding.kind, finding.what);
            let _ = writeln!(text, "  token {}", finding.token);
        }
        Some(finding) => {
            let _ = writeln!(text, "\n{finding}");
        }
        None => {}
    }
    twins(&mut text, "left out", &record.omissions, &survey.omissions);
    twins(
        &mut text,
        "weakened",
        &record.weakenings,
        &survey.weakenings,
    );
    text
}

/// In one word.
pub(super) fn verdict(record: &Record) -> &'static str {
    match record.verdict {
        Verdict::Pass => "pass",
        Verdict::Bounded => "bounded",
        Verdict::Fail if record.is_as_expected() => "caught",
        Verdict::Fail => "FAIL",
    }
}

/// How far it went, where that is not everything.
fn within(record: &Record) -> String {
    if record.verdict != Verdict::Bounded {
        return String::new();
    }
    if record.states == 0 {
        return format!("  {} runs by chance", record.runs);
    }
    let moves = record.bounds.environment;
    let moves = moves.map_or("any number of".to_owned(), |moves| format!("up to {moves}"));
    let lanes = record.bounds.preemptions;
    let lanes = lanes.map_or(String::new(), |lanes| format!(", {lanes} pre-emptions"));
    let runs = match record.runs {
        0 => String::new(),
        runs => format!(", {runs} runs by chance"),
    };
    let all = if record.exhausted {
        ", all of them".to_owned()
    } else {
        format!(", the first {} states", record.states)
    };
    format!("  with {moves} environment moves{lanes}{all}{runs}")
}

fn twins(text: &mut String, how: &str, tally: &Tally, twins: &[Twin]) {
    if tally.tried == 0 {
        return;
    }
    let _ = writeln!(
        text,
        "  {how}: {} tried, {} caught, {} wasted, {} undecided",
        tally.tried, tally.caught, tally.wasted, tally.undecided
    );
    for twin in twins {
        let fate = match &twin.fate {
            Fate::Caught(_) => continue,
            Fate::Wasted => "wasted".to_owned(),
            Fate::Undecided(why) => format!("undecided, {why}"),
        };
        let weaker = twin.weaker.map(|how| format!(", {}", how.name()));
        let _ = writeln!(
            text,
            "    {}{}: {fate}",
            twin.site,
            weaker.unwrap_or_default()
        );
    }
}
