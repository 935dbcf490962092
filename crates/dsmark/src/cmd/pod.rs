//! `dsmark pod`: the pods that can be simulated, and where their constants come from.

use serde_json::json;

use crate::cli::Pod;
use crate::failure::Failure;
use crate::out::print;

pub(crate) fn pod(args: &Pod) -> Result<(), Failure> {
    match args {
        Pod::List { json } => list(*json),
        Pod::Show { name, json } => show(name, *json),
    }
}

fn list(as_json: bool) -> Result<(), Failure> {
    let mut text = String::new();
    for name in sim::pod::built_in() {
        let file = sim::pod::load(name)?;
        let (hosts, lanes) = (file.hosts.value, file.lanes.value);
        let line = if as_json {
            json!({"name": name, "about": file.about, "hosts": hosts, "lanes": lanes,
                "coherence": file.coherence.value})
            .to_string()
        } else {
            let plural = if hosts == 1 { "" } else { "s" };
            format!(
                "{name:<24} {hosts} host{plural}, {lanes} lanes  {}",
                file.about
            )
        };
        text.push_str(&line);
        text.push('\n');
    }
    print(&text)
}

fn show(name: &str, as_json: bool) -> Result<(), Failure> {
    let file = sim::pod::load(name)?;
    if !as_json {
        return print(&file.describe());
    }
    let object = serde_json::to_string(&file).map_err(Failure::after)?;
    print(&format!("{object}\n"))
}
