//! Dead files: sources under `src` that no `mod` leads to, which nobody compiles.

use std::collections::HashSet;

use super::code::Code;
use super::{Finding, Tree};

/// Finds sources that no crate root reaches.
pub fn dead_files(tree: &Tree) -> Vec<Finding> {
    let mut reached = HashSet::new();
    for root in tree.members().flat_map(|member| &member.roots) {
        let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
        reach(tree, root, directory, &mut reached);
    }
    tree.sources
        .iter()
        .filter(|source| source.path.contains("/src/") && !reached.contains(&source.path))
        .map(|source| Finding::new(&source.path, 0, "no `mod` leads here: nobody compiles it"))
        .collect()
}

/// Marks the file at `path` and all that it declares; its modules live in `directory`.
fn reach(tree: &Tree, path: &str, directory: &str, reached: &mut HashSet<String>) {
    let Some(source) = tree.sources.iter().find(|source| source.path == path) else {
        return;
    };
    if !reached.insert(path.to_owned()) {
        return;
    }
    for module in modules(&source.code(), directory) {
        reach(tree, &format!("{module}.rs"), &module, reached);
        reach(tree, &format!("{module}/mod.rs"), &module, reached);
    }
}

/// Where the modules that `code` declares live, without `.rs`. Inline modules add their directory.
fn modules(code: &Code, directory: &str) -> Vec<String> {
    let tokens = code.tokens();
    let mut inline: Vec<(usize, &str)> = Vec::new();
    let mut modules = Vec::new();
    for at in code.find(&["mod"]) {
        let Some(name) = tokens.get(at + 1) else {
            continue;
        };
        inline.retain(|(end, _)| *end > at);
        if code.reads(at + 2, &["{"]) {
            inline.push((code.close_of(at + 2), &name.text));
        } else if code.reads(at + 2, &[";"]) {
            let mut parts = vec![directory];
            parts.extend(inline.iter().map(|(_, name)| *name));
            parts.push(&name.text);
            modules.push(parts.join("/"));
        }
    }
    modules
}
