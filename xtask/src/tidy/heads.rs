//! A crate's root begins with a sentence that says what the crate is for.

use super::{Finding, Tree};

/// Finds roots of crates whose first line is not a `//!` sentence.
pub fn crate_heads(tree: &Tree) -> Vec<Finding> {
    let roots = tree.members().flat_map(|member| &member.roots);
    roots
        .filter_map(|root| tree.sources.iter().find(|source| source.path == *root))
        .filter(|source| !begins_with_sentence(&source.text))
        .map(|source| {
            let what = "begins with no `//! Sentence.` about what the crate is for";
            Finding::new(&source.path, 1, what)
        })
        .collect()
}

fn begins_with_sentence(text: &str) -> bool {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix("//! "))
        .is_some_and(|sentence| sentence.len() > 1 && sentence.ends_with('.'))
}
