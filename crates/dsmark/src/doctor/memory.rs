//! NUMA, huge pages, and room for stand-ins.

use record::machine::NumaNode;

use super::Scene;
use super::finding::{Finding, Status, about, size};

/// A stand-in on /dev/shm smaller than this holds no working set beyond the caches.
const SMALL_SHM_BYTES: u64 = 1 << 30;

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    vec![
        numa(scene),
        transparent_huge_pages(scene),
        huge_pages(scene),
        shared_memory(space(scene)),
    ]
}

fn numa(scene: &Scene) -> Finding {
    let means = "a node without CPUs is memory that only a link reaches, so likely CXL; lanes and \
                 DRAM baselines belong on one node with CPUs";
    let Some(nodes) = &scene.host.numa_nodes else {
        return Finding::new(
            Status::Note,
            "NUMA nodes",
            scene.why_not("numa_nodes"),
            means,
        )
        .remedy("use a kernel with CONFIG_NUMA; see `numactl -H`")
        .rows(&[15]);
    };
    let found: Vec<_> = nodes.iter().map(describe).collect();
    let with_cpus = nodes.iter().filter(|node| !node.cpus.is_empty()).count();
    let status = if with_cpus > 1 {
        Status::Note
    } else {
        Status::Ok
    };
    Finding::new(status, "NUMA nodes", found.join("; "), means)
        .remedy("run under numactl --cpunodebind=N --membind=N with the node nearest to the device")
        .rows(&[15])
}

fn describe(node: &NumaNode) -> String {
    let cpus = if node.cpus.is_empty() {
        "no CPUs (CXL candidate)".to_owned()
    } else {
        format!("CPUs {}", node.cpus)
    };
    let distances: Vec<_> = node.distances.iter().map(ToString::to_string).collect();
    format!(
        "node {}: {cpus}, {}, distances {}",
        node.node,
        about(node.memory_bytes),
        distances.join(" ")
    )
}

fn transparent_huge_pages(scene: &Scene) -> Finding {
    let check = "transparent huge pages";
    let means = "with always, page size is the kernel's choice from run to run and khugepaged \
                 copies behind a benchmark; a stand-in on tmpfs follows shmem_enabled";
    let Some(choice) = scene.host.transparent_huge_pages.as_deref() else {
        let why = scene.why_not("transparent_huge_pages");
        return Finding::new(Status::Note, check, why, means)
            .remedy("records say that it is unknown")
            .rows(&[15]);
    };
    let status = if choice == "always" {
        Status::Note
    } else {
        Status::Ok
    };
    Finding::new(status, check, choice, means)
        .remedy("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
        .rows(&[15])
}

fn huge_pages(scene: &Scene) -> Finding {
    let means = "a stand-in on hugetlbfs needs pages reserved, and is refused without them rather \
                 than given small ones";
    let remedy = "for a stand-in of 1 GiB in 2 MiB pages: echo 512 > \
                  /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages; mount -t hugetlbfs none \
                  DIR; truncate -s 1G DIR/region";
    let (status, found) = match &scene.host.huge_pages {
        None => (Status::Note, scene.why_not("huge_pages")),
        Some(pools) => {
            let pool = |pool: &record::machine::HugePages| {
                format!(
                    "{} of {} free ({})",
                    pool.free,
                    pool.total,
                    size(pool.page_bytes)
                )
            };
            let any = pools.iter().any(|pool| pool.free > 0);
            let status = if any { Status::Ok } else { Status::Note };
            let listed: Vec<_> = pools.iter().map(pool).collect();
            (
                status,
                if listed.is_empty() {
                    "no pool".into()
                } else {
                    listed.join(", ")
                },
            )
        }
    };
    Finding::new(status, "huge pages", found, means)
        .remedy(remedy)
        .rows(&[15])
}

/// Bytes of /dev/shm: all, and free.
fn space(scene: &Scene) -> Result<(u64, u64), String> {
    let stat = rustix::fs::statvfs(scene.tree.path("dev/shm"))
        .map_err(|error| format!("/dev/shm: {error}"))?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok((bytes(stat.f_blocks), bytes(stat.f_bavail)))
}

fn shared_memory(space: Result<(u64, u64), String>) -> Finding {
    let means = "a stand-in with --device on tmpfs must fit; the default one is anonymous and \
                 limited by memory alone";
    let (status, found) = match space {
        Err(why) => (Status::Note, why),
        Ok((all, free)) => {
            let status = if free < SMALL_SHM_BYTES {
                Status::Note
            } else {
                Status::Ok
            };
            (status, format!("{} of {} free", about(free), about(all)))
        }
    };
    Finding::new(status, "/dev/shm", found, means)
        .remedy("mount -o remount,size=4G /dev/shm; for a container: --shm-size=4g")
        .rows(&[4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_shared_memory_is_small() {
        let default_of_containers = shared_memory(Ok((64 << 20, 64 << 20)));
        assert_eq!(default_of_containers.status, Status::Note);
        assert!(default_of_containers.remedy.unwrap().contains("--shm-size"));
        assert_eq!(shared_memory(Ok((8 << 30, 4 << 30))).status, Status::Ok);
        assert_eq!(shared_memory(Err("gone".into())).found, "gone");
    }
}
