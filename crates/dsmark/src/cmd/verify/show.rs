//! What `verify` prints.

use std::fmt::Write;

use report::claims::{Claim, Kind, Verdict};
use serde_json::{Value, json};
use sim::Split;

use super::sweep::Sensitivity;
use super::{Finding, phases};

/// One object a line.
pub(crate) fn json(findings: &[Finding<'_>]) -> String {
    let lines = findings
        .iter()
        .map(|finding| format!("{}\n", object(finding)));
    lines.collect()
}

fn object(finding: &Finding<'_>) -> Value {
    let evaluation = &finding.evaluation;
    let claim = evaluation.claim;
    let rows = evaluation.rows.iter().map(|row| {
        json!({"trial": row.trial, "workload": row.workload, "metric": row.metric,
            "host": row.host, "params": row.params, "label": row.label})
    });
    let rows: Vec<Value> = rows.collect();
    json!({
        "claim": claim.id,
        "verdict": evaluation.verdict,
        "kind": claim.kind,
        "basis": claim.basis,
        "measured": evaluation.decisive(),
        "expected": format!("{} {}", claim.expected.text(), claim.unit),
        "source": claim.source,
        "statement": claim.statement,
        "unit": claim.unit,
        "pod": claim.pod,
        "measured_range": evaluation.measured.map(|(least, greatest)| [least, greatest]),
        "deviation_percent": evaluation.deviation_percent(),
        "rows": rows,
        "attribution": finding.split.map(shares),
        "phases": phases::json(&finding.phases),
        "sensitivity": finding.sensitivity.iter().map(effect).collect::<Vec<_>>(),
        "reason": evaluation.reason,
        "assumption": assumption(finding),
        "caveats": caveats(finding),
    })
}

/// Which assumption decides a claim that fails.
fn assumption<'a>(finding: &Finding<'a>) -> Option<&'a str> {
    let failed = finding.evaluation.verdict == Verdict::Fail;
    let claim: &'a Claim = finding.evaluation.claim;
    claim.assumption.as_deref().filter(|_| failed)
}

/// What limits the meaning of the rows behind it, each sentence once.
fn caveats<'a>(finding: &Finding<'a>) -> Vec<&'a str> {
    let rows = finding.evaluation.rows.iter();
    let mut caveats: Vec<&str> = rows.filter_map(|row| row.caveat.as_deref()).collect();
    caveats.dedup();
    caveats
}

fn shares(split: Split) -> Value {
    json!({"publish_ns": split.publish_ns, "observe_ns": split.observe_ns,
        "queue_ns": split.queue_ns, "local_ns": split.local_ns})
}

fn effect(sensitivity: &Sensitivity) -> Value {
    json!({"component": sensitivity.component, "minus_25_percent": sensitivity.minus_percent,
        "plus_25_percent": sensitivity.plus_percent})
}

/// Inputs, then predictions.
pub(crate) fn text(findings: &[Finding<'_>]) -> String {
    let mut text = String::new();
    for (kind, heading) in [
        (Kind::Input, "inputs: constants of the pods, measured again"),
        (
            Kind::Prediction,
            "predictions: figures that no pod was given",
        ),
    ] {
        let of_kind = findings
            .iter()
            .filter(|finding| finding.evaluation.claim.kind == kind);
        let _ = writeln!(text, "{heading}");
        for finding in of_kind {
            entry(&mut text, finding);
        }
        text.push('\n');
    }
    let count = |verdict| {
        let with = findings.iter().filter(|f| f.evaluation.verdict == verdict);
        with.count()
    };
    let _ = writeln!(
        text,
        "{} pass, {} fail, {} untestable. A prediction that fails is a finding: nothing is tuned.",
        count(Verdict::Pass),
        count(Verdict::Fail),
        count(Verdict::Untestable)
    );
    text
}

fn entry(text: &mut String, finding: &Finding<'_>) {
    let evaluation = &finding.evaluation;
    let claim = evaluation.claim;
    let word = match evaluation.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Untestable => "----",
    };
    let _ = writeln!(text, "  {word}  {:<26} {}", claim.id, claim.statement);
    if let Some(reason) = &evaluation.reason {
        let _ = writeln!(text, "        untestable: {reason}");
        return;
    }
    let (Some((least, greatest)), Some(deviation)) =
        (evaluation.measured, evaluation.deviation_percent())
    else {
        return;
    };
    let (least, greatest) = (figure(least), figure(greatest));
    let measured = if least == greatest {
        least
    } else {
        format!("{least}-{greatest}")
    };
    let label = evaluation.rows.first().map_or("", |row| row.label.as_str());
    let _ = writeln!(
        text,
        "        {} {} {}; {label} {measured} {} ({deviation:+.1} %)",
        claim.basis.name(),
        claim.expected.text(),
        claim.unit,
        claim.unit
    );
    if let Some(split) = finding.split {
        let share = |ns: f64| 100.0 * ns / split.total_ns();
        let _ = writeln!(
            text,
            "        spent on publish {:.0} %, observe {:.0} %, queue {:.0} %, local {:.0} %",
            share(split.publish_ns),
            share(split.observe_ns),
            share(split.queue_ns),
            share(split.local_ns)
        );
    }
    if !finding.phases.is_empty() {
        let _ = writeln!(text, "        {}", phases::text(&finding.phases));
    }
    for caveat in caveats(finding) {
        let _ = writeln!(text, "        caveat: {caveat}");
    }
    if let Some(assumption) = assumption(finding) {
        let _ = writeln!(text, "        decided by: {assumption}");
    }
    for sensitivity in &finding.sensitivity {
        let _ = writeln!(
            text,
            "        {:<30} -25 %: {}   +25 %: {}",
            sensitivity.component,
            change(sensitivity.minus_percent),
            change(sensitivity.plus_percent)
        );
    }
}

/// A measured value with the digits that a person compares.
fn figure(value: f64) -> String {
    if value >= 1e6 {
        format!("{value:.3e}")
    } else if value < 10.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.1}")
    }
}

fn change(percent: Option<f64>) -> String {
    percent.map_or_else(|| "no such pod".to_owned(), |p| format!("{p:+.1} %"))
}
