//! What confines this process: limits, cgroups, a container, a hypervisor.

use super::Scene;
use super::finding::{Finding, Status, about, size};
use super::tree::Tree;

/// 64 hosts with three pipes each, a region and a results directory, and as many again to spare.
const OPEN_FILES_NEEDED: u64 = 512;

pub(super) fn check_limits(scene: &Scene) -> Vec<Finding> {
    let limits = scene.tree.text("proc/self/limits").unwrap_or_default();
    vec![
        open_files(&limits),
        address_space(&limits),
        locked_memory(&limits),
    ]
}

/// The soft limit of that name in bytes or pieces; none if it is unlimited or unknown.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn or_unlimited(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".into(), |it| it.to_string())
}

fn open_files(limits: &str) -> Finding {
    let limit = soft_limit(limits, "Max open files");
    let low = limit.is_some_and(|it| it < OPEN_FILES_NEEDED);
    let status = if low { Status::Warn } else { Status::Ok };
    let means = "a local run keeps three pipes to each of up to 64 host processes";
    Finding::new(status, "open files", or_unlimited(limit), means)
        .remedy(format!("ulimit -n {OPEN_FILES_NEEDED}"))
}

fn address_space(limits: &str) -> Finding {
    let limit = soft_limit(limits, "Max address space");
    let status = if limit.is_some() {
        Status::Warn
    } else {
        Status::Ok
    };
    let means = "every host maps the whole region, however little of it a run uses";
    Finding::new(status, "address space", or_unlimited(limit), means).remedy("ulimit -v unlimited")
}

fn locked_memory(limits: &str) -> Finding {
    let limit = soft_limit(limits, "Max locked memory");
    let in_bytes = limit.map_or_else(|| "unlimited".into(), size);
    let means = "dsmark locks nothing: device memory is never swapped, and a stand-in is touched \
                 before it is timed";
    Finding::new(Status::Ok, "locked memory", in_bytes, means)
}

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    vec![
        hypervisor(scene),
        container(scene),
        allowed(scene),
        memory_limit(&scene.tree),
        cpu_quota(&scene.tree),
    ]
}

fn hypervisor(scene: &Scene) -> Finding {
    let means = "exits and stolen time lengthen tails, the guest sees neither prefetchers nor \
                 governor, and its NUMA nodes may be invented";
    let (status, found) = match scene.host.virtualized {
        Some(false) => (Status::Ok, "none".to_owned()),
        Some(true) => {
            let product = scene.host.product.as_deref();
            let product = product.map_or_else(String::new, |name| format!(" ({name})"));
            (Status::Note, format!("this is a virtual machine{product}"))
        }
        None => (Status::Note, scene.why_not("virtualized")),
    };
    Finding::new(status, "hypervisor", found, means)
        .remedy("measure on the machine itself, or give the guest pinned CPUs and the device")
        .rows(&[11])
}

fn container(scene: &Scene) -> Finding {
    let marks = [".dockerenv", "run/.containerenv", "run/systemd/container"];
    let found = marks.iter().find(|mark| scene.tree.exists(mark));
    let means = "a container sees only the devices, shared memory and CPUs that it was given";
    let (status, found) = match found {
        None => (Status::Ok, "none".to_owned()),
        Some(mark) => (Status::Note, format!("yes, /{mark} exists")),
    };
    Finding::new(status, "container", found, means)
        .remedy("docker run --device /dev/daxX.Y --shm-size=4g --security-opt seccomp=unconfined")
        .rows(&[17])
}

/// CPUs and NUMA nodes that the kernel leaves this process: cpusets of every kind and taskset.
fn allowed(scene: &Scene) -> Finding {
    let status = scene.tree.text("proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(name));
        found.map(|list| list.trim_start_matches(':').trim().to_owned())
    };
    let means = "lanes are pinned to these CPUs only, and memory comes from these nodes only";
    let (Some(cpus), Some(nodes)) = (field("Cpus_allowed_list"), field("Mems_allowed_list")) else {
        let found = "/proc/self/status does not say";
        return Finding::new(Status::Note, "CPUs and nodes", found, means).remedy("mount /proc");
    };
    let online = scene.tree.word("sys/devices/system/cpu/online");
    let narrowed = online
        .as_ref()
        .is_ok_and(|online| count(online) > count(&cpus));
    let memory_nodes = scene.tree.word("sys/devices/system/node/has_memory");
    let fewer_nodes = memory_nodes.is_ok_and(|all| count(&all) > count(&nodes));
    let found = format!("CPUs {cpus}, memory of nodes {nodes}");
    let status = if narrowed || fewer_nodes {
        Status::Note
    } else {
        Status::Ok
    };
    Finding::new(status, "CPUs and nodes", found, means)
        .remedy("widen the cpuset of the container or job, or run without taskset and numactl")
        .rows(&[15])
}

