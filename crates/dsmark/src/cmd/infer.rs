//! `dsmark infer`: the cheapest maintenance that a primitive needs.

use std::fs;

use check::{Bounds, Inferred, Options, Verdict};

use crate::cmd::check::named;
use crate::failure::Failure;
use crate::out::print;

/// States of one try.
const STATES: usize = 500_000;

pub(crate) fn infer(name: &str) -> Result<(), Failure> {
    let subject = named(name)?;
    let mut inferred = None;
    subject.with(Options::default(), &mut |checker| {
        // As it stands first: that is how its lines of source are met.
        let bounds = Bounds {
            states: STATES,
            ..Bounds::SATURATED
        };
        let report = checker.check(bounds);
        let bounds = match report.verdict {
            Verdict::Bounded => checker.bounds(),
            Verdict::Pass | Verdict::Fail => bounds,
        };
        inferred = Some(checker.infer(bounds));
    });
    show(name, &inferred.expect("a subject calls what it is given"))
}

fn show(name: &str, inferred: &Inferred) -> Result<(), Failure> {
    if inferred.placements.is_empty() {
        return Err(Failure::Measured(format!(
            "{name}: not even an observe before every load and a confirm after every store make it \
             right; the fault is in the algorithm"
        )));
    }
    let proved = match inferred.verdict {
        Verdict::Pass => "exhausted",
        _ => "within bounds",
    };
    print(&format!(
        "{name}: {} cheapest placement(s), {proved}; {} tried, {} more refuted by their \
         counterexamples\nagainst the source without its maintenance (write_posted and \
         write_published only store):\n\n",
        inferred.placements.len(),
        inferred.tried,
        inferred.spared
    ))?;
    for placement in &inferred.placements {
        print(&check::diff(placement, |file| {
            fs::read_to_string(file).ok()
        }))?;
        print("\n")?;
    }
    Ok(())
}
