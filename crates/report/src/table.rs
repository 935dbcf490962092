//! What a run prints on a terminal: a table for each workload and metric.
//!
//! One metric a table keeps one unit a column. Fields that never vary stand once above the
//! columns; a table that is wider than the terminal gives each row two lines.

use std::collections::BTreeSet;
use std::fmt::Write;

use record::{Results, Row};

use crate::condition::{absence, plain};
use crate::quantity::Scale;
use crate::text::{unbroken, wrap_columns};

const COLUMNS: usize = 100;

/// Which rows a table prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The pod's row of each trial and metric; those of single hosts and pairs only where the pod
    /// has none. The table says how many it left out.
    Pod,
    /// Every row.
    All,
}

/// The pod's rows, for a terminal of 100 columns. A pure function of the results.
pub fn table(results: &Results) -> String {
    table_within(results, COLUMNS, Rows::Pod)
}

/// Rows of the results, for a terminal of `columns` characters. A pure function of the results.
pub fn table_within(results: &Results, columns: usize, which: Rows) -> String {
    let rows = chosen(results, which);
    let mut text = String::new();
    for (workload, metric) in sections(&rows) {
        let of_section = rows
            .iter()
            .filter(|row| row.workload == workload && row.metric == metric);
        let section = Section::new(of_section.copied().collect());
        text.push_str(&section.show(columns));
        text.push('\n');
    }
    let left_out = results.rows.len() - rows.len();
    for line in closing(results, left_out) {
        for line in wrap_columns(&line, columns) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// The rows to print. A host's row is told by its trial's row of the same metric for the pod.
fn chosen(results: &Results, which: Rows) -> Vec<&Row> {
    let of_pod: BTreeSet<(u32, &str)> = results
        .rows
        .iter()
        .filter(|row| row.host.is_none())
        .map(|row| (row.trial, row.metric.as_str()))
        .collect();
    let told = |row: &Row| row.host.is_some() && of_pod.contains(&(row.trial, row.metric.as_str()));
    results
        .rows
        .iter()
        .filter(|row| which == Rows::All || !told(row))
        .collect()
}

/// Workloads and metrics in the order in which they first appear, a workload's metrics together.
fn sections<'a>(rows: &[&'a Row]) -> Vec<(&'a str, &'a str)> {
    let mut sections: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let section = (row.workload.as_str(), row.metric.as_str());
        if !sections.contains(&section) {
            let same = sections
                .iter()
                .rposition(|(workload, _)| *workload == section.0);
            sections.insert(same.map_or(sections.len(), |last| last + 1), section);
        }
    }
    sections
}

/// A column: its name, and a cell for each row.
struct Column {
    name: String,
    cells: Vec<String>,
    /// Numbers end at one line, names begin at one.
    numbers: bool,
}

impl Column {
    fn new(name: &str, numbers: bool, cells: impl Iterator<Item = String>) -> Self {
        Self {
            name: name.to_owned(),
            cells: cells.collect(),
            numbers,
        }
    }

    fn width(&self) -> usize {
        self.cells
            .iter()
            .chain([&self.name])
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    }

    fn pad(&self, cell: &str) -> String {
        let width = self.width();
        if self.numbers {
            format!("{cell:>width$}")
        } else {
            format!("{cell:<width$}")
        }
    }

    fn constant(&self) -> bool {
        self.cells.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// The rows of one workload and metric.
struct Section<'a> {
    rows: Vec<&'a Row>,
    /// Fields that never vary, as `name value`.
    constant: Vec<String>,
    /// What tells the rows apart.
    subject: Vec<Column>,
    /// What was measured.
    figures: Vec<Column>,
}

impl<'a> Section<'a> {
    fn new(rows: Vec<&'a Row>) -> Self {
        let (constant, varying): (Vec<Column>, Vec<Column>) =
            subject(&rows).into_iter().partition(Column::constant);
        // A field that does not apply says nothing.
        let constant = constant
            .iter()
            .filter(|column| column.cells[0] != "-")
            .map(|column| unbroken(&format!("{} {}", column.name, column.cells[0])))
            .collect();
        let figures = figures(&rows);
        Self {
            rows,
            constant,
            subject: varying,
            figures,
        }
    }

    fn show(&self, columns: usize) -> String {
        let mut text = String::new();
        let first = self.rows[0];
        let mut heading = format!("{}: {}", first.workload, first.metric);
        if !self.constant.is_empty() {
            let _ = write!(heading, " ({})", self.constant.join(", "));
        }
        let mut lines = wrap_columns(&heading, columns);
        let all: Vec<&Column> = self.subject.iter().chain(&self.figures).collect();
        let subject: Vec<&Column> = self.subject.iter().collect();
        let figures: Vec<&Column> = self.figures.iter().collect();
        let fits = line_of(&all, None).chars().count() <= columns;
        for row in std::iter::once(None).chain((0..self.rows.len()).map(Some)) {
            if fits {
                lines.push(line_of(&all, row));
                continue;
            }
            if !subject.is_empty() {
                lines.extend(wrap_columns(&line_of(&subject, row), columns));
            }
            lines.push(format!("  {}", line_of(&figures, row)));
        }
        for note in self.notes() {
            lines.extend(wrap_columns(&note, columns));
        }
        for line in lines {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Why there are no results, each reason once.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<(String, usize)> = Vec::new();
        for note in self.rows.iter().filter_map(|row| absence(row)) {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, count)) => *count += 1,
                None => notes.push((note, 1)),
            }
        }
        notes
            .into_iter()
            .map(|(note, count)| match count {
                1 => note,
                count => format!("{note} ({count} rows)"),
            })
            .collect()
    }
}

