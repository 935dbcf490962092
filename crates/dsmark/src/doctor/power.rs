//! What changes frequencies and wakes late: governor, uncore, idle states, prefetchers.

use super::Scene;
use super::finding::{Finding, Status};

/// An idle state that takes longer to leave than a round trip over CXL shows in tails.
const SLOW_EXIT_US: u64 = 10;

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    vec![
        governor(scene),
        uncore(scene),
        idle(scene),
        prefetchers(scene),
    ]
}

fn governor(scene: &Scene) -> Finding {
    let means = "a core that changes its frequency changes every latency that its caches serve";
    let Some(governors) = &scene.host.governors else {
        let found = format!(
            "{}; perhaps the hypervisor decides",
            scene.why_not("governors")
        );
        return Finding::new(Status::Note, "governor", found, means)
            .remedy("cpupower frequency-set -g performance; for a guest, on its host")
            .rows(&[16]);
    };
    let fixed = governors.iter().all(|it| it == "performance");
    let status = if fixed { Status::Ok } else { Status::Warn };
    Finding::new(status, "governor", governors.join(", "), means)
        .remedy(format!(
            "cpupower frequency-set -g performance; afterwards back with -g {}",
            governors.first().map_or("powersave", String::as_str)
        ))
        .rows(&[16])
}

fn uncore(scene: &Scene) -> Finding {
    let means = "mesh, last-level cache and CXL links of Intel CPUs run at the uncore's frequency; \
                 left to float, it moves device latencies by tens of nanoseconds";
    let all = "sys/devices/system/cpu/intel_uncore_frequency";
    let packages = scene.tree.names(all);
    if packages.is_empty() {
        let found = format!("not readable: no /{all}");
        return Finding::new(Status::Note, "uncore frequency", found, means)
            .remedy("on an Intel machine: modprobe intel_uncore_frequency; others have no control")
            .rows(&[16]);
    }
    let mut floats = false;
    let ranges: Vec<_> = packages
        .iter()
        .map(|package| {
            let khz = |which| {
                scene
                    .tree
                    .number(&format!("{all}/{package}/{which}_freq_khz"))
            };
            match (khz("min"), khz("max")) {
                (Ok(min), Ok(max)) => {
                    floats |= min != max;
                    format!("{package}: {min} to {max} kHz")
                }
                (Err(why), _) | (_, Err(why)) => why,
            }
        })
        .collect();
    let status = if floats { Status::Note } else { Status::Ok };
    Finding::new(status, "uncore frequency", ranges.join(", "), means)
        .remedy(format!(
            "write the maximum to /{all}/*/min_freq_khz; keep the old value to restore it"
        ))
        .rows(&[16])
}

fn idle(scene: &Scene) -> Finding {
    let means = "lanes spin and never idle while they are timed, but a wake-up of a peer that gave \
                 its core away, and deep states of a whole package, lengthen tails";
    let all = "sys/devices/system/cpu/cpu0/cpuidle";
    let states = scene.tree.numbered(all, "state");
    if states.is_empty() {
        let parameter = "sys/module/intel_idle/parameters/max_cstate";
        let limit = scene.tree.word(parameter);
        let limit = limit.map_or_else(|_| String::new(), |it| format!("; intel_idle allows C{it}"));
        let found = format!("not readable: no /{all}{limit}");
        return Finding::new(Status::Note, "idle states", found, means)
            .remedy("cpupower idle-set -D 10; for a guest, on its host")
            .rows(&[16]);
    }
    let slow: Vec<_> = states
        .iter()
        .filter(|state| scene.tree.word(&format!("{all}/{state}/disable")) != Ok("1".into()))
        .filter_map(|state| {
            let exit_us = scene.tree.number(&format!("{all}/{state}/latency")).ok()?;
            let name = scene.tree.word(&format!("{all}/{state}/name")).ok()?;
            (exit_us >= SLOW_EXIT_US).then(|| format!("{name} ({exit_us} us)"))
        })
        .collect();
    if slow.is_empty() {
        let found = format!("every state of CPU 0 is left in under {SLOW_EXIT_US} us");
        return Finding::new(Status::Ok, "idle states", found, means).rows(&[16]);
    }
    let found = format!("CPU 0 may enter {}", slow.join(", "));
    Finding::new(Status::Note, "idle states", found, means)
        .remedy("cpupower idle-set -D 10; afterwards back with cpupower idle-set -E")
        .rows(&[16])
}

fn prefetchers(scene: &Scene) -> Finding {
    let means = "prefetchers fetch lines that nobody asked for, 128-byte neighbours among them: \
                 that makes stale copies and shortens latencies";
    match &scene.host.prefetchers_off {
        Some(off) if off.len() == 4 => {
            Finding::new(Status::Ok, "prefetchers", "all four are off", means)
        }
        Some(off) => {
            let off = if off.is_empty() {
                "all are on".to_owned()
            } else {
                format!("off: {}; the others are on", off.join(", "))
            };
            Finding::new(Status::Note, "prefetchers", off, means).remedy(
                "to compare without them: keep what `rdmsr 0x1a4` says, wrmsr -a 0x1a4 0xf, and \
                 write the old value back afterwards; records say which were off",
            )
        }
        None => {
            let found = format!("not readable: {}", scene.why_not("prefetchers_off"));
            Finding::new(Status::Note, "prefetchers", found, means).remedy(
                "on Intel: modprobe msr, then run as root; on AMD they are set in the firmware; \
                 records say that they are unknown",
            )
        }
    }
    .rows(&[16])
}
