//! A trace as a table: a column a host, time downwards.

use std::fmt::Write as _;

use crate::trace::Event;

/// Columns of the whole table, at most.
const WIDTH: usize = 120;

/// The narrowest that a host's column gets.
const NARROWEST: usize = 24;

/// The table, a line an event; what a host does by itself, unasked or late, stands in brackets.
pub(crate) fn of(trace: &[Event]) -> String {
    let hosts = trace.iter().filter_map(|event| event.host).max();
    let hosts = hosts.map_or(1, |host| host + 1);
    let lanes = trace.iter().filter_map(|event| event.lane).max();
    let several = lanes.is_some_and(|lane| lane > 0);
    let cells: Vec<(usize, String)> = trace.iter().map(|event| cell(event, several)).collect();
    let widest = |host: usize| {
        let own = cells.iter().filter(|(column, _)| *column == host);
        own.map(|(_, text)| text.len()).max().unwrap_or(0)
    };
    let limit = ((WIDTH - 5) / hosts).max(NARROWEST);
    let widths: Vec<usize> = (0..hosts)
        .map(|host| widest(host).clamp(8, limit) + 2)
        .collect();
    let mut text = row("", &widths, |host| format!("host {host}"));
    for (number, (column, cell)) in (1..).zip(&cells) {
        let mut number = number.to_string();
        for part in wrapped(cell, limit) {
            let place = |host: usize| {
                if host == *column {
                    part.clone()
                } else {
                    String::new()
                }
            };
            text += &row(&number, &widths, place);
            number.clear();
        }
    }
    text
}

fn cell(event: &Event, several: bool) -> (usize, String) {
    let what = match (event.lane, &event.place) {
        (None, _) => format!("[{}]", event.what),
        (Some(lane), _) if several => format!("{lane}: {}", event.what),
        (Some(_), _) => event.what.clone(),
    };
    let line = event
        .place
        .as_deref()
        .and_then(|place| place.rsplit('/').next());
    let text = line.map_or_else(|| what.clone(), |line| format!("{what}  ({line})"));
    (event.host.unwrap_or(0), text)
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("it begins with one");
        if last.is_empty() || last.len() + 1 + word.len() <= width {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines
}

fn row(number: &str, widths: &[usize], cell: impl Fn(usize) -> String) -> String {
    let mut text = format!("{number:>4}  ");
    for (host, width) in widths.iter().enumerate() {
        let _ = write!(text, "{:width$}", cell(host));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(host: usize, lane: Option<usize>, what: &str) -> Event {
        Event {
            host: Some(host),
            lane,
            what: what.to_owned(),
            place: lane.map(|_| "crates/x/src/a.rs:7".to_owned()),
        }
    }

    #[test]
    fn each_host_has_its_column() {
        let trace = [
            event(0, Some(0), "store x = 1"),
            event(1, None, "fetches line x unasked"),
        ];
        let lines = [
            "      host 0                 host 1",
            "   1  store x = 1  (a.rs:7)",
            "   2                         [fetches line x unasked]",
        ];
        assert_eq!(of(&trace), lines.join("\n") + "\n");
    }
}
