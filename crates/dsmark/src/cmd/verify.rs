//! `dsmark verify`: published figures beside measured ones, and what decides each prediction.
//!
//! The exit status is about this program, not about the publications: 1 if an input is not found
//! again or nothing could be tested. A prediction that fails is a finding, reported with the
//! component that decides it.

mod phases;
mod show;
mod split;
mod sweep;

use std::path::Path;

use record::{Results, Row, Substrate};
use report::claims::{Claim, Evaluation, Kind, Verdict, parse};
use sim::Split;
use sim::pod::PodFile;

use crate::cli::Verify;
use crate::failure::Failure;
use crate::out::print;
use phases::Phases;
use sweep::Sensitivity;

/// The claims that ship, those on pods first.
const SHIPPED: [(&str, &str); 2] = [
    (
        "artifact/claims.toml",
        include_str!("../../../../artifact/claims.toml"),
    ),
    (
        "artifact/tier-claims.toml",
        include_str!("../../../../artifact/tier-claims.toml"),
    ),
];

/// A claim with all that can be said about it.
struct Finding<'a> {
    evaluation: Evaluation<'a>,
    /// Where the median sample's time went, for a time of one workload.
    split: Option<Split>,
    /// What the times of a ratio are made of.
    phases: Vec<Phases>,
    /// What one component after the other does to it, the strongest first.
    sensitivity: Vec<Sensitivity>,
}

pub(crate) fn verify(args: &Verify) -> Result<(), Failure> {
    let results = Results::open(&args.directory)?;
    let claims = match &args.claims {
        Some(path) => parse(&read(path)?, &path.display().to_string())?,
        None => shipped(&results)?,
    };
    let evaluations = claims.iter().map(|claim| claim.evaluate(&results));
    let explained = |evaluation| explained(evaluation, &results);
    let mut findings: Vec<Finding<'_>> = evaluations.map(explained).collect();
    sweep::sweep(&mut findings);
    for finding in &mut findings {
        finding.sensitivity.truncate(args.top);
    }
    print(&if args.json {
        show::json(&findings)
    } else {
        show::text(&findings)
    })?;
    verdict(&findings)
}

/// The claims that ship, file by file, if the results have rows of a workload that it is about; of
/// results that no file is about, all of the first, which then say what is missing.
fn shipped(results: &Results) -> Result<Vec<Claim>, Failure> {
    let mut claims = Vec::new();
    for (origin, text) in SHIPPED {
        let file = parse(text, origin)?;
        let mut workloads = file.iter().flat_map(|claim| &claim.terms);
        if workloads.any(|term| results.rows.iter().any(|row| row.workload == term.workload)) {
            claims.extend(file);
        }
    }
    if claims.is_empty() {
        let (origin, text) = SHIPPED[0];
        claims = parse(text, origin)?;
    }
    Ok(claims)
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!(
            "cannot read {}: {error}; leave --claims out for those that ship",
            path.display()
        ))
    })
}

fn explained<'a>(evaluation: Evaluation<'a>, results: &Results) -> Finding<'a> {
    let phases = phases::of(&evaluation, results);
    let file = simulated(&evaluation, &phases);
    let split = match (file, evaluation.rows.as_slice()) {
        (Some(file), [row]) => split::of_median(row, file),
        _ => None,
    };
    Finding {
        phases,
        evaluation,
        split,
        sensitivity: Vec::new(),
    }
}

/// The pod of a prediction whose rows were simulated: those can be run again. Not where their
/// phases say already what it is made of: such are long runs.
fn simulated(evaluation: &Evaluation<'_>, phases: &[Phases]) -> Option<PodFile> {
    let on_sim = |row: &&Row| row.substrate == Substrate::Sim;
    let predicted = evaluation.claim.kind == Kind::Prediction && !evaluation.rows.is_empty();
    if !predicted || !phases.is_empty() || !evaluation.rows.iter().all(on_sim) {
        return None;
    }
    sim::pod::load(&evaluation.claim.pod).ok()
}

fn verdict(findings: &[Finding<'_>]) -> Result<(), Failure> {
    let with = |verdict, kind| {
        let evaluations = findings.iter().map(|finding| &finding.evaluation);
        evaluations.filter(move |e| e.verdict == verdict && e.claim.kind == kind)
    };
    let lost: Vec<_> = with(Verdict::Fail, Kind::Input)
        .map(|evaluation| evaluation.claim.id.as_str())
        .collect();
    if !lost.is_empty() {
        return Err(Failure::Measured(format!(
            "the pod's own constants are not found again: {}; the simulator or a workload is wrong",
            lost.join(", ")
        )));
    }
    let untestable = |finding: &Finding<'_>| finding.evaluation.verdict == Verdict::Untestable;
    if findings.iter().all(untestable) {
        return Err(Failure::Measured(
            "no claim could be tested on these results; make them with `dsmark run claims` or \
             `dsmark tier claims`"
                .into(),
        ));
    }
    Ok(())
}
