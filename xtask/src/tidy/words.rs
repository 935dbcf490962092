//! Words: no unfinished code, no test that is switched off, no file named after nothing.

use super::code::{Code, Kind};
use super::{Finding, Source, Tree};

/// Marks of unfinished work, spelled apart so that this file passes its own check.
const MARKS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];
const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];
const NAMES: [&str; 7] = [
    "util", "utils", "helper", "helpers", "misc", "manager", "stuff",
];

/// Finds marks and macros of unfinished work, ignored tests, and characters beyond ASCII.
pub fn unfinished_code(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources.iter().chain(&tree.texts) {
        found.extend(marks(source));
    }
    for source in &tree.sources {
        found.extend(beyond_ascii(source));
        found.extend(unfinished(source));
    }
    found
}

/// Finds files and modules whose name says nothing about their subject.
pub fn file_names(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for part in source.path.trim_end_matches(".rs").split('/') {
            if NAMES.contains(&part) {
                let what = format!("a file called {part}: name it after its subject");
                found.push(Finding::new(&source.path, 0, what));
            }
        }
        let code = source.code();
        for name in NAMES {
            for at in code.find(&["mod", name]) {
                let what = format!("a module called {name}: name it after its subject");
                found.push(Finding::new(&source.path, code.tokens()[at].line, what));
            }
        }
    }
    found
}

fn marks(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(source.text.lines()) {
        let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
        for word in words.filter(|word| MARKS.contains(word)) {
            let what = format!("{word}: finish it, or file an issue and say what is absent");
            found.push(Finding::new(&source.path, line, what));
        }
    }
    found
}

fn beyond_ascii(source: &Source) -> Vec<Finding> {
    (1..)
        .zip(source.text.lines())
        .filter(|(_, text)| !text.is_ascii())
        .map(|(line, _)| Finding::new(&source.path, line, "a character beyond ASCII"))
        .collect()
}

fn unfinished(source: &Source) -> Vec<Finding> {
    let code = source.code();
    let mut found = Vec::new();
    for (at, token) in code.tokens().iter().enumerate() {
        let is_macro = MACROS.contains(&token.text.as_str()) && code.reads(at + 1, &["!"]);
        if token.kind == Kind::Word && is_macro {
            let what = format!("{}! in code that lands", token.text);
            found.push(Finding::new(&source.path, token.line, what));
        }
        if is_ignore(&code, at) {
            let what = "an ignored test rots: run it, or delete it and say what is absent";
            found.push(Finding::new(&source.path, token.line, what));
        }
    }
    found
}

/// Whether the `#` at `at` begins `#[ignore]`, in whatever spelling.
fn is_ignore(code: &Code, at: usize) -> bool {
    if !code.reads(at, &["#", "["]) {
        return false;
    }
    let inside = at + 2..code.close_of(at + 1);
    code.reads(at + 2, &["ignore"])
        || code.reads(at + 2, &["cfg_attr"])
            && code.find(&["ignore"]).any(|it| inside.contains(&it))
}
