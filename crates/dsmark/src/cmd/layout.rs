//! `dsmark layout`: where a workload's words lie.

use std::fmt::Write;

use fabric::{Arena, Pod, Space};
use serde_json::json;

use crate::cli::Layout;
use crate::failure::Failure;
use crate::out::print;
use crate::{job, plans};

pub(crate) fn layout(args: &Layout) -> Result<(), Failure> {
    let mut plan = plans::of_one(&args.workload, &args.set)?;
    plan.hosts = Some(args.hosts);
    plan.lanes = args.lanes;
    plan.check("the command line")?;
    let arena = job::layout_of(&plan, Pod::new(args.hosts, args.lanes))?;
    if args.json {
        let all = json!({
            "workload": args.workload, "hosts": args.hosts, "lanes": args.lanes,
            "region_bytes": arena.region_bytes(), "host_bytes": arena.host_bytes(),
            "layout_hash": format!("{:016x}", arena.layout_hash()), "entries": arena.entries(),
        });
        print(&format!("{all}\n"))
    } else {
        print(&table(&arena))
    }
}

/// Entries of one name and size follow each other as one line.
fn table(arena: &Arena) -> String {
    let mut text = format!(
        "{:>10} {:>10} {:>8} {:>6}  name\n",
        "offset", "bytes", "words", "of"
    );
    let mut entries = arena.entries().iter().peekable();
    while let Some(first) = entries.next() {
        let stem = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
        let mut last = first;
        while let Some(next) = entries.next_if(|next| {
            first.name.contains('[')
                && stem(&next.name) == stem(&first.name)
                && next.bytes == first.bytes
        }) {
            last = next;
        }
        let name = if last.name == first.name {
            first.name.clone()
        } else {
            format!("{} .. {}", first.name, last.name)
        };
        let space = if first.space == Space::HostShared {
            "  (each host's DRAM)"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{:>#10x} {:>10} {:>8} {:>6}  {name}{space}",
            first.offset, first.bytes, first.len, first.word_bytes
        );
    }
    let _ = writeln!(
        text,
        "region: {} bytes; each host's DRAM: {} bytes; layout hash {:016x}",
        arena.region_bytes(),
        arena.host_bytes(),
        arena.layout_hash()
    );
    text
}