/// How many numbers a list such as `0-3,8` holds.
fn count(list: &str) -> u64 {
    let numbers = list.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u64>(), last.trim().parse::<u64>());
        Some((last.ok()? + 1).saturating_sub(first.ok()?))
    });
    numbers.sum()
}

fn memory_limit(tree: &Tree) -> Finding {
    let v2 = tightest(tree, "", "memory.max");
    let v1 = tightest(tree, "memory", "memory.limit_in_bytes");
    let means = "a stand-in larger than this kills the run (SIGKILL), however much memory is free";
    let limit = [v2, v1].into_iter().flatten().min();
    let total = scene_memory(tree);
    let (status, found) = match (limit, total) {
        (Some(limit), Some(total)) if limit < total => {
            (Status::Note, format!("{} by cgroup", about(limit)))
        }
        _ => (
            Status::Ok,
            "no cgroup limit below the machine's memory".to_owned(),
        ),
    };
    Finding::new(status, "memory limit", found, means)
        .remedy("raise memory.max of the cgroup (docker run --memory), or ask for smaller regions")
}

fn scene_memory(tree: &Tree) -> Option<u64> {
    let text = tree.text("proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn cpu_quota(tree: &Tree) -> Finding {
    let means = "a process that used its quota is stopped for the rest of the period, up to 100 \
                 ms, in the middle of a handover";
    let limits = ancestors(tree, "")
        .filter_map(|at| tree.word(&format!("{at}/cpu.max")).ok())
        .filter(|max| !max.starts_with("max"));
    let v1 = ancestors(tree, "cpu")
        .filter_map(|at| tree.word(&format!("{at}/cpu.cfs_quota_us")).ok())
        .filter(|quota| quota != "-1");
    let found: Vec<_> = limits.chain(v1).collect();
    let finding = match found.first() {
        None => Finding::new(Status::Ok, "CPU quota", "none", means),
        Some(quota) => {
            let found = format!("{quota} us by cgroup");
            Finding::new(Status::Warn, "CPU quota", found, means)
                .remedy("give whole CPUs instead: docker run --cpuset-cpus, without --cpus")
        }
    };
    finding.rows(&[16])
}

/// The lowest limit of this process's cgroup and those around it, in bytes.
fn tightest(tree: &Tree, controller: &str, file: &str) -> Option<u64> {
    let limits =
        ancestors(tree, controller).filter_map(|at| tree.number(&format!("{at}/{file}")).ok());
    limits.min()
}

/// Directories of this process's cgroup, then those around it. `controller` is a v1 hierarchy, or
/// empty for v2.
fn ancestors(tree: &Tree, controller: &str) -> impl Iterator<Item = String> {
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let is_it = controllers.split(',').any(|it| it == controller);
        is_it.then(|| path.trim_matches('/').to_owned())
    });
    let mount = match controller {
        "" => "sys/fs/cgroup".to_owned(),
        some => format!("sys/fs/cgroup/{some}"),
    };
    let own = own.unwrap_or_default();
    let depths = std::iter::successors(Some(own), |path| match path.rsplit_once('/') {
        Some((parent, _)) => Some(parent.to_owned()),
        None if path.is_empty() => None,
        None => Some(String::new()),
    });
    let at = move |path: String| format!("{mount}/{path}").trim_end_matches('/').to_owned();
    depths.collect::<Vec<_>>().into_iter().map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count("0-3,8"), 5);
        assert_eq!(count("7"), 1);
        assert_eq!(count(""), 0);
    }

    #[test]
    fn limits_are_read_by_name() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\n\
            Max open files            256                  4096                 files\n\
            Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(soft_limit(limits, "Max open files"), Some(256));
        assert_eq!(open_files(limits).status, Status::Warn);
        assert_eq!(address_space(limits).status, Status::Ok);
        let capped = limits.replace("space         unlimited", "space         1073741824");
        assert_eq!(address_space(&capped).status, Status::Warn);
    }
}
