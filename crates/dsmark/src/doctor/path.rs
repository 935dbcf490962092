//! One path that could become a region.

use std::path::Path;

use rustix::fs::statfs;
use serde_json::Value;

use super::finding::{Finding, Status, size};
use super::{Scene, dax, holders};

/// Magic numbers of `statfs` (Linux, `include/uapi/linux/magic.h`).
const TMPFS: u64 = 0x0102_1994;
const HUGETLBFS: u64 = 0x9584_58f6;

/// What loading and flushing the header of a region gave.
#[derive(Clone, Debug)]
pub(crate) enum Probed {
    /// What `dsmark region show --json` printed.
    Header(Value),
    /// Why the region could not be mapped.
    Refused(String),
    /// How the process that touched it died.
    Died(String),
}

/// Checks `path`, which is absolute.
pub(super) fn check(
    scene: &Scene,
    path: &Path,
    probe: impl FnOnce(&Path) -> Probed,
) -> Vec<Finding> {
    match device(scene, path) {
        Some(device) => check_device(scene, path, &device, probe),
        None => check_file(scene, path, probe),
    }
}

/// The DAX device at `path`, by the node's number, or by its name where there is no node: a device
/// in system-ram mode has none.
fn device(scene: &Scene, path: &Path) -> Option<dax::Device> {
    let by_number = scene.tree.device_name(path);
    let by_name = path.strip_prefix("/dev").ok().and_then(Path::to_str);
    let name = by_number.as_deref().or(by_name)?;
    dax::Device::read(&scene.tree, name)
}

fn check_device(
    scene: &Scene,
    path: &Path,
    device: &dax::Device,
    probe: impl FnOnce(&Path) -> Probed,
) -> Vec<Finding> {
    let mut mode = dax::mode(scene, device);
    if device.mode != dax::Mode::Devdax {
        // Asked for by name, it is not merely one device of the machine that cannot be used.
        mode.status = Status::Fail;
        return vec![mode];
    }
    let mut findings = vec![mode, dax::extent(device)];
    findings.push(dax::permission(&scene.tree, device));
    findings.push(holders::of_path(
        &scene.tree,
        &format!("/dev/{}", device.name),
    ));
    findings.push(header(path, probe(path)));
    findings
}

fn check_file(scene: &Scene, path: &Path, probe: impl FnOnce(&Path) -> Probed) -> Vec<Finding> {
    let mut findings = vec![kind(scene, path)];
    if scene.tree.path(path).is_file() {
        findings.push(holders::of_path(&scene.tree, &path.to_string_lossy()));
    }
    findings.push(header(path, probe(path)));
    findings
}

/// What kind of memory a file is.
fn kind(scene: &Scene, path: &Path) -> Finding {
    let at = scene.tree.path(path);
    let means = "a file on tmpfs or hugetlbfs is DRAM, a coherent stand-in; a file on any other \
                 filesystem must be DAX, which MAP_SYNC finds out";
    let (status, found) = match std::fs::metadata(&at) {
        Err(error) => (Status::Fail, error.to_string()),
        Ok(file) if !file.is_file() => (Status::Fail, "neither a file nor a DAX device".into()),
        Ok(file) => {
            let bytes = size(file.len());
            let name = statfs(&at).map(|it| filesystem(it.f_type as u64));
            match name {
                Ok(Some(name)) => (Status::Note, format!("{bytes} on {name}: a stand-in")),
                Ok(None) => (Status::Ok, format!("{bytes} on another filesystem")),
                Err(error) => (Status::Fail, format!("statfs: {error}")),
            }
        }
    };
    let remedy = if status == Status::Note {
        "good for trying things out; for real figures name a /dev/daxX.Y node"
    } else {
        "name a /dev/daxX.Y node (`daxctl list`), or a file that exists and has a size"
    };
    Finding::new(status, "kind", found, means)
        .remedy(remedy)
        .rows(&[5, 6])
}

fn filesystem(magic: u64) -> Option<&'static str> {
    match magic {
        TMPFS => Some("tmpfs"),
        HUGETLBFS => Some("hugetlbfs"),
        _ => None,
    }
}

/// What the region holds, and whether touching it works at all.
fn header(path: &Path, probed: Probed) -> Finding {
    let name = path.display();
    let means = "device memory keeps the last run: a run trusts nothing before its own cookie \
                 stands there, and refuses a region whose hosts still beat";
    let seen = match probed {
        Probed::Header(seen) => seen,
        Probed::Refused(why) => {
            let touch = "every host maps, loads and flushes the region before anything is measured";
            // Errors of regions end in their remedy.
            let (found, remedy) = why.rsplit_once("; ").unwrap_or((&why, "see dmesg"));
            return Finding::new(Status::Fail, "mapping", found, touch)
                .remedy(remedy)
                .rows(&[3, 4, 5, 6]);
        }
        Probed::Died(how) => {
            let touch = "mapping worked, but the first load or flush killed the process: the \
                         device is not in a mode that serves them";
            return Finding::new(Status::Fail, "mapping", how, touch)
                .remedy(format!(
                    "daxctl list -d {name}; see dmesg for a machine check"
                ))
                .rows(&[4, 5]);
        }
    };
    let (status, found, remedy) = judge(&seen, &name.to_string());
    Finding::new(status, "region header", found, means)
        .remedy(remedy)
        .rows(&[8, 18])
}

