//! What the firmware told the kernel about special memory, and what the kernel does with it.

use super::dax::DEVICES;
use super::finding::{Finding, Status};
use super::{Scene, tree::Tree};

/// Where devdax is decided before the kernel starts.
pub(super) const SETTING: &str = "in the firmware set CXL memory to \"specific purpose\" \
    (EFI_MEMORY_SP) and CXL Type 3 out of legacy mode; on the kernel's command line no \
    efi=nosoftreserve";

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    vec![soft_reserved(scene), auto_online(scene)]
}

/// Ranges marked specific purpose: addresses are hidden from users, names are not.
fn soft_reserved(scene: &Scene) -> Finding {
    let tree = &scene.tree;
    let ranges = count_soft_reserved(tree);
    let ignored =
        command_line(tree).any(|word| word.starts_with("efi=") && word.contains("nosoftreserve"));
    let no_devices = tree.names(DEVICES).is_empty();
    let conventional = memory_without_cpus(scene) && no_devices;
    let means = "memory marked specific purpose becomes a DAX device; unmarked, it is ordinary \
                 memory from boot on, and no command turns it into devdax";
    let check = "soft-reserved memory";
    let finding = if ignored {
        let found = "efi=nosoftreserve on the kernel's command line: the mark is ignored";
        Finding::new(Status::Warn, check, found, means)
            .remedy("remove efi=nosoftreserve from the boot loader's configuration and reboot")
    } else if ranges > 0 && no_devices {
        let found = format!("{ranges} ranges, but no DAX device");
        Finding::new(Status::Warn, check, found, means)
            .remedy("modprobe -a dax_hmem dax_cxl device_dax; then `daxctl list`")
    } else if conventional && ranges == 0 {
        let found = "none, though a NUMA node without CPUs has memory";
        Finding::new(Status::Warn, check, found, means).remedy(SETTING)
    } else {
        let found = match (ranges, tree.exists("sys/firmware/efi")) {
            (0, true) => "none".to_owned(),
            (0, false) => "none; this machine shows no EFI".to_owned(),
            (some, _) => format!("{some} ranges"),
        };
        Finding::new(Status::Ok, check, found, means)
    };
    finding.rows(&[2])
}

fn count_soft_reserved(tree: &Tree) -> usize {
    let iomem = tree.text("proc/iomem").unwrap_or_default();
    let listed = iomem
        .lines()
        .filter(|line| line.trim_end().ends_with(": Soft Reserved"));
    listed.count()
}

fn command_line(tree: &Tree) -> impl Iterator<Item = String> {
    let line = tree.text("proc/cmdline").unwrap_or_default();
    line.split_whitespace()
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

fn memory_without_cpus(scene: &Scene) -> bool {
    let nodes = scene.host.numa_nodes.iter().flatten();
    nodes
        .into_iter()
        .any(|node| node.cpus.is_empty() && node.memory_bytes > 0)
}

/// What happens to memory that appears, a DAX device in system-ram mode included.
fn auto_online(scene: &Scene) -> Finding {
    let path = "sys/devices/system/memory/auto_online_blocks";
    let means = "memory onlined outside the movable zone takes kernel data, and its device never \
                 goes back to devdax without a reboot";
    let (status, found) = match scene.tree.word(path) {
        Ok(policy) if policy == "offline" => (Status::Ok, policy),
        Ok(policy) if policy == "online_movable" => (
            Status::Note,
            format!("{policy}: new memory becomes ordinary memory, but can be taken back"),
        ),
        Ok(policy) => (
            Status::Warn,
            format!("{policy}: the kernel may put its own data on new memory at once"),
        ),
        Err(why) => (Status::Note, why),
    };
    Finding::new(status, "memory onlining", found, means)
        .remedy(format!(
            "echo offline > /{path}, permanently memhp_default_state=offline on the kernel's \
             command line; distributions also have udev rules that online memory"
        ))
        .rows(&[1, 2])
}
