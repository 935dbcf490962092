//! Where `unsafe` stands, and that it says why it is sound.
//!
//! Clippy asks for a comment on unsafe blocks that it sees; this check also reads the bodies of
//! macros, `unsafe fn`s that are private, and every crate but `native`, where there is none.

use std::collections::HashSet;

use super::code::Code;
use super::{Finding, Source, Tree};

const UNSAFE_CRATE: &str = "native";

/// Finds `unsafe` outside `native` or without its reason, and crate roots that do not forbid it.
pub fn unsafe_code(tree: &Tree) -> Vec<Finding> {
    let mut found = roots_that_allow(tree);
    for source in &tree.sources {
        if source.crate_name() == Some(UNSAFE_CRATE) {
            found.extend(unexplained(source));
        } else {
            found.extend(misplaced(source));
        }
    }
    found
}

fn roots_that_allow(tree: &Tree) -> Vec<Finding> {
    tree.members()
        .filter(|member| member.name != UNSAFE_CRATE)
        .flat_map(|member| &member.roots)
        .filter_map(|root| tree.sources.iter().find(|source| source.path == *root))
        .filter(|source| {
            let forbid = ["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"];
            source.code().find(&forbid).next().is_none()
        })
        .map(|source| Finding::new(&source.path, 0, "lacks #![forbid(unsafe_code)]"))
        .collect()
}

fn misplaced(source: &Source) -> Vec<Finding> {
    let code = source.code();
    code.find(&["unsafe"])
        .map(|at| {
            let what = "unsafe code stands in crates/native only";
            Finding::new(&source.path, code.tokens()[at].line, what)
        })
        .collect()
}

fn unexplained(source: &Source) -> Vec<Finding> {
    let code = source.code();
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let lines_with_unsafe: HashSet<usize> = code
        .find(&["unsafe"])
        .map(|at| code.tokens()[at].line)
        .collect();
    let mut found = Vec::new();
    for at in code.find(&["unsafe"]) {
        let line = code.tokens()[at].line;
        let Some(subject) = subject(&code, at) else {
            continue;
        };
        let comment = comment_above(&lines, line, &lines_with_unsafe);
        let explained = match subject {
            Subject::Contract => comment.contains("# Safety"),
            Subject::Promise => comment.contains("SAFETY:"),
        };
        if !explained {
            found.push(Finding::new(&source.path, line, subject.remedy()));
        }
    }
    found
}

#[derive(Clone, Copy)]
enum Subject {
    /// `unsafe fn`, `unsafe trait`: states what its user must hold.
    Contract,
    /// An unsafe block, `impl` or attribute: says why it holds here.
    Promise,
}

impl Subject {
    fn remedy(self) -> &'static str {
        match self {
            Self::Contract => "unsafe declaration without a `# Safety` section in its doc comment",
            Self::Promise => "unsafe code without a `// SAFETY:` comment above it",
        }
    }
}

/// What the `unsafe` at `at` begins; none for the type of a pointer to an unsafe function.
fn subject(code: &Code, at: usize) -> Option<Subject> {
    if code.reads(at + 1, &["{"]) || code.reads(at + 1, &["impl"]) || code.reads(at + 1, &["("]) {
        return Some(Subject::Promise);
    }
    if code.reads(at + 1, &["fn", "("]) {
        return None;
    }
    let foreign = code.reads(at + 1, &["extern"]);
    let tokens = code.tokens();
    if foreign && tokens.get(at + 3).is_some_and(|token| token.text == "{") {
        return Some(Subject::Promise);
    }
    if foreign && code.reads(at + 3, &["fn", "("]) {
        return None;
    }
    Some(Subject::Contract)
}

/// The comment that belongs to the statement or item around `line`, from 1.
///
/// It stands above the attributes and above earlier lines of the same statement, and never beyond a
/// line that has its own `unsafe` to explain.
fn comment_above(lines: &[&str], line: usize, lines_with_unsafe: &HashSet<usize>) -> String {
    let mut comment = Vec::new();
    for above in (1..line).rev() {
        let text = lines[above - 1];
        if text.starts_with("//") {
            comment.push(text);
            continue;
        }
        let ends_statement = text.is_empty() || text.ends_with([';', '{', '}']);
        let is_attribute = text.starts_with("#[");
        let other_subject = ends_statement && !is_attribute || lines_with_unsafe.contains(&above);
        if !comment.is_empty() || other_subject {
            break;
        }
    }
    comment.reverse();
    comment.join("\n")
}
