//! `dsmark measure`: one workload, printed.

use std::io::{Write, stdout};

use crate::cli::Measure;
use crate::cmd::run::conclude;
use crate::failure::Failure;
use crate::job::Job;
use crate::plans;

pub(crate) fn measure(args: &Measure) -> Result<(), Failure> {
    let mut plan = plans::of_one(&args.workload, &args.set)?;
    plans::apply(&mut plan, &args.place)?;
    let out = args.place.out.clone();
    // A table is drawn from a directory; without --out it is one that does not stay.
    let scratch = Scratch::new();
    let directory = out.clone().unwrap_or_else(|| scratch.results());
    let job = Job {
        plan,
        place: &args.place,
        out: (out.is_some() || !args.json).then(|| directory.clone()),
    };
    let kept = job.run()?;
    if args.json {
        let mut out = stdout().lock();
        for row in kept.rows() {
            serde_json::to_writer(&mut out, row)?;
            writeln!(out)?;
        }
        return kept.verdict();
    }
    if out.is_some() {
        return conclude(&kept, &directory);
    }
    kept.print_unsaved();
    print!("{}", report::table(&record::Results::open(directory)?));
    kept.verdict()
}

/// A directory that is removed at the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("dsmark-{}", std::process::id())))
    }

    fn results(&self) -> std::path::PathBuf {
        self.0.join("results")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
