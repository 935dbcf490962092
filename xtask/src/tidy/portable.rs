//! Target-specific code stands in `native`: every other crate compiles for any architecture.

use super::code::{Code, Kind};
use super::{Finding, Tree};

/// The crate that names the instructions of a processor.
const NATIVE: &str = "native";
/// The crate that depends on it only where it exists, and therefore asks for the architecture.
const COMPOSER: &str = "dsmark";

/// Finds intrinsics, inline assembly and questions about the target outside `native`.
pub fn target_specific_code(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        let owner = source.crate_name();
        if owner == Some(NATIVE) || !source.ships() {
            continue;
        }
        let code = source.code();
        for (at, token) in code.tokens().iter().enumerate() {
            let granted = owner == Some(COMPOSER) && token.text == "target_arch";
            if token.kind == Kind::Word && is_specific(&code, at) && !granted {
                let what = format!("{} is target-specific: it belongs in native", token.text);
                found.push(Finding::new(&source.path, token.line, what));
            }
        }
    }
    found
}

fn is_specific(code: &Code, at: usize) -> bool {
    match code.tokens()[at].text.as_str() {
        "target_arch" | "target_feature" | "x86_64" => true,
        "asm" | "global_asm" | "naked_asm" => code.reads(at + 1, &["!"]),
        // `core::arch`, also from within `use core::{arch::..}`.
        "arch" => code.follows(at, &[":", ":"]) || code.reads(at + 1, &[":", ":"]),
        _ => false,
    }
}
