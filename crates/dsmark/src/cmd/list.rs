//! `dsmark list`: what can be measured, with which parameters, by which methods.

use serde_json::{Value, json};

use crate::{job, plans};

pub(crate) fn list(as_json: bool) {
    let workloads = job::workloads();
    let plans: Vec<_> = plans::SHIPPED
        .iter()
        .map(|(name, text)| (*name, about(text)))
        .collect();
    let methods = job::methods();
    if as_json {
        let workloads: Vec<_> = workloads
            .iter()
            .map(|w| json!({"name": w.name, "about": w.about, "params": w.defaults}))
            .collect();
        let plans: Vec<_> = plans
            .iter()
            .map(|(name, about)| json!({"name": name, "about": about}))
            .collect();
        let all = json!({"workloads": workloads, "plans": plans, "substrates": ["native"], "methods": methods});
        println!("{all}");
        return;
    }
    println!("workloads (parameters with their defaults; --set KEY=VALUE, commas sweep)");
    for workload in workloads {
        println!("  {:<12} {}", workload.name, workload.about);
        for (key, value) in &workload.defaults {
            println!("    {key} = {value}");
        }
    }
    println!("plans");
    for (name, about) in plans {
        println!("  {name:<12} {about}");
    }
    println!("substrates\n  native       real loads, stores and flushes on a mapping");
    println!("methods of this CPU");
    for (way, names) in methods.as_object().into_iter().flatten() {
        let names: Vec<_> = names
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        println!("  {way:<12} {}", names.join(", "));
    }
}

fn about(text: &str) -> String {
    harness::Plan::parse(text, "a shipped plan")
        .map(|plan| plan.about)
        .unwrap_or_default()
}
