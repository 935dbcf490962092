//! Each row of `docs/PAIN_POINTS.md` that the doctor answers, on a machine that has the pain and on
//! one that has not.
//!
//! The story behind the rows: users report the same traps over and over, each seen as a bare errno,
//! a figure nobody can explain, or a host that hangs. A check that is always silent, or always
//! loud, would not help them; so every check here speaks on the ill machine and is silent on the
//! healthy one.

use super::fake::Fake;
use super::finding::{Finding, Status};
use super::{Scene, check_machine};

/// What breaks a healthy machine, the check that must notice, with which rows, how badly, and a
/// word of the remedy.
struct Ill {
    check: &'static str,
    rows: &'static [u32],
    status: Status,
    remedy: &'static str,
    broken: fn(Fake) -> Fake,
}

const fn ill(
    check: &'static str,
    rows: &'static [u32],
    status: Status,
    remedy: &'static str,
    broken: fn(Fake) -> Fake,
) -> Ill {
    Ill {
        check,
        rows,
        status,
        remedy,
        broken,
    }
}

const CPU: &str = "sys/devices/system/cpu";

#[rustfmt::skip]
const DEVICES: [Ill; 15] = [
    ill("dax0.0 mode", &[1, 5], Status::Warn, "daxctl offline-memory dax0.0", |it| {
        it.system_ram("Movable")
    }),
    ill("dax0.0 mode", &[1, 5], Status::Warn, "memhp_default_state=offline", |it| {
        it.system_ram("Normal")
    }),
    ill("dax0.0 mode", &[1, 5], Status::Warn, "--mode=devdax dax0.0", |it| {
        it.without("sys/bus/dax/devices/dax0.0/driver")
    }),
    ill("dax0.0 extent", &[3, 4], Status::Note, "17179869184", |it| {
        it.file("sys/bus/dax/devices/dax0.0/size", "17179869185\n")
    }),
    ill("dax0.0 extent", &[3, 4], Status::Note, "--align=2097152", |it| {
        it.file("sys/bus/dax/devices/dax0.0/align", "4096\n")
    }),
    ill("dax0.0 extent", &[3], Status::Fail, "CONFIG_DEV_DAX", |it| {
        it.without("sys/bus/dax/devices/dax0.0/align")
    }),
    ill("dax0.0 permission", &[17], Status::Warn, "udev", |it| it.mode("dev/dax0.0", 0o666)),
    ill("dax0.0 permission", &[17], Status::Note, "MODE=\"0660\"", |it| {
        it.mode("dev/dax0.0", 0o600)
    }),
    ill("dax0.0 holders", &[1, 8], Status::Warn, "end these processes", |it| {
        it.file("proc/41/maps", "7f00-7f01 rw-s 0 00:05 9      /dev/dax0.0\n")
    }),
    ill("DAX devices", &[2, 11], Status::Note, "daxctl list", |it| {
        it.without("sys/bus/dax/devices/dax0.0")
    }),
    ill("CXL devices", &[2], Status::Warn, "cxl_pci", |it| {
        it.file("sys/bus/pci/devices/0000:39:00.0/class", "0x050210\n")
    }),
    ill("CXL regions", &[2], Status::Note, "cxl create-region -m -t ram -d decoder0.0 mem0", |it| {
        it.without("sys/bus/cxl/devices/region0")
    }),
    ill("mem0", &[8, 10], Status::Note, "cxl list", |it| it.memory("mem0", "0x0")),
    ill("aliases", &[10], Status::Warn, "use one of them", |it| {
        it.memory("mem1", "0x00c100e2e0")
    }),
    ill("DAX aliases", &[10], Status::Warn, "daxctl disable-device dax1.0", |it| {
        it.memory("mem1", "0xc100e2e0")
            .region("region1", "decoder3.0", "endpoint3", "mem1")
            .dax_device("dax1.0", "region1")
    }),
];

