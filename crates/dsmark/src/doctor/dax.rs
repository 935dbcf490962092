//! DAX devices: mode, size, alignment, memory blocks, permission, holders.

use super::finding::{Finding, Status, size};
use super::tree::{Access, Read, Tree};
use super::{Scene, cxl, holders};

pub(super) const DEVICES: &str = "sys/bus/dax/devices";

/// What the kernel does with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A node that can be mapped.
    Devdax,
    /// Ordinary memory of the kernel.
    SystemRam,
    /// Nothing: no driver.
    Unbound,
    /// Another driver's, such as a filesystem's.
    Other(String),
}

/// The memory blocks of a device in system-ram mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) total: usize,
    pub(super) online: usize,
    /// Online outside the movable zone: kernel data may sit there, and never moves away.
    pub(super) unmovable: usize,
}

/// One device.
pub(super) struct Device {
    pub(super) name: String,
    pub(super) mode: Mode,
    pub(super) size: Read<u64>,
    pub(super) align: Read<u64>,
    pub(super) target_node: Option<u64>,
    pub(super) blocks: Blocks,
}

impl Device {
    /// The device called `name`, if there is one.
    pub(super) fn read(tree: &Tree, name: &str) -> Option<Self> {
        let at = format!("{DEVICES}/{name}");
        if !tree.exists(&at) {
            return None;
        }
        let mode = match tree.link_name(&format!("{at}/driver")).as_deref() {
            Some("device_dax") => Mode::Devdax,
            Some("kmem") => Mode::SystemRam,
            Some(other) => Mode::Other(other.to_owned()),
            None => Mode::Unbound,
        };
        let size = tree.number(&format!("{at}/size"));
        let target_node = tree.number(&format!("{at}/target_node")).ok();
        let blocks = match (&mode, target_node) {
            (Mode::SystemRam, Some(node)) => {
                let start = tree.number(&format!("{at}/resource")).ok();
                let span = start.zip(size.as_ref().ok().copied());
                blocks(tree, node, span)
            }
            _ => Blocks::default(),
        };
        Some(Self {
            name: name.to_owned(),
            mode,
            size,
            align: tree.number(&format!("{at}/align")),
            target_node,
            blocks,
        })
    }

    pub(super) fn all(tree: &Tree) -> Vec<Self> {
        let names = tree.names(DEVICES);
        names
            .iter()
            .filter_map(|name| Self::read(tree, name))
            .collect()
    }
}

/// The memory blocks of a NUMA node, those within `span` (start, bytes) if it is known: without
/// root, the kernel hides where a device lies.
fn blocks(tree: &Tree, node: u64, span: Option<(u64, u64)>) -> Blocks {
    let all = format!("sys/devices/system/node/node{node}");
    let block_bytes = tree.bare_hex("sys/devices/system/memory/block_size_bytes");
    let mut blocks = Blocks::default();
    for name in tree.numbered(&all, "memory") {
        let at = format!("{all}/{name}");
        let index = name.trim_start_matches("memory").parse::<u64>().ok();
        let start = index
            .zip(block_bytes.as_ref().ok())
            .map(|(index, bytes)| index * bytes);
        if let (Some((first, bytes)), Some(start)) = (span, start)
            && !(first..first.saturating_add(bytes)).contains(&start)
        {
            continue;
        }
        blocks.total += 1;
        if tree.word(&format!("{at}/state")) == Ok("online".into()) {
            blocks.online += 1;
            let zone = tree.word(&format!("{at}/valid_zones")).unwrap_or_default();
            blocks.unmovable += usize::from(zone != "Movable");
        }
    }
    blocks
}

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    let devices = Device::all(&scene.tree);
    if devices.is_empty() {
        return vec![none(scene)];
    }
    let mut findings = Vec::new();
    for device in &devices {
        findings.push(mode(scene, device));
        if device.mode == Mode::Devdax {
            findings.push(extent(device));
            findings.push(permission(&scene.tree, device));
            findings.push(holders::of_path(
                &scene.tree,
                &format!("/dev/{}", device.name),
            ));
        }
    }
    findings.extend(cxl::aliased_devices(scene, &devices));
    findings
}

fn none(scene: &Scene) -> Finding {
    let found = if scene.tree.exists("sys/bus/dax") {
        "none on the dax bus"
    } else {
        "this kernel has no dax bus"
    };
    let means = "without --device a run uses this machine's DRAM, a coherent stand-in: times are \
                 real, but no stale value ever appears";
    Finding::new(Status::Note, "DAX devices", found, means)
        .remedy(
            "follow the checks of CXL and firmware below, then modprobe device_dax; `daxctl list` \
             shows what there is",
        )
        .rows(&[2, 11])
}

