//! Whatever else moves pages while a policy is measured.
//!
//! None of this touches a mapped DAX device, whose pages never move. It moves what runs keep in
//! ordinary memory, and everything that `dsmark tier` measures.

use super::Scene;
use super::finding::{Finding, Status};

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    vec![
        numa_balancing(scene),
        demotion(scene),
        memory_tiers(scene),
        damon(scene),
        compressed_swap(scene),
    ]
}

const MOVES: &str = "it migrates or unmaps pages under a measurement: latencies jump, and a \
                     tiering policy is measured together with it";

/// Off is 0, N or false; absent is off too, since the kernel was built without it.
fn switch(scene: &Scene, path: &str) -> Result<Option<String>, String> {
    if !scene.tree.exists(path) {
        return Ok(None);
    }
    let value = scene.tree.word(path)?;
    let off = ["0", "N", "false", "0x0000"].contains(&value.as_str());
    Ok((!off).then_some(value))
}

/// A finding about a switch that had better be off. `on` says what a value means.
fn off_is_best(scene: &Scene, check: &str, path: &str, on: fn(&str) -> String) -> Finding {
    match switch(scene, path) {
        Ok(None) => Finding::new(Status::Ok, check, "off", MOVES),
        Ok(Some(value)) => {
            let undo = format!("echo 0 > /{path}; afterwards back with echo {value} > /{path}");
            Finding::new(Status::Warn, check, on(&value), MOVES).remedy(undo)
        }
        Err(why) => Finding::new(Status::Note, check, why, MOVES)
            .remedy(format!("run as root, or read /{path} by hand")),
    }
}

fn numa_balancing(scene: &Scene) -> Finding {
    let mode = |value: &str| match value {
        "1" => "1: pages follow the CPUs that touch them".to_owned(),
        "2" => "2: hot pages are promoted between memory tiers".to_owned(),
        other => format!("{other}: pages follow CPUs and are promoted between tiers"),
    };
    off_is_best(
        scene,
        "NUMA balancing",
        "proc/sys/kernel/numa_balancing",
        mode,
    )
    .rows(&[15, 16])
}

fn demotion(scene: &Scene) -> Finding {
    let path = "sys/kernel/mm/numa/demotion_enabled";
    let on = |value: &str| format!("{value}: reclaim (kswapd) demotes cold pages to the next tier");
    off_is_best(scene, "demotion", path, on).rows(&[15, 16])
}

fn memory_tiers(scene: &Scene) -> Finding {
    let all = "sys/devices/virtual/memory_tiering";
    let tiers = scene.tree.numbered(all, "memory_tier");
    let means = "the kernel's own order of fast and capacity memory; demotion and promotion follow \
                 it";
    let listed: Vec<_> = tiers
        .iter()
        .map(|tier| {
            let nodes = scene
                .tree
                .word(&format!("{all}/{tier}/nodelist"))
                .unwrap_or_default();
            format!("{tier}: nodes {nodes}")
        })
        .collect();
    let found = match listed.len() {
        0 => "the kernel knows none".to_owned(),
        _ => listed.join(", "),
    };
    Finding::new(Status::Ok, "memory tiers", found, means)
}

fn damon(scene: &Scene) -> Finding {
    let all = "sys/kernel/mm/damon/admin/kdamonds";
    let mut active: Vec<_> = scene
        .tree
        .numbered(all, "")
        .into_iter()
        .filter(|it| scene.tree.word(&format!("{all}/{it}/state")) == Ok("on".into()))
        .map(|it| format!("kdamond {it}"))
        .collect();
    for module in ["damon_reclaim", "damon_lru_sort", "damon_stat"] {
        let enabled = format!("sys/module/{module}/parameters/enabled");
        if matches!(switch(scene, &enabled), Ok(Some(_))) {
            active.push(module.to_owned());
        }
    }
    let (status, found) = if active.is_empty() {
        (Status::Ok, "off".to_owned())
    } else {
        (Status::Warn, format!("running: {}", active.join(", ")))
    };
    Finding::new(status, "DAMON", found, MOVES)
        .remedy(format!(
            "echo off > /{all}/N/state, or echo N > /sys/module/MODULE/parameters/enabled; \
             sampling alone already clears the accessed bits that other tierers read"
        ))
        .rows(&[15, 16])
}

fn compressed_swap(scene: &Scene) -> Finding {
    let path = "sys/module/zswap/parameters/enabled";
    let on = |value: &str| format!("{value}: reclaim compresses cold pages in memory");
    off_is_best(scene, "zswap", path, on).rows(&[15, 16])
}
