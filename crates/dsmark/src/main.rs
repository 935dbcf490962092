//! The one binary: a registry per substrate, one file per sub-command.

#![forbid(unsafe_code)]
// Standard output is where a command's data goes.
#![allow(clippy::print_stdout)]

mod build;
mod cli;
mod cmd;
mod compose;
mod doctor;
mod failure;
mod job;
mod litmus;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(target_arch = "x86_64")]
mod on_native;
mod on_sim;
mod out;
mod parallel;
mod plans;
mod region;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no failure.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match cmd::dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
