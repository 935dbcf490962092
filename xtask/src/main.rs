//! `cargo run -p xtask -- COMMAND`: the chores that `scripts/test` runs, one at a time.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)] // a command for people: its result is what it prints

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use xtask::aarch64::{self, Outcome};
use xtask::tidy::{CHECKS, Tree};

const USAGE: &str = "usage: cargo run -p xtask -- COMMAND

commands:
  tidy      dependency law, sizes, unsafe, words, links, licences
  aarch64   cargo check of everything but `native` for aarch64, where its standard library exists
";

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the manifest of xtask lies in the root of the repository")?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(root),
        ["aarch64"] => check_aarch64(root),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

fn tidy(root: &Path) -> Result<ExitCode> {
    let tree = Tree::read(root)?;
    let mut found = 0;
    for check in CHECKS {
        for finding in (check.run)(&tree) {
            println!("{finding} [{}]", check.name);
            found += 1;
        }
    }
    println!(
        "tidy: {} checks, {} sources, {found} findings",
        CHECKS.len(),
        tree.sources.len()
    );
    Ok(if found == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn check_aarch64(root: &Path) -> Result<ExitCode> {
    Ok(match aarch64::check(root)? {
        Outcome::Checked => {
            println!("aarch64: everything but native compiles");
            ExitCode::SUCCESS
        }
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::NotChecked(missing) => {
            println!("aarch64: not checked here: {missing}");
            ExitCode::SUCCESS
        }
    })
}
