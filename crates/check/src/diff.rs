//! A placement as a unified diff against the source.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::ask::Recipe;
use crate::edit::Insertion;

/// Lines of source around a change.
const CONTEXT: usize = 1;

/// The diff of a placement; `read` gives a file of source by its path. Where a file cannot be had,
/// its places are listed instead.
pub fn diff(placement: &[Insertion], read: impl Fn(&str) -> Option<String>) -> String {
    let mut files: BTreeMap<&str, Vec<&Insertion>> = BTreeMap::new();
    for put in placement {
        files.entry(put.at.file()).or_default().push(put);
    }
    let mut text = String::new();
    for (file, mut puts) in files {
        puts.sort_by_key(|put| (put.at.line(), put.recipe));
        match read(file) {
            Some(source) => of_file(file, &source, &puts, &mut text),
            None => list(file, &puts, &mut text),
        }
    }
    text
}

fn list(file: &str, puts: &[&Insertion], text: &mut String) {
    for put in puts {
        let side = if put.recipe == Recipe::Observe {
            "before"
        } else {
            "after"
        };
        let _ = writeln!(text, "{file}:{}: {} {side} it", put.at.line(), put.recipe);
    }
}

fn of_file(file: &str, source: &str, puts: &[&Insertion], text: &mut String) {
    let lines: Vec<&str> = source.lines().collect();
    let _ = writeln!(text, "--- a/{file}\n+++ b/{file}");
    for (grown, put) in puts.iter().enumerate() {
        let at = put.at.line() as usize;
        let from = at.saturating_sub(CONTEXT).max(1);
        let to = (at + CONTEXT).min(lines.len());
        let count = to + 1 - from;
        let before = put.recipe == Recipe::Observe;
        // The source is shown without its maintenance: an observe that stands there is the one.
        let stands = before && from < at && is_observe(lines[from - 1]);
        let (old, new) = if stands {
            (count - 1, count)
        } else {
            (count, count + 1)
        };
        let _ = writeln!(text, "@@ -{from},{old} +{},{new} @@", from + grown);
        for number in from..=to {
            let line = lines.get(number - 1).copied().unwrap_or_default();
            if stands && number == from {
                let _ = writeln!(text, "+{line}");
                continue;
            }
            let added = (number == at && !stands).then(|| added(line, put));
            if let Some(added) = added.as_ref().filter(|_| before) {
                let _ = writeln!(text, "+{added}");
            }
            let _ = writeln!(text, " {line}");
            if let Some(added) = added.filter(|_| !before) {
                let _ = writeln!(text, "+{added}");
            }
        }
    }
}

/// Whether a line of source is nothing but an observe.
fn is_observe(line: &str) -> bool {
    line.contains(".observe(") || line.contains(".observe_each(")
}

/// The call that is put in beside a line of source, with that line's indentation and operand.
fn added(line: &str, put: &Insertion) -> String {
    let indentation = &line[..line.len() - line.trim_start().len()];
    let (port, operand) = operands(line).unwrap_or(("port", "line"));
    format!("{indentation}{port}.{}({operand}.line());", put.recipe)
}

/// What a line calls a verb of, and the verb's first operand.
fn operands(line: &str) -> Option<(&str, &str)> {
    const VERBS: [&str; 9] = [
        ".load(",
        ".store(",
        ".store_nt(",
        ".store_line(",
        ".read_into(",
        ".write_from(",
        ".write_published(",
        ".write_posted(",
        ".get(",
    ];
    let (at, verb) = VERBS
        .iter()
        .find_map(|verb| Some((line.find(verb)?, verb)))?;
    let port = line[..at]
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
        .next()?;
    let rest = &line[at + verb.len()..];
    let mut depth = 0;
    let end = rest.char_indices().find(|(_, c)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ')' | ',' if depth == 0 => return true,
            _ => {}
        }
        false
    });
    let operand = rest[..end?.0].trim();
    Some((port, operand))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operand_of_a_verb_is_found() {
        let line = "            (port.load(taken.at(1)) == self.sent).then_some(())";
        assert_eq!(operands(line), Some(("port", "taken.at(1)")));
        let line = "        self.port.write_posted(flag, &[self.sent]);";
        assert_eq!(operands(line), Some(("self.port", "flag")));
        assert_eq!(operands("    let x = 1;"), None);
    }
}
