//! Claims against records: what passes, what fails, what cannot be told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{measured, results, row};
use report::claims::{BROKEN_LAW, Claim, Verdict, parse};

const SHIPPED: &str = include_str!("../../../artifact/claims.toml");

const CLAIM: &str = r#"
[[claim]]
id = "one"
kind = "prediction"
statement = "An update takes 0.9-1.5 us"
source = "somebody, somewhere"
pod = "local"
select = { workload = "visibility", metric = "half_round_trip_ns", params = {lines = 1}, host = 0 }
statistic = "p50"
expected = { min = 900, max = 1500 }
unit = "ns"
over = "range"
"#;

fn claim(text: &str) -> Claim {
    parse(text, "test").unwrap().remove(0)
}

fn record(medians: &[f64]) -> record::Results {
    let methods = ["clflush", "clflushopt", "clwb"];
    let rows = methods.iter().zip(medians);
    let rows = rows.map(|(publish, &median)| {
        measured(
            row(publish, "clflushopt", 1, "half_round_trip_ns"),
            median,
            1.0,
        )
    });
    results(rows.collect())
}

#[test]
fn what_ships_parses_and_every_claim_has_its_source() {
    let claims = parse(SHIPPED, "artifact/claims.toml").unwrap();
    assert!(claims.len() > 15);
    for claim in &claims {
        assert!(claim.source.len() > 20, "{}", claim.id);
    }
}

#[test]
fn a_range_passes_only_if_all_of_it_lies_within() {
    let claim = claim(CLAIM);
    for (medians, verdict, deviation) in [
        (&[900.0, 1500.0][..], Verdict::Pass, 0.0),
        (&[1000.0, 3000.0][..], Verdict::Fail, 100.0),
        (&[450.0, 1000.0][..], Verdict::Fail, -50.0),
    ] {
        let results = record(medians);
        let evaluation = claim.evaluate(&results);
        assert_eq!(evaluation.verdict, verdict, "{medians:?}");
        assert_eq!(evaluation.measured, Some((medians[0], medians[1])));
        assert_eq!(evaluation.deviation_percent(), Some(deviation));
    }
}

#[test]
fn a_sum_takes_one_row_of_each_term() {
    let text = CLAIM
        .replace("select = {", "select = [{")
        .replace(
            "host = 0 }",
            "host = 0, times = 2 }, { workload = \"visibility\", metric = \
             \"half_round_trip_ns\", params = { publish = \"clflushopt\" }, host = 0, \
             times = -1 }]",
        )
        .replace("\"range\"", "\"sum\"");
    let results = record(&[1000.0, 600.0]);
    let claim = claim(&text);
    let evaluation = claim.evaluate(&results);
    assert_eq!(evaluation.measured, Some((1400.0, 1400.0)));
    assert_eq!(evaluation.rows.len(), 2);
}

#[test]
fn without_rows_it_says_which_and_how_to_get_them() {
    let results = record(&[1000.0]);
    let claim = claim(&CLAIM.replace("lines = 1", "lines = 8"));
    let evaluation = claim.evaluate(&results);
    assert_eq!(evaluation.verdict, Verdict::Untestable);
    let reason = evaluation.reason.unwrap();
    assert!(
        reason.contains("\"lines\":8") && reason.contains("dsmark run claims"),
        "{reason}"
    );
}

#[test]
fn a_typo_or_a_missing_source_is_refused() {
    let error = parse(&CLAIM.replace("unit =", "units ="), "t")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("units") && error.contains("`unit`"),
        "{error}"
    );
    let error = parse(&CLAIM.replace("somebody, somewhere", ""), "t").unwrap_err();
    assert!(error.to_string().contains("no source"), "{error}");
    let twice = format!("{CLAIM}{CLAIM}");
    assert!(
        parse(&twice, "t")
            .unwrap_err()
            .to_string()
            .contains("id is taken")
    );
}

#[test]
fn a_run_at_a_scale_that_breaks_the_law_neither_passes_nor_fails() {
    let claim = claim(CLAIM);
    for (law, caveat, verdict) in [
        (Some("broken"), "few huge pages", Verdict::Untestable),
        (None, "known to 3 points only", Verdict::Pass),
    ] {
        let mut record = record(&[1000.0, 1200.0]);
        let one = &mut record.rows[1];
        one.caveat = Some(caveat.into());
        if let Some(law) = law {
            one.params.insert(BROKEN_LAW.0.into(), law.into());
        }
        let evaluation = claim.evaluate(&record);
        assert_eq!(evaluation.verdict, verdict, "{caveat}");
        let refused = evaluation.reason.is_some_and(|it| it.contains(caveat));
        assert_eq!(refused, verdict == Verdict::Untestable, "{caveat}");
    }
}
