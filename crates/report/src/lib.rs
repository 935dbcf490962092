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
//! - [`figures`]: SVG files, one a workload.
//! - [`claims`]: published statements, held against the record.
//! - [`text_width`]: the widths by which figures are laid out.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod claims;
mod condition;
mod figure;
mod quantity;
mod table;
mod text;

pub use figure::{FigureError, figures};
pub use table::{Rows, table, table_within};
pub use text::width as text_width;
