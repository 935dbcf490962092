//! Rows as a data frame: what groups them, and what is handed on to other tools.

use polars::prelude::{
    AnyValue, Column, DataFrame, GroupsIndicator, GroupsType, IntoColumn, NamedFrom, Series,
};
use record::{Results, Row};

/// The rows of the results, one each, in their order: parameters as `params.NAME`, the fields of
/// the record, the statistics. What is absent is null.
///
/// A parameter is a column of numbers where every row that has it gives a number, and of words
/// otherwise.
pub fn frame(results: &Results) -> DataFrame {
    let rows = &results.rows;
    let mut columns = vec![words("workload", rows, |row| Some(row.workload.clone()))];
    for name in params(rows) {
        columns.push(param(&name, rows));
    }
    columns.extend(fields(rows));
    columns.extend(statistics(rows));
    columns.extend(census(rows));
    of_columns(rows.len(), columns)
}

/// The frame as comma-separated values with a line of names (RFC 4180), null as nothing.
pub fn csv(frame: &DataFrame) -> String {
    let mut text = String::new();
    let names = frame.columns().iter().map(|column| quoted(column.name()));
    text.push_str(&names.collect::<Vec<_>>().join(","));
    text.push_str("\r\n");
    for index in 0..frame.height() {
        let cells = frame.columns().iter().map(|column| cell(column, index));
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    }
    text
}

/// The indices of keys that are equal, in the order in which each key first appears.
///
/// A key is a list of fields and values. One that has no such field differs from one that has.
pub(crate) fn groups(keys: &[Vec<(String, String)>]) -> Vec<Vec<usize>> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in keys.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let value = |key: &[(String, String)], name: &str| {
        let found = key.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.clone())
    };
    let column = |name: &&str| {
        let values: Vec<Option<String>> = keys.iter().map(|key| value(key, name)).collect();
        column(name, values)
    };
    let frame = of_columns(keys.len(), names.iter().map(column).collect());
    let grouped = frame
        .group_by_stable(names)
        .expect("the names are those of the frame's columns");
    indices(grouped.get_groups().as_ref())
}

fn indices(groups: &GroupsType) -> Vec<Vec<usize>> {
    let of = |group: GroupsIndicator<'_>| match group {
        GroupsIndicator::Idx((_, all)) => all.iter().map(|index| *index as usize).collect(),
        GroupsIndicator::Slice([first, len]) => (first as usize..(first + len) as usize).collect(),
    };
    groups.iter().map(of).collect()
}

fn of_columns(height: usize, columns: Vec<Column>) -> DataFrame {
    DataFrame::new(height, columns).expect("columns of one length, each name once")
}

fn column<T>(name: &str, values: Vec<Option<T>>) -> Column
where
    Series: NamedFrom<Vec<Option<T>>, [Option<T>]>,
{
    Series::new(name.into(), values).into_column()
}

fn words(name: &str, rows: &[Row], value: impl Fn(&Row) -> Option<String>) -> Column {
    column(name, rows.iter().map(value).collect())
}

fn counts(name: &str, rows: &[Row], value: impl Fn(&Row) -> Option<u64>) -> Column {
    column(name, rows.iter().map(value).collect())
}

fn figures(name: &str, rows: &[Row], value: impl Fn(&Row) -> Option<f64>) -> Column {
    column(name, rows.iter().map(value).collect())
}

fn flags(name: &str, rows: &[Row], value: impl Fn(&Row) -> Option<bool>) -> Column {
    column(name, rows.iter().map(value).collect())
}

/// Every parameter's name, in the order of appearance.
fn params(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.params.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn param(name: &str, rows: &[Row]) -> Column {
    let title = format!("params.{name}");
    let mut values = rows.iter().filter_map(|row| row.params.get(name));
    if values.all(serde_json::Value::is_number) {
        return figures(&title, rows, |row| row.params.get(name)?.as_f64());
    }
    words(&title, rows, |row| {
        row.params.get(name).map(crate::condition::plain)
    })
}

fn fields(rows: &[Row]) -> Vec<Column> {
    vec![
        words("substrate", rows, |row| Some(row.substrate.to_string())),
        words("label", rows, |row| Some(row.label.to_string())),
        words("pod", rows, |row| Some(row.pod.clone())),
        words("coherence", rows, |row| Some(row.coherence.to_string())),
        words("device", rows, |row| Some(row.device.to_string())),
        counts("hosts", rows, |row| Some(row.hosts.into())),
        counts("lanes", rows, |row| Some(row.lanes.into())),
        counts("host", rows, |row| row.host.map(u64::from)),
        counts("peer", rows, |row| row.peer.map(u64::from)),
        counts("lane", rows, |row| row.lane.map(u64::from)),
        flags("oversubscribed", rows, |row| Some(row.oversubscribed)),
        counts("trial", rows, |row| Some(row.trial.into())),
        counts("seed", rows, |row| Some(row.seed)),
        words("metric", rows, |row| Some(row.metric.clone())),
        words("unit", rows, |row| Some(row.unit.clone())),
        flags("verified", rows, |row| row.verified),
        words("digest", rows, |row| Some(row.digest.clone())),
        words("error", rows, |row| row.error.clone()),
        words("reason", rows, |row| row.reason.clone()),
    ]
}

fn statistics(rows: &[Row]) -> Vec<Column> {
    vec![
        counts("n", rows, |row| Some(row.n)),
        figures("min", rows, |row| row.min),
        figures("p50", rows, |row| row.p50),
        figures("p90", rows, |row| row.p90),
        figures("p99", rows, |row| row.p99),
        figures("p999", rows, |row| row.p999),
        figures("max", rows, |row| row.max),
        figures("mean", rows, |row| row.mean),
        figures("ci95_low", rows, |row| Some(row.ci95?[0])),
        figures("ci95_high", rows, |row| Some(row.ci95?[1])),
    ]
}

fn census(rows: &[Row]) -> Vec<Column> {
    let of = |name: &str, value: fn(&record::CensusPerOp) -> f64| {
        let title = format!("census.{name}");
        figures(&title, rows, |row| row.census.as_ref().map(value))
    };
    vec![
        of("publishes", |census| census.publishes),
        of("observes", |census| census.observes),
        of("lines_published", |census| census.lines_published),
        of("lines_observed", |census| census.lines_observed),
        of("bytes_published", |census| census.bytes_published),
        of("bytes_observed", |census| census.bytes_observed),
        of("fences.store", |census| census.fences.store),
        of("fences.load", |census| census.fences.load),
        of("fences.full", |census| census.fences.full),
    ]
}

fn cell(column: &Column, index: usize) -> String {
    let value = column.get(index);
    match value.expect("the index is below the frame's height") {
        AnyValue::Null => String::new(),
        AnyValue::Float64(number) => number.to_string(),
        AnyValue::UInt64(count) => count.to_string(),
        AnyValue::Boolean(flag) => flag.to_string(),
        other => quoted(other.get_str().unwrap_or_default()),
    }
}

fn quoted(text: &str) -> String {
    if !text.contains([',', '"', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}
