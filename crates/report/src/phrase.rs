//! Words for rows and parameters, the same in titles, names and sentences.

use record::Row;

use crate::condition::Condition;
use crate::quantity::Scale;
use crate::text::unbroken;

/// A row's median with its unit: `95.1 ns`.
pub(crate) fn median(row: &Row) -> String {
    let value = row.p50.unwrap_or(0.0);
    unbroken(&Scale::fit(&row.unit, [value].into_iter()).show(value))
}

/// A row's median with its 95 % interval: `95.1 ns [94.8, 95.5]`.
pub(crate) fn estimate(row: &Row) -> String {
    let values = row.p50.into_iter().chain(row.ci95.into_iter().flatten());
    let scale = Scale::fit(&row.unit, values);
    let median = scale.show(row.p50.unwrap_or(0.0));
    unbroken(&match row.ci95 {
        Some([low, high]) => format!("{median} [{}, {}]", scale.digits(low), scale.digits(high)),
        None => format!("{median} [no interval: n = {}]", row.n),
    })
}

/// Where memory lies: `region` or `DRAM`; empty where the record does not say.
pub(crate) fn place(condition: &Condition<'_>) -> String {
    match condition.param("place").as_deref() {
        Some("dram") => "DRAM".to_owned(),
        Some(place) => place.to_owned(),
        None => String::new(),
    }
}

/// The same within a sentence: `the region`.
pub(crate) fn the_place(condition: &Condition<'_>) -> String {
    match place(condition).as_str() {
        "region" | "" => "the region".to_owned(),
        place => place.to_owned(),
    }
}

/// The size of pages: `4 KB pages`, `huge pages`; empty where the record does not say.
pub(crate) fn pages(condition: &Condition<'_>) -> String {
    match condition.param("pages").as_deref() {
        Some("small") => "4 KB pages".to_owned(),
        Some("any") => "pages as mapped".to_owned(),
        Some(pages) => format!("{pages} pages"),
        None => String::new(),
    }
}

/// Lanes that took part: a sweep within a run gives them as a parameter.
pub(crate) fn lanes(condition: &Condition<'_>) -> f64 {
    let swept = condition.number("active_lanes");
    swept.unwrap_or_else(|| f64::from(condition.rows[0].lanes))
}

/// `1 lane`, `2 lanes`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    unbroken(&format!("{count} {what}{plural}"))
}

/// What rows say of themselves, each thing once: a row has several behind semicolons, and most of
/// them are said by all rows of a run.
pub(crate) fn caveats<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<&'a str> {
    let mut caveats: Vec<&str> = Vec::new();
    for part in rows
        .filter_map(|row| row.caveat.as_deref())
        .flat_map(|all| all.split("; "))
    {
        if !caveats.contains(&part) {
            caveats.push(part);
        }
    }
    caveats
}

/// Words that are not empty, joined.
pub(crate) fn joined(words: impl IntoIterator<Item = String>) -> String {
    let words = words.into_iter().filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(", ")
}
