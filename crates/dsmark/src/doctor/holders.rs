//! Who uses a device or a NUMA node already.

use std::path::Path;

use super::finding::{Finding, Status};
use super::tree::Tree;

/// Named in a finding; the rest are counted.
const NAMED: usize = 5;

/// Processes that map `path` or hold it open.
pub(super) fn of_path(tree: &Tree, path: &str) -> Finding {
    let mut holding = Vec::new();
    let mut hidden = 0;
    for pid in tree.numbered("proc", "") {
        match holds(tree, &pid, path) {
            Some(true) => holding.push(named(tree, &pid)),
            Some(false) => {}
            None => hidden += 1,
        }
    }
    let means = "a run shares the region with whoever else maps it, and a device in use cannot be \
                 reconfigured";
    let unseen = if hidden == 0 {
        String::new()
    } else {
        format!("; {hidden} more could not be looked at, which may take root")
    };
    let check = format!("{} holders", path.rsplit('/').next().unwrap_or(path));
    if holding.is_empty() {
        return Finding::new(Status::Ok, check, format!("none{unseen}"), means).rows(&[1, 8]);
    }
    let found = format!("{}{unseen}", listed(&holding));
    Finding::new(Status::Warn, check, found, means)
        .remedy(
            "end these processes, or let their run finish (dsmark region show says whose it is)",
        )
        .rows(&[1, 8])
}

/// Whether a process maps or holds `path`; none if it may not be looked at.
fn holds(tree: &Tree, pid: &str, path: &str) -> Option<bool> {
    let maps = tree.text(&format!("proc/{pid}/maps")).ok()?;
    // The path ends the line, after spaces; nothing before it holds a slash.
    let maps_it = maps
        .lines()
        .any(|line| line.find('/').is_some_and(|at| &line[at..] == path));
    let open = format!("proc/{pid}/fd");
    let opens_it = tree.names(&open).iter().any(|fd| {
        let link = tree.path(format!("{open}/{fd}"));
        std::fs::read_link(link).is_ok_and(|target| target == Path::new(path))
    });
    Some(maps_it || opens_it)
}

/// The processes with most pages on a NUMA node, as the rest of a sentence; empty if none is seen.
pub(super) fn of_node(tree: &Tree, node: u64) -> String {
    let key = format!("N{node}=");
    let mut users: Vec<_> = tree
        .numbered("proc", "")
        .into_iter()
        .filter_map(|pid| {
            let map = tree.text(&format!("proc/{pid}/numa_maps")).ok()?;
            let words = map.split_whitespace();
            let pages = words.filter_map(|word| word.strip_prefix(&key)?.parse::<u64>().ok());
            let pages: u64 = pages.sum();
            (pages > 0).then_some((pages, pid))
        })
        .collect();
    if users.is_empty() {
        return String::new();
    }
    users.sort_unstable_by(|a, b| b.cmp(a));
    let named: Vec<_> = users
        .iter()
        .map(|(pages, pid)| format!("{}: {pages} pages", named(tree, pid)))
        .collect();
    format!("; in use by {}", listed(&named))
}

fn named(tree: &Tree, pid: &str) -> String {
    match tree.word(&format!("proc/{pid}/comm")) {
        Ok(name) => format!("{pid} ({name})"),
        Err(_) => pid.to_owned(),
    }
}

fn listed(names: &[String]) -> String {
    let first = names
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
