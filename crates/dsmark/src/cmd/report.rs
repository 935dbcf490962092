//! `dsmark report`: everything that a results directory tells, again and at any time.

use std::path::PathBuf;

use record::Results;
use report::{Rows, table_within};

use crate::cli::Report;
use crate::cmd::run::write_report;
use crate::failure::Failure;
use crate::out::print;

/// Columns of a terminal.
const COLUMNS: usize = 100;

pub(crate) fn report(args: &Report) -> Result<(), Failure> {
    let results = Results::open(&args.directory)?;
    print(&table_within(&results, COLUMNS, Rows::All))?;
    // A path that ends in a dot has no name; the figures' directory is named after it.
    let named: PathBuf = args
        .directory
        .canonicalize()
        .unwrap_or_else(|_| args.directory.clone());
    write_report(&results, &named)
}
