//! Sizes: a file, a function and a line that a reader takes in at once.

use super::code::{Code, Kind};
use super::{Finding, Source, Tree};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;

/// Finds files, functions and lines that are too long.
pub fn sizes(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().flat_map(sizes_of).collect()
}

fn sizes_of(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        let what = format!("{lines} lines, at most {FILE_LINES_MAX}: split at a second subject");
        found.push(Finding::new(&source.path, 0, what));
    }
    for (line, text) in (1..).zip(source.text.lines()) {
        let columns = text.chars().count();
        if columns > LINE_COLUMNS_MAX && !is_table_row(text) {
            let what = format!("{columns} columns, at most {LINE_COLUMNS_MAX}");
            found.push(Finding::new(&source.path, line, what));
        }
    }
    for function in functions(&source.code()) {
        let lines = function.last - function.first + 1;
        if lines > FUNCTION_LINES_MAX {
            let what = format!(
                "function {} has {lines} lines, at most {FUNCTION_LINES_MAX}: give a step a name",
                function.name
            );
            found.push(Finding::new(&source.path, function.first, what));
        }
    }
    found
}

/// Markdown cannot continue a row of a table on the next line.
fn is_table_row(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("/// |") || text.starts_with("//! |")
}

struct Function {
    name: String,
    first: usize,
    last: usize,
}

/// Functions with a body, from the line of `fn` to that of the closing brace.
fn functions(code: &Code) -> Vec<Function> {
    let tokens = code.tokens();
    let mut functions = Vec::new();
    for start in code.find(&["fn"]) {
        // A type `fn(u32) -> u32` has no name, a macro's `fn $name` has it behind a `$`.
        let name = match tokens.get(start + 1) {
            Some(token) if token.kind == Kind::Word => token,
            Some(token) if token.text == "$" => &tokens[start + 2],
            _ => continue,
        };
        if let Some(open) = body(code, start) {
            functions.push(Function {
                name: name.text.clone(),
                first: tokens[start].line,
                last: tokens[code.close_of(open)].line,
            });
        }
    }
    functions
}

/// The brace that opens the body of the function at `start`; none if it is only declared.
fn body(code: &Code, start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(token) = code.tokens().get(at) {
        match (token.kind, token.text.as_str()) {
            (Kind::Open, "{") => return Some(at),
            (Kind::Open, _) => at = code.close_of(at) + 1,
            (Kind::Mark, ";") | (Kind::Close, _) => return None,
            _ => at += 1,
        }
    }
    None
}
