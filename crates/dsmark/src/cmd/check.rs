//! `dsmark check`: every primitive against everything that the memory may do.

use std::fmt::Write as _;

use check::{Bounds, Budget, Checkable, Fate, Litmus, Record, Survey, Tally, Twin, Verdict};
use serde_json::json;

use crate::cli::Check;
use crate::failure::Failure;
use crate::out::print;

/// Names that are checked only where they are asked for.
const ON_REQUEST: [&str; 3] = ["kernel", "litmus", "zoo"];

pub(crate) fn check(args: &Check) -> Result<(), Failure> {
    let subjects = chosen(&args.names);
    let tests = litmus(&args.names);
    if subjects.is_empty() && tests.is_empty() {
        return Err(unknown(&args.names));
    }
    let budget = Budget {
        states: args.budget.max(1),
        seed: args.seed,
        twins: !args.no_twins,
    };
    let mut failed = Vec::new();
    for subject in subjects {
        let survey = check::survey(&*subject, budget);
        if survey.record.verdict == Verdict::Fail {
            failed.push(survey.record.name.clone());
        }
        print(&if args.json {
            line(&survey.record)
        } else {
            text(&survey)
        })?;
    }
    for test in tests {
        let (passes, shown) = of_litmus(&test, args.json);
        if !passes {
            failed.push(test.name().to_owned());
        }
        print(&shown)?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Measured(format!(
        "{} failed: {}; the findings above name line and cure",
        failed.len(),
        failed.join(", ")
    )))
}

/// Every subject that can be checked by name.
pub(crate) fn everything() -> Vec<Box<dyn Checkable>> {
    let zoo = check::zoo::entries().map(|entry| entry.fault());
    let subjects = subjects::all().into_iter().chain(subjects::kernels());
    subjects.chain(zoo).collect()
}

/// The subject of this very name.
pub(crate) fn named(name: &str) -> Result<Box<dyn Checkable>, Failure> {
    let cured = check::zoo::entries().map(|entry| entry.cure());
    let mut all = everything().into_iter().chain(cured);
    let found = all.find(|subject| subject.name() == name);
    found.ok_or_else(|| unknown(&[name.to_owned()]))
}

fn chosen(names: &[String]) -> Vec<Box<dyn Checkable>> {
    let all = everything().into_iter();
    all.filter(|subject| {
        let name = subject.name();
        if names.is_empty() {
            return !ON_REQUEST.iter().any(|group| name.starts_with(group));
        }
        names.iter().any(|wanted| name.starts_with(wanted.as_str()))
    })
    .collect()
}

fn litmus(names: &[String]) -> Vec<Litmus> {
    let wanted = |test: &Litmus| {
        let name = format!("litmus/{}", test.name());
        names.iter().any(|wanted| name.starts_with(wanted.as_str()))
    };
    check::litmus::all().into_iter().filter(wanted).collect()
}

fn unknown(names: &[String]) -> Failure {
    let known: Vec<String> = everything().iter().map(|subject| subject.name()).collect();
    Failure::usage(format!(
        "no program is called {}; there are {}, and litmus/NAME",
        names.join(", "),
        known.join(", ")
    ))
}

fn line(record: &Record) -> String {
    let value = serde_json::to_value(record).expect("a record has only finite numbers and text");
    format!("{value}\n")
}

/// A litmus test passes if what is computed is what its file says.
fn of_litmus(test: &Litmus, as_json: bool) -> (bool, String) {
    let mut wrong = Vec::new();
    let mut outcomes = 0;
    for writes in test.modes() {
        let found = test.outcomes(writes);
        outcomes += found.len();
        if test.set(writes).map(check::litmus::Set::exact) != Some(&found) {
            wrong.push(writes.to_string());
        }
    }
    let passes = wrong.is_empty();
    let name = format!("litmus/{}", test.name());
    if as_json {
        let finding = (!passes).then(|| {
            json!({"kind": "wrong", "what": format!("other outcomes in {}", wrong.join(", ")),
                   "where": name, "cure": null, "token": "", "trace": []})
        });
        let verdict = if passes { Verdict::Pass } else { Verdict::Fail };
        let value = json!({"name": name, "verdict": verdict, "bounds": Bounds::SATURATED,
            "hosts": test.pod().hosts, "executions": outcomes, "steps": 0,
            "omissions": Tally::default(), "finding": finding});
        return (passes, format!("{value}\n"));
    }
    let verdict = if passes { "pass" } else { "FAIL" };
    (
        passes,
        format!(
            "{name:<34} {verdict:<8} {outcomes:>9} outcomes  {}\n",
            test.about()
        ),
    )
}

fn text(survey: &Survey) -> String {
    let record = &survey.record;
    let verdict = match record.verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Bounded => "bounded".to_owned(),
        Verdict::Fail => "FAIL".to_owned(),
    };
    let mut text = format!(
        "{:<34} {verdict:<8} {:>9} states {:>10} steps{}\n",
        record.name,
        record.states,
        record.steps,
        within(record)
    );
    if let Some(finding) = &record.finding {
        let _ = writeln!(text, "\n{finding}");
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

fn within(record: &Record) -> String {
    if record.verdict != Verdict::Bounded {
        return String::new();
    }
    let moves = record.bounds.environment;
    let moves = moves.map_or("any number of".to_owned(), |moves| format!("up to {moves}"));
    format!(
        "  with {moves} environment moves, at most {} states",
        record.bounds.states
    )
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
