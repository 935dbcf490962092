//! A report as text: one line a finding, and below those that are not `ok` what to do.

use std::fmt::Write as _;

use super::finding::{Finding, Report, Status};

/// Text is broken here, whatever the terminal's width: logs have none.
const COLUMNS: usize = 80;
const INDENT: &str = "      ";

/// `coloured`: only for a terminal.
pub(crate) fn print(report: &Report, coloured: bool) -> String {
    let mut text = String::new();
    for (title, findings) in &report.groups {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", paint(title, "1", coloured));
        for finding in findings {
            add(&mut text, finding, coloured);
        }
    }
    let counts = Status::ALL.map(|status| format!("{} {}", report.count(status), status.name()));
    let conclusion = format!("{}: {}", counts.join(", "), verdict(report));
    text.push('\n');
    text.push_str(&wrap(&conclusion).join("\n"));
    text
}

fn verdict(report: &Report) -> String {
    let place = report.place;
    if report.count(Status::Fail) > 0 {
        format!("native runs do not work {place} until each `fail` is gone")
    } else if report.count(Status::Warn) > 0 {
        format!(
            "native runs work {place}; each `warn` disturbs their figures or withholds a device"
        )
    } else {
        format!("native runs work {place}")
    }
}

fn add(text: &mut String, finding: &Finding, coloured: bool) {
    let status = paint(
        &format!("{:<4}", finding.status.name()),
        colour(finding.status),
        coloured,
    );
    let mut lines = wrap(&format!("{}: {}", finding.check, finding.found)).into_iter();
    let _ = writeln!(text, "{status}  {}", lines.next().unwrap_or_default());
    let explained = match &finding.remedy {
        None => Vec::new(),
        Some(remedy) => {
            let mut lines = wrap(&format!("means: {}", finding.means));
            lines.extend(wrap(&format!("remedy: {remedy}")));
            lines
        }
    };
    for line in lines.chain(explained) {
        let _ = writeln!(text, "{INDENT}{line}");
    }
}

fn colour(status: Status) -> &'static str {
    match status {
        Status::Ok => "32",
        Status::Note => "36",
        Status::Warn => "33",
        Status::Fail => "31",
    }
}

fn paint(text: &str, colour: &str, coloured: bool) -> String {
    if coloured {
        format!("\x1b[{colour}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Lines of words that fit behind the indent, all but the first set in; a longer word, such as a
/// path, has a line of its own.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("it begins with a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= COLUMNS - INDENT.len() {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new("here");
        let long = "word ".repeat(40);
        report.add(
            "group",
            vec![
                Finding::new(Status::Ok, "fine", "as it should be", "never printed"),
                Finding::new(Status::Warn, "bad", long.trim(), "it matters").remedy("do this"),
            ],
        );
        report
    }

    #[test]
    fn only_what_is_wrong_is_explained_and_nothing_is_lost() {
        let text = print(&report(), false);
        assert!(!text.contains("never printed"), "{text}");
        assert!(
            text.contains("means: it matters") && text.contains("remedy: do this"),
            "{text}"
        );
        assert_eq!(text.matches("word").count(), 40, "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
    }

    #[test]
    fn colours_are_for_terminals() {
        assert!(!print(&report(), false).contains('\x1b'));
        assert!(print(&report(), true).contains("\x1b[33mwarn\x1b[0m"));
    }
}
