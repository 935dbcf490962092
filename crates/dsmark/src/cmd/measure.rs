//! `dsmark measure`: one workload, printed.

use record::Results;
use report::{Rows, table_within};

use crate::cli::Measure;
use crate::cmd::run::conclude;
use crate::failure::Failure;
use crate::job::Job;
use crate::out::print;
use crate::plans;

const COLUMNS: usize = 100;

pub(crate) fn measure(args: &Measure) -> Result<(), Failure> {
    let mut plan = plans::of_one(&args.workload, &args.set)?;
    plans::apply(&mut plan, &args.place)?;
    let job = Job::new(plan, &args.place, args.place.out.clone())?;
    let Some(kept) = job.run()? else {
        return Ok(());
    };
    let printed = match &args.place.out {
        _ if args.json => kept.print_rows(),
        Some(out) => return conclude(&kept, out),
        // Every row: there is no directory in which the rest could be looked up.
        None => {
            let results = Results::in_memory(kept.rows().to_vec());
            print(&table_within(&results, COLUMNS, Rows::All))
        }
    };
    kept.verdict().and(printed)
}
