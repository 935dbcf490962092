//! The report as one page: it answers first, then shows figures, tables and where they come from.
//!
//! The page needs no network, no script and no font, and says nothing that is not in the
//! directory, so that it can be mailed, printed, and made again.

mod provenance;

use std::fmt::Write;

use record::Results;

use crate::answer::answers;
use crate::condition::capital;
use crate::figure::{Drawn, FigureError, drawn};
use crate::table::{Rows, table_within};

const STYLE: &str = include_str!("style.css");

/// Columns of the tables: a narrow window scrolls them.
const COLUMNS: usize = 100;

/// The report on a run as a self-contained HTML page. A pure function of the results.
///
/// # Errors
/// The drawing library refuses a figure.
pub fn html(results: &Results) -> Result<String, FigureError> {
    let figures = drawn(results)?;
    let mut page = String::new();
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let _ = writeln!(
        page,
        "<title>{TITLE}</title>\n<style>\n{STYLE}</style>\n</head>"
    );
    let _ = writeln!(page, "<body>\n<h1>{TITLE}</h1>");
    page.push_str(&provenance::subtitle(results));
    page.push_str(&provenance::warnings(results));
    page.push_str(&answer(results));
    page.push_str(&figure_section(&figures));
    page.push_str(&tables(results));
    page.push_str(&provenance::section(results));
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

const TITLE: &str = "What each step costs here";

fn answer(results: &Results) -> String {
    let (topics, unanswered) = answers(results);
    let mut text = "<section id=\"answer\">\n<p class=\"muted\">Each number is a median, followed \
                    by its 95 % interval in brackets.</p>\n"
        .to_owned();
    for topic in topics {
        let (step, label) = (escape(topic.step), escape(topic.label.as_str()));
        let _ = writeln!(
            text,
            "<h3>{step} <span class=\"label\">{label}</span></h3>\n<ul>"
        );
        for sentence in topic.sentences {
            let _ = writeln!(text, "<li>{}</li>", escape(&sentence));
        }
        text.push_str("</ul>\n");
    }
    if !unanswered.is_empty() {
        let steps = escape(&capital(&unanswered.join(", ").to_lowercase()));
        let _ = writeln!(text, "<p>Not in this run: {steps}.</p>");
    }
    text + "</section>\n"
}

fn figure_section(figures: &[Drawn]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let mut text = "<section id=\"figures\">\n<h2>Figures</h2>\n".to_owned();
    for figure in figures {
        // A name beside the drawing: its own title is read aloud, the file's name is cited.
        let (name, title) = (escape(figure.name), escape(&figure.title));
        let svg = figure.svg.trim();
        let _ = writeln!(
            text,
            "<figure id=\"{name}\" aria-label=\"{title}\">\n{svg}\n</figure>"
        );
    }
    text + "</section>\n"
}

fn tables(results: &Results) -> String {
    let table = escape(&table_within(results, COLUMNS, Rows::All));
    let count = results.rows.len();
    format!(
        "<section id=\"tables\">\n<h2>Tables</h2>\n<details>\n<summary>All {count} rows</summary>\n\
         <pre>{table}</pre>\n</details>\n</section>\n"
    )
}

/// Text as it stands between tags or in a quoted attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\u{a0}', "&nbsp;")
}