/// Mode, and the way from system-ram back to a node that can be mapped.
pub(super) fn mode(scene: &Scene, device: &Device) -> Finding {
    let Device { name, mode, .. } = device;
    let at = device
        .size
        .as_ref()
        .map_or_else(Clone::clone, |bytes| size(*bytes));
    let node = device
        .target_node
        .map_or_else(String::new, |it| format!(", NUMA node {it}"));
    let check = format!("{name} mode");
    let means = "only a device in devdax mode has a node that every host maps; the kernel uses one \
                 in system-ram mode as ordinary memory of this host";
    match mode {
        Mode::Devdax => {
            Finding::new(Status::Ok, check, format!("devdax, {at}{node}"), means).rows(&[1, 5])
        }
        Mode::SystemRam => {
            let Blocks {
                total,
                online,
                unmovable,
            } = device.blocks;
            let users = device
                .target_node
                .map_or_else(String::new, |node| holders::of_node(&scene.tree, node));
            let found = format!(
                "system-ram, {at}{node}; {online} of {total} memory blocks online, {unmovable} of \
                 them outside the movable zone{users}"
            );
            Finding::new(Status::Warn, check, found, means)
                .remedy(back_to_devdax(name, device.blocks))
                .rows(&[1, 5])
        }
        Mode::Unbound => {
            let found = format!("no driver is bound, {at}{node}");
            Finding::new(Status::Warn, check, found, means)
                .remedy(format!("daxctl reconfigure-device --mode=devdax {name}"))
                .rows(&[1, 5])
        }
        Mode::Other(driver) => {
            let found = format!("bound to the driver {driver}, {at}{node}");
            Finding::new(Status::Warn, check, found, means)
                .remedy(format!(
                    "unmount what uses it, then daxctl reconfigure-device --mode=devdax {name}"
                ))
                .rows(&[1, 5])
        }
    }
}

fn back_to_devdax(name: &str, blocks: Blocks) -> String {
    let convert = format!("daxctl reconfigure-device --mode=devdax {name}");
    if blocks.online == 0 {
        return convert;
    }
    let offline = format!("daxctl offline-memory {name} && {convert}");
    if blocks.unmovable == 0 {
        return format!(
            "end or migrate the processes that use the node (migratepages), then {offline}; EBUSY \
             means that pages are still pinned there"
        );
    }
    format!(
        "{offline} answers EBUSY while kernel data is in the {} blocks outside the movable zone: \
         boot with memhp_default_state=offline (or echo offline > \
         /sys/devices/system/memory/auto_online_blocks before the device appears), and disable \
         udev rules that online memory, then {convert}",
        blocks.unmovable
    )
}

/// Size and alignment, and what they leave unusable.
pub(super) fn extent(device: &Device) -> Finding {
    let check = format!("{} extent", device.name);
    let means = "offsets and lengths of a mapping are multiples of the alignment, else the kernel \
                 answers EINVAL; dsmark rounds the size down and reports the slack";
    let (bytes, align) = match (&device.size, &device.align) {
        (Ok(bytes), Ok(align)) if *bytes > 0 && *align > 0 => (*bytes, *align),
        (Err(why), _) | (_, Err(why)) => {
            return Finding::new(Status::Fail, check, why.clone(), means)
                .remedy("mount sysfs, and use a kernel with CONFIG_DEV_DAX")
                .rows(&[3]);
        }
        _ => {
            return Finding::new(Status::Fail, check, "size or align is 0", means)
                .remedy(format!(
                    "daxctl reconfigure-device --size=SIZE {}",
                    device.name
                ))
                .rows(&[3, 4]);
        }
    };
    let slack = bytes % align;
    let found = format!(
        "{bytes} bytes, align {}: {} usable, {slack} slack",
        size(align),
        size(bytes - slack)
    );
    if bytes < align {
        return Finding::new(Status::Fail, check, found, means)
            .remedy(format!(
                "daxctl reconfigure-device --size={align} {}",
                device.name
            ))
            .rows(&[3, 4]);
    }
    let small_pages = align < 2 << 20;
    let status = if slack > 0 || small_pages {
        Status::Note
    } else {
        Status::Ok
    };
    let remedy = if small_pages {
        format!(
            "4 KiB pages miss the TLB on every few lines: daxctl reconfigure-device \
             --align=2097152 {}",
            device.name
        )
    } else {
        format!(
            "nothing is lost but the slack; the nearest whole size is {} bytes",
            bytes - slack
        )
    };
    Finding::new(status, check, found, means)
        .remedy(remedy)
        .rows(&[3, 4])
}

/// Who may open the node.
pub(super) fn permission(tree: &Tree, device: &Device) -> Finding {
    let path = format!("/dev/{}", device.name);
    let check = format!("{} permission", device.name);
    let means = "every host process opens the node for reading and writing";
    let rule = format!(
        "groupadd -f dax; echo 'SUBSYSTEM==\"dax\", GROUP=\"dax\", MODE=\"0660\"' > \
         /etc/udev/rules.d/70-dax.rules; udevadm control --reload; udevadm trigger; usermod -aG \
         dax $USER ({path} then survives reboots; chmod does not)"
    );
    let (status, found) = match tree.access(&path) {
        Err(why) => (
            Status::Warn,
            format!("{why}: no node, though the mode is devdax"),
        ),
        Ok(access) => judge(access),
    };
    Finding::new(status, check, found, means)
        .remedy(rule)
        .rows(&[17])
}

fn judge(Access { mode, uid, gid }: Access) -> (Status, String) {
    let found = format!("mode {mode:04o}, user {uid}, group {gid}");
    if mode & 0o006 != 0 {
        let found = format!("{found}: anyone on this host may read or overwrite the pool");
        return (Status::Warn, found);
    }
    let group = mode & 0o060 == 0o060 && gid != 0;
    if group {
        (Status::Ok, found)
    } else {
        (Status::Note, format!("{found}: only root may use it"))
    }
}
