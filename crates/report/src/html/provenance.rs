//! Where the numbers come from, and what speaks against them.

use std::fmt::Write;

use record::{Label, Results};
use serde_json::Value;

use super::escape;
use crate::condition::{capital, meaning, plain};

/// What else changes a latency: a reader asks for these first.
const TELLING: [&str; 6] = [
    "governors",
    "prefetchers_off",
    "smt",
    "transparent_huge_pages",
    "tsc_invariant",
    "numa_nodes",
];

/// Fields of a machine in the order of the page.
const FIELDS: [(&str, &str); 12] = [
    ("hostname", "name"),
    ("cpu_model", "CPU"),
    ("logical_cpus", "logical CPUs"),
    ("microcode", "microcode"),
    ("kernel", "kernel"),
    ("memory_bytes", "memory, bytes"),
    ("transparent_huge_pages", "transparent huge pages"),
    ("governors", "governors"),
    ("smt", "SMT"),
    ("prefetchers_off", "prefetchers off"),
    ("virtualized", "virtualized"),
    ("product", "product"),
];

/// The machines and kinds of evidence, in a sentence each.
pub(super) fn subtitle(results: &Results) -> String {
    let mut models: Vec<&str> = Vec::new();
    for host in results.hosts.values() {
        let model = host["cpu_model"]
            .as_str()
            .unwrap_or("a CPU that could not be read");
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let mut text = String::new();
    if !models.is_empty() {
        let _ = writeln!(text, "<p>{}</p>", escape(&models.join(", ")));
    }
    for label in results.labels() {
        let said = format!("{}: {}.", capital(label.as_str()), meaning(label));
        let _ = writeln!(text, "<p class=\"muted\">{}</p>", escape(&said));
    }
    text
}

/// What a reader must know before the first number; nothing where there is nothing.
pub(super) fn warnings(results: &Results) -> String {
    let mut warnings = results.problems.clone();
    let count =
        |wanted: fn(&record::Row) -> bool| results.rows.iter().filter(|row| wanted(row)).count();
    let all = results.rows.len();
    match count(|row| row.oversubscribed) {
        0 => {}
        some => warnings.push(format!(
            "{some} of {all} rows are oversubscribed: lanes took turns on the cores."
        )),
    }
    match count(|row| row.error.is_some() || row.verified == Some(false)) {
        0 => {}
        some => warnings.push(format!(
            "{some} of {all} rows failed or gave a wrong answer."
        )),
    }
    if !results.rows.is_empty() && !results.labels().contains(&Label::Real) {
        warnings.push("No number here was measured on a real pod.".to_owned());
    }
    warnings.extend(unreadable(results));
    if warnings.is_empty() {
        return String::new();
    }
    let items = warnings
        .iter()
        .map(|text| format!("<li>{}</li>\n", escape(text)));
    format!(
        "<section id=\"warnings\" class=\"warnings\">\n<ul>\n{}</ul>\n</section>\n",
        items.collect::<String>()
    )
}

/// What could not be read of a machine and would explain a latency.
fn unreadable(results: &Results) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for host in results.hosts.values() {
        for field in TELLING {
            if let Some(reason) = host["unreadable"][field].as_str() {
                let warning = format!("Unknown: {}; {reason}.", field.replace('_', " "));
                if !said.contains(&warning) {
                    said.push(warning);
                }
            }
        }
    }
    said
}

/// Machines, build, plan and command.
pub(super) fn section(results: &Results) -> String {
    let mut text = "<section id=\"provenance\">\n<h2>Where this comes from</h2>\n".to_owned();
    if let Some(manifest) = &results.manifest {
        let command = escape(&manifest.command);
        let _ = writeln!(text, "<p>Made by <code>{command}</code></p>");
    }
    for (id, host) in &results.hosts {
        let _ = writeln!(text, "<details>\n<summary>Host {id}</summary>");
        text.push_str(&machine(host));
        text.push_str("</details>\n");
    }
    text.push_str(&build(results));
    if !results.plan.is_empty() {
        let plan = escape(&results.plan);
        let _ = writeln!(
            text,
            "<details>\n<summary>Plan</summary>\n<pre>{plan}</pre>\n</details>"
        );
    }
    text + "</section>\n"
}

fn machine(host: &Value) -> String {
    let fields = FIELDS.iter().filter_map(|(field, name)| {
        let value = match &host[*field] {
            Value::Null => format!("unknown: {}", host["unreadable"][*field].as_str()?),
            Value::Array(all) if all.is_empty() => "none".to_owned(),
            Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
            value => plain(value),
        };
        Some((*name, value))
    });
    list(fields)
}

fn build(results: &Results) -> String {
    let Some(build) = &results.build else {
        return String::new();
    };
    let unknown = || "unknown".to_owned();
    let dirty = build.git_dirty.map_or_else(unknown, |dirty| {
        if dirty {
            "changed after it"
        } else {
            "as it is"
        }
        .to_owned()
    });
    let fields = [
        ("version", build.version.clone()),
        (
            "revision",
            build.git_revision.clone().unwrap_or_else(unknown),
        ),
        ("sources", dirty),
        ("compiler", build.rustc.clone().unwrap_or_else(unknown)),
        ("target", build.target.clone().unwrap_or_else(unknown)),
        ("profile", build.profile.clone().unwrap_or_else(unknown)),
        (
            "flags",
            build.flags.clone().unwrap_or_else(|| "none".to_owned()),
        ),
    ];
    format!(
        "<details>\n<summary>Build</summary>\n{}</details>\n",
        list(fields.into_iter())
    )
}

fn list<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let items = fields
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(&value)));
    format!("<dl>\n{}</dl>\n", items.collect::<String>())
}
