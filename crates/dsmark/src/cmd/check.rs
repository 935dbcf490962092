//! `dsmark check`: every primitive against everything that the memory may do.

mod show;
mod table;
mod wanted;

use std::collections::BTreeSet;
use std::time::Duration;

use check::{Bounds, Budget, Checkable, Litmus, Record, Tally, Verdict};
use serde_json::json;

use crate::cli::Check;
use crate::failure::Failure;
use crate::out::print;
use wanted::Wanted;

/// Names that are checked only where they are asked for.
const ON_REQUEST: [&str; 3] = ["kernel", "litmus", "zoo"];

pub(crate) fn check(args: &Check) -> Result<(), Failure> {
    let budget = budget(args)?;
    let wanted = Wanted {
        names: &args.names,
        exact: args.exact,
    };
    let (subjects, tests) = (chosen(wanted), litmus(wanted));
    for name in &args.names {
        let mut found = subjects.iter().map(|it| it.name());
        let is_test = || tests.iter().any(|it| wanted.is(name, &full_name(it)));
        if !found.any(|found| wanted.is(name, &found)) && !is_test() {
            return Err(unknown(name));
        }
    }
    let (mut failed, mut undecided) = (Vec::new(), Vec::new());
    if args.table {
        print(table::HEAD)?;
    }
    for subject in subjects {
        let survey = check::survey(&*subject, budget);
        if !survey.record.is_as_expected() {
            failed.push(survey.record.name.clone());
        }
        if args.table {
            undecided.extend(table::undecided(&survey));
        }
        print(&match (args.json, args.table) {
            (true, _) => line(&survey.record),
            (_, true) => table::row(&survey.record),
            _ => show::text(&survey),
        })?;
    }
    if args.table {
        print(&table::listed(&undecided))?;
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

/// How much a program may cost.
fn budget(args: &Check) -> Result<Budget, Failure> {
    let states = match (args.budget, args.runs, args.seconds) {
        (Some(0), None, _) => {
            return Err(Failure::usage(
                "--budget 0 searches nothing; give the states of one search, as --budget 300000, \
                 or runs by chance, as --runs 1000",
            ));
        }
        (Some(states), ..) => states,
        (None, _, None) => Budget::default().states,
        // What bounds it is the time; this keeps it in memory.
        (None, _, Some(_)) => Bounds::SATURATED.states,
    };
    let time = args.seconds.map(Duration::try_from_secs_f64).transpose();
    let time = time.ok().filter(|time| *time != Some(Duration::ZERO));
    let Some(time) = time else {
        return Err(Failure::usage(
            "--seconds takes the time of one program, above 0, as --seconds 600",
        ));
    };
    let is_bounded = args.environment.or(args.preemptions).is_some();
    Ok(Budget {
        states,
        within: is_bounded.then_some(Bounds {
            environment: args.environment,
            preemptions: args.preemptions,
            states,
        }),
        runs: args.runs,
        time,
        seed: args.seed,
        twins: !args.no_twins,
    })
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

fn chosen(wanted: Wanted<'_>) -> Vec<Box<dyn Checkable>> {
    let all = everything().into_iter();
    all.filter(|subject| {
        let name = subject.name();
        if wanted.names.is_empty() {
            return !ON_REQUEST.iter().any(|group| name.starts_with(group));
        }
        wanted.has(&name)
    })
    .collect()
}

fn full_name(test: &Litmus) -> String {
    format!("litmus/{}", test.name())
}

fn litmus(wanted: Wanted<'_>) -> Vec<Litmus> {
    let tests = check::litmus::all().into_iter();
    tests.filter(|test| wanted.has(&full_name(test))).collect()
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
