//! Documents: their links lead somewhere, and nothing points outside the repository.

use super::{Finding, Source, Tree};

/// Paths of the machine that somebody worked on, spelled apart so that this file passes.
const OUTSIDE: [&str; 3] = [
    concat!("../", "shared"),
    concat!("/", "work/"),
    concat!("/", "tmp/"),
];

/// Finds links of Markdown documents to files that do not exist.
pub fn links_resolve(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for document in &tree.documents {
        for (line, target) in links(&document.text) {
            let Some(path) = repository_path(&document.path, &target) else {
                continue;
            };
            if !exists(tree, &path) {
                let what = format!("link to {target}: {path} does not exist");
                found.push(Finding::new(&document.path, line, what));
            }
        }
    }
    found
}

/// Finds paths that exist on one machine only.
pub fn no_path_outside(tree: &Tree) -> Vec<Finding> {
    let files = tree.documents.iter().chain(&tree.sources);
    files.chain(&tree.texts).flat_map(paths_outside).collect()
}

fn paths_outside(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(source.text.lines()) {
        for outside in OUTSIDE {
            if begins_a_path(text, outside) {
                let what = format!("names {outside}, which is no part of the repository");
                found.push(Finding::new(&source.path, line, what));
            }
        }
    }
    found
}

/// Whether `prefix` stands in `text` where a path begins, not inside one (`crates/work/`).
fn begins_a_path(text: &str, prefix: &str) -> bool {
    text.match_indices(prefix).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|it| it.is_alphanumeric() || "_-./{}$".contains(it))
    })
}

/// Targets of inline links and images with their lines, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Even pieces between backticks are prose; `](` in code is an index and a call.
        for prose in text.split('`').step_by(2) {
            let targets = prose.split("](").skip(1);
            found.extend(targets.filter_map(|rest| {
                let end = rest.find([')', ' '])?;
                Some((line, rest[..end].to_owned()))
            }));
        }
    }
    found
}

/// The file that `target` means, seen from `document`; none if it is no file of the repository.
fn repository_path(document: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            // One step above the root makes a path that cannot exist, which is the finding.
            ".." if parts.pop().is_none() => return Some(path.to_owned()),
            "" | "." | ".." => {}
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn exists(tree: &Tree, path: &str) -> bool {
    let directory = format!("{path}/");
    path.is_empty()
        || tree
            .paths
            .iter()
            .any(|it| it == path || it.starts_with(&directory))
}
