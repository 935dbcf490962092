//! `dsmark list`: what can be measured, with which parameters, by which methods.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::job::Listed;
use crate::out::print;
use crate::{job, plans};

pub(crate) fn list(as_json: bool) -> Result<(), Failure> {
    let workloads = job::workloads();
    let plans: Vec<_> = plans::SHIPPED
        .iter()
        .map(|(name, text)| (*name, about(text)))
        .collect();
    let methods = job::methods();
    if as_json {
        return print(&format!("{}\n", object(&workloads, &plans, &methods)));
    }
    print(&text(&workloads, &plans, &methods))
}

fn object(workloads: &[Listed], plans: &[(&str, String)], methods: &Value) -> Value {
    let workloads: Vec<_> = workloads
        .iter()
        .map(|w| json!({"name": w.name, "about": w.about, "params": w.defaults}))
        .collect();
    let plans: Vec<_> = plans
        .iter()
        .map(|(name, about)| json!({"name": name, "about": about}))
        .collect();
    json!({
        "workloads": workloads, "plans": plans, "substrates": ["sim", "native"], "methods": methods,
    })
}

fn text(workloads: &[Listed], plans: &[(&str, String)], methods: &Value) -> String {
    let mut lines = vec![
        "workloads (parameters with their defaults; --set KEY=VALUE, commas sweep)".to_owned(),
    ];
    for workload in workloads {
        lines.push(format!("  {:<12} {}", workload.name, workload.about));
        let params = workload.defaults.iter();
        lines.extend(params.map(|(key, value)| format!("    {key} = {value}")));
    }
    lines.push("plans".into());
    lines.extend(
        plans
            .iter()
            .map(|(name, about)| format!("  {name:<12} {about}")),
    );
    lines.push("substrates".into());
    lines.push("  sim          a model of a pod, in simulated time".into());
    lines.push("  native       real loads, stores and flushes on a mapping".into());
    lines.push("methods of this CPU".into());
    for (way, names) in methods.as_object().into_iter().flatten() {
        let names = names.as_array().into_iter().flatten();
        let names: Vec<_> = names.filter_map(Value::as_str).collect();
        lines.push(format!("  {way:<12} {}", names.join(", ")));
    }
    lines.join("\n") + "\n"
}

fn about(text: &str) -> String {
    harness::Plan::parse(text, "a shipped plan")
        .map(|plan| plan.about)
        .unwrap_or_default()
}
