//! `dsmark run`: a whole plan; results, figures, and a table at the end.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use record::Results;

use crate::cli::Run;
use crate::failure::Failure;
use crate::job::{Job, Kept};
use crate::out::print;
use crate::plans;

pub(crate) fn run(args: &Run) -> Result<(), Failure> {
    let mut plan = plans::read(&args.plan)?;
    plans::apply(&mut plan, &args.place)?;
    let out = args
        .place
        .out
        .clone()
        .unwrap_or_else(|| fresh_directory(&plan.name));
    let job = Job::new(plan, &args.place, Some(out.clone()))?;
    match job.run()? {
        Some(kept) => conclude(&kept, &out),
        None => Ok(()),
    }
}

/// `results/<plan>-<seconds>`: a new one for every run.
fn fresh_directory(plan: &str) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let base = format!("{plan}-{}", now.map_or(0, |time| time.as_secs()));
    let results = Path::new("results");
    let free = |name: &String| !results.join(name).exists();
    let names = (1..).map(|n| {
        if n == 1 {
            base.clone()
        } else {
            format!("{base}-{n}")
        }
    });
    results.join(names.into_iter().find(free).unwrap_or(base))
}

/// Prints the table and draws the figures of what is on disk, then says whether all was well.
pub(crate) fn conclude(kept: &Kept, out: &Path) -> Result<(), Failure> {
    let shown = kept.print_unsaved().and_then(|()| show(out));
    // What befell the run is told first: why nothing can be shown usually follows from it.
    kept.verdict().and(shown)
}

fn show(out: &Path) -> Result<(), Failure> {
    let results = Results::open(out).map_err(Failure::after)?;
    print(&report::table(&results))?;
    print(&format!("results: {}\n", out.display()))?;
    write_report(&results, out)
}

/// Writes page, figures and rows, and says where.
pub(crate) fn write_report(results: &Results, out: &Path) -> Result<(), Failure> {
    let files = report::write(results, &figure_directory(out)).map_err(Failure::after)?;
    let kind = |file: &Path| match file.extension().and_then(|it| it.to_str()) {
        Some("html") => "report: ",
        Some("svg") => "figure: ",
        Some("json") => "law:    ",
        _ => "rows:   ",
    };
    let lines = files
        .iter()
        .map(|file| format!("{} {}\n", kind(file), file.display()));
    print(&lines.collect::<String>())
}

/// `figures/<name>` beside `results/<name>`; inside the directory where it stands elsewhere.
fn figure_directory(out: &Path) -> PathBuf {
    let parent = out
        .parent()
        .filter(|parent| parent.file_name().is_some_and(|n| n == "results"));
    match (parent, out.file_name()) {
        (Some(parent), Some(name)) => parent.with_file_name("figures").join(name),
        _ => out.join("figures"),
    }
}
