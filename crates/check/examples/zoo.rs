//! Shows every fault of the zoo as the checker finds it.
//!
//! `cargo run -p check --example zoo -- [NAME ...]` prints findings; without names, a line each.

#![allow(
    clippy::print_stdout,
    reason = "a program of its own prints its answer"
)]

use std::env;

use check::Options;
use check::zoo::entries;

fn main() {
    let wanted: Vec<String> = env::args().skip(1).collect();
    for entry in entries() {
        let named = wanted.iter().any(|name| entry.name.ends_with(name));
        if !wanted.is_empty() && !named {
            continue;
        }
        entry.fault().with(Options::default(), &mut |checker| {
            let report = checker.check(checker.bounds());
            let Some(finding) = report.finding else {
                println!("{}: nothing found", entry.name);
                return;
            };
            if named {
                println!("{} ({})\n{finding}", entry.about, entry.source);
                return;
            }
            let cure = finding.cure.as_deref().unwrap_or("-");
            println!(
                "{:28} {:16} {} | {cure}",
                entry.name, finding.kind, finding.place
            );
        });
    }
}
