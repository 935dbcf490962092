//! From a record to tables and figures.
//!
//! Everything here is a pure function of a results directory: the same directory gives the same
//! bytes on any machine at any time. There is no clock, no environment and no font.
//!
//! A row keeps its evidence visible: every table and figure names the label of its rows, and rows
//! of two labels share an axis only under headings that say which is which. An absent value is
//! shown as absent, with its reason; it is never drawn at 0.
//!
//! - [`table`]: what a run prints on a terminal.
//! - [`figures`]: SVG files, one a question.
//! - [`html`]: the report as one page, sentences first.
//! - [`write()`]: all of these, as files.
//! - [`frame`] and [`csv`]: the rows for other tools.
//! - [`law`]: what decides the cost of sharing, bytes or operations.
//! - [`scaling`]: how kernels scale over hosts, and what goes with it.
//! - [`claims`]: published statements, held against the record.
//! - [`text_width`]: the widths by which figures are laid out.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod answer;
pub mod claims;
mod condition;
mod figure;
mod frame;
mod html;
pub mod law;
mod phrase;
mod quantity;
pub mod scaling;
mod table;
mod text;

use std::path::{Path, PathBuf};

use record::Results;

pub use figure::{FigureError, figures};
pub use frame::{csv, frame};
pub use html::html;
pub use table::{Rows, table, table_within};
pub use text::width as text_width;

/// Writes the page, every figure and the rows (`report.html`, `*.svg`, `rows.csv`; `law.json` where
/// sharing was measured, `scaling.json` where kernels were run on one host and on several) into `directory`, which is made if it does not exist, and returns the
/// files, the page first.
///
/// # Errors
/// A file cannot be written.
pub fn write(results: &Results, directory: &Path) -> Result<Vec<PathBuf>, FigureError> {
    let mut files = vec![figure::write_file(
        directory,
        "report.html",
        &html(results)?,
    )?];
    files.extend(figures(results, directory)?);
    let laws = law::laws(results);
    if !laws.is_empty() {
        files.push(figure::write_file(
            directory,
            "law.json",
            &law::json(&laws),
        )?);
    }
    let scalings = scaling::scalings(results);
    if !scalings.is_empty() {
        files.push(figure::write_file(
            directory,
            "scaling.json",
            &scaling::json(&scalings),
        )?);
    }
    let rows = csv(&frame(results));
    files.push(figure::write_file(directory, "rows.csv", &rows)?);
    Ok(files)
}
