//! Figures of tiering. The story that they guard: a figure of an ablation over eight policies of 29
//! that did not say that it showed eight, under a title that named a winner among those eight.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::svg::{Placed, assert_says, draw_all, joined};
use common::{measured, results, row_of};
use record::{Label, Results, Row, Substrate, Summary};
use serde_json::{Value, json};

fn tier_row(params: Value, metric: &str, unit: &str) -> Row {
    Row {
        label: Label::Simulated,
        substrate: Substrate::Sim,
        hosts: 1,
        ..row_of("tier", params, metric, unit)
    }
}

/// A policy's time in seconds, give or take `spread`, with a history to draw.
fn timed(policy: &str, seconds: f64, spread: f64) -> Row {
    let params = json!({"policy": policy, "workload": "silo-paper", "ratio": "1:8"});
    let mut row = measured(
        tier_row(params, "time_ns", "ns"),
        seconds * 1e9,
        spread * 1e9,
    );
    row.answer = Some(json!({
        "spent_s": {"compute": seconds / 2.0, "walk": seconds / 2.0},
        "moments": [[1.0, 0.5, 1e9, 0.0, 3, 2], [2.0, 0.6, 1e9, 1e9, 3, 2]],
        "histograms": [[8, 4, 2, 1], [4, 4, 4, 3]],
    }));
    row
}

fn tier_figure(name: &str, rows: Vec<Row>) -> Vec<Placed> {
    draw_all(name, &results(rows)).remove("tier.svg").unwrap()
}

#[test]
fn a_figure_says_that_it_leaves_policies_out_and_the_title_is_about_all() {
    // The fastest is the last of 29, which is not shown.
    let policies = (0..29).map(|index| timed(&format!("p{index}"), 900.0 - f64::from(index), 0.1));
    let texts = tier_figure("tier-many", policies.collect());
    assert_says(&texts, "p28 is the fastest of 29: 872 s");
    assert_says(&texts, "8 of 29 shown, the first that were run.");
    let bars = |name: &str| joined(&texts).contains(&format!("{name}: "));
    assert!(bars("p7") && !bars("p8"));
}

#[test]
fn one_policy_wins_only_where_no_interval_overlaps() {
    let won = vec![timed("slow", 900.0, 1.0), timed("quick", 800.0, 1.0)];
    let texts = tier_figure("tier-winner", won);
    assert_says(&texts, "quick is the fastest of 2: 800 s");
    assert!(
        !joined(&texts).contains("shown, the first"),
        "nothing is left out"
    );
    let tied = vec![timed("slow", 801.0, 90.0), timed("quick", 800.0, 90.0)];
    let texts = tier_figure("tier-tie", tied);
    assert_says(
        &texts,
        "No policy is the fastest: 2 of 2 tie, the least median is 800 s",
    );
}

#[test]
fn a_histogram_says_what_a_bin_is() {
    let texts = tier_figure("tier-bins", vec![timed("only", 800.0, 1.0)]);
    assert_says(
        &texts,
        "Base pages by how hot they were found, at the end (pages of the model)",
    );
    assert_says(
        &texts,
        "bin b: counts from 2^b - 1 on; a sample counts 1 for a huge page, 512 for a base page",
    );
}

/// The row that a comparison leaves: figures, each a unit, a median, an interval.
fn changed(params: Value, against: &str, effects: &[(&str, &str, f64, Option<[f64; 2]>)]) -> Row {
    let mut row = tier_row(params, "relative_time", "x");
    row.summarize(&Summary::of(&[1.0; 10]).unwrap());
    let effect = |&(figure, unit, median, ci95): &(&str, &str, f64, Option<[f64; 2]>)| {
        let interval = ci95.map(|_| "order statistics");
        let kind = json!({"figure": figure, "unit": unit, "interval": interval});
        let Value::Object(mut told) = kind else {
            unreachable!("written as an object")
        };
        told.extend([
            ("median".into(), json!(median)),
            ("ci95".into(), json!(ci95)),
        ]);
        Value::Object(told)
    };
    let effects: Vec<Value> = effects.iter().map(effect).collect();
    row.answer = Some(json!({"against": against, "effects": effects}));
    row
}

fn variant(policy: &str, time: f64, spread: f64) -> Row {
    let params = json!({"policy": policy, "workload": "silo-paper", "ratio": "1:8"});
    let of = |median: f64| Some([median - spread, median + spread]);
    let effects = [
        ("time", "%", time, of(time)),
        ("fast_hit_ratio", "points", -time, of(-time)),
        ("rss", "GB", 0.0, Some([0.0, 0.0])),
        ("migrated", "GB", 0.0, Some([0.0, 0.0])),
    ];
    changed(params, "memtis-paper", &effects)
}