fn judge(seen: &Value, name: &str) -> (Status, String, String) {
    let condition = seen["condition"].as_str().unwrap_or_default().to_owned();
    let state = seen["run"]["state"].as_str().unwrap_or_default();
    let cookie = seen["run"]["cookie"].as_u64().unwrap_or_default();
    if seen["alive"] == true {
        let found = format!("run {cookie:016x} is using it: its hosts beat");
        let wait = format!("wait for it to end; dsmark region show {name}");
        (Status::Warn, found, wait)
    } else if condition.starts_with("not a dsmark region") {
        let force = format!("if nothing in it is needed: dsmark region format --force {name}");
        (Status::Warn, condition, force)
    } else if condition.contains("version") {
        (
            Status::Warn,
            condition,
            format!("dsmark region format {name}"),
        )
    } else if ["running", "gathering"].contains(&state) {
        let found = format!("run {cookie:016x} never ended, and no host beats");
        (
            Status::Note,
            found,
            format!("harmless; dsmark region reset {name} forgets it"),
        )
    } else {
        let last = if state.is_empty() { "" } else { ", last run: " };
        (
            Status::Ok,
            format!("{condition}{last}{state}"),
            String::new(),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fake::Fake;
    use super::*;

    const NODE: &str = "/dev/dax0.0";

    fn status_of(findings: &[Finding], check: &str) -> Status {
        let found = findings.iter().find(|it| it.check == check);
        found
            .unwrap_or_else(|| panic!("no {check} in {findings:?}"))
            .status
    }

    fn blank(_: &Path) -> Probed {
        Probed::Header(json!({"condition": "blank", "run": null, "alive": false}))
    }

    #[test]
    fn a_healthy_device_has_nothing_to_remedy() {
        let fake = Fake::healthy();
        let findings = check(&fake.scene(), Path::new(NODE), blank);
        assert!(
            findings.iter().all(|it| it.status == Status::Ok),
            "{findings:#?}"
        );
        assert_eq!(findings.len(), 5);
    }

    #[test]
    fn a_device_in_use_by_the_kernel_fails_and_is_not_touched() {
        let fake = Fake::healthy().system_ram("Movable");
        let untouched = |_: &Path| panic!("a device in system-ram mode must not be mapped");
        let findings = check(&fake.scene(), Path::new(NODE), untouched);
        assert_eq!(status_of(&findings, "dax0.0 mode"), Status::Fail);
        let remedy = findings[0].remedy.as_deref().unwrap();
        assert!(remedy.contains("daxctl offline-memory dax0.0"), "{remedy}");
        assert!(remedy.contains("--mode=devdax dax0.0"), "{remedy}");
    }

    #[test]
    fn a_process_killed_by_the_probe_is_a_failure() {
        let fake = Fake::healthy();
        let died = |_: &Path| Probed::Died("killed by signal 7".into());
        let findings = check(&fake.scene(), Path::new(NODE), died);
        assert_eq!(status_of(&findings, "mapping"), Status::Fail);
    }

    #[test]
    fn a_path_to_nothing_fails() {
        let fake = Fake::healthy();
        let refused = |_: &Path| Probed::Refused("it does not exist; create it".into());
        let findings = check(&fake.scene(), Path::new("/nowhere"), refused);
        assert_eq!(status_of(&findings, "kind"), Status::Fail);
        assert_eq!(status_of(&findings, "mapping"), Status::Fail);
        assert_eq!(findings[1].remedy.as_deref(), Some("create it"));
    }

    #[test]
    fn headers_are_judged_by_who_may_be_disturbed() {
        let judged = |condition: &str, state: &str, alive| {
            let run = json!({"state": state, "cookie": 7});
            judge(
                &json!({"condition": condition, "run": run, "alive": alive}),
                "x",
            )
            .0
        };
        assert_eq!(judged("formatted", "running", true), Status::Warn);
        assert_eq!(judged("formatted", "running", false), Status::Note);
        assert_eq!(judged("formatted", "ended", false), Status::Ok);
        assert_eq!(
            judged("not a dsmark region (first word 0x1)", "", false),
            Status::Warn
        );
        assert_eq!(
            judged("formatted, header version 9", "", false),
            Status::Warn
        );
    }
}
