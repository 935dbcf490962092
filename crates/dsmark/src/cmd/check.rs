//! `dsmark check`: every primitive against everything that the memory may do.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use check::{Bounds, Budget, Checkable, Fate, Litmus, Record, Survey, Tally, Twin, Verdict};
use serde_json::json;

use crate::cli::Check;
use crate::failure::Failure;
use crate::out::print;

/// Names that are checked only where they are asked for.
const ON_REQUEST: [&str; 3] = ["kernel", "litmus", "zoo"];

pub(crate) fn check(args: &Check) -> Result<(), Failure> {
    if args.budget == 0 {
        return Err(Failure::usage(
            "--budget 0 visits nothing; give the states of one search, as --budget 300000",
        ));
    }
    let subjects = chosen(&args.names);
    let tests = litmus(&args.names);
    for name in &args.names {
        let mut found = subjects.iter().map(|it| it.name());
        let is_test = || tests.iter().any(|it| wants(name, &full_name(it)));
        if !found.any(|found| wants(name, &found)) && !is_test() {
            return Err(unknown(name));
        }
    }
    let budget = Budget {
        states: args.budget,
        seed: args.seed,
        twins: !args.no_twins,
    };
    let mut failed = Vec::new();
    for subject in subjects {
        let survey = check::survey(&*subject, budget);
        if !survey.record.is_as_expected() {
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
    found.ok_or_else(|| unknown(name))
}

fn chosen(names: &[String]) -> Vec<Box<dyn Checkable>> {
    let all = everything().into_iter();
    all.filter(|subject| {
        let name = subject.name();
        if names.is_empty() {
            return !ON_REQUEST.iter().any(|group| name.starts_with(group));
        }
        names.iter().any(|wanted| wants(wanted, &name))
    })
    .collect()
}

/// Whether a name is asked for: by its beginning, or by what follows its group.
fn wants(wanted: &str, name: &str) -> bool {
    let bare = name.split_once('/').map(|(_, bare)| bare);
    name.starts_with(wanted) || bare == Some(wanted)
}

fn full_name(test: &Litmus) -> String {
    format!("litmus/{}", test.name())
}

fn litmus(names: &[String]) -> Vec<Litmus> {
    let wanted = |test: &Litmus| {
        let name = full_name(test);
        names.iter().any(|wanted| wants(wanted, &name))
    };
    check::litmus::all().into_iter().filter(wanted).collect()
}

fn unknown(name: &str) -> Failure {
    let subjects = everything().into_iter().map(|subject| subject.name());
    let tests = check::litmus::all();
    let known: Vec<String> = subjects.chain(tests.iter().map(full_name)).collect();
    let bare = known
        .iter()
        .filter_map(|name| Some(name.split_once('/')?.1));
    let near = fabric::nearest(name, known.iter().map(String::as_str).chain(bare));
    let groups: BTreeSet<&str> = known
        .iter()
        .map(|name| {
            name.split_once('/')
                .map_or(name.as_str(), |(group, _)| group)
        })
        .collect();
    let groups: Vec<&str> = groups.into_iter().collect();
    Failure::usage(format!(
        "no program is called {name}{}; give a name or the beginning of one: {}",
        fabric::suggestion(near.as_deref()),
        groups.join(", ")
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
        Verdict::Fail if record.is_as_expected() => "caught".to_owned(),
        Verdict::Fail => "FAIL".to_owned(),
    };
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

fn within(record: &Record) -> String {
    if record.verdict != Verdict::Bounded {
        return String::new();
    }
    let moves = record.bounds.environment;
    let moves = moves.map_or("any number of".to_owned(), |moves| format!("up to {moves}"));
    let lanes = record.bounds.preemptions;
    let lanes = lanes.map_or(String::new(), |lanes| format!(", {lanes} pre-emptions"));
    let runs = match record.runs {
        0 => String::new(),
        runs => format!(", {runs} runs by chance"),
    };
    format!(
        "  with {moves} environment moves{lanes}, at most {} states{runs}",
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
