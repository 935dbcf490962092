//! One file per sub-command.

mod check;
mod doctor;
mod graph;
mod host;
mod infer;
mod layout;
mod list;
mod measure;
mod pod;
mod region;
mod replay;
mod report;
mod run;
mod tier;
mod verify;

use crate::cli::Command;
use crate::failure::Failure;

/// Does what was typed.
pub(crate) fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Measure(args) => measure::measure(&args),
        Command::List { json } => list::list(json),
        Command::Layout(args) => layout::layout(&args),
        Command::Region(args) => region::region(&args),
        Command::Check(args) => check::check(&args),
        Command::Replay { token } => replay::replay(&token),
        Command::Infer { name } => infer::infer(&name),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Pod(args) => pod::pod(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Report(args) => report::report(&args),
        Command::Tier(args) => tier::tier(&args),
        Command::Graph(args) => graph::graph(&args),
        Command::Host => host::host(),
    }
}
