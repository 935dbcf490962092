//! What a death may leave.

use std::collections::HashMap;

use table::{Left, Repaired, Sharing};

use crate::place::{Bed, GROUP, HEAD, HOSTS, Layout, RENEWED, Task, value};
use crate::writer::{GIVEN_UP, REMOVED};

/// Nobody but the dead left anything, and its intent says where.
pub(crate) fn of_repair(layout: &Layout, repaired: &Repaired, dead: u32) {
    let lock = |group| layout.table.lock_number(group);
    for left in &repaired.left {
        assert_eq!(left.host, dead, "{repaired:?}");
    }
    let named = |bucket: u64| {
        let same = |left: &Left| lock(left.group) == lock(bucket / GROUP);
        layout.sharing == Sharing::Partitioned || repaired.left.iter().any(same)
    };
    for &(bucket, host) in &repaired.busy {
        assert_eq!(host, dead, "{repaired:?}");
        assert!(
            named(bucket),
            "bucket {bucket} is busy, and no intent says so: {repaired:?}"
        );
    }
    for &home in &repaired.miscounted {
        assert!(
            named(home),
            "bucket {home} is miscounted, and no intent says so: {repaired:?}"
        );
    }
}

/// Every key holds what its writer was told, or had just asked for.
pub(crate) fn of_keys(bed: &Bed, repaired: &Repaired, entries: &HashMap<u64, Vec<u64>>, dead: u64) {
    let reports = bed.reports();
    for (host, report) in reports.iter().enumerate() {
        assert_eq!(report[1], 0, "host {host} has read torn values");
    }
    for (&key, words) in entries {
        assert_eq!(words[..], value(key, words[0]), "key {key} is torn");
    }
    for (index, &key) in bed.layout.keys.iter().enumerate() {
        let writer = index as u64 % u64::from(HOSTS);
        let report = &reports[writer as usize];
        let at = HEAD + 3 * index;
        let (asked, answered, unanswered) = (report[at], report[at + 1], report[at + 2]);
        let holds = entries.get(&key).map_or(0, |words| words[0]);
        let state = |word: u64| if word & REMOVED == 0 { word } else { 0 };
        let right = holds == state(answered) || holds == state(asked);
        assert!(
            right,
            "key {key} holds {holds:x}: {answered:x} answered, {asked:x} asked"
        );
        // Who lives has its answer, unless the key shared its lock or owner with the dead.
        if unanswered == GIVEN_UP {
            assert!(
                excused(bed, repaired, key, dead),
                "key {key} was given up for nothing: {repaired:?}"
            );
        } else if unanswered == 0 && writer != dead {
            assert_eq!(asked, answered, "key {key}");
        }
    }
}

fn excused(bed: &Bed, repaired: &Repaired, key: u64, dead: u64) -> bool {
    let table = &bed.layout.table;
    let lock = table.lock_number(table.group_of(key));
    let same = |left: &Left| table.lock_number(left.group) == lock;
    let owned = bed.layout.sharing == Sharing::Partitioned && u64::from(table.owner(key)) == dead;
    owned || repaired.left.iter().any(same)
}

/// The mended table takes a new value for every key, and loses none of them.
pub(crate) fn of_mended(bed: &Bed, before: &HashMap<u64, Vec<u64>>) {
    let hosts = if bed.layout.sharing == Sharing::Partitioned {
        HOSTS
    } else {
        1
    };
    for host in 0..hosts {
        bed.run(host, &Task::Renew(&bed.layout));
    }
    let after = bed.entries();
    assert_eq!(after.len(), bed.layout.keys.len(), "{before:?}");
    for (&key, words) in &after {
        assert_eq!(words[..], value(key, RENEWED), "key {key} was not renewed");
    }
    let again = bed.repair();
    assert_eq!((again.busy.len(), again.miscounted.len()), (0, 0));
}