/// A row of cells, or the names of the columns.
fn line_of(columns: &[&Column], row: Option<usize>) -> String {
    let cells = columns.iter().map(|column| {
        column.pad(row.map_or(column.name.as_str(), |row| column.cells[row].as_str()))
    });
    cells.collect::<Vec<_>>().join("  ")
}

fn subject(rows: &[&Row]) -> Vec<Column> {
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.params.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut columns: Vec<Column> = names
        .into_iter()
        .map(|name| {
            let cells = rows
                .iter()
                .map(|row| row.params.get(name).map_or("-".to_owned(), plain));
            Column::new(name, false, cells)
        })
        .collect();
    columns.push(Column::new(
        "hosts",
        true,
        rows.iter().map(|row| row.hosts.to_string()),
    ));
    columns.push(Column::new(
        "lanes",
        true,
        rows.iter().map(|row| row.lanes.to_string()),
    ));
    columns.push(Column::new(
        "host",
        false,
        rows.iter().map(|row| place(row)),
    ));
    // Where all rows share them, they stand below the tables.
    let places = [
        ("pod", words(rows, |row| row.pod.clone())),
        ("substrate", words(rows, |row| row.substrate.to_string())),
        ("coherence", words(rows, |row| row.coherence.to_string())),
        ("device", words(rows, |row| row.device.to_string())),
    ];
    let places = places.map(|(name, cells)| Column::new(name, false, cells.into_iter()));
    columns.extend(places.into_iter().filter(|column| !column.constant()));
    columns
}

fn words(rows: &[&Row], of: fn(&Row) -> String) -> Vec<String> {
    rows.iter().map(|row| of(row)).collect()
}

/// The host, the pair, or the lane of one, that a row belongs to.
fn place(row: &Row) -> String {
    let lane = row.lane.map_or(String::new(), |lane| format!(".{lane}"));
    match (row.host, row.peer) {
        (Some(host), Some(peer)) => format!("{host}{lane} to {peer}"),
        (Some(host), None) => format!("{host}{lane}"),
        _ => "-".to_owned(),
    }
}

fn figures(rows: &[&Row]) -> Vec<Column> {
    let shown = rows
        .iter()
        .flat_map(|row| [row.p50, row.p99, row.ci95.map(|ci| ci[1])]);
    let scale = Scale::fit(&rows[0].unit, shown.flatten());
    let unit = scale.unit;
    let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| scale.digits(value));
    let interval = |row: &Row| {
        row.ci95.map_or("-".to_owned(), |[low, high]| {
            format!("[{}, {}]", scale.digits(low), scale.digits(high))
        })
    };
    let median = |row: &Row| match row {
        Row { error: Some(_), .. } => "failed".to_owned(),
        Row { p50: None, .. } => "absent".to_owned(),
        Row {
            verified: Some(false),
            ..
        } => "wrong".to_owned(),
        row => optional(row.p50),
    };
    vec![
        Column::new(
            &format!("p50 {unit}"),
            true,
            rows.iter().map(|row| median(row)),
        ),
        Column::new("[ci95]", true, rows.iter().map(|row| interval(row))),
        Column::new(
            &format!("p99 {unit}"),
            true,
            rows.iter().map(|row| optional(row.p99)),
        ),
        Column::new("n", true, rows.iter().map(|row| row.n.to_string())),
        Column::new("label", false, rows.iter().map(|row| row.label.to_string())),
    ]
}

/// What the figures are worth: labels, pod, device, sharing of cores; and what is wrong.
fn closing(results: &Results, left_out: usize) -> Vec<String> {
    let mut lines: Vec<String> = results
        .problems
        .iter()
        .map(|problem| format!("Problem: {problem}"))
        .collect();
    if results.rows.is_empty() {
        lines.push("No rows.".to_owned());
        return lines;
    }
    if left_out > 0 {
        let rows = if left_out == 1 { "row" } else { "rows" };
        lines.push(format!(
            "{left_out} {rows} of single hosts or pairs left out; `dsmark report {}` prints all.",
            results.path.display()
        ));
    }
    let distinct = |value: fn(&Row) -> String| {
        let values: BTreeSet<String> = results.rows.iter().map(value).collect();
        values.into_iter().collect::<Vec<_>>().join("; ")
    };
    let shared = results.rows.iter().filter(|row| row.oversubscribed).count();
    let shared = match shared {
        0 => "not oversubscribed".to_owned(),
        all if all == results.rows.len() => "oversubscribed: lanes took turns on the cores".into(),
        some => format!("{some} of {} rows oversubscribed", results.rows.len()),
    };
    lines.push(format!(
        "Label: {}. Pod {}, device {}; {shared}.",
        distinct(|row| row.label.to_string()),
        distinct(|row| row.pod.clone()),
        distinct(|row| row.device.to_string()),
    ));
    lines
}