#[rustfmt::skip]
const MACHINE: [Ill; 21] = [
    ill("soft-reserved memory", &[2], Status::Warn, "dax_hmem", |it| {
        it.without("sys/bus/dax/devices/dax0.0")
    }),
    ill("soft-reserved memory", &[2], Status::Warn, "nosoftreserve", |it| {
        it.file("proc/cmdline", "quiet efi=debug,nosoftreserve\n")
    }),
    ill("memory onlining", &[1, 2], Status::Warn, "echo offline", |it| {
        it.file("sys/devices/system/memory/auto_online_blocks", "online\n")
    }),
    ill("memory onlining", &[1, 2], Status::Note, "echo offline", |it| {
        it.file("sys/devices/system/memory/auto_online_blocks", "online_movable\n")
    }),
    ill("cache instructions", &[9], Status::Warn, "--set publish=clflush", |mut it| {
        it.processor.instructions[1].1 = false;
        it
    }),
    ill("TSC", &[13], Status::Fail, "invariant", |mut it| {
        it.processor.clock = Err("not a clock".into());
        it
    }),
    ill("clocksource", &[13], Status::Warn, "tsc=reliable", |it| {
        it.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
    }),
    ill("transparent huge pages", &[15], Status::Note, "madvise", |it| {
        it.file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
    }),
    ill("huge pages", &[15], Status::Note, "nr_hugepages", |it| {
        it.file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n")
    }),
    ill("CPUs and nodes", &[15], Status::Note, "cpuset", |it| {
        it.file("proc/self/status", "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n")
    }),
    ill("NUMA balancing", &[15, 16], Status::Warn, "echo 0", |it| {
        it.file("proc/sys/kernel/numa_balancing", "2\n")
    }),
    ill("demotion", &[15, 16], Status::Warn, "echo 0", |it| {
        it.file("sys/kernel/mm/numa/demotion_enabled", "true\n")
    }),
    ill("DAMON", &[15, 16], Status::Warn, "echo off", |it| {
        it.file("sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n")
    }),
    ill("zswap", &[15, 16], Status::Warn, "echo 0", |it| {
        it.file("sys/module/zswap/parameters/enabled", "Y\n")
    }),
    ill("governor", &[16], Status::Warn, "-g powersave", |it| {
        it.file(&format!("{CPU}/cpu0/cpufreq/scaling_governor"), "powersave\n")
    }),
    ill("SMT", &[16], Status::Note, "lscpu", |it| {
        it.file(&format!("{CPU}/smt/control"), "on\n")
    }),
    ill("prefetchers", &[16], Status::Note, "modprobe msr", |it| it.without("dev/cpu/0/msr")),
    ill("uncore frequency", &[16], Status::Note, "min_freq_khz", |it| {
        let package = format!("{CPU}/intel_uncore_frequency/package_00_die_00");
        it.file(&format!("{package}/min_freq_khz"), "800000\n")
    }),
    ill("idle states", &[16], Status::Note, "cpupower idle-set", |it| {
        it.file(&format!("{CPU}/cpu0/cpuidle/state2/disable"), "0\n")
    }),
    ill("CPU quota", &[16], Status::Warn, "cpuset-cpus", |it| {
        it.file("sys/fs/cgroup/user/cpu.max", "150000 100000\n")
    }),
    ill("hypervisor", &[11], Status::Note, "pinned CPUs", |it| {
        it.file("proc/cpuinfo", "processor: 0\nvendor_id: GenuineIntel\nflags: hypervisor\n")
    }),
];

fn findings(scene: &Scene) -> Vec<Finding> {
    check_machine(scene).findings().cloned().collect()
}

#[test]
fn a_healthy_machine_is_told_so() {
    let findings = findings(&Fake::healthy().scene());
    // Free space is that of whatever the tests' directory is on.
    let wrong = findings
        .iter()
        .filter(|it| it.status != Status::Ok && it.check != "/dev/shm");
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        findings
            .iter()
            .all(|it| it.remedy.is_none() || it.check == "/dev/shm")
    );
}

#[test]
fn every_pain_is_found_where_it_is() {
    for ill in DEVICES.iter().chain(&MACHINE) {
        let findings = findings(&(ill.broken)(Fake::healthy()).scene());
        let found = findings
            .iter()
            .find(|it| it.check == ill.check)
            .unwrap_or_else(|| panic!("no check \"{}\" in {findings:#?}", ill.check));
        assert_eq!(found.status, ill.status, "{found:#?}");
        assert_eq!(found.pain_point, ill.rows, "{found:#?}");
        let remedy = found.remedy.as_deref().unwrap_or_default();
        assert!(
            remedy.contains(ill.remedy),
            "\"{}\" is not in {found:#?}",
            ill.remedy
        );
    }
}

#[test]
fn blocks_of_other_devices_of_a_node_are_not_counted() {
    let findings = findings(&Fake::healthy().system_ram("Movable").scene());
    let mode = findings
        .iter()
        .find(|it| it.check == "dax0.0 mode")
        .unwrap();
    assert!(
        mode.found.contains("1 of 2 memory blocks online, 0 of"),
        "{}",
        mode.found
    );
    assert!(mode.found.contains("77 (redis): 7 pages"), "{}", mode.found);
}

#[test]
fn two_devices_of_one_region_are_no_aliases() {
    let divided = Fake::healthy().dax_device("dax0.1", "region0");
    let findings = findings(&divided.scene());
    assert!(
        findings.iter().all(|it| it.check != "DAX aliases"),
        "{findings:#?}"
    );
}

#[test]
fn holders_that_cannot_be_seen_are_counted() {
    let hidden = Fake::healthy().without("proc/41/maps");
    let findings = findings(&hidden.scene());
    let holders = findings
        .iter()
        .find(|it| it.check == "dax0.0 holders")
        .unwrap();
    assert!(
        holders
            .found
            .contains("none; 1 more could not be looked at"),
        "{}",
        holders.found
    );
}

#[test]
fn limits_of_surrounding_cgroups_count() {
    let limited = Fake::healthy().file("sys/fs/cgroup/user/memory.max", "1073741824\n");
    let findings = findings(&limited.scene());
    let limit = findings
        .iter()
        .find(|it| it.check == "memory limit")
        .unwrap();
    assert_eq!(
        (limit.status, limit.found.as_str()),
        (Status::Note, "1.0 GiB by cgroup")
    );
}