fn effects_figure(name: &str, results: &Results) -> Vec<Placed> {
    draw_all(name, results).remove("tier_effects.svg").unwrap()
}

#[test]
fn an_ablation_is_drawn_with_what_it_leaves_out() {
    let switches = ["+a", "+b", "+c", "+d"].map(|name| format!("memtis-paper{name}"));
    let mut rows: Vec<Row> = switches
        .iter()
        .map(|name| variant(name, 0.2, 0.4))
        .collect();
    rows.extend([
        variant("memtis-paper", 0.0, 0.0),
        variant("memtis-kernel", -14.1, 0.8),
        variant("memtis-paper+literal-or", 89.8, 5.0),
        variant("memtis-paper+no-warm", 0.1, 0.4),
        variant("memtis-paper+byte-clock", 0.0, 0.0),
    ]);
    let texts = effects_figure("tier-ablation", &results(rows));
    assert_says(
        &texts,
        "2 of 8 changes to memtis-paper change its time; most does +literal-or, +89.8 %",
    );
    assert_says(
        &texts,
        "95 % intervals (order statistics); pale where one holds 0",
    );
    assert_says(&texts, "nothing, to the last bit: +byte-clock.");
    for name in ["memtis-kernel", "+literal-or", "+no-warm", "+89.8"] {
        assert!(texts.iter().any(|text| text.text == name), "{name}");
    }
    let order = |name: &str| texts.iter().position(|text| text.text == name).unwrap();
    assert!(order("memtis-kernel") < order("+no-warm"), "by time");
}

#[test]
fn one_seed_tells_nothing_from_chance() {
    let params = json!({"policy": "memtis-paper+no-warm", "workload": "btree", "ratio": "1:8"});
    let effects = [("time", "%", 3.0, None), ("rss", "GB", 1.0, None)];
    let mut row = changed(params, "memtis-paper", &effects);
    row.summarize(&Summary::of(&[1.0]).unwrap());
    let texts = effects_figure("tier-one-seed", &results(vec![row]));
    assert_says(
        &texts,
        "1 change to memtis-paper, 1 seed: nothing tells its time from chance",
    );
}

#[test]
fn several_settings_have_a_section_each() {
    let rows = ["1:2", "1:8"].iter().map(|ratio| {
        let mut row = variant("memtis-paper+no-split", -3.0, 0.2);
        row.params.insert("ratio".into(), json!(ratio));
        row
    });
    let texts = effects_figure("tier-settings", &results(rows.collect()));
    assert_says(&texts, "Differences to memtis-paper, in 2 settings");
    for setting in ["ratio 1:2", "ratio 1:8"] {
        assert!(texts.iter().any(|text| text.text == setting), "{setting}");
    }
}

#[test]
fn constants_have_a_mark_less_and_a_mark_more() {
    let arm = |constant: &str, factor: f64, time: f64| {
        let params = json!({
            "policy": "memtis-paper+no-split", "from": "memtis-paper", "workload": "silo-paper",
            "constant": constant, "factor": factor,
        });
        let effects = [
            ("time", "points", time, Some([time - 0.2, time + 0.2])),
            ("fast_hit_ratio", "points", 0.0, Some([-0.1, 0.1])),
            ("rss", "GB", 0.0, Some([-0.1, 0.1])),
        ];
        changed(params, "as it ships", &effects)
    };
    let rows = vec![
        arm("as it ships", 1.0, 0.0),
        arm("nvm.load_ns", 0.75, -3.4),
        arm("nvm.load_ns", 1.25, 2.6),
        arm("memtis.split_latency_nvm_kernel_ns", 0.75, 0.1),
        arm("memtis.split_latency_nvm_kernel_ns", 1.25, 0.1),
    ];
    let texts = effects_figure("tier-constants", &results(rows));
    assert_says(
        &texts,
        "1 of 2 constants changes the time of memtis-paper+no-split against memtis-paper; most \
         does nvm.load_ns, -3.4 points",
    );
    for name in ["25 % less", "25 % more", "nvm.load_ns"] {
        assert!(texts.iter().any(|text| text.text == name), "{name}");
    }
}

#[test]
fn each_caveat_is_said_once_and_not_all_of_them_in_a_figure() {
    let rows = (0..9).map(|index| {
        let mut row = variant(&format!("memtis-paper+p{index}"), -1.0, 0.1);
        row.caveat = Some(format!("the fast tier is small; p{index}: run more seeds"));
        row
    });
    let texts = effects_figure("tier-caveats", &results(rows.collect()));
    let said = joined(&texts);
    assert_eq!(said.matches("the fast tier is small").count(), 1);
    assert!(said.contains("p2: run more seeds") && !said.contains("p3: run more seeds"));
    assert_says(&texts, "And 6 caveats more: report.html has all.");
}
